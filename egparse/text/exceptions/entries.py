"""An exception: tokens one after the other, their words, and what is known of these.

A file of exceptions is CoNLL-U, each of its sentences an exception. Tokens have blanks between them
as MISC says; a multiword token gives the words of a token. Cells of LEMMA, UPOS, XPOS and FEATS
that are not ``_`` are fixed where the exception matches. ``SentenceEnd=No`` in the MISC of a token:
no sentence ends with it. ``Case=Exact`` there: the exception matches only as it is written.
``Norm=`` is the NORM of a token in spaCy.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, NamedTuple

from egparse.errors import CorpusError
from egparse.io.conllu import read_conllu
from egparse.layers import LEMMAS, WORD_TAGS
from egparse.sentences import MISSING, SPACE_AFTER_NO, Sentence
from egparse.text.exceptions.patterns import LETTERS, NUMBER, Pattern, pattern_of
from egparse.text.treebank_text import surface_tokens

VALUED = (LEMMAS, *WORD_TAGS)
"""The layers whose values an exception may fix."""

MOST_TOKENS, LONGEST_FORM = 50, 200

_TEXT = "# text = "
EXACT_CASE, NORM = "Case=Exact", "Norm="
_SENTENCE_END = "SentenceEnd="


class Token(NamedTuple):
    """A token of an exception: its form, whether a blank follows inside the exception, its words,
    and whether a sentence may end with it.
    """

    form: Pattern
    spaced: bool
    words: tuple[Pattern, ...]
    may_end: bool = True
    norm: str = ""

    def in_capitals(self) -> Token:
        """The token with capital letters."""
        words = tuple(word.in_capitals() for word in self.words)
        return self._replace(form=self.form.in_capitals(), words=words)


class Entry(NamedTuple):
    """An exception. ``values[k]`` are the fixed values of its word ``k``, by layer; ``lines`` are
    those of the file, with comments and without line ends.
    """

    tokens: tuple[Token, ...]
    values: tuple[Mapping[str, str], ...]
    lines: tuple[str, ...]
    any_case: bool = True

    @property
    def text(self) -> str:
        """The text that it matches, with its wildcard."""
        return "".join(
            token.form.filled(token.form.wildcard) + " " * token.spaced for token in self.tokens
        )

    @property
    def words(self) -> tuple[Pattern, ...]:
        """The words of all tokens."""
        return tuple(word for token in self.tokens for word in token.words)

    @property
    def has_wildcard(self) -> bool:
        """Whether a token has a wildcard."""
        return any(token.form.wildcard for token in self.tokens)

    def multiword_tokens(self, start: int) -> list[tuple[int, int]]:
        """The first and last words of its multiword tokens if its words begin at ``start``."""
        places = []
        for token in self.tokens:
            end = start + len(token.words)
            if len(token.words) > 1:
                places.append((start, end - 1))
            start = end
        return places

    def casings(self) -> list[Entry]:
        """The exception as it is written; if it has no capital letters, also with its first letter
        as a capital and in capitals.
        """
        text = "".join(token.form.before + token.form.after for token in self.tokens)
        if text != text.lower() or not self.any_case:
            return [self]
        capitals = tuple(token.in_capitals() for token in self.tokens)
        first, *others = self.tokens
        head, *tail = first.words
        first = first._replace(form=first.form.capitalised(), words=(head.capitalised(), *tail))
        cased = [self.tokens, (first, *others), capitals]
        return [self._replace(tokens=tokens) for tokens in dict.fromkeys(cased)]


def read_entries(
    source: str | os.PathLike[str] | IO[bytes], name: str | None = None
) -> list[Entry]:
    """The exceptions of a file or of a stream.

    Raises:
        EgparseError: the file cannot be read.
        CorpusError: it is no CoNLL-U, or a sentence is no exception; by file and line.
    """
    sentences = read_conllu(source, name=name, trees=False, spans_key=None)
    return [_entry(sentence) for sentence in sentences]


def entries_of(blocks: Iterable[str], name: str) -> list[Entry]:
    """The exceptions that are given by their lines; errors as in ``read_entries``."""
    return read_entries(io.BytesIO("".join(one + "\n\n" for one in blocks).encode()), name)


def _entry(sentence: Sentence) -> Entry:
    surface = surface_tokens(sentence)
    if len(surface) > MOST_TOKENS:
        raise _fault(sentence, 0, f"at most {MOST_TOKENS} tokens", str(len(surface)))
    patterns = [_pattern(sentence, k, form) for k, form in enumerate(sentence.forms)]
    of_tokens = [(pattern, (pattern,)) for pattern in patterns]
    expanded: list[tuple[Pattern, tuple[Pattern, ...]]] = [*of_tokens]
    for first, last, form, _ in reversed(sentence.tokens):
        words = tuple(patterns[first : last + 1])
        expanded[first : last + 1] = [(_pattern(sentence, first, form), words)]
    tokens, at = [], 0
    for (pattern, words), (_, misc) in zip(expanded, surface, strict=True):
        entries = misc.split("|")
        tokens.append(
            Token(
                pattern,
                SPACE_AFTER_NO not in entries,
                words,
                _may_end(sentence, at, entries),
                next((one[len(NORM) :] for one in entries if one.startswith(NORM)), ""),
            )
        )
        strange = {word.wildcard for word in words} - {"", pattern.wildcard}
        if strange:
            raise _fault(sentence, at, "a wildcard that its token has, too", strange.pop())
        at += len(words)
    tokens[-1] = tokens[-1]._replace(spaced=False)
    _check_wildcards(sentence, tokens)
    _check_text(sentence, [form for form, _ in surface], tokens)
    assert sentence.source is not None
    any_case = not any(EXACT_CASE in misc.split("|") for _, misc in surface)
    lines = tuple(sentence.source.lines)
    return Entry(tuple(tokens), tuple(_values(sentence)), lines, any_case)


def _pattern(sentence: Sentence, word: int, form: str) -> Pattern:
    if len(form) > LONGEST_FORM:
        raise _fault(sentence, word, f"a form of at most {LONGEST_FORM} characters", "a longer one")
    pattern = pattern_of(form)
    if pattern is None:
        raise _fault(sentence, word, "at most one wildcard in an exception", f"{form!r}")
    return pattern


def _check_wildcards(sentence: Sentence, tokens: list[Token]) -> None:
    """Raise CorpusError for several wildcards, or one without text that it could be found by."""
    wild = [(k, token) for k, token in enumerate(tokens) if token.form.wildcard]
    if len(wild) > 1:
        got = " and ".join(_shown(token.form) for _, token in wild)
        raise _fault(sentence, 0, "at most one wildcard in an exception", got)
    for k, token in wild:
        before, wildcard, after = token.form
        if wildcard == NUMBER and (before or after or not 0 < k == len(tokens) - 1):
            raise _fault(sentence, 0, f"{NUMBER} as the last of several tokens", "another place")
        beside = after or (len(tokens) > 1 and not token.spaced)
        if wildcard == LETTERS and not (k or before or beside):
            raise _fault(sentence, 0, f"text directly after {LETTERS}", "none")


def _check_text(sentence: Sentence, forms: list[str], tokens: list[Token]) -> None:
    spelt = "".join(form + " " * token.spaced for form, token in zip(forms, tokens, strict=True))
    for line in sentence.lines_before:
        text = line[len(_TEXT) :].strip()
        if line.startswith(_TEXT) and text != spelt:
            raise _fault(sentence, 0, f"tokens that spell {text!r}", repr(spelt))


def _may_end(sentence: Sentence, word: int, entries: list[str]) -> bool:
    for one in entries:
        if one.startswith(_SENTENCE_END):
            if one != _SENTENCE_END + "No":
                raise _fault(sentence, word, f"{_SENTENCE_END}No in MISC, or nothing", repr(one))
            return False
    return True


def _values(sentence: Sentence) -> Iterator[Mapping[str, str]]:
    columns = {layer: getattr(sentence, layer) for layer in VALUED}
    for k in range(len(sentence)):
        yield {layer: cells[k] for layer, cells in columns.items() if cells[k] != MISSING}


def _shown(pattern: Pattern) -> str:
    return repr(pattern.filled(pattern.wildcard))


def _fault(sentence: Sentence, word: int, expected: str, got: str) -> CorpusError:
    source = sentence.source
    assert source is not None
    line = source.first_line + source.word_lines[word]
    return CorpusError(source.path, line, expected, got, sentence.sentence_id)
