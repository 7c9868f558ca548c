"""How sure a model is, kept beside a Doc: one array of float32 for each layer in ``Doc.user_data``,
and attributes that read it.

``Doc.user_data`` survives ``to_bytes`` and the processes of ``nlp.pipe``; a number a token in
``token._`` would be a dictionary entry each.
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
    """The key in ``Doc.user_data``, and the name of the attribute."""
    return f"egparse_{name}_prob"


def put(doc: Doc, name: str, probabilities: npt.NDArray[np.floating]) -> None:
    """Keep the probabilities of tokens, shape (tokens,), nan for those that have none."""
    doc.user_data[key_of(name)] = probabilities.astype(np.float32)


def register() -> None:
    """Make ``token._.egparse_tag_prob``, ``..._pos_``, ``..._morph_``, ``..._ent_``, ``..._head_``
    and ``..._dep_prob``, and ``span._.egparse_ent_prob``: numbers from 0 to 1, or None.

    That of a span is the smallest of its tokens': an entity is at most as probable as each of its
    tags.
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
    own = values[tokens.start : tokens.end]
    known = own[~np.isnan(own)]
    return float(known.min()) if len(known) else None
