"""A tokeniser: which pieces of a text start tokens, by a linear-chain CRF over the places where
training does not tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from egparse.features.index import KeyIndex
from egparse.features.tag_dictionary import all_labels
from egparse.features.word_table import Columns
from egparse.layers import TOKENISER
from egparse.sequences.model import SequenceModel, SequencePredictor, keys_at
from egparse.storage.arrays import compress_array
from egparse.storage.schema import FLAG, SECTION, Array, Maybe, Packed, Record, Stored
from egparse.text.splitting.characters import N_KINDS
from egparse.text.tokenising.columns import COLUMNS, columns_of
from egparse.text.tokenising.lexicon import Lexicon
from egparse.text.tokenising.pieces import (
    ALWAYS,
    OPEN,
    Links,
    Pieces,
    chains_of,
    paragraphs_of,
    pieces_of_text,
)
from egparse.types import Floats, Ints, Longs, Mask

N_LABELS = 2
"""1: a token starts here; 0: it does not."""

STORED_TOKENISER = Record(
    {
        "model": Maybe(SECTION),
        "addresses": FLAG,
        "close": Array("uint8", (N_KINDS, N_KINDS), below=ALWAYS + 1),
        "blank": Array("uint8", (N_KINDS, N_KINDS), below=ALWAYS + 1),
        "lexicon": Packed(("uint64",), "tokens", takes=16),
        "emoji": FLAG,
    },
    absent={"emoji": False},
)
"""A tokeniser in a model file; without a model all links are settled."""

_BLOCK = 1 << 13
"""Decisions whose features are looked up at a time, to bound the memory."""


class Tokens(NamedTuple):
    """The tokens of a text: token ``k`` is ``text[starts[k]:ends[k]]``."""

    starts: Longs
    ends: Longs


@dataclass(frozen=True)
class Tokeniser(SequencePredictor):
    """A CRF over places between pieces (``egparse.text.tokenising.pieces``), None where no link is
    open; immutable, so that threads may share it. With ``whole_addresses`` addresses of web pages
    and of mail are tokens.
    """

    links: Links
    lexicon: Lexicon
    whole_addresses: bool = True

    name = TOKENISER
    layers: ClassVar[tuple[str, ...]] = ()  # of words

    def over(self, columns: Columns) -> Tokeniser:
        """The same, which reads no columns of words."""
        return self

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text. White space outside of tokens separates them; every other character
        is in one.
        """
        codes, pieces = pieces_of_text(text, self.links, self.whole_addresses)
        starts = pieces.links == ALWAYS
        rows = np.flatnonzero(pieces.links == OPEN)
        if self.model is not None and len(rows):
            candidates = all_labels(len(rows), N_LABELS)
            values = columns_of(pieces, codes, self.lexicon)
            scores = _scores(self.model, pieces, values, rows)
            starts[rows] = self.model.choose(scores, chains_of(rows), candidates) == 1
        return tokens_of(pieces, starts)

    def probabilities(self, pieces: Pieces, values: Ints) -> Floats:
        """The probability that a token starts with each piece whose link is open, given the columns
        of all.
        """
        assert self.model is not None
        rows = np.flatnonzero(pieces.links == OPEN)
        return self.model.probabilities(
            _scores(self.model, pieces, values, rows),
            chains_of(rows),
            all_labels(len(rows), N_LABELS),
            np.ones(len(rows), dtype=np.int32),
        )

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        return {
            "model": None if self.model is None else self.model.to_payload(),
            "addresses": self.whole_addresses,
            "close": self.links.close,
            "blank": self.links.blank,
            "lexicon": compress_array(self.lexicon.index.keys),
            "emoji": self.links.emoji,
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
        expected = "ascending numbers of 32 bits, not 0"
        fits = not len(keys) or (
            keys[0] > 0 and keys[-1] < 1 << 32 and (keys[1:] > keys[:-1]).all()
        )
        stored.require(bool(fits), "lexicon", expected, "others")
        stored.require(index.is_spread(), "lexicon", "hashes of tokens", "some that collide")
        model = read["model"] and SequenceModel.from_payload(read["model"], COLUMNS, N_LABELS)
        links = Links(read["close"].copy(), read["blank"].copy(), read["emoji"])
        decides = model is not None or not links.decide
        stored.require(decides, "model", "one that decides where links are open", "none")
        return cls(
            model,
            links,
            Lexicon(index, np.zeros(0, dtype=np.int32)),
            read["addresses"],
        )


def _scores(model: SequenceModel, pieces: Pieces, values: Ints, rows: Longs) -> Floats:
    """The scores of both labels of the pieces ``rows``."""
    paragraphs = paragraphs_of(pieces)
    scores = np.empty(N_LABELS * len(rows))
    for first in range(0, len(rows), _BLOCK):
        some = rows[first : first + _BLOCK]
        keys = keys_at(model.templates, some, values, paragraphs)
        scores[N_LABELS * first : N_LABELS * (first + len(some))] = model.score(
            keys, all_labels(len(some), N_LABELS)
        )
    return scores


def tokens_of(pieces: Pieces, starts: Mask) -> Tokens:
    """The tokens that start with some pieces."""
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(pieces)) - 1 if len(first) else first
    return Tokens(pieces.begins[first], pieces.ends[last])


def forms_of(text: str, tokens: Tokens) -> list[str]:
    """The tokens as strings."""
    pairs: Sequence[tuple[int, int]] = list(
        zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True)
    )
    return [text[start:end] for start, end in pairs]
