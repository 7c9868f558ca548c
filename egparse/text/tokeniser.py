"""A tokeniser: which pieces of a text start tokens, by a linear-chain CRF over the places where
training does not tell; its lexicon, and its columns.

Where words stand between blanks a label says whether a token starts. In continuous text (Chinese,
Japanese, Thai) it says too whether the token goes on after this piece, so that there are weights
for the beginning, the middle and the end of words and for words of one character (Xue 2003,
"Chinese word segmentation as character tagging").

The lexicon holds the tokens of several pieces that training has seen, as hashes. In training each
token is left out where it stands itself, so that the lexicon is as incomplete there as for new
text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.hashing import mix, mix_character
from egparse.features.index import KeyIndex, value_of
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import MAX_VALUE
from egparse.features.vocabulary import FIRST_VALUE
from egparse.features.word_table import Columns
from egparse.layers import TOKENISER
from egparse.sequences.model import SequenceModel, SequencePredictor
from egparse.storage.arrays import compress_array
from egparse.storage.schema import FLAG, SECTION, Array, Maybe, Packed, Record, Stored
from egparse.text.characters import DIGIT, N_KINDS
from egparse.text.pieces import (
    ALWAYS,
    BLANK,
    CLOSE,
    OPEN,
    WIDE,
    Links,
    Pieces,
    chains_of,
    pieces_of_text,
)
from egparse.text.word_columns import bucket, observe_forms
from egparse.types import Floats, Ints, Longs, UInt8s, UInt32s, UInt64s

TOKENISER_COLUMNS = (
    "lower", "shape", "suffix", "kind", "gap", "first", "last", "marks", "place", "before", "after",
    "around", "script",
)  # fmt: skip
"""Of each piece: ``lower``, ``shape``, ``suffix`` and ``kind`` as those of words for the splitter
(``egparse.text.word_columns``), ``gap`` what stands before it: nothing, blanks, a paragraph's
beginning. Of the run without blanks that it stands in: ``first`` and ``last`` its first
and last piece, ``marks`` the set of its punctuation marks and symbols, ``place`` how many pieces
the run has before and after it (up to 3). Of the place before it: known tokens of several pieces
that end there (``before``), start there (``after``) or span it (``around``). ``script`` is the
script of the first character, or its category.
"""

_LOWER, _SHAPE, _SUFFIX, _KIND, _GAP, _FIRST, _LAST, _MARKS, _PLACE = range(9)
_BEFORE, _AFTER, _AROUND, _SCRIPT = range(9, 13)

STARTS, GOES_ON = 1, 2
"""A label is a sum of these: a token starts here; it goes on after this piece (in continuous text
alone).
"""

STORED_TOKENISER = Record(
    {
        "model": Maybe(SECTION),
        "addresses": FLAG,
        "close": Array("uint8", (N_KINDS, N_KINDS), below=ALWAYS + 1),
        "blank": Array("uint8", (N_KINDS, N_KINDS), below=ALWAYS + 1),
        "lexicon": Packed(("uint64",), "tokens", takes=16),
        "emoji": FLAG,
        "continuous": FLAG,
    },
    absent={"emoji": False, "continuous": False},
)
"""A tokeniser in a model file; without a model all links are settled."""

LONGEST = 8
"""Pieces of the longest token that the lexicon has."""

NO_GOLD = np.zeros(0, dtype=np.uint8)
"""In place of gold labels, where there are none."""

_SEED = np.uint64(0xCBF29CE484222325)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_SPACE = np.uint64(32)


class Tokens(NamedTuple):
    """The tokens of a text: token ``k`` is ``text[starts[k]:ends[k]]``."""

    starts: Longs
    ends: Longs

    def forms(self, text: str) -> list[str]:
        """The tokens as strings."""
        pairs = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [text[start:end] for start, end in pairs]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Tokens of several pieces, by their hashes ``index``; token ``k`` was seen ``counts[k]`` times
    in training (empty once it is over).
    """

    index: KeyIndex
    counts: Ints

    @classmethod
    def of(cls, pieces: Pieces, starts_token: UInt8s) -> Lexicon:
        """The tokens of 2 to ``LONGEST`` pieces of a corpus; ``starts_token``, (pieces,), is 1
        where one starts.
        """
        hashes = np.zeros(len(pieces), dtype=np.uint64)
        small = pieces.tables.small
        _hash_tokens(
            pieces.codes, pieces.bounds, pieces.gaps, pieces.links, small, starts_token, hashes
        )
        keys, counts = np.unique(hashes[hashes > 0], return_counts=True)
        return cls(KeyIndex(keys), counts.astype(np.int32))


def n_labels(continuous: bool) -> int:
    """The number of labels."""
    return 4 if continuous else 2


def labels_of(starts_token: UInt8s, continuous: bool) -> Ints:
    """The labels of pieces, (pieces,), of which ``starts_token`` is 1 where a token starts."""
    labels = starts_token.astype(np.int32) * STARTS
    if continuous:
        labels[:-1] += (1 - starts_token[1:].astype(np.int32)) * GOES_ON
    return labels


def tokeniser_columns(pieces: Pieces, lexicon: Lexicon, starts_token: UInt8s = NO_GOLD) -> Ints:
    """Values of shape (pieces, columns). With ``starts_token``, (pieces,), which is 1 where a token
    starts, the lexicon does not know a token where it stands.
    """
    codes, bounds, gaps, links = pieces.codes, pieces.bounds, pieces.gaps, pieces.links
    kinds, small, _, scripts = pieces.tables
    values = np.empty((len(pieces), len(TOKENISER_COLUMNS)), dtype=np.int32)
    observe_forms(codes, bounds, kinds, small, values)
    _observe_runs(codes, bounds, gaps, kinds, values)
    lines, counts = lexicon.index.lines, lexicon.counts
    _mark(codes, bounds, gaps, links, small, lines, counts, starts_token, values)
    values[:, _SCRIPT] = FIRST_VALUE + scripts[pieces.first_codes] % (MAX_VALUE - FIRST_VALUE)
    return values


@dataclass(frozen=True)
class Tokeniser(SequencePredictor):
    """A CRF over places between pieces (``egparse.text.pieces``), None where no link is open;
    immutable, so that threads may share it. With ``whole_addresses`` addresses of web pages and of
    mail are tokens; the text is ``continuous`` where words follow each other without blanks.
    """

    links: Links
    lexicon: Lexicon
    whole_addresses: bool = True
    continuous: bool = False

    name = TOKENISER
    layers: ClassVar[tuple[str, ...]] = ()  # of words

    def over(self, columns: Columns) -> Tokeniser:
        """The same, which reads no columns of words."""
        return self

    def pieces(self, text: str) -> Pieces:
        """The pieces of a text."""
        return pieces_of_text(text, self.links, self.whole_addresses)

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text. White space outside of tokens separates them; every other character
        is in one.
        """
        pieces = self.pieces(text)
        starts = pieces.links == ALWAYS
        rows = np.flatnonzero(pieces.links == OPEN)
        if len(rows):
            assert self.model is not None
            values, candidates = self.columns(pieces), all_labels(len(rows), self.model.n_labels)
            scores = self.model.scores_at(rows, values, pieces.paragraphs, candidates)
            labels = self.model.choose(scores, chains_of(rows), candidates)
            starts[rows] = labels & STARTS != 0
        first = np.flatnonzero(starts)
        last = np.append(first[1:], len(pieces)) - 1 if len(first) else first
        return Tokens(pieces.begins[first], pieces.ends[last])

    def columns(self, pieces: Pieces) -> Ints:
        """The columns of the pieces of a text."""
        return tokeniser_columns(pieces, self.lexicon)

    def probabilities(self, pieces: Pieces, values: Ints) -> Floats:
        """The probability that a token starts with each piece whose link is open, given the columns
        of all.
        """
        assert self.model is not None
        rows = np.flatnonzero(pieces.links == OPEN)
        candidates = all_labels(len(rows), self.model.n_labels)
        scores = self.model.scores_at(rows, values, pieces.paragraphs, candidates)
        starts = np.full(len(rows), STARTS, dtype=np.int32)
        kinds = np.arange(self.model.n_labels, dtype=np.int32) & STARTS
        return self.model.probabilities(scores, chains_of(rows), candidates, starts, kinds)

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        return {
            "model": None if self.model is None else self.model.to_payload(),
            "addresses": self.whole_addresses,
            "close": self.links.close,
            "blank": self.links.blank,
            "lexicon": compress_array(self.lexicon.index.keys),
            "emoji": self.links.emoji,
            "continuous": self.continuous,
        }

    @classmethod
    def from_payload(
        cls, stored: Stored, columns: Columns | None = None, section: str = ""
    ) -> Tokeniser:
        """The tokeniser of a model file.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_TOKENISER)
        keys = read["lexicon"]
        index = KeyIndex(keys)
        fits = (keys > 0).all() and (keys < 1 << 32).all() and (keys[1:] > keys[:-1]).all()
        stored.require(bool(fits), "lexicon", "ascending numbers of 32 bits, not 0", "others")
        stored.require(index.is_spread(), "lexicon", "hashes of tokens", "some that collide")
        continuous = read["continuous"]
        model = read["model"] and SequenceModel.from_payload(
            read["model"], TOKENISER_COLUMNS, n_labels(continuous)
        )
        links = Links(read["close"].copy(), read["blank"].copy(), read["emoji"])
        decides = model is not None or not links.decide
        stored.require(decides, "model", "one that decides where links are open", "none")
        lexicon = Lexicon(index, np.zeros(0, dtype=np.int32))
        return cls(model, links, lexicon, read["addresses"], continuous)


@njit
def _observe_runs(codes: UInt32s, bounds: Longs, gaps: UInt8s, kinds: UInt8s, values: Ints) -> None:
    """Fill the columns of runs without blanks."""
    m = gaps.shape[0]
    first = 0
    while first < m:
        end = first + 1
        while end < m and gaps[end] == CLOSE:
            end += 1
        marks = np.uint64(0)
        for k in range(first, end):
            code = codes[bounds[k]]
            if kinds[code] > DIGIT:  # a punctuation mark or symbol
                marks |= np.uint64(1) << np.uint64(code & 63)
        marks = mix(np.uint64(0), marks, _HALF)
        for k in range(first, end):
            # treebanks do not say where lines end, so any blanks are as good as a space
            values[k, _GAP] = FIRST_VALUE + (BLANK if gaps[k] == WIDE else gaps[k])
            values[k, _FIRST] = values[first, _LOWER]
            values[k, _LAST] = values[end - 1, _LOWER]
            values[k, _MARKS] = bucket(marks)
            values[k, _PLACE] = FIRST_VALUE + 4 * min(k - first, 3) + min(end - k - 1, 3)
        first = end


@njit(inline=True)
def _hash_piece(
    code: np.uint64, codes: UInt32s, first: int, end: int, after_blank: bool, small: UInt32s
) -> np.uint64:
    """The hash of a token after one more piece."""
    if after_blank:
        code = mix_character(code, _SPACE)
    for c in range(first, end):
        code = mix_character(code, np.uint64(small[codes[c]]))
    return code


@njit(inline=True)
def _key(code: np.uint64) -> np.uint64:
    """32 bits of a hash, not 0."""
    return max(np.uint64(1), (code ^ (code >> _HALF)) & _LOW)


@njit
def _hash_tokens(
    codes: UInt32s,
    bounds: Longs,
    gaps: UInt8s,
    links: UInt8s,
    small: UInt32s,
    starts_token: UInt8s,
    hashes: UInt64s,
) -> None:
    m = links.shape[0]
    first = 0
    while first < m:
        end = first + 1
        while end < m and starts_token[end] == 0 and links[end] == OPEN:
            end += 1
        if 1 < end - first <= LONGEST:
            code = _SEED
            for k in range(first, end):
                blank = k > first and gaps[k] == BLANK
                code = _hash_piece(code, codes, bounds[k], bounds[k + 1], blank, small)
            hashes[first] = _key(code)
        first = end


@njit(separate=True)
def _mark(
    codes: UInt32s,
    bounds: Longs,
    gaps: UInt8s,
    links: UInt8s,
    small: UInt32s,
    lines: UInt64s,
    counts: Ints,
    starts_token: UInt8s,
    values: Ints,
) -> None:
    """Fill, for the place before each piece: the number of pieces of the longest known token that
    ends there, that starts there, and, for the longest around it, how many of its pieces (at most
    3) stand left and right of it.
    """
    m = links.shape[0]
    mask, absent = np.uint64(lines.shape[0] - 1), np.uint64(0xFFFFFFFF)
    longest = np.zeros(m + 1, dtype=np.int32)  # pieces of the longest known token around a place
    for k in range(m):
        values[k, _BEFORE] = values[k, _AFTER] = values[k, _AROUND] = FIRST_VALUE
    for first in range(m - 1):
        if links[first + 1] != OPEN:
            continue
        code = _hash_piece(_SEED, codes, bounds[first], bounds[first + 1], False, small)
        whole = starts_token.shape[0] > 0 and starts_token[first] == 1
        for last in range(first + 1, min(first + LONGEST, m)):
            if links[last] != OPEN:
                break
            code = _hash_piece(
                code, codes, bounds[last], bounds[last + 1], gaps[last] == BLANK, small
            )
            whole = whole and starts_token[last] == 0
            key = _key(code)
            number = value_of(key, lines, mask, absent)
            if number == absent:
                continue
            is_token = whole and (last + 1 == m or starts_token[last + 1] == 1)
            if is_token and counts[number] < 2:
                continue
            size = last + 1 - first
            values[first, _AFTER] = FIRST_VALUE + size
            if last + 1 < m and values[last + 1, _BEFORE] < FIRST_VALUE + size:
                values[last + 1, _BEFORE] = FIRST_VALUE + size
            for k in range(first + 1, last + 1):
                if longest[k] < size:
                    longest[k] = size
                    values[k, _AROUND] = FIRST_VALUE + 4 * min(k - first, 3) + min(last + 1 - k, 3)
