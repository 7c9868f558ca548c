"""Tokeniser, splitter and expander of a model with exceptions: what these find is replaced where an
exception stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from egparse.sentences import Sentence
from egparse.text.exceptions.in_tokens import SequenceSearch
from egparse.text.exceptions.table import Exceptions
from egparse.text.reading import Expands, FindsTokens, PlainText, Splits
from egparse.text.splitting.columns import Paragraph
from egparse.text.tokenising.expander import in_words
from egparse.text.tokenising.tokeniser import Tokens
from egparse.types import Mask


@dataclass(frozen=True)
class ExceptedTokeniser:
    """A tokeniser with exceptions."""

    tokeniser: FindsTokens
    exceptions: Exceptions

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text: in exceptions theirs, elsewhere those of the tokeniser, cut where
        an exception begins or ends in one.
        """
        found = self.tokeniser.tokens(text)
        matches = self.exceptions.in_text.matches(text)
        if not matches:
            return found
        begins, stops = [one.start for one in matches], [one.end for one in matches]
        firsts = np.searchsorted(found.ends, begins, side="right")
        lasts = np.searchsorted(found.starts, stops, side="left") - 1
        outer = zip(found.starts[firsts].tolist(), found.ends[lasts].tolist(), strict=True)
        kept = np.ones(len(found.starts), dtype=np.bool_)
        places: list[tuple[int, int]] = []
        before = 0  # where the match before ends
        for number, (match, (start, end)) in enumerate(zip(matches, outer, strict=True)):
            kept[firsts[number] : lasts[number] + 1] = False
            places.append(_stripped(text, max(before, start), match.start))
            places += match.tokens
            before = match.end
            if number + 1 == len(matches) or begins[number + 1] >= end:
                places.append(_stripped(text, match.end, end))
        return _merged(found, kept, [place for place in places if place[0] < place[1]])


@dataclass(frozen=True)
class ExceptedSplitter:
    """A splitter with exceptions, some of whose tokens end no sentence."""

    splitter: Splits
    search: SequenceSearch

    def split(self, paragraphs: Sequence[Paragraph]) -> list[Mask]:
        """Whether a sentence starts at each word of each paragraph."""
        return [
            self._joined(paragraph.forms, starts)
            for paragraph, starts in zip(paragraphs, self.splitter.split(paragraphs), strict=True)
        ]

    def _joined(self, forms: Sequence[str], starts: Mask) -> Mask:
        places = [
            place
            for start, entry, _ in self.search.find(forms)
            for place, token in enumerate(entry.tokens, start + 1)
            if not token.may_end and place < len(forms)
        ]
        if places:
            starts = starts.copy()
            starts[places] = False
        return starts


@dataclass(frozen=True)
class ExceptedExpander:
    """An expander with exceptions; without an expander only they have multiword tokens."""

    expander: Expands | None
    exceptions: Exceptions

    def expand(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Sentences of words, from sentences of tokens."""
        expanded = sentences if self.expander is None else self.expander.expand(sentences)
        return [
            self._with_words(tokens, words)
            for tokens, words in zip(sentences, expanded, strict=True)
        ]

    def _with_words(self, tokens: Sentence, expanded: Sentence) -> Sentence:
        """A sentence of words, with those of exceptions for their tokens."""
        given: dict[int, list[str]] = {}
        for start, entry, value in self.exceptions.in_tokens.find(tokens.forms):
            for place, token in enumerate(entry.tokens, start):
                words = [word.filled(value) for word in token.words]
                given[place] = words if len(words) > 1 else [tokens.forms[place]]
        if not given or (not expanded.tokens and all(len(words) == 1 for words in given.values())):
            return expanded
        by_token = _words_of_tokens(expanded)
        return in_words(tokens, [given.get(place, words) for place, words in enumerate(by_token)])


def _words_of_tokens(sentence: Sentence) -> list[list[str]]:
    """The words of each token."""
    words = [[form] for form in sentence.forms]
    for token in reversed(sentence.tokens):
        words[token.first : token.last + 1] = [[*sentence.forms[token.first : token.last + 1]]]
    return words


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The place of a part of a text without the white space around it."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _merged(found: Tokens, kept: Mask, places: Sequence[tuple[int, int]]) -> Tokens:
    """The kept tokens, and others at some places."""
    more = np.array(places, dtype=np.int64)
    starts, ends = found.starts[kept], found.ends[kept]
    at = np.searchsorted(starts, more[:, 0])
    return Tokens(
        np.insert(starts, at, more[:, 0]),
        np.insert(ends, at, more[:, 1]),
    )


def with_exceptions(plain_text: PlainText, exceptions: Exceptions | None) -> PlainText:
    """The same tokeniser, splitter and expander with exceptions."""
    if exceptions is None:
        return plain_text
    splitter = plain_text.splitter
    if exceptions.without_end is not None:
        splitter = ExceptedSplitter(splitter, exceptions.without_end)
    return PlainText(
        ExceptedTokeniser(plain_text.tokeniser, exceptions),
        splitter,
        ExceptedExpander(plain_text.expander, exceptions),
        plain_text.max_words,
    )
