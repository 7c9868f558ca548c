"""Batches of Docs as words and sentences: white space is left out, given sentence starts are kept,
and the others are predicted.
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
"""White space that ends a paragraph."""


class Batch(NamedTuple):
    """The tokens of several Docs, concatenated, and their words: the tokens other than white space.

    Doc ``d`` has the tokens ``token_starts[d]:token_starts[d + 1]`` and the words
    ``word_starts[d]:word_starts[d + 1]``. Word ``w`` is token ``places[w]`` with the form
    ``forms[w]``. Sentence ``s`` has the words ``starts[s]:starts[s + 1]``. ``opens[t]``: token
    ``t`` is white space and a given start of a sentence. ``held[attribute]``, shape (tokens,), are
    the values that the Docs had.
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
        """The number of tokens, with white space."""
        return int(self.token_starts[-1])

    def sentences(self) -> list[list[str]]:
        """The forms of the words of each sentence."""
        places = self.starts.tolist()
        return [self.forms[first:end] for first, end in pairwise(places)]

    def on_tokens(
        self, values: npt.NDArray[Any], blank: Any, dtype: npt.DTypeLike = np.uint64
    ) -> npt.NDArray[Any]:
        """Values of words as values of tokens, shape (tokens,), with ``blank`` for white space."""
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
        """The word to which each token belongs, shape (tokens,).

        White space belongs to the word before it, or to the one after it at the start of a Doc or
        of a given sentence; -1 in a Doc without words.
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


class _CachedStarts(NamedTuple):
    """The sentence starts predicted for a Doc, and what they were predicted from."""

    splitter: object
    orths: bytes
    given: bytes
    starts: Mask


# A tagger needs sentence starts, but must not set SENT_START: a component sets only the attributes
# that it declares. Without this cache, every component of a pipeline would split the Doc anew. The
# cache is not kept in the Doc, because ``user_data`` and ``user_hooks`` are copied and pickled with
# it; keys are weak, so that an entry lives as long as its Doc.
_CACHE: WeakKeyDictionary[Doc, _CachedStarts] = WeakKeyDictionary()


def read(
    docs: Sequence[Doc],
    splitter: Splitter | None,
    *,
    attributes: Sequence[str] = (),
    keep_starts: bool = True,
) -> Batch:
    """The words and sentences of Docs, and the values of ``attributes`` that they have.

    With ``keep_starts``, tokens that the Docs mark as starting a sentence, or as not starting one,
    are kept so. The other starts are predicted for each paragraph by ``splitter``, or by rule if it
    is None; a blank line ends a paragraph.
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
        predicted = _predicted_starts(batch, chosen, splitter, orths, given, breaks, blank)
        starts |= predicted & (state == 0)
        starts = longest_pieces(starts, forms, state == 0)
    return batch._replace(starts=np.append(np.flatnonzero(starts), len(forms)))


def columns_of(docs: Sequence[Doc], attributes: Sequence[str]) -> dict[str, UInt64s]:
    """The values of attributes in Docs, concatenated, each of shape (tokens,)."""
    numbers = [IDS[attribute] for attribute in attributes]
    tables = [doc.to_array(numbers).reshape(len(doc), -1) for doc in docs if len(doc)]
    table = np.concatenate(tables) if tables else np.zeros((0, len(numbers)), dtype=np.uint64)
    columns = np.ascontiguousarray(table.T)
    return dict(zip(attributes, columns, strict=True))


def _predicted_starts(
    batch: Batch,
    chosen: Longs,
    splitter: Splitter | None,
    orths: UInt64s,
    given: Longs,
    breaks: Mask,
    blank: Mask,
) -> Mask:
    """The sentence starts of the chosen Docs, predicted as if none were given; shape (words,)."""
    starts = np.zeros(len(batch.forms), dtype=np.bool_)
    new: list[tuple[Doc, slice, _CachedStarts]] = []
    for number in chosen.tolist():
        doc = batch.docs[number]
        tokens = slice(*batch.token_starts[number : number + 2].tolist())
        words = slice(*batch.word_starts[number : number + 2].tolist())
        entry = _CachedStarts(
            splitter, orths[tokens].tobytes(), given[tokens].tobytes(), starts[words]
        )
        cached = _CACHE.get(doc)
        if cached is not None and cached.splitter is splitter and cached[1:3] == entry[1:3]:
            starts[words] = cached.starts
        else:
            new.append((doc, words, entry))
    if new:
        spaced = _spaced(batch, blank)
        breaks_before = _between(breaks, batch.places) > 0
        _split([words for _, words, _ in new], batch.forms, spaced, breaks_before, splitter, starts)
        for doc, words, entry in new:
            _CACHE[doc] = entry._replace(starts=starts[words].copy())
    return starts


def _split(
    docs: Sequence[slice],
    forms: list[str],
    spaced: Mask,
    breaks: Mask,
    splitter: Splitter | None,
    starts: Mask,
) -> None:
    """Split the paragraphs of Docs, each given by its slice of words, and mark the starts."""
    paragraphs: list[slice] = []
    for words in docs:
        places = [words.start, *(np.flatnonzero(breaks[words]) + words.start).tolist(), words.stop]
        paragraphs += [slice(a, b) for a, b in pairwise(places) if b > a]
    spaced[[words.stop - 1 for words in paragraphs]] = True
    texts = [Paragraph(forms[words], spaced[words].tolist()) for words in paragraphs]
    for words, split in zip(paragraphs, (splitter or RuleSplitter()).split(texts), strict=True):
        starts[words] = split


def _spaced(batch: Batch, blank: Mask) -> Mask:
    """Whether white space follows each word."""
    after = np.append(blank[1:], False) | (batch.held["SPACY"] > 0)
    return after[batch.places]


def _between(marked: Mask, places: Longs) -> Longs:
    """The number of marked tokens, all of them white space, directly before each word."""
    counts = np.cumsum(marked)[places]
    return np.diff(counts, prepend=0)


def _ends(lengths: Iterable[int]) -> Longs:
    sizes = list(lengths)
    ends = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    return ends
