"""Probabilities of predicted values: an array for each layer in ``Doc.user_data``, and extension
attributes that read it.

``Doc.user_data`` survives ``to_bytes`` and the processes of ``nlp.pipe``. Values set in ``token._``
would take a dictionary entry for each token.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from spacy.tokens import Doc, Span, Token

_OF_TOKENS = ("tag", "pos", "morph", "ent", "head", "dep")


class Interval(NamedTuple):
    """The tokens ``start`` to ``end - 1``."""

    start: int
    end: int


def key_of(name: str) -> str:
    """The key in ``Doc.user_data``, which is also the name of the attribute."""
    return f"egparse_{name}_prob"


def put(doc: Doc, name: str, probabilities: npt.NDArray[np.floating]) -> None:
    """Store the probabilities of tokens, shape (tokens,), as float32; nan for none."""
    doc.user_data[key_of(name)] = probabilities.astype(np.float32)


def register() -> None:
    """Register ``token._.egparse_tag_prob``, ``..._pos_``, ``..._morph_``, ``..._ent_``,
    ``..._head_`` and ``..._dep_prob``, and ``span._.egparse_ent_prob``: from 0 to 1, or None.

    The probability of a span is the least of its tokens', an upper bound of that of the whole span.
    """
    for name in _OF_TOKENS:
        if not Token.has_extension(key_of(name)):
            Token.set_extension(key_of(name), getter=partial(_of_token, key_of(name)))
    if not Span.has_extension(key_of("ent")):
        Span.set_extension(key_of("ent"), getter=_of_entity)


def _of_token(key: str, token: Token) -> float | None:
    return _least(token.doc, key, Interval(token.i, token.i + 1))


def _of_entity(span: Span) -> float | None:
    return _least(span.doc, key_of("ent"), Interval(span.start, span.end))


def _least(doc: Doc, key: str, tokens: Interval) -> float | None:
    values = doc.user_data.get(key)
    if values is None or len(values) != len(doc):  # a Doc whose tokens were merged or split since
        return None
    chosen = values[tokens.start : tokens.end]
    known = chosen[~np.isnan(chosen)]
    return float(known.min()) if len(known) else None
