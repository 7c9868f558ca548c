"""Batches of Docs as words and sentences: white space is left out, given sentence starts are kept,
and the others are predicted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from threading import local
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary, ref

import numpy as np
import numpy.typing as npt
from spacy.attrs import IDS
from spacy.tokens import Doc

from egparse.text.reading import Splits
from egparse.text.rules import longest_pieces
from egparse.text.word_columns import Paragraph
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
        if len(self.places) == self.n_tokens:
            return values.astype(dtype)
        spread = np.full(self.n_tokens, blank, dtype=dtype)
        spread[self.places] = values
        return spread

    def put(self, attributes: Sequence[str], columns: Sequence[UInt64s]) -> None:
        """Write columns of shape (tokens,) into the Docs."""
        table = np.empty((self.n_tokens, len(columns)), dtype=np.uint64)
        for number, column in enumerate(columns):
            table[:, number] = column
        numbers = [IDS[attribute] for attribute in attributes]
        for doc, tokens in self.slices():
            if len(doc):
                doc.from_array(numbers, cast("Any", table[tokens]))  # typed as signed

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
        if len(self.places) == self.n_tokens:
            return self.places
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
    splitter: Splits,
    *,
    attributes: Sequence[str] = (),
    keep_starts: bool = True,
) -> Batch:
    """The words and sentences of Docs, and the values of ``attributes`` that they have.

    With ``keep_starts``, tokens that the Docs mark as starting a sentence, or as not starting one,
    are kept so. The other starts are predicted for each paragraph by ``splitter``; a blank line
    ends a paragraph.
    """
    token_starts = _ends(map(len, docs))
    held = columns_of(docs, (*_READ, *attributes))
    layout = _layout(docs, held["ORTH"])
    given = held["SENT_START"].view(np.int64)
    if not keep_starts:
        given = np.zeros_like(given)
    key = token_starts.tobytes() + given.tobytes()
    if _LATEST.layout is layout and _LATEST.key == key and _LATEST.splitter() is splitter:
        return _LATEST.batch._replace(docs=docs, held=held)
    batch = _split_into_sentences(docs, token_starts, layout, given, held, splitter)
    _LATEST.layout, _LATEST.key = layout, key
    _LATEST.splitter = ref(splitter)
    _LATEST.batch = batch._replace(docs=(), held={})
    return batch


def _split_into_sentences(
    docs: Sequence[Doc],
    token_starts: Longs,
    layout: _Layout,
    given: Longs,
    held: Mapping[str, UInt64s],
    splitter: Splits,
) -> Batch:
    """The batch of Docs that are laid out, ``given`` their values of SENT_START."""
    blank, breaks, places, forms = layout
    word_starts = places.searchsorted(token_starts)
    state = given[places]
    opens = blank
    if len(forms) < len(blank):
        opens = blank & (given == 1)
        if opens.any():
            state = np.where(_between(opens, places) > 0, 1, state)
    state[word_starts[:-1][word_starts[1:] > word_starts[:-1]]] = 1
    starts = state == 1
    batch = Batch(docs, token_starts, word_starts, places, forms, places, opens, held)
    unknown = (state == 0).nonzero()[0]
    if len(unknown):
        chosen = sorted(set((word_starts.searchsorted(unknown, side="right") - 1).tolist()))
        predicted = _predicted_starts(batch, chosen, splitter, given, breaks, blank)
        starts |= predicted & (state == 0)
        starts = longest_pieces(starts, forms, state == 0)
    return batch._replace(starts=np.append(starts.nonzero()[0], len(forms)))


class _Layout(NamedTuple):
    """Tokens as words and white space: whether each token is ``blank``, and a blank line that
    ``breaks`` paragraphs, (tokens,); ``places`` and ``forms`` of the words.
    """

    blank: Mask
    breaks: Mask
    places: Longs
    forms: list[str]


def _nothing() -> None:
    """In place of a reference to no splitter."""


class _Latest(local):
    """What a thread has read last: components read the same Docs one after the other. ``laid_out``
    is the layout of tokens with these ORTH; ``batch`` is that of ``layout`` with the sentence
    starts of ``key`` and by ``splitter``, without its Docs.
    """

    orths: bytes | None = None
    laid_out: _Layout | None = None
    layout: _Layout | None = None
    key: bytes = b""
    splitter: Callable[[], Splits | None] = _nothing
    batch: Batch


_LATEST = _Latest()


def _layout(docs: Sequence[Doc], orths: UInt64s) -> _Layout:
    """The layout of tokens, not made anew if they are those of the last call."""
    key = orths.tobytes()
    if _LATEST.laid_out is not None and _LATEST.orths == key:
        return _LATEST.laid_out
    numbers: dict[int, int] = {}
    ids = np.array([numbers.setdefault(o, len(numbers)) for o in orths.tolist()], dtype=np.int64)
    strings = [docs[0].vocab.strings[orth] for orth in numbers] if docs else []
    is_blank = [not form.strip() for form in strings]
    if any(is_blank):
        blank = np.array(is_blank, dtype=np.bool_)[ids]
        is_break = [bool(BLANK_LINE.search(form)) for form in strings]
        breaks = np.array(is_break, dtype=np.bool_)[ids] & blank
    else:
        blank = breaks = np.zeros(len(orths), dtype=np.bool_)
    places = (~blank).nonzero()[0]
    forms = [strings[number] for number in ids[places].tolist()]
    layout = _Layout(blank, breaks, places, forms)
    _LATEST.orths, _LATEST.laid_out = key, layout
    return layout


def columns_of(docs: Sequence[Doc], attributes: Sequence[str]) -> dict[str, UInt64s]:
    """The values of attributes in Docs, concatenated, each of shape (tokens,)."""
    numbers = [IDS[attribute] for attribute in attributes]
    tables = [doc.to_array(numbers).reshape(len(doc), -1) for doc in docs if len(doc)]
    if len(tables) == 1:
        table = tables[0]
    else:
        table = np.concatenate(tables) if tables else np.zeros((0, len(numbers)), dtype=np.uint64)
    columns = np.ascontiguousarray(table.T)
    return dict(zip(attributes, columns, strict=True))


def _predicted_starts(
    batch: Batch,
    chosen: Sequence[int],
    splitter: Splits,
    given: Longs,
    breaks: Mask,
    blank: Mask,
) -> Mask:
    """The sentence starts of the chosen Docs, predicted as if none were given; shape (words,)."""
    starts, orths = np.zeros(len(batch.forms), dtype=np.bool_), batch.held["ORTH"]
    new: list[tuple[Doc, slice, _CachedStarts]] = []
    for number in chosen:
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
    splitter: Splits,
    starts: Mask,
) -> None:
    """Split the paragraphs of Docs, each given by its slice of words, and mark the starts."""
    paragraphs: list[slice] = []
    for words in docs:
        places = [words.start, *(np.flatnonzero(breaks[words]) + words.start).tolist(), words.stop]
        paragraphs += [slice(a, b) for a, b in pairwise(places) if b > a]
    spaced[[words.stop - 1 for words in paragraphs]] = True
    texts = [Paragraph(forms[words], spaced[words].tolist()) for words in paragraphs]
    for words, split in zip(paragraphs, splitter.split(texts), strict=True):
        starts[words] = split


def _spaced(batch: Batch, blank: Mask) -> Mask:
    after = np.append(blank[1:], False) | (batch.held["SPACY"] > 0)
    return after[batch.places]


def _between(marked: Mask, places: Longs) -> Longs:
    """The number of marked tokens, all of them white space, directly before each word."""
    counts = marked.cumsum()[places]
    counts[1:] -= counts[:-1].copy()
    return counts


def _ends(lengths: Iterable[int]) -> Longs:
    return np.array([0, *accumulate(lengths)], dtype=np.int64)
