"""Plain text as sentences of tokens, from which the text can be given back: running text, lines
that are sentences, or words.

The tokens with their blanks (``SpaceAfter``, ``SpacesAfter``, ``SpacesBefore`` in MISC, see
``egparse.sentences``) are the text, character for character, unless it has no tokens at all.
``TokenRange`` in MISC says where a token stands in the text, in characters from 0.

A blank line ends a paragraph, and with it a sentence. Text is read paragraph by paragraph, and
memory holds one batch of them; a very long paragraph is cut, and so is a long sentence
(``egparse.text.rules``), because the time of a parser grows with the square or cube of its length.
The sentences do not depend on the pieces that a text arrives in.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import IO, NamedTuple, Protocol

import numpy as np

from egparse.errors import CorpusError
from egparse.io.blocks import MAX_BLOCK, name_of, texts_of
from egparse.io.encodings import UTF_8
from egparse.io.token_lines import HORIZONTAL, NEW_PARAGRAPH, VERTICAL, read_token_lines
from egparse.sentences import (
    SPACE_AFTER_NO,
    SPACES_AFTER,
    SPACES_BEFORE,
    TOKEN_RANGE,
    Sentence,
    escaped,
)
from egparse.text.exceptions.table import Exceptions
from egparse.text.expander import Expander
from egparse.text.rules import MAX_WORDS, RuleSplitter, RuleTokeniser, sentence_bounds
from egparse.text.tokeniser import Tokeniser, Tokens
from egparse.text.word_columns import Paragraph
from egparse.types import Mask

TEXT, SENTENCES = "text", "sentences"

PLAIN_FORMATS = (TEXT, SENTENCES, HORIZONTAL, VERTICAL)
"""Text, in which a model finds sentences and words; one sentence a line, in which it finds words;
one sentence a line with blanks between its words; one word a line.
"""

NEW_DOCUMENT = "# newdoc"

MAX_CHARACTERS = 100_000
"""A longer paragraph is cut at a blank. It is a tenth of spaCy's limit; memory is proportional."""

MAX_UNBROKEN = 1_000_000
"""Text without blanks is cut into paragraphs after so many characters."""

_ANY_LENGTH = 1 << 62
_BLANK_LINE = re.compile(r"\n\s*?\n")
_BLANK = re.compile(r"[ \n]")


class Splits(Protocol):
    """A splitter of paragraphs into sentences."""

    def split(self, paragraphs: Sequence[Paragraph]) -> list[Mask]:
        """Whether a sentence starts at each word of each paragraph."""


@dataclass(frozen=True)
class PlainText:
    """What makes sentences of words of a text. Without a ``splitter`` each paragraph is a sentence,
    without an ``expander`` tokens are words. Later ``exceptions`` go before earlier ones.
    """

    tokeniser: Tokeniser | RuleTokeniser
    splitter: Splits | None = field(default_factory=RuleSplitter)
    expander: Expander | None = None
    max_words: int = MAX_WORDS
    exceptions: tuple[Exceptions, ...] = ()

    def __post_init__(self) -> None:
        if self.max_words < 1:
            raise ValueError(f"expected a positive number of words, got {self.max_words}")

    def with_exceptions(self, exceptions: Exceptions | None) -> PlainText:
        """The same with exceptions that go before its own."""
        if exceptions is None:
            return self
        return replace(self, exceptions=(*self.exceptions, exceptions))

    def whole_paragraphs(self) -> PlainText:
        """The same, with each paragraph one sentence, however long."""
        return replace(self, splitter=None, max_words=_ANY_LENGTH)

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text, in order."""
        tokens = self.tokeniser.tokens(text)
        for exceptions in self.exceptions:
            tokens = exceptions.tokens(text, tokens)
        return tokens

    def split(self, paragraphs: Sequence[Paragraph]) -> list[Mask]:
        """Whether a sentence starts at each word of each paragraph."""
        if self.splitter is None:
            return [np.arange(len(paragraph.forms)) == 0 for paragraph in paragraphs]
        starts = self.splitter.split(paragraphs)
        for exceptions in self.exceptions:
            starts = exceptions.starts(paragraphs, starts)
        return starts

    def expand(self, sentences: list[Sentence]) -> list[Sentence]:
        """Sentences of words, from sentences of tokens; the same where these are words."""
        words = sentences if self.expander is None else self.expander.expand(sentences)
        for exceptions in self.exceptions:
            words = [exceptions.words(*pair) for pair in zip(sentences, words, strict=True)]
        return words


def read_plain(
    plain_text: PlainText,
    source: os.PathLike[str] | IO[str] | IO[bytes],
    format: str = TEXT,
    *,
    name: str | None = None,
    encoding: str = UTF_8,
    first_id: int = 1,
) -> Iterator[Sentence]:
    """The sentences of a file or stream in one of ``PLAIN_FORMATS``, with IDs from ``first_id``.

    Raises:
        EgparseError: spaCy has no rules for the language, or the file cannot be read, or the
            encoding is unknown.
        CorpusError: bytes that do not fit the encoding, damaged compressed data, or a sentence of
            words that is too long.
        ValueError: an unknown format.
    """
    if format == TEXT:
        return TextReader(plain_text, first_id).sentences(source, name=name, encoding=encoding)
    if format == SENTENCES:
        path = name or name_of(source)
        lines = _lines(texts_of(source, path, encoding), path)
        return _sentences_of_lines(plain_text.whole_paragraphs(), lines, first_id)
    return read_token_lines(source, format, name=name, encoding=encoding, first_id=first_id)


def _sentences_of_lines(
    plain_text: PlainText, lines: Iterator[tuple[int, str]], number: int
) -> Iterator[Sentence]:
    opens = True
    for start, line in lines:
        is_blank = True
        # one, or several of a line that is longer than paragraphs may be
        for sentence in TextReader(plain_text, number)._read([_cut(line, start, opens=False)]):
            yield sentence.with_layers(comments=(NEW_PARAGRAPH,) if opens else ())
            number, opens, is_blank = number + 1, False, False
        opens = opens or is_blank


def _lines(texts: Iterator[str], path: str) -> Iterator[tuple[int, str]]:
    """Where each line starts in the text, in characters, and the line with its end."""
    begun: list[str] = []
    start, size, number = 0, 0, 1
    for text in texts:
        *whole, rest = text.split("\n")
        for line in whole:
            found = "".join((*begun, line, "\n"))
            yield start, found
            start, number = start + len(found), number + 1
            begun, size = [], 0
        begun.append(rest)
        size += len(rest)
        if size > MAX_BLOCK:
            raise CorpusError(path, number, f"a line of at most {MAX_BLOCK:,} characters", "more")
    if last := "".join(begun):
        yield start, last


class _Part(NamedTuple):
    """A part of a text, the number of characters before it, and whether a paragraph starts with its
    first token.
    """

    text: str
    start: int
    opens: bool


class _Run(NamedTuple):
    """The tokens of a paragraph or of a part of one: their forms, where they stand in the text, and
    the blanks after each of them. Those after the last one may go on in the next part.
    """

    forms: list[str]
    starts: list[int]
    blanks: list[str]
    opens: bool


class PartsOfText(NamedTuple):
    """Consecutive parts of a text, which can be read without the others: the blanks ``after`` their
    last token that the following parts begin with, and whether the text begins here.
    """

    parts: list[_Part]
    after: str
    is_first: bool

    @property
    def size(self) -> int:
        """The number of characters."""
        return sum(len(part.text) for part in self.parts)

    @property
    def texts(self) -> list[str]:
        """The parts of the text."""
        return [part.text for part in self.parts]


class TextReader:
    """Reads one text. ``sentences`` gives them as they are complete; the last paragraphs that have
    arrived are only complete when it is known which blanks they end with.
    """

    def __init__(self, plain_text: PlainText, first_id: int = 1) -> None:
        self._plain_text = plain_text
        self._number = first_id
        self._before = ""
        self._comments: tuple[str, ...] = (NEW_DOCUMENT,)
        self._held: list[_Run] = []

    def sentences(
        self,
        source: str | os.PathLike[str] | IO[str] | IO[bytes],
        *,
        name: str | None = None,
        encoding: str = UTF_8,
    ) -> Iterator[Sentence]:
        """The sentences of a text: forms, blanks and ranges in MISC, ``# newdoc`` and ``# newpar``
        as comments, and IDs from the first one on.

        ``source`` is a string that is the text itself, a ``Path``, or an open stream; bytes may be
        compressed, and ``encoding`` is theirs.

        Raises:
            EgparseError: the file cannot be read, or the encoding is unknown.
            CorpusError: bytes that do not fit the encoding, or damaged compressed data.
        """
        if isinstance(source, str):
            source, name = io.StringIO(source), name or "<text>"
        return self._read(_parts(texts_of(source, name or name_of(source), encoding)))

    def passages(
        self, source: IO[str] | IO[bytes], size: int, *, name: str, encoding: str = UTF_8
    ) -> Iterator[PartsOfText]:
        """The text in passages of ``size`` characters or a paragraph more, of which other readers
        make the same sentences with ``read``; errors as in ``sentences``.
        """
        held: list[_Part] = []
        length, is_first = 0, True
        for part in chain.from_iterable(_parts(texts_of(source, name, encoding))):
            blanks = len(part.text) - len(part.text.lstrip())
            has_tokens = blanks < len(part.text)
            if length >= size and has_tokens:
                yield PartsOfText(held, part.text[:blanks], is_first)
                held, length, is_first = [], 0, False
            held.append(part)
            if length or has_tokens:  # a passage has tokens, which blanks after it belong to
                length += len(part.text)
        if held:
            yield PartsOfText(held, "", is_first)

    def read(self, passage: PartsOfText) -> Iterator[Sentence]:
        """The sentences of a passage, with IDs from the first one on."""
        if not passage.is_first:
            self._comments = ()
        # blanks that a later passage begins with stand after the passage before
        return self._read([passage.parts], passage.after, drops_blanks=not passage.is_first)

    def _read(
        self, arrived: Iterable[list[_Part]], after: str = "", *, drops_blanks: bool = False
    ) -> Iterator[Sentence]:
        """The sentences of parts of a text, after whose last token there are also the blanks
        ``after``; the blanks that it begins with may be dropped.
        """
        for batch in _batches(arrived):
            blanks, runs = self._runs(batch)
            if not drops_blanks:
                self._add_blanks(blanks)
            drops_blanks = False
            if runs:
                yield from self.release()
                self._held = runs
        if self._held:
            self._add_blanks(after)
        yield from self.release()

    def release(self) -> list[Sentence]:
        """The sentences of the paragraphs that have arrived, whatever blanks follow: for a reader
        who waits. What follows then is said to stand before the next token.
        """
        runs, self._held = self._held, []
        return self._plain_text.expand(self._sentences_of(runs)) if runs else []

    def _runs(self, batch: list[_Part]) -> tuple[str, list[_Run]]:
        """The blanks before the first token of a batch, and a run for each part that has tokens."""
        text = "".join(part.text for part in batch)
        tokens = self._plain_text.tokens(text)
        forms = tokens.forms(text)
        bounds = [*tokens.starts.tolist(), len(text)]
        ends = [0, *tokens.ends.tolist()]
        before, *blanks = [text[end:start] for end, start in zip(ends, bounds, strict=True)]
        starts = (tokens.starts + batch[0].start).tolist()
        last = np.searchsorted(tokens.starts, np.cumsum([len(part.text) for part in batch]))
        return before, [
            _Run(forms[a:b], starts[a:b], blanks[a:b], part.opens)
            for part, (a, b) in zip(batch, pairwise([0, *last.tolist()]), strict=True)
            if b > a
        ]

    def _add_blanks(self, blanks: str) -> None:
        """Blanks before the first token that comes next."""
        if self._held:
            self._held[-1].blanks[-1] += blanks
        else:
            self._before += blanks

    def _sentences_of(self, runs: Sequence[_Run]) -> list[Sentence]:
        spaced = [[*map(bool, run.blanks)] for run in runs]
        for one in spaced:
            one[-1] = True
        paragraphs = [Paragraph(run.forms, one) for run, one in zip(runs, spaced, strict=True)]
        found: list[Sentence] = []
        marks = self._plain_text.split(paragraphs)
        for run, paragraph, starts in zip(runs, paragraphs, marks, strict=True):
            misc = _misc(run, self._before)
            self._before = ""
            if run.opens:
                self._comments += (NEW_PARAGRAPH,)
            for start, end in sentence_bounds(paragraph, starts, self._plain_text.max_words):
                found.append(
                    Sentence(
                        forms=tuple(run.forms[start:end]),
                        misc=tuple(misc[start:end]),
                        sentence_id=str(self._number),
                        comments=self._comments,
                    )
                )
                self._number += 1
                self._comments = ()
        return found


def _parts(texts: Iterable[str]) -> Iterator[list[_Part]]:
    """The paragraphs of a text, each with the line end of the blank line after it, as far as they
    are complete; long ones are cut at blanks. Together they are the text.
    """
    begun, at, opens = "", 0, True
    for text in texts:
        unseen = len(begun.rstrip())
        begun += text
        found: list[_Part] = []
        start = 0
        for blank_line in _BLANK_LINE.finditer(begun, unseen):
            found += _cut(begun[start : blank_line.end()], at, opens)
            at += blank_line.end() - start
            start, opens = blank_line.end(), True
        begun = begun[start:]
        if len(begun) > MAX_CHARACTERS:
            *finished, (begun, at, opens) = _cut(begun, at, opens)
            found += finished
        if found:
            yield found
    if begun:
        yield _cut(begun, at, opens)


def _cut(text: str, at: int, opens: bool) -> list[_Part]:
    """A paragraph in parts of at most ``MAX_CHARACTERS``, cut at blanks, or of at most
    ``MAX_UNBROKEN`` where there are none.
    """
    parts: list[_Part] = []
    start = 0
    while len(text) - start > MAX_CHARACTERS:
        end = start + MAX_CHARACTERS
        cut = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
        if cut < 0:
            later = _BLANK.search(text, end, start + MAX_UNBROKEN)
            if later is None and len(text) - start <= MAX_UNBROKEN:
                break
            cut = start + MAX_UNBROKEN if later is None else later.start()
        parts.append(_Part(text[start:cut], at + start, opens))
        opens = opens and parts[-1].text.isspace()
        start = cut
    return [*parts, _Part(text[start:], at + start, opens)]


def _batches(arrived: Iterable[list[_Part]]) -> Iterator[list[_Part]]:
    """Consecutive parts of at most ``MAX_CHARACTERS``, or a single longer one; a part that does not
    open a paragraph is alone.
    """
    for parts in arrived:
        batch: list[_Part] = []
        size = 0
        for part in parts:
            if batch and (size + len(part.text) > MAX_CHARACTERS or not part.opens):
                yield batch
                batch, size = [], 0
            batch.append(part)
            size += len(part.text)
        yield batch


def _misc(run: _Run, before: str) -> list[str]:
    """The MISC column of tokens."""
    cells = []
    for form, start, blank in zip(run.forms, run.starts, run.blanks, strict=True):
        place = f"{TOKEN_RANGE}{start}:{start + len(form)}"
        if blank == " ":
            cells.append(place)
        elif not blank:
            cells.append(f"{SPACE_AFTER_NO}|{place}")
        else:
            cells.append(f"{SPACES_AFTER}{escaped(blank)}|{place}")
    if before:  # in the order of keys
        *after, place = cells[0].split("|")
        cells[0] = "|".join([*after, SPACES_BEFORE + escaped(before), place])
    return cells
