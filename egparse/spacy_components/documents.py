"""Docs laid end to end as words and sentences: blanks left out, given sentence starts kept, the
others found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from spacy.attrs import IDS
from spacy.tokens import Doc

from egparse.splitting.columns import Paragraph
from egparse.splitting.rule import RuleSplitter, longest_pieces
from egparse.splitting.splitter import Splitter
from egparse.types import Longs, Mask, UInt64s

_READ = ("ORTH", "SENT_START", "SPACY")

BLANK_LINE = re.compile(r"\n\s*\n")
"""What in white space ends a paragraph."""


class Batch(NamedTuple):
    """Some Docs whose tokens are numbered through, and their words: the tokens that are not white
    space.

    Doc ``d`` has the tokens ``token_starts[d]:token_starts[d + 1]`` and the words
    ``word_starts[d]:word_starts[d + 1]``; word ``w`` is token ``places[w]`` with the form
    ``forms[w]``; sentence ``s`` has the words ``starts[s]:starts[s + 1]``. ``opens[t]``: a blank
    that is the given start of a sentence. ``held[attribute]`` is what the Docs hold of it, shape
    (tokens,).
    """

    docs: Sequence[Doc]
    token_starts: Longs
    word_starts: Longs
    places: Longs
    forms: list[str]
    starts: Longs
    opens: Mask
    held: Mapping[str, UInt64s]

    @property
    def n_tokens(self) -> int:
        """How many tokens, white space too."""
        return int(self.token_starts[-1])

    def sentences(self) -> list[list[str]]:
        """The forms of the words of each sentence."""
        places = self.starts.tolist()
        return [self.forms[first:end] for first, end in pairwise(places)]

    def on_tokens(
        self, values: npt.NDArray[Any], blank: Any, dtype: npt.DTypeLike = np.uint64
    ) -> npt.NDArray[Any]:
        """Values of words as values of tokens, with ``blank`` for white space."""
        spread = np.full(self.n_tokens, blank, dtype=dtype)
        spread[self.places] = values
        return spread

    def put(self, attributes: Sequence[str], columns: Sequence[UInt64s]) -> None:
        """Write columns of shape (tokens,) into the Docs."""
        table = np.stack(columns, axis=1)
        numbers = [IDS[attribute] for attribute in attributes]
        ends = self.token_starts.tolist()
        for doc, first, end in zip(self.docs, ends, ends[1:], strict=False):
            if end > first:
                doc.from_array(numbers, cast("Any", table[first:end]))  # typed as signed

    def slices(self) -> Iterator[tuple[Doc, slice]]:
        """Each Doc with its tokens."""
        ends = self.token_starts.tolist()
        for doc, first, end in zip(self.docs, ends, ends[1:], strict=False):
            yield doc, slice(first, end)

    def owners(self) -> Longs:
        """The word to which each token belongs, shape (tokens,): blanks to the word before, or to
        the one after where they begin a Doc or a given sentence; -1 in a Doc of blanks.
        """
        is_word = np.zeros(self.n_tokens, dtype=np.bool_)
        is_word[self.places] = True
        doc_of = np.repeat(np.arange(len(self.docs)), np.diff(self.token_starts))
        before = np.cumsum(is_word) - 1
        has_before = before >= self.word_starts[doc_of]
        has_after = before + 1 < self.word_starts[doc_of + 1]
        opened = np.cumsum(self.opens)
        since = opened - np.concatenate([opened[self.places], [0]])[before]
        backward = has_before & ~((since > 0) & has_after & ~is_word)
        return np.where(backward, before, np.where(has_after, before + 1, -1))


class _Known(NamedTuple):
    """The starts that were found in a Doc, and what they were found in."""

    splitter: object
    orths: bytes
    given: bytes
    starts: Mask


_FOUND: WeakKeyDictionary[Doc, _Known] = WeakKeyDictionary()
"""So that a tagger and a parser in one pipeline do not both split: the former may not write what it
has found.
"""


def read(
    docs: Sequence[Doc],
    splitter: Splitter | None,
    *,
    attributes: Sequence[str] = (),
    keep_starts: bool = True,
) -> Batch:
    """The words and sentences of Docs. Sentence starts that they have, or exclude, are kept unless
    told otherwise.

    The others are found paragraph by paragraph by the model's splitter, or by rule if it is None; a
    blank line ends a paragraph. The batch holds the ``attributes``.
    """
    token_starts = _ends(map(len, docs))
    held = columns_of(docs, (*_READ, *attributes))
    orths = held["ORTH"]
    distinct, numbers = np.unique(orths, return_inverse=True)
    strings = [docs[0].vocab.strings[orth] for orth in distinct.tolist()] if docs else []
    blank = (
        np.array([not form.strip() for form in strings], dtype=np.bool_)[numbers]
        if strings
        else orths > 0
    )
    places = np.flatnonzero(~blank)
    forms = [strings[number] for number in numbers[places].tolist()]
    word_starts = np.searchsorted(places, token_starts)
    given = held["SENT_START"].view(np.int64)
    if not keep_starts:
        given = np.zeros_like(given)
    opens = blank & (given == 1)
    state = given[places]
    if opens.any():
        state = np.where(_between(opens, places) > 0, 1, state)
    state[word_starts[:-1][np.diff(word_starts) > 0]] = 1
    starts = state == 1
    batch = Batch(docs, token_starts, word_starts, places, forms, places, opens, held)
    unknown = np.flatnonzero(state == 0)
    if len(unknown):
        breaks = (
            np.array([bool(BLANK_LINE.search(form)) for form in strings], dtype=np.bool_)[numbers]
            & blank
        )
        chosen = np.unique(np.searchsorted(word_starts, unknown, side="right") - 1)
        found = _found(batch, chosen, splitter, orths, given, breaks, blank)
        starts |= found & (state == 0)
        starts = longest_pieces(starts, forms, state == 0)
    return batch._replace(starts=np.append(np.flatnonzero(starts), len(forms)))


def columns_of(docs: Sequence[Doc], attributes: Sequence[str]) -> dict[str, UInt64s]:
    """What Docs hold of attributes, end to end."""
    numbers = [IDS[attribute] for attribute in attributes]
    tables = [doc.to_array(numbers).reshape(len(doc), -1) for doc in docs if len(doc)]
    table = np.concatenate(tables) if tables else np.zeros((0, len(numbers)), dtype=np.uint64)
    columns = np.ascontiguousarray(table.T)
    return dict(zip(attributes, columns, strict=True))


def _found(
    batch: Batch,
    chosen: Longs,
    splitter: Splitter | None,
    orths: UInt64s,
    given: Longs,
    breaks: Mask,
    blank: Mask,
) -> Mask:
    """Where the sentences of the chosen Docs start, if nothing were given."""
    starts = np.zeros(len(batch.forms), dtype=np.bool_)
    new: list[tuple[Doc, slice, _Known]] = []
    for number in chosen.tolist():
        doc = batch.docs[number]
        tokens = slice(*batch.token_starts[number : number + 2].tolist())
        words = slice(*batch.word_starts[number : number + 2].tolist())
        own = _Known(splitter, orths[tokens].tobytes(), given[tokens].tobytes(), starts[words])
        known = _FOUND.get(doc)
        if known is not None and known.splitter is splitter and known[1:3] == own[1:3]:
            starts[words] = known.starts
        else:
            new.append((doc, words, own))
    if new:
        spaced = _spaced(batch, blank)
        breaks_before = _between(breaks, batch.places) > 0
        _split([words for _, words, _ in new], batch.forms, spaced, breaks_before, splitter, starts)
        for doc, words, own in new:
            _FOUND[doc] = own._replace(starts=starts[words].copy())
    return starts


def _split(
    docs: Sequence[slice],
    forms: list[str],
    spaced: Mask,
    breaks: Mask,
    splitter: Splitter | None,
    starts: Mask,
) -> None:
    """Split the paragraphs of Docs, which are given by their words, and mark the starts."""
    paragraphs: list[slice] = []
    for words in docs:
        places = [words.start, *(np.flatnonzero(breaks[words]) + words.start).tolist(), words.stop]
        paragraphs += [slice(a, b) for a, b in pairwise(places) if b > a]
    spaced[[own.stop - 1 for own in paragraphs]] = True
    texts = [Paragraph(forms[own], spaced[own].tolist()) for own in paragraphs]
    for own, found in zip(paragraphs, (splitter or RuleSplitter()).split(texts), strict=True):
        starts[own] = found


def _spaced(batch: Batch, blank: Mask) -> Mask:
    """Whether a blank follows each word."""
    after = np.append(blank[1:], False) | (batch.held["SPACY"] > 0)
    return after[batch.places]


def _between(marked: Mask, places: Longs) -> Longs:
    """How many marked tokens, none of them words, lie between each word and the one before it."""
    counts = np.cumsum(marked)[places]
    return np.diff(counts, prepend=0)


def _ends(lengths: Iterable[int]) -> Longs:
    sizes = list(lengths)
    ends = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    return ends
