"""Plain text in: words by spaCy's tokenisation rules, sentences by a model's splitter or by spaCy's
rule for final punctuation.

A blank line ends a paragraph, and with it a sentence. Inside a paragraph the splitter says where
sentences start; without one spaCy's ``Sentencizer`` splits after final punctuation. Text is read
paragraph by paragraph, and nothing grows with its length: spaCy's vocabulary is thrown away when it
is full, long paragraphs are cut, and so are long sentences, which would cost a parser the square or
cube of their length. How well both split is in docs/decisions/sentence-splitter.md.
"""

from __future__ import annotations

import io
import os
import re
import threading
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias

from egparse.errors import CorpusError, EgparseError
from egparse.readers.blocks import name_of, open_file, pieces_of
from egparse.sentences import MISSING, Sentence
from egparse.types import Mask

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

Starts: TypeAlias = Callable[[Sequence[str], Sequence[bool]], Mask]
"""From the words of a paragraph, and whether a blank follows each, to whether a sentence starts at
each.
"""

SPACE_AFTER_NO = "SpaceAfter=No"

MAX_WORDS = 300
"""A longer sentence is cut: at its last clause punctuation in the second half of so many words,
else at the last blank there.
"""

MAX_CHARACTERS = 100_000
"""A longer paragraph is cut at a blank: a tenth of spaCy's own limit, and memory follows it."""

MAX_RUN = 250
"""Text without blanks is cut after so many characters: spaCy takes punctuation off words one by
one, each time anew (10 s for 8,000 brackets).
"""

MAX_STRINGS = 200_000
"""What spaCy may remember before it starts anew. Its own memory zones forget after every paragraph,
and with the known words goes the speed: 35,000 instead of 150,000 words/s.
"""

# With the dashes and the commas of other scripts.
CLAUSE_ENDS = frozenset(",;:)]\u2013\u2014\u2026\u060c\uff1b\uff1a\uff0c\u3001")

OPENING = frozenset("\"'([{\u2018\u201c\u201e\u00ab\u00bf\u00a1")

_BLANK_LINE = re.compile(r"\n\s*\n")


class _Word(NamedTuple):
    form: str
    spaced: bool
    """Whether a blank, a line end or the end of the paragraph follows."""
    starts: bool
    """Whether a sentence starts here."""


def read_text(
    source: str | os.PathLike[str] | IO[str] | IO[bytes],
    language: str = "en",
    *,
    name: str | None = None,
    max_words: int = MAX_WORDS,
    splitter: Starts | None = None,
) -> Iterator[Sentence]:
    """The sentences of a text: forms, ``SpaceAfter=No`` in MISC where no blank follows, and IDs 1,
    2, ...

    ``source`` is a string that is the text itself, a ``Path``, or an open stream. ``splitter`` says
    where sentences start in each paragraph; without one a rule does. Raises EgparseError for a
    language that spaCy has no rules for and for a file that cannot be read, CorpusError where it is
    not UTF-8.
    """
    if max_words < 1:
        raise ValueError(f"expected a positive number of words, got {max_words}")
    _rules(language)  # an unknown language is refused now rather than at the first sentence
    if isinstance(source, str):
        source, name = io.StringIO(source), name or "<text>"
    return _sentences(
        _paragraphs(_texts(source, name or name_of(source))), language, max_words, splitter
    )


class _Rules(threading.local):
    """spaCy's pipelines by language; each thread has its own, for they note down what they have
    seen.
    """

    def __init__(self) -> None:
        self.of: dict[str, Language] = {}


_RULES = _Rules()


def _rules(language: str) -> Language:
    """spaCy's tokeniser and sentence rule for a language, made anew when it holds
    ``MAX_STRINGS``.
    """
    nlp = _RULES.of.get(language)
    if nlp is None or len(nlp.vocab.strings) > MAX_STRINGS:
        nlp = _RULES.of[language] = _new_rules(language)
    return nlp


def _new_rules(language: str) -> Language:
    import spacy

    try:
        nlp = spacy.blank(language)
    except ImportError as error:
        reason = str(error).splitlines()[0]
        if "E048" in reason:
            reason = "spaCy has no tokenisation rules for it"
        hint = "expected a code like en or de, or xx for rules of no language"
        raise EgparseError(f"language {language!r}: {reason}; {hint}") from error
    nlp.add_pipe("sentencizer")
    return nlp


def _texts(source: os.PathLike[str] | IO[str] | IO[bytes], path: str) -> Iterator[str]:
    """The text in pieces."""
    if isinstance(source, os.PathLike):
        with open_file(source, path) as stream:
            yield from _texts(stream, path)
        return
    decoder = getincrementaldecoder("utf-8-sig")()
    line = 1
    for piece in pieces_of(source):
        try:
            if isinstance(piece, bytes):
                text = decoder.decode(piece)
            else:
                text = piece
                text.encode("utf-8")  # a lone surrogate is no text, and spaCy would fail on it
        except UnicodeError as error:
            raise _encoding_fault(path, line, error) from error
        line += text.count("\n")
        yield text
    if decoder.getstate()[0]:
        raise CorpusError(path, line, "UTF-8 text", "an end inside a character")


def _encoding_fault(path: str, line: int, error: UnicodeError) -> CorpusError:
    """What stands at the first place that is not UTF-8, in a piece that began in the given line."""
    if isinstance(error, UnicodeDecodeError):
        line += error.object.count(b"\n", 0, error.start)
        return CorpusError(path, line, "UTF-8 text", f"the byte 0x{error.object[error.start]:02x}")
    if isinstance(error, UnicodeEncodeError):
        line += error.object.count("\n", 0, error.start)
        return CorpusError(
            path, line, "UTF-8 text", f"the lone surrogate {error.object[error.start]!a}"
        )
    raise error


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    """Text between blank lines, not empty; what is longer than ``MAX_CHARACTERS`` is cut at a
    blank.
    """
    begun = ""
    for text in texts:
        *finished, begun = _BLANK_LINE.split(begun + text)
        for paragraph in finished:
            yield from _cut_paragraph(paragraph)
        if len(begun) > MAX_CHARACTERS:
            *finished, begun = _cut_paragraph(begun)
            yield from finished
    yield from _cut_paragraph(begun)


def _cut_paragraph(text: str) -> list[str]:
    """The text in parts of at most ``MAX_CHARACTERS``, without blanks at its ends where there is
    one part.
    """
    parts = []
    start = 0
    while len(text) - start > MAX_CHARACTERS:
        end = start + MAX_CHARACTERS
        blank = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
        end = blank if blank > 0 else end
        parts.append(text[start:end])
        start = end
    parts.append(text[start:])
    return [part for part in parts if part.strip()] or [""]


def _cut_runs(text: str) -> list[str]:
    """The text in parts in which no run without blanks is longer than ``MAX_RUN``; mostly one
    part.
    """
    if max(map(len, text.split()), default=0) <= MAX_RUN:
        return [text]
    parts = []
    start = run = 0  # of the part, of the run without blanks
    for place, letter in enumerate(text):
        if letter.isspace():
            run = place + 1
        elif place - run == MAX_RUN:
            parts.append(text[start:place])
            start = run = place
    return [*parts, text[start:]]


def _sentences(
    paragraphs: Iterable[str], language: str, max_words: int, splitter: Starts | None
) -> Iterator[Sentence]:
    number = 0
    for paragraph in paragraphs:
        if not paragraph:
            continue
        if splitter is None:
            words = _words(_doc(paragraph, _rules(language)))
        else:
            words = _split(_words(_tokens(paragraph, _rules(language))), splitter)
        for start, end in _bounds(words, max_words):
            number += 1
            yield Sentence(
                forms=tuple(word.form for word in words[start:end]),
                misc=tuple(MISSING if word.spaced else SPACE_AFTER_NO for word in words[start:end]),
                sentence_id=str(number),
            )


def _doc(paragraph: str, nlp: Language) -> Doc:
    """Tokens, and where sentences start by rule."""
    doc = _tokens(paragraph, nlp)
    for _, component in nlp.pipeline:
        doc = component(doc)
    return doc


def _tokens(paragraph: str, nlp: Language) -> Doc:
    parts = _cut_runs(paragraph)
    if len(parts) == 1:
        return nlp.make_doc(paragraph)
    from spacy.tokens import Doc

    tokens = [token for part in parts for token in nlp.tokenizer(part)]
    return Doc(
        nlp.vocab, [token.text for token in tokens], [bool(token.whitespace_) for token in tokens]
    )


def _split(words: Sequence[_Word], splitter: Starts) -> list[_Word]:
    """The words, with sentences starting where the splitter says; always at the first."""
    if not words:
        return []
    starts = splitter([word.form for word in words], [word.spaced for word in words]).tolist()
    return [
        word._replace(starts=own or k == 0)
        for k, (word, own) in enumerate(zip(words, starts, strict=True))
    ]


def _words(doc: Doc) -> list[_Word]:
    """The tokens that are no blanks; a sentence that starts with blanks starts at the word after
    them.
    """
    words: list[_Word] = []
    starts = True
    for token in doc:
        starts = starts or bool(token.is_sent_start)
        if token.is_space:
            if words:
                words[-1] = words[-1]._replace(spaced=True)
        else:
            if starts and _opens(words):
                words[-1], starts = words[-1]._replace(starts=True), False
            words.append(_Word(token.text, bool(token.whitespace_), starts))
            starts = False
    if words:
        words[-1] = words[-1]._replace(spaced=True)
    return words


def _opens(words: Sequence[_Word]) -> bool:
    """Whether the last word is an opening quote or bracket; spaCy leaves it to the sentence
    before.
    """
    if len(words) < 2 or words[-1].starts:
        return False
    return words[-1].form in OPENING and not words[-1].spaced and words[-2].spaced


def _bounds(words: Sequence[_Word], max_words: int) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, none longer than ``max_words``."""
    starts = [place for place, word in enumerate(words) if word.starts]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        while end - start > max_words:
            cut = _cut(words, start, max_words)
            yield start, cut
            start = cut
        yield start, end


def _cut(words: Sequence[_Word], start: int, max_words: int) -> int:
    """Where to cut a sentence that is too long: after a clause, else at a blank, else anywhere."""
    window = range(start + max_words, start + max_words // 2, -1)
    for after in window:
        if words[after - 1].form in CLAUSE_ENDS:
            return after
    return next((after for after in window if words[after - 1].spaced), start + max_words)
