"""Probabilities of predicted values: arrays in ``Doc.user_data``, and extension attributes that
read them.

``Doc.user_data`` survives ``to_bytes`` and the processes of ``nlp.pipe``. An entry holds the
probabilities of a layer and the characters of the tokens that they belong to. A token has a
probability as long as it has the same characters: other tokens may be merged or split.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from spacy.tokens import Doc, Span, Token

from egparse.spacy_components.documents import characters_of, entries_at, key_at, user_data

_OF_TOKENS = ("tag", "pos", "morph", "lemma", "ent", "head", "dep")

_MANY = "s"
"""What the name of an entry adds to that of its attribute, whose values spaCy would look for under
the same name.
"""


class ProbabilityWarning(UserWarning):
    """Probabilities of a Doc that has none."""


class _Aligned(NamedTuple):
    """The probabilities of one layer in a Doc, by token: nan for none; ``starts`` and ``ends`` are
    the characters of the tokens. They were found among ``n_entries`` entries.
    """

    n_entries: int
    starts: list[int]
    ends: list[int]
    values: list[float]

    def fits(self, doc: Doc, first: int, end: int) -> bool:
        """Whether a Doc still has these tokens, at least from ``first`` to ``end - 1``."""
        if self.n_entries != len(doc.user_data) or len(self.values) != len(doc):
            return False
        last = doc[end - 1]
        return self.starts[first] == doc[first].idx and self.ends[end - 1] == last.idx + len(last)


_ALIGNED: WeakKeyDictionary[Doc, dict[str, _Aligned]] = WeakKeyDictionary()


def key_of(name: str) -> str:
    """The name of the attribute."""
    return f"egparse_{name}_prob"


def put(doc: Doc, name: str, probabilities: npt.NDArray[np.floating]) -> None:
    """Store the probabilities of tokens, shape (tokens,), as float32; nan for none."""
    key, data = key_of(name) + _MANY, user_data(doc)
    for start in entries_at(doc, key):
        del data[key_at(key, start)]
    characters = characters_of(doc).astype(np.int32)
    data[key_at(key, 0)] = [characters, probabilities.astype(np.float32)]
    _ALIGNED.pop(doc, None)


def register() -> None:
    """Register ``token._.egparse_tag_prob``, ``..._pos_``, ``..._morph_``, ``..._lemma_``,
    ``..._ent_``, ``..._head_`` and ``..._dep_prob``, and ``span._.egparse_ent_prob``: from 0 to 1,
    or None.

    The probability of a span is the least of its tokens', an upper bound of that of the whole span.
    """
    for name in _OF_TOKENS:
        if not Token.has_extension(key_of(name)):
            Token.set_extension(key_of(name), getter=partial(_of_token, key_of(name)))
    if not Span.has_extension(key_of("ent")):
        Span.set_extension(key_of("ent"), getter=_of_entity)


def _of_token(key: str, token: Token) -> float | None:
    return _least(token.doc, key, token.i, token.i + 1)


def _of_entity(span: Span) -> float | None:
    return _least(span.doc, key_of("ent"), span.start, span.end)


def _least(doc: Doc, key: str, first: int, end: int) -> float | None:
    """The least of the known probabilities of tokens, at least one."""
    if first >= end:
        return None
    layers = _ALIGNED.setdefault(doc, {})
    found = layers.get(key)
    if found is None or not found.fits(doc, first, end):
        found = layers[key] = _align(doc, key)
    return min((value for value in found.values[first:end] if not math.isnan(value)), default=None)


def _align(doc: Doc, key: str) -> _Aligned:
    """The probabilities of a layer for the tokens that a Doc has now.

    An entity that was merged into one token has the least probability of its parts; every other
    token that the model has not seen has none.
    """
    starts, ends = characters_of(doc).T.tolist()
    parts = {
        start + first: (start + end, value)
        for start, (characters, values) in entries_at(doc, key + _MANY).items()
        for (first, end), value in zip(characters.tolist(), values.tolist(), strict=True)
    }
    if not parts and len(doc):
        warnings.warn(
            f"expected a Doc with probabilities for {key}, got one without any: they are set by "
            "components with the setting 'probabilities', and kept by Span.as_doc with "
            "copy_user_data=True",
            ProbabilityWarning,
            stacklevel=5,
        )
    places, of_tokens = sorted(parts), []
    for start, end in zip(starts, ends, strict=True):
        stop, value = parts.get(start, (end, math.nan))
        if stop < end and key == key_of("ent"):
            inside = places[bisect_left(places, start) : bisect_left(places, end)]
            stop = parts[inside[-1]][0]
            known = [parts[place][1] for place in inside if not math.isnan(parts[place][1])]
            value = min(known, default=math.nan)
        of_tokens.append(value if stop == end else math.nan)
    return _Aligned(len(doc.user_data), starts, ends, of_tokens)
