"""The sentence: what readers produce, models annotate and evaluation compares."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, NamedTuple

MISSING = "_"
"""The value of an empty cell, as in CoNLL-U."""

MISSING_HEAD = -1
"""The head of a word that is not annotated (``_`` in CoNLL-U), in contrast to 0, the root."""

ROW_KEYS = {
    "forms": "form",
    "lemmas": "lemma",
    "upos": "upos",
    "xpos": "xpos",
    "feats": "feats",
    "spans": "spans",
    "heads": "head",
    "deprels": "deprel",
    "misc": "misc",
}
"""Field of ``Sentence`` -> its key in ``Sentence.rows``, in the order of the keys."""

_DOCUMENT_MARKS = ("# newdoc", "-DOCSTART-")


@dataclass(frozen=True, slots=True)
class Source:
    """The lines that a sentence was read from, so that a writer can reproduce them.

    ``lines`` are all lines of the sentence without line ends: comments, multiword tokens, words and
    empty nodes. ``lines[word_lines[k]]`` is the line of word ``k`` (0-based). ``first_line`` is the
    number (from 1) of ``lines[0]`` in the file. ``format`` is the corpus format of the lines.
    """

    path: str
    first_line: int
    lines: Sequence[str]
    word_lines: Sequence[int]
    format: str = "conllu"


class SurfaceToken(NamedTuple):
    """A token of the text that stands for several words, as French ``du`` for ``de`` and ``le``:
    the line ``1-2`` of CoNLL-U.

    Its words are ``first`` to ``last``, positions from 0, both included. ``misc`` is its cell MISC,
    which tells whether a blank follows the token; the MISC of its words does not.
    """

    first: int
    last: int
    form: str
    misc: str = MISSING


@dataclass(frozen=True, slots=True)
class Sentence:
    """The syntactic words of a sentence, column by column; a column has one value a word, or is
    empty if the sentence lacks it.

    ``heads[k]`` is the position (from 1) of the head of word ``k``, 0 for the root, or
    ``MISSING_HEAD``. Missing strings are ``MISSING``. ``spans`` are IOB2 tags (entities or chunks).
    ``probabilities[layer][k]`` is the probability that a model gives to the value that it predicted
    in the layer ``"upos"``, ``"xpos"``, ``"feats"``, ``"spans"``, ``"heads"`` or ``"deprels"`` for
    word ``k``; None where it predicted no value or computes no probabilities. ``probabilities`` is
    None if none were requested.

    ``tokens`` are the multiword tokens, in order; each word outside of them is a token.
    ``comments`` are the lines of comments, with ``#``, of a sentence that has no ``source``; its ID
    is in ``sentence_id`` alone.
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
    tokens: Sequence[SurfaceToken] = ()
    comments: Sequence[str] = field(default=(), compare=False)

    def __len__(self) -> int:
        return len(self.forms)

    @property
    def opens_document(self) -> bool:
        """Whether the sentence is marked as the first of a document: by ``# newdoc`` in
        CoNLL-U, by ``-DOCSTART-`` in column files.
        """
        return any(line.startswith(_DOCUMENT_MARKS) for line in self.lines_before)

    @property
    def lines_before(self) -> Sequence[str]:
        """The lines before the first word: those of the source, or ``comments`` without one."""
        if self.source is None:
            return self.comments
        return self.source.lines[: self.source.word_lines[0]] if len(self) else ()

    def with_layers(self, **layers: Sequence[str] | Sequence[int]) -> Sentence:
        """A copy in which the named columns are replaced."""
        return replace(self, **layers)  # type: ignore[arg-type]

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary a word, for a data frame: ``pandas.DataFrame(sentence.rows())``.

        Its keys are ``id`` (from 1), ``form``, then ``lemma``, ``upos``, ``xpos``, ``feats``,
        ``spans``, ``head``, ``deprel`` and ``misc`` as far as the sentence has them, then
        ``p_upos``, ``p_head`` and so on as far as it has probabilities. The values are those of the
        columns; a missing probability is None.
        """
        columns: dict[str, Sequence[Any]] = {"id": range(1, len(self) + 1)}
        for field_name, key in ROW_KEYS.items():
            if values := getattr(self, field_name):
                columns[key] = values
        for layer, values in (self.probabilities or {}).items():
            columns["p_" + ROW_KEYS[layer]] = values
        words = zip(*columns.values(), strict=True)
        return [dict(zip(columns, word, strict=True)) for word in words]


class Selectable(Sequence[Sentence]):
    """Sentences that are not all in memory: a selection of them is not, either."""

    @abstractmethod
    def select(self, chosen: Iterable[bool]) -> Sequence[Sentence]:
        """Those of the sentences that are chosen."""


def select(sentences: Sequence[Sentence], chosen: Iterable[bool]) -> Sequence[Sentence]:
    """The chosen ones of some sentences: a list, or stored sentences if they are."""
    if isinstance(sentences, Selectable):
        return sentences.select(chosen)
    return list(compress(sentences, chosen))
