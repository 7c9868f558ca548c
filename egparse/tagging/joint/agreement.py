"""What neighbouring words agree in, and how much of it UPOS and XPOS leave open."""

from __future__ import annotations

import numpy as np

from egparse.types import Ints, Longs, UInt16s

AGREEMENT = frozenset({"Case", "Gender", "Number"})
"""The features in which neighbouring words agree, in most languages that have them."""

MUCH_OPEN = 2.0
"""Bits a word. Where UPOS and XPOS leave more of the features open, bigrams are of those in which
words agree too (docs/decisions/joint-tags.md).
"""


def agreeing(bundle: str) -> str:
    """The features of a bundle in which words agree."""
    return "|".join(one for one in bundle.split("|") if one.partition("=")[0] in AGREEMENT)


def bits_open(combinations: Ints, classes: UInt16s) -> float:
    """The conditional entropy, in bits, of the combination of a word (words,), given its class;
    combination ``c`` is in ``classes[c]``.
    """
    return _entropy(np.bincount(combinations)) - _entropy(np.bincount(classes[combinations]))


def _entropy(counts: Longs) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
