"""What neighbouring words agree in, and how much of it their coarse tags leave open."""

from __future__ import annotations

import numpy as np

from egparse.types import Ints, Longs, UInt16s

AGREEMENT = frozenset({"Case", "Gender", "Number"})
"""The features in which neighbouring words agree, in most languages that have them."""

MUCH_OPEN = 1.5
"""Bits a word. Where UPOS leaves more of these features open, bigrams see them instead of XPOS
(docs/decisions/joint-tags.md).
"""


def agreeing(bundle: str) -> str:
    """The features of a bundle in which words agree."""
    return "|".join(one for one in bundle.split("|") if one.partition("=")[0] in AGREEMENT)


def bits_open(coarse: Ints, fine: UInt16s) -> float:
    """The conditional entropy, in bits, of the fine class of a word, given its coarse class; both
    are of shape (words,), and words of the same fine class have the same coarse class.
    """
    return _entropy(np.bincount(fine)) - _entropy(np.bincount(coarse))


def _entropy(counts: Longs) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
