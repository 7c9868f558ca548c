"""The sentence record that readers produce, tasks annotate and evaluation compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

MISSING = "_"
"""The value of a cell that says nothing, as in CoNLL-U."""

MISSING_HEAD = -1
"""The head of a word whose HEAD cell is ``_``: missing, which is not the same as attached to the
root (0).
"""

_DOCUMENT_MARKS = ("# newdoc", "-DOCSTART-")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a sentence came from: what a faithful writer needs beyond the words.

    ``lines`` are the sentence's lines as they stood, without line ends: comments, multiword tokens,
    words and empty nodes. ``word_lines[k]`` is the index in ``lines`` of word ``k`` (0-based).
    ``first_line`` is the 1-based number in the file of ``lines[0]``. ``format`` is the corpus
    format that the lines are in.
    """

    path: str
    first_line: int
    lines: Sequence[str]
    word_lines: Sequence[int]
    format: str = "conllu"


@dataclass(frozen=True, slots=True)
class Sentence:
    """The syntactic words of one sentence, column by column; all columns have the same length.

    ``heads[k]`` is the 1-based position of the head of word ``k``, 0 for the root, ``MISSING_HEAD``
    where it is not annotated. String cells that say nothing hold ``MISSING``. ``spans`` holds one
    IOB2 tag per word (entities, chunks) or is empty where the corpus has none.
    ``probabilities[layer][k]`` is how sure a model is of what it has put into the layer at word
    ``k``, from 0 to 1, or None where it has put nothing there or cannot say; None altogether unless
    it was asked.
    """

    forms: Sequence[str]
    lemmas: Sequence[str] = ()
    upos: Sequence[str] = ()
    xpos: Sequence[str] = ()
    feats: Sequence[str] = ()
    heads: Sequence[int] = ()
    deprels: Sequence[str] = ()
    misc: Sequence[str] = ()
    spans: Sequence[str] = ()
    sentence_id: str | None = None
    source: Source | None = field(default=None, compare=False)
    probabilities: Mapping[str, Sequence[float | None]] | None = field(default=None, hash=False)

    def __len__(self) -> int:
        return len(self.forms)

    @property
    def opens_document(self) -> bool:
        """Whether the source marks the first sentence of a document here: ``# newdoc`` in CoNLL-U,
        ``-DOCSTART-`` in columns.
        """
        if self.source is None or not len(self):
            return False
        before = self.source.lines[: self.source.word_lines[0]]
        return any(line.startswith(_DOCUMENT_MARKS) for line in before)

    def with_layers(self, **layers: Sequence[str] | Sequence[int]) -> Sentence:
        """A copy in which the named columns are replaced."""
        return replace(self, **layers)  # type: ignore[arg-type]
