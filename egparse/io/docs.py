"""Reading plain text: words by spaCy's tokenisation rules, sentences by a model's splitter or by
spaCy's rule for final punctuation.

A blank line ends a paragraph, and with it a sentence. Inside a paragraph the splitter determines
where sentences start; without one spaCy's ``Sentencizer`` splits after final punctuation
(docs/decisions/sentence-splitter.md compares their accuracy). Text is read paragraph by paragraph
in constant memory: spaCy's vocabulary is discarded when it is full, and long paragraphs are cut. So
are long sentences, because the time of a parser grows with the square or cube of their length.
"""

from __future__ import annotations

import io
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

from egparse.errors import EgparseError
from egparse.io.blocks import name_of, open_file, pieces_of
from egparse.io.compression import decompressed
from egparse.io.encodings import UTF_8, as_text, checked_text
from egparse.sentences import MISSING, Sentence
from egparse.surface import SPACE_AFTER_NO
from egparse.types import Mask

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

Starts: TypeAlias = Callable[[Sequence[str], Sequence[bool]], Mask]
"""A splitter: from the words of a paragraph, and whether a blank follows each, to whether a
sentence starts at each, (words,).
"""

NEUTRAL = "xx"
"""spaCy's code for rules of no language."""


class RulesWarning(UserWarning):
    """Rules of no language stand in for those of a language, which need another package."""


MAX_WORDS = 120
"""A longer sentence is cut in the second half of so many words: after its last clause punctuation,
else at its last blank. One sentence in 2,000 of treebanks is longer, and a parser's time for a word
grows with the length: 28, 48 and 78 microseconds in sentences of 20, 60 and 120 words, 450 of 300.
"""

MAX_CHARACTERS = 100_000
"""A longer paragraph is cut at a blank. It is a tenth of spaCy's limit; memory is proportional."""

MAX_UNBROKEN = 1_000_000
"""Text without blanks is cut into paragraphs after so many characters."""

MAX_RUN = 250
"""Text without blanks is split into words in pieces of so many characters, because spaCy's time for
splitting off punctuation is quadratic (10 s for 8,000 brackets). A word of several pieces is joined
again.
"""

_NEIGHBOURHOOD = 20
"""Characters on both sides of a cut that show whether it cuts a word."""

MAX_STRINGS = 200_000
"""The size of spaCy's vocabulary at which it is discarded. spaCy's memory zones would discard it
after every paragraph, and with it the speed: 35,000 instead of 150,000 words/s.
"""

# also dashes, and commas of other scripts
CLAUSE_ENDS = frozenset(",;:)]\u2013\u2014\u2026\u060c\uff1b\uff1a\uff0c\u3001")

OPENING = frozenset("\"'([{\u2018\u201c\u201e\u00ab\u00bf\u00a1")

_BLANK_LINE = re.compile(r"\n\s*\n")
_BLANK = re.compile(r"[ \n]")
_LONG_RUN = re.compile(rf"\S{{{MAX_RUN + 1},}}")


class TextWord(NamedTuple):
    """A word of a paragraph."""

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
    encoding: str = UTF_8,
    max_words: int = MAX_WORDS,
    splitter: Starts | None = None,
    first_id: int = 1,
) -> Iterator[Sentence]:
    """The sentences of a text: forms, ``SpaceAfter=No`` in MISC if no blank follows a word, and IDs
    ``first_id`` and so on.

    ``source`` is a string that is the text itself, a ``Path``, or an open stream; bytes may be
    compressed, and ``encoding`` is theirs. ``splitter`` determines where sentences start in each
    paragraph; without one a rule does.

    Raises:
        EgparseError: spaCy has no rules for the language, or the file cannot be read, or the
            encoding is unknown.
        CorpusError: bytes that do not fit the encoding, or damaged compressed data.
        ValueError: ``max_words`` is not positive.
    """
    if max_words < 1:
        raise ValueError(f"expected a positive number of words, got {max_words}")
    _rules(language)  # raises for an unknown language now, not at the first sentence
    if isinstance(source, str):
        source, name = io.StringIO(source), name or "<text>"
    texts = texts_of(source, name or name_of(source), encoding)
    return _sentences(_paragraphs(texts), language, max_words, splitter, first_id)


def read_paragraphs(
    paragraphs: Iterable[str],
    language: str,
    *,
    max_words: int = MAX_WORDS,
    splitter: Starts | None = None,
    first_id: int = 1,
) -> Iterator[Sentence]:
    """The sentences of paragraphs that ``paragraphs_of`` has found; see ``read_text``."""
    return _sentences(paragraphs, language, max_words, splitter, first_id)


def paragraphs_of(
    source: IO[str] | IO[bytes], language: str, *, name: str, encoding: str = UTF_8
) -> Iterator[str]:
    """The paragraphs of a text, of which each can be read by itself; errors as in ``read_text``."""
    _rules(language)
    return (one for one in _paragraphs(texts_of(source, name, encoding)) if one.strip())


def split_words(text: str, language: str) -> list[str]:
    """The words of a short text by spaCy's rules, without blanks. They are the same whether a text
    is split as a whole or at its blanks first.

    Raises:
        EgparseError: spaCy has no rules for the language.
    """
    return [word.form for word in _words(_tokens(text, _rules(language)))]


class _Rules(threading.local):
    """spaCy's pipelines by language; each thread has its own, because a pipeline changes its
    vocabulary when it is used.
    """

    def __init__(self) -> None:
        self.of: dict[str, Language] = {}


_RULES = _Rules()


def _rules(language: str) -> Language:
    """spaCy's tokeniser and sentence rule for a language, created anew when the vocabulary has more
    than ``MAX_STRINGS``.
    """
    nlp = _RULES.of.get(language)
    if nlp is None or len(nlp.vocab.strings) > MAX_STRINGS:
        nlp = _RULES.of[language] = _new_rules(language)
    return nlp


def _new_rules(language: str) -> Language:
    import spacy

    try:
        nlp = spacy.blank(language)
    except (ImportError, AttributeError, OSError) as error:
        if "E048" in str(error) or isinstance(error, AttributeError):  # a module, but no language
            raise EgparseError(
                f"language {language!r}: spaCy has no tokenisation rules for it; expected a code "
                f"like en or de, or {NEUTRAL} for rules of no language"
            ) from error
        warnings.warn(
            f"language {language!r}: spaCy's rules need another package "
            f"({str(error).splitlines()[0]}); text is split into words by rules of no language",
            RulesWarning,
            stacklevel=2,
        )
        nlp = spacy.blank(NEUTRAL)
    nlp.add_pipe("sentencizer")
    return nlp


def texts_of(
    source: os.PathLike[str] | IO[str] | IO[bytes], path: str, encoding: str
) -> Iterator[str]:
    """The text in pieces."""
    if isinstance(source, os.PathLike):
        with open_file(source, path) as stream:
            yield from texts_of(stream, path, encoding)
        return
    pieces: Iterator[Any] = pieces_of(source)
    first = next(pieces, "")
    if isinstance(first, bytes):
        yield from as_text(decompressed(chain([first], pieces), path), encoding, path)
    else:
        yield from checked_text(chain([first], pieces), path)


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    """The texts between blank lines; one that is longer than ``MAX_CHARACTERS`` is cut at blanks.

    The parts do not depend on where the texts are cut.
    """
    begun = ""
    for text in texts:
        unseen = len(begun.rstrip())  # there was no blank line before
        begun += text
        start = 0
        for blank_line in _BLANK_LINE.finditer(begun, unseen):
            yield from cut_paragraph(begun[start : blank_line.start()])
            start = blank_line.end()
        begun = begun[start:]
        if len(begun) > MAX_CHARACTERS:
            *finished, begun = cut_paragraph(begun)
            yield from finished
    yield from cut_paragraph(begun)


def cut_paragraph(text: str) -> list[str]:
    """The text in parts of at most ``MAX_CHARACTERS``, cut at blanks, or of at most
    ``MAX_UNBROKEN`` where there are none.
    """
    parts = []
    start = 0
    while len(text) - start > MAX_CHARACTERS:
        end = start + MAX_CHARACTERS
        cut = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
        if cut < 0:
            later = _BLANK.search(text, end, start + MAX_UNBROKEN)
            if later is None and len(text) - start <= MAX_UNBROKEN:
                break
            cut = start + MAX_UNBROKEN if later is None else later.start()
        parts.append(text[start:cut])
        start = cut
    parts.append(text[start:])
    return parts


def _run_cuts(text: str) -> list[int]:
    """The positions, usually none, that cut the text so that no run without blanks is longer than
    ``MAX_RUN``.
    """
    if max(map(len, text.split()), default=0) <= MAX_RUN:
        return []
    return [
        cut
        for run in _LONG_RUN.finditer(text)
        for cut in range(run.start() + MAX_RUN, run.end(), MAX_RUN)
    ]


def _sentences(
    paragraphs: Iterable[str],
    language: str,
    max_words: int,
    splitter: Starts | None,
    first_id: int,
) -> Iterator[Sentence]:
    number = first_id - 1
    for paragraph in paragraphs:
        if not paragraph or paragraph.isspace():
            continue
        if splitter is None:
            words = _words(_doc(paragraph, _rules(language)))
        else:
            words = _split(_words(_tokens(paragraph, _rules(language))), splitter)
        for start, end in sentence_bounds(words, max_words):
            number += 1
            yield Sentence(
                forms=tuple(word.form for word in words[start:end]),
                misc=tuple(MISSING if word.spaced else SPACE_AFTER_NO for word in words[start:end]),
                sentence_id=str(number),
            )


def _doc(paragraph: str, nlp: Language) -> Doc:
    """The tokens of a paragraph, with sentence starts by spaCy's rule."""
    doc = _tokens(paragraph, nlp)
    for _, component in nlp.pipeline:
        doc = component(doc)
    return doc


def _tokens(paragraph: str, nlp: Language) -> Doc:
    cuts = _run_cuts(paragraph)
    if not cuts:
        return nlp.make_doc(paragraph)
    from spacy.tokens import Doc

    pieces: list[list[str]] = []  # of each token
    spaces: list[bool] = []
    for start, end in zip([0, *cuts], [*cuts, len(paragraph)], strict=True):
        goes_on = start > 0 and not _ends_token(paragraph, start, nlp)
        for token in nlp.tokenizer(paragraph[start:end]):
            if goes_on:
                pieces[-1].append(token.text)
                spaces[-1] = bool(token.whitespace_)
                goes_on = False
            else:
                pieces.append([token.text])
                spaces.append(bool(token.whitespace_))
    return Doc(nlp.vocab, ["".join(one) for one in pieces], spaces)


def _ends_token(text: str, cut: int, nlp: Language) -> bool:
    """Whether a token would end at ``cut`` if the run around it were not cut, by its
    neighbourhood.
    """
    first = max(0, cut - _NEIGHBOURHOOD)
    return any(
        token.idx == cut - first for token in nlp.tokenizer(text[first : cut + _NEIGHBOURHOOD])
    )


def _split(words: Sequence[TextWord], splitter: Starts) -> list[TextWord]:
    """The words with the sentence starts of the splitter; the first word always starts one."""
    if not words:
        return []
    starts = splitter([word.form for word in words], [word.spaced for word in words]).tolist()
    return [
        word._replace(starts=is_start or k == 0)
        for k, (word, is_start) in enumerate(zip(words, starts, strict=True))
    ]


def _words(doc: Doc) -> list[TextWord]:
    """The tokens that are not blank; a sentence that starts with blank tokens starts at the word
    after them.
    """
    words: list[TextWord] = []
    starts = True
    for token in doc:
        starts = starts or bool(token.is_sent_start)
        if token.is_space:
            if words:
                words[-1] = words[-1]._replace(spaced=True)
        else:
            if starts and _opens(words):
                words[-1], starts = words[-1]._replace(starts=True), False
            words.append(TextWord(token.text, bool(token.whitespace_), starts))
            starts = False
    if words:
        words[-1] = words[-1]._replace(spaced=True)
    return words


def _opens(words: Sequence[TextWord]) -> bool:
    """Whether the last word is an opening quote or bracket, which spaCy's rule would leave in the
    sentence before.
    """
    if len(words) < 2 or words[-1].starts:
        return False
    return words[-1].form in OPENING and not words[-1].spaced and words[-2].spaced


def sentence_bounds(words: Sequence[TextWord], max_words: int) -> Iterator[tuple[int, int]]:
    """The start and end of each sentence; longer ones than ``max_words`` are cut."""
    starts = [k for k, word in enumerate(words) if word.starts]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        while end - start > max_words:
            cut = _cut(words, start, max_words)
            yield start, cut
            start = cut
        yield start, end


def _cut(words: Sequence[TextWord], start: int, max_words: int) -> int:
    """The word before which a long sentence is cut: after a clause, else at a blank, else after
    ``max_words``.
    """
    window = range(start + max_words, start + max_words // 2, -1)
    for after in window:
        if words[after - 1].form in CLAUSE_ENDS:
            return after
    return next((after for after in window if words[after - 1].spaced), start + max_words)
