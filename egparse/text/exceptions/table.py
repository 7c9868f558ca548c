"""The exceptions of a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from egparse.errors import CorpusError
from egparse.layers import LEMMAS
from egparse.sentences import SurfaceToken
from egparse.storage.schema import Stored, Strings
from egparse.text.exceptions.entries import Entry, entries_of, read_entries
from egparse.text.exceptions.in_text import TextSearch
from egparse.text.exceptions.in_tokens import Found, SequenceSearch

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
        return SequenceSearch(telling, lambda entry: [token.form for token in entry.tokens])

    @cached_property
    def without_end(self) -> SequenceSearch | None:
        """What finds, in sequences of tokens, those that have tokens no sentence may end with."""
        telling = [
            entry for entry in self.entries if not all(token.may_end for token in entry.tokens)
        ]
        if not telling:
            return None
        return SequenceSearch(telling, lambda entry: [token.form for token in entry.tokens])

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

        for start, entry, _ in self._search.find(forms, fits):
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
