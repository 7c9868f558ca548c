"""Batches of Docs as words and sentences: white space is left out, given sentence starts are kept,
and the others are predicted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from threading import local
from typing import Any, NamedTuple, cast
from weakref import ref

import numpy as np
import numpy.typing as npt
from spacy.attrs import IDS, LENGTH, SPACY
from spacy.tokens import Doc

from egparse.spacy_components.label_tables import CONTINUES, STARTS
from egparse.text.reading import Splits
from egparse.text.rules import longest_pieces
from egparse.text.word_columns import Paragraph
from egparse.types import Longs, Mask, UInt64s

BLANK_LINE = re.compile(r"\n\s*\n")
"""White space that ends a paragraph."""

_PLACED = "._."
"""Keys of entries in ``Doc.user_data`` have the form of those that spaCy makes for values at a
place in the text, so that ``Doc.from_docs`` and ``Span.as_doc(copy_user_data=True)`` move the
place.
"""


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
        return int(self.token_starts[-1])

    @property
    def is_word(self) -> Mask:
        """Whether each token is no white space, shape (tokens,)."""
        found = np.zeros(self.n_tokens, dtype=np.bool_)
        found[self.places] = True
        return found

    def sentences(self) -> list[list[str]]:
        return [self.forms[first:end] for first, end in pairwise(self.starts.tolist())]

    def on_tokens(
        self, values: npt.NDArray[Any], blank: Any, dtype: npt.DTypeLike = np.uint64
    ) -> npt.NDArray[Any]:
        """Values of words as values of tokens, shape (tokens,), with ``blank`` for white space."""
        if len(self.places) == self.n_tokens:
            return values.astype(dtype)
        spread = np.full(self.n_tokens, blank, dtype=dtype)
        spread[self.places] = values
        return spread

    def put(self, columns: Mapping[str, UInt64s]) -> None:
        """Write attributes, each of shape (tokens,), into the Docs."""
        table = np.empty((self.n_tokens, len(columns)), dtype=np.uint64)
        for number, column in enumerate(columns.values()):
            table[:, number] = column
        numbers = [IDS[attribute] for attribute in columns]
        for doc, tokens in self.slices():
            if len(doc):
                doc.from_array(numbers, cast("Any", table[tokens]))  # typed as signed

    def slices(self) -> Iterator[tuple[Doc, slice]]:
        for doc, (first, end) in zip(self.docs, pairwise(self.token_starts.tolist()), strict=True):
            yield doc, slice(first, end)

    def owners(self) -> Longs:
        """The word to which each token belongs, shape (tokens,).

        White space belongs to the word before it, or to the one after it at the start of a Doc or
        of a given sentence; -1 in a Doc without words.
        """
        if len(self.places) == self.n_tokens:
            return self.places
        is_word = self.is_word
        doc_of = np.repeat(np.arange(len(self.docs)), np.diff(self.token_starts))
        before = np.cumsum(is_word) - 1
        has_before = before >= self.word_starts[doc_of]
        has_after = before + 1 < self.word_starts[doc_of + 1]
        opened = np.cumsum(self.opens)
        since = opened - np.concatenate([opened[self.places], [0]])[before]
        backward = has_before & ~((since > 0) & has_after & ~is_word)
        return np.where(backward, before, np.where(has_after, before + 1, -1))

    def start_codes(self) -> Longs:
        """``STARTS`` or ``CONTINUES`` for each token, shape (tokens,): a sentence starts at the
        first white space that belongs to its first word.
        """
        codes = np.full(self.n_tokens, CONTINUES, dtype=np.int64)
        first_of = np.zeros(len(self.forms) + 1, dtype=np.int64)
        # written backwards: the first token of a word is written last
        first_of[self.owners()[::-1]] = np.arange(self.n_tokens)[::-1]
        codes[first_of[self.starts[:-1]]] = STARTS
        codes[self.token_starts[:-1][np.diff(self.token_starts) > 0]] = STARTS
        return codes


def read(
    docs: Sequence[Doc],
    splitter: Splits,
    *,
    attributes: Sequence[str] = (),
    keep_starts: bool = True,
    continued: Mask | None = None,
) -> Batch:
    """The words and sentences of Docs, and the values of ``attributes`` that they have.

    With ``keep_starts``, tokens that the Docs mark as starting a sentence, or as not starting one,
    are kept so. The other starts are predicted for each paragraph by ``splitter``; a blank line
    ends a paragraph. Tokens that are ``continued``, shape (tokens,), are for the splitter one token
    with the one before them, and start no sentence unless the Doc says so.
    """
    token_starts = np.array([0, *accumulate(map(len, docs))], dtype=np.int64)
    held = columns_of(docs, ("ORTH", "SENT_START", "SPACY", *attributes))
    layout = _layout(docs, held["ORTH"])
    given = held["SENT_START"].view(np.int64)
    if not keep_starts:
        given = np.zeros_like(given)
    if continued is not None:
        given = np.where(continued & (given == 0), CONTINUES, given)
    joins = b"" if continued is None else continued.tobytes()
    key = token_starts.tobytes() + given.tobytes() + joins
    if _LATEST.layout is layout and _LATEST.key == key and _LATEST.splitter() is splitter:
        return _LATEST.batch._replace(docs=docs, held=held)
    batch = _split_into_sentences(docs, token_starts, layout, given, held, splitter, continued)
    _LATEST.layout, _LATEST.key, _LATEST.splitter = layout, key, ref(splitter)
    _LATEST.batch = batch._replace(docs=(), held={})
    return batch


class _Layout(NamedTuple):
    """Tokens as words and white space: whether each token is ``blank``, and a blank line that
    ``breaks`` paragraphs, (tokens,); ``places`` and ``forms`` of the words.
    """

    blank: Mask
    breaks: Mask
    places: Longs
    forms: list[str]


class _Latest(local):
    """What a thread has read last. Components read the same Docs one after the other, and some need
    sentence starts without setting them: a component sets only the attributes that it declares.

    ``laid_out`` is the layout of tokens with these ORTH; ``batch`` is that of ``layout`` with the
    sentence starts of ``key`` and by ``splitter``, without its Docs.
    """

    orths: bytes | None = None
    laid_out: _Layout | None = None
    layout: _Layout | None = None
    key: bytes = b""
    splitter: Callable[[], Splits | None]
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
    layout = _Layout(blank, breaks, places, [strings[number] for number in ids[places].tolist()])
    _LATEST.orths, _LATEST.laid_out = key, layout
    return layout


def _split_into_sentences(
    docs: Sequence[Doc],
    token_starts: Longs,
    layout: _Layout,
    given: Longs,
    held: Mapping[str, UInt64s],
    splitter: Splits,
    continued: Mask | None,
) -> Batch:
    """The batch of Docs that are laid out, ``given`` their values of SENT_START."""
    blank, breaks, places, forms = layout
    word_starts = places.searchsorted(token_starts)
    state = given[places]
    opens = blank
    if len(forms) < len(blank):
        opens = blank & (given == STARTS)
        if opens.any():
            state = np.where(_between(opens, places) > 0, STARTS, state)
    state[word_starts[:-1][word_starts[1:] > word_starts[:-1]]] = STARTS
    starts, unknown = state == STARTS, state == 0
    if unknown.any():
        # a Doc with an unknown start is split as if none were given
        found = word_starts.searchsorted(unknown.nonzero()[0], side="right") - 1
        spaced = (np.append(blank[1:], False) | (held["SPACY"] > 0))[places]
        opens_paragraph = _between(breaks, places) > 0
        whole, wholes, bounds = np.arange(len(forms)), forms, word_starts
        if continued is not None:
            whole = np.flatnonzero(~continued[places])
            pieces = pairwise([*whole.tolist(), len(forms)])
            wholes = ["".join(forms[first:end]) for first, end in pieces]
            bounds = whole.searchsorted(word_starts)
            spaced = spaced[np.append(whole[1:], len(forms)) - 1]
        chosen = [slice(*bounds[number : number + 2].tolist()) for number in np.unique(found)]
        predicted = _split(chosen, wholes, spaced, opens_paragraph[whole], splitter)
        may_cut = unknown[whole]
        starts[whole] = longest_pieces(starts[whole] | (predicted & may_cut), wholes, may_cut)
    ends = np.append(starts.nonzero()[0], len(forms))
    return Batch(docs, token_starts, word_starts, places, forms, ends, opens, held)


def _split(
    docs: Sequence[slice], forms: list[str], spaced: Mask, breaks: Mask, splitter: Splits
) -> Mask:
    """The sentence starts in the paragraphs of Docs, each given by its slice of words; (words,)."""
    paragraphs: list[slice] = []
    for words in docs:
        places = [words.start, *(np.flatnonzero(breaks[words]) + words.start).tolist(), words.stop]
        paragraphs += [slice(a, b) for a, b in pairwise(places) if b > a]
    spaced[[words.stop - 1 for words in paragraphs]] = True
    texts = [Paragraph(forms[words], spaced[words].tolist()) for words in paragraphs]
    starts = np.zeros(len(forms), dtype=np.bool_)
    for words, split in zip(paragraphs, splitter.split(texts), strict=True):
        starts[words] = split
    return starts


def _between(marked: Mask, places: Longs) -> Longs:
    """The number of marked tokens, all of them white space, directly before each word."""
    counts = marked.cumsum()[places]
    counts[1:] -= counts[:-1].copy()
    return counts


def columns_of(docs: Sequence[Doc], attributes: Sequence[str]) -> dict[str, UInt64s]:
    """The values of attributes in Docs, concatenated, each of shape (tokens,)."""
    numbers = [IDS[attribute] for attribute in attributes]
    tables = [doc.to_array(numbers).reshape(len(doc), -1) for doc in docs if len(doc)]
    if len(tables) == 1:
        table = tables[0]
    else:
        table = np.concatenate(tables) if tables else np.zeros((0, len(numbers)), dtype=np.uint64)
    return dict(zip(attributes, np.ascontiguousarray(table.T), strict=True))


def user_data(doc: Doc) -> dict[Any, Any]:
    """``Doc.user_data``, which spaCy types with keys of strings."""
    return cast("dict[Any, Any]", doc.user_data)


def key_at(name: str, character: int) -> tuple[str, str, int, None]:
    """The key of a value of ``name`` that belongs to a place in the text."""
    return _PLACED, name, character, None


def entries_at(doc: Doc, name: str) -> dict[int, Any]:
    """The values of ``name`` in a Doc, by the character that they belong to."""
    return {
        key[2]: value
        for key, value in user_data(doc).items()
        if isinstance(key, tuple) and len(key) == 4 and key[:2] == (_PLACED, name)
    }


def characters_of(doc: Doc) -> Longs:
    """The first character of each token and the one after its last, shape (tokens, 2)."""
    lengths, spaces = doc.to_array([LENGTH, SPACY]).reshape(len(doc), 2).astype(np.int64).T
    ends = (lengths + spaces).cumsum() - spaces
    return np.stack([ends - lengths, ends], axis=1)
