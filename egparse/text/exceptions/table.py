"""The exceptions of a model, and what they change in what its tokeniser, splitter and expander
find.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np

from egparse.errors import CorpusError
from egparse.layers import LEMMAS
from egparse.sentences import Sentence, SurfaceToken
from egparse.storage.schema import Stored, Strings
from egparse.text.exceptions.entries import Entry, Pattern, entries_of, read_entries
from egparse.text.exceptions.search import Found, SequenceSearch, TextSearch
from egparse.text.expander import in_words
from egparse.text.tokeniser import Tokens
from egparse.text.word_columns import Paragraph
from egparse.types import Mask

AUTO, NONE = "auto", "none"

MOST_ENTRIES, LONGEST_ENTRY = 20_000, 20_000

STORED_EXCEPTIONS = Strings(most=MOST_ENTRIES, longest=LONGEST_ENTRY, distinct=False)
"""Exceptions in a model file: the lines of each in CoNLL-U, with its comments."""

_LISTS = Path(__file__).parent / "lists"


@dataclass(frozen=True)
class Exceptions:
    """Exceptions, of which the earlier go before the later; immutable."""

    entries: tuple[Entry, ...]

    def __len__(self) -> int:
        return len(self.entries)

    def before(self, others: Exceptions | None) -> Exceptions:
        """These exceptions, and after them the others that are not among them."""
        if others is None:
            return self
        own = {entry.lines for entry in self.entries}
        more = (entry for entry in others.entries if entry.lines not in own)
        return Exceptions((*self.entries, *more))

    def tokens(self, text: str, found: Tokens) -> Tokens:
        """The tokens of a text: in exceptions theirs, elsewhere those that were found, cut where an
        exception begins or ends in one.
        """
        matches = self.in_text.matches(text)
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
        more = np.array([place for place in places if place[0] < place[1]], dtype=np.int64)
        starts, ends = found.starts[kept], found.ends[kept]
        at = np.searchsorted(starts, more[:, 0])
        return Tokens(np.insert(starts, at, more[:, 0]), np.insert(ends, at, more[:, 1]))

    def starts(self, paragraphs: Sequence[Paragraph], found: list[Mask]) -> list[Mask]:
        """Where sentences start in paragraphs, but for tokens that end none."""
        search = self._without_end
        if search is None:
            return found
        kept = []
        for (forms, _), starts in zip(paragraphs, found, strict=True):
            places = [
                place
                for start, _, entry, _ in search.find(forms)
                for place, token in enumerate(entry.tokens, start + 1)
                if not token.may_end and place < len(forms)
            ]
            starts = starts.copy() if places else starts
            starts[places] = False
            kept.append(starts)
        return kept

    def words(self, tokens: Sentence, expanded: Sentence) -> Sentence:
        """A sentence of tokens with its words: in exceptions theirs, elsewhere those of
        ``expanded``.
        """
        given: dict[int, Sequence[str]] = {}
        for start, _, entry, value in self.in_tokens.find(tokens.forms):
            for place, token in enumerate(entry.tokens, start):
                words = [word.filled(value) for word in token.words]
                given[place] = words if len(words) > 1 else [tokens.forms[place]]
        if not given or (not expanded.tokens and all(len(words) == 1 for words in given.values())):
            return expanded
        found = {
            place: expanded.forms[token.first : token.last + 1]
            for place, token in enumerate(expanded.surface_tokens)
        }
        return in_words(tokens, found | given)

    @cached_property
    def in_text(self) -> TextSearch:
        """What finds them in a text."""
        return TextSearch(self.entries)

    @cached_property
    def in_tokens(self) -> SequenceSearch:
        """What finds them in sequences of tokens; a token that is a wildcard alone, and one word,
        says nothing there.
        """
        telling = [
            entry
            for entry in self.entries
            if any(not token.form.wildcard or len(token.words) > 1 for token in entry.tokens)
        ]
        return SequenceSearch(telling, _forms_of_tokens)

    @cached_property
    def _without_end(self) -> SequenceSearch | None:
        telling = [
            entry for entry in self.entries if not all(token.may_end for token in entry.tokens)
        ]
        return SequenceSearch(telling, _forms_of_tokens) if telling else None

    def values(self, labels: Mapping[str, Collection[str]]) -> FixedValues | None:
        """The values that they fix, as far as the layers have them; lemmas need no label."""
        known = []
        for entry in self.entries:
            values = tuple(
                {
                    layer: value
                    for layer, value in word.items()
                    if layer == LEMMAS or value in labels.get(layer, ())
                }
                for word in entry.values
            )
            if any(values):
                known.append(entry._replace(values=values))
        return FixedValues(known) if known else None

    def to_bytes(self) -> bytes:
        """A file of them in CoNLL-U."""
        return "".join(f"{block}\n\n" for block in self.to_payload()).encode()

    def to_payload(self) -> list[str]:
        """Plain data for the model file."""
        return ["\n".join(entry.lines) for entry in self.entries]

    @classmethod
    def from_payload(cls, stored: Stored) -> Exceptions:
        """The exceptions of a model file.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        blocks = stored.read(STORED_EXCEPTIONS)
        try:
            entries = entries_of(blocks, "exceptions")
        except CorpusError as error:
            raise stored.fault(error.expected, error.got) from None
        stored.require(len(entries) == len(blocks), "", "one exception in each text", "others")
        return cls(tuple(entries))

    def __reduce__(self) -> tuple[Callable[..., Exceptions], tuple[Any, ...]]:
        return Exceptions, (self.entries,)


def _forms_of_tokens(entry: Entry) -> list[Pattern]:
    return [token.form for token in entry.tokens]


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The place of a part of a text without the white space around it."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


class FixedValues:
    """The values that exceptions fix, for the words of sentences: where its words stand, and its
    multiword tokens too.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._search = SequenceSearch(entries, lambda entry: entry.words)

    def of(self, forms: Sequence[str], tokens: Sequence[SurfaceToken]) -> dict[str, dict[int, str]]:
        """The fixed values of a sentence with some multiword tokens, by layer and by word, which
        counts from 1.
        """
        fixed: dict[str, dict[int, str]] = {}
        places = {(token.first, token.last) for token in tokens}

        def fits(found: Found) -> bool:
            return places.issuperset(found.entry.multiword_tokens(found.start))

        for start, _, entry, _ in self._search.find(forms, fits):
            for word, values in enumerate(entry.values, start + 1):
                for layer, value in values.items():
                    fixed.setdefault(layer, {})[word] = value
        return fixed


def read_exceptions(
    source: str | os.PathLike[str] | IO[bytes], language: str = ""
) -> Exceptions | None:
    """The exceptions of a file; of ``auto`` those that the package has for a language, if any, of
    ``none`` none.

    Raises:
        EgparseError: the file cannot be read.
        CorpusError: it has a sentence that is no exception; by file and line.
    """
    if source == NONE:
        return None
    if source == AUTO:
        path = _LISTS / f"{language}.conllu"
        return read_exceptions(path) if language.isalpha() and path.is_file() else None
    return Exceptions(tuple(read_entries(source)))
