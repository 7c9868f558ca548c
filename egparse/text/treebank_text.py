"""Treebanks as they stand in text: paragraphs, with the places of sentences and tokens in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from egparse.sentences import SPACE_AFTER_NO, Sentence, blanks_after
from egparse.text.word_columns import Paragraph
from egparse.types import Longs, Mask

if TYPE_CHECKING:
    from egparse.evaluation.bootstrap import Units

MIN_SENTENCES = 30
"""A splitter is trained on at least so many sentences that start inside a paragraph."""

_MARKS = ("# newpar", "# newdoc")
MIN_UNITS = 30
"""Documents or paragraphs are resampled if there are so many: fewer give too few different samples
for the ends of an interval.
"""

_RUNNING_TEXT = ("conllu", "conllx")
_BLANK_LINE = "\n\n"
_TEXT = "# text = "


class SplitterParts(NamedTuple):
    """The sentences of the paragraphs for training and for scoring (none: no score)."""

    train: Sequence[Sequence[Sentence]]
    dev: Sequence[Sequence[Sentence]]


class SplitParagraph(NamedTuple):
    """A paragraph, and whether a sentence starts at each of its words."""

    paragraph: Paragraph
    starts: Mask


def paragraphs_of(sentences: Sequence[Sentence]) -> list[list[Sentence]]:
    """The sentences of each paragraph, by the marks ``# newpar`` and ``# newdoc``; text
    without marks is one paragraph.
    """
    paragraphs: list[list[Sentence]] = []
    for sentence in sentences:
        if not paragraphs or any(line.startswith(_MARKS) for line in sentence.lines_before):
            paragraphs.append([])
        paragraphs[-1].append(sentence)
    return paragraphs


def is_treebank(sentences: Sequence[Sentence]) -> bool:
    """Whether the tokens of sentences are those of running text: the format is one of treebanks."""
    return all(one.source is None or one.source.format in _RUNNING_TEXT for one in sentences)


def is_running_text(sentences: Sequence[Sentence]) -> bool:
    """Whether a splitter can be trained: the format is one of treebanks, and enough sentences start
    inside a paragraph.
    """
    enough = len(sentences) - len(paragraphs_of(sentences)) >= MIN_SENTENCES
    return is_treebank(sentences) and enough


def pieces_of(paragraphs: Sequence[Sequence[Sentence]], longest: int) -> list[Sequence[Sentence]]:
    """The paragraphs, cut after ``longest`` sentences (0: not cut)."""
    return [
        paragraph[first : first + (longest or len(paragraph))]
        for paragraph in paragraphs
        for first in range(0, len(paragraph), longest or len(paragraph))
    ]


def joined(
    paragraphs: Sequence[Sequence[Sentence]], share: float, seed: int
) -> list[list[Sentence]]:
    """The paragraphs, with a random ``share`` of them joined to the previous one, as examples of
    boundaries that elsewhere only the layout marks.
    """
    draws = np.random.default_rng(seed).random(len(paragraphs))
    runs: list[list[Sentence]] = []
    for paragraph, draw in zip(paragraphs, draws.tolist(), strict=True):
        if runs and draw < share:
            runs[-1].extend(paragraph)
        else:
            runs.append(list(paragraph))
    return runs


def as_text(paragraphs: Sequence[Sequence[Sentence]]) -> list[SplitParagraph]:
    """Paragraphs as they stand in text."""
    found = []
    for sentences in paragraphs:
        words = [list(_words_in_text(sentence)) for sentence in sentences]
        forms = [form for of_sentence in words for form, _ in of_sentence]
        spaced = [blank for of_sentence in words for _, blank in of_sentence]
        spaced[-1:] = [True] * len(spaced[-1:])
        starts = [not place for of_sentence in words for place in range(len(of_sentence))]
        found.append(SplitParagraph(Paragraph(forms, spaced), np.array(starts, dtype=np.bool_)))
    return found


def _words_in_text(sentence: Sentence) -> Iterator[tuple[str, bool]]:
    """Words and whether a blank follows. A multiword token is one word unless its words spell it
    (do+n't), as for tokenisers.
    """
    for first, last, form, misc in sentence.surface_tokens:
        words = sentence.forms[first : last + 1]
        if "".join(words) == form:
            yield from ((word, False) for word in words[:-1])
            form = words[-1]
        yield form, SPACE_AFTER_NO not in misc


class RunningText(NamedTuple):
    """A text; its tokens start at the characters ``starts`` and end before ``ends``, its sentences
    start at ``sentences``. ``left_out`` of its sentences are not in it, because their tokens do not
    spell their text.
    """

    text: str
    starts: Longs
    ends: Longs
    sentences: Longs
    left_out: int

    @property
    def is_continuous(self) -> bool:
        """Whether most tokens follow the one before without a blank, as in Chinese."""
        return 2 * int((self.starts[1:] == self.ends[:-1]).sum()) > len(self.starts)


def running_text(sentences: Sequence[Sentence]) -> RunningText:
    """The text of sentences, with a blank line between paragraphs, as CoNLL 2018 made its raw text.

    White space at the end of a paragraph is dropped. A sentence whose tokens do not spell its
    ``# text`` is left out.
    """
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    firsts: list[int] = []
    at, left_out = 0, 0
    for paragraph in paragraphs_of(sentences):
        blank = ""
        for sentence in paragraph:
            tokens = [(token.form, blanks_after(token.misc)) for token in sentence.surface_tokens]
            if not tokens or not _spells(sentence, tokens):
                left_out += bool(tokens)
                continue
            firsts.append(at + len(blank))
            for form, after in tokens:
                parts += (blank, form)
                starts.append(at + len(blank))
                at += len(blank) + len(form)
                ends.append(at)
                blank = after
        if parts and parts[-1] != _BLANK_LINE:
            parts.append(_BLANK_LINE)
            at += len(_BLANK_LINE)
    tokens_at, ends_at, sentences_at = (
        np.array(numbers, dtype=np.int64) for numbers in (starts, ends, firsts)
    )
    return RunningText("".join(parts), tokens_at, ends_at, sentences_at, left_out)


def _spells(sentence: Sentence, tokens: Sequence[tuple[str, str]]) -> bool:
    """Whether tokens and the blanks after them spell the text of a sentence, if it is known,
    whatever kind of blanks are between them.
    """
    texts = (line[len(_TEXT) :] for line in sentence.lines_before if line.startswith(_TEXT))
    text = next(texts, None)
    return text is None or "".join(map("".join, tokens)).split() == text.split()


def raw_text(sentences: Sequence[Sentence]) -> str:
    """The text of a corpus as the raw texts of the CoNLL 2018 shared task were made: its tokens
    with the blanks that MISC says (``SpaceAfter``, ``SpacesAfter``), and a blank line between
    paragraphs (``# newpar``, ``# newdoc``).

    They differ in their lines, which were filled up to 80 characters. White space around a
    paragraph is dropped.
    """
    return _BLANK_LINE.join(
        "".join(
            token.form + blanks_after(token.misc)
            for sentence in paragraph
            for token in sentence.surface_tokens
        ).strip()
        for paragraph in paragraphs_of(sentences)
    )


def resampled_units(sentences: Sequence[Sentence]) -> Units | None:
    """What is resampled where sentences have to be found, because an error in one may spoil its
    neighbours: documents, or paragraphs, if there are ``MIN_UNITS``; else None, sentences.
    """
    from egparse.evaluation.bootstrap import Units  # annotation does without

    opens = [sentence.opens_document for sentence in sentences]
    if sum(opens) >= MIN_UNITS:
        # what stands before the first mark belongs to the first document
        numbers = np.cumsum(np.array(opens, dtype=np.int64))
        return Units("document", np.maximum(numbers - 1, 0))
    paragraphs = paragraphs_of(sentences)
    if len(paragraphs) >= MIN_UNITS:
        lengths = [len(paragraph) for paragraph in paragraphs]
        return Units("paragraph", np.repeat(np.arange(len(lengths)), lengths))
    return None
