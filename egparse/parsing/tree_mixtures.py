"""Distributions over a few trees, as targets of parsers: those of teachers, mixed with gold trees.

A mixture lists trees with their probabilities. Its part vector is the mean of those of the trees,
which is the vector of expected part counts whatever the parts are: arcs, pairs of arcs, labels. So
one mixture is a target of the pruner, of the arc-factored and of the second-order parser.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from egparse.types import Floats, Ints


class TreeMixture(NamedTuple):
    """Trees, ``heads[k]`` (n,) with positions from 1 on and 0 for the root, and their
    ``shares`` (trees,), which are positive and sum to one.
    """

    heads: list[Ints]
    shares: Floats


def mixture_of(weighted: Iterable[tuple[Ints, float]]) -> TreeMixture:
    """The mixture of trees with weights, which need not sum to one; equal trees are joined, and
    trees of weight 0 left out. The first tree stays first.
    """
    weights: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for heads, weight in weighted:
        weights[tuple(heads.tolist())] += weight
    kept = {heads: weight for heads, weight in weights.items() if weight > 0}
    shares = np.array(list(kept.values()))
    return TreeMixture([np.array(heads, dtype=np.int32) for heads in kept], shares / shares.sum())


def with_gold(teacher: TreeMixture, gold: Ints, share: float) -> TreeMixture:
    """The gold tree, and the teacher's trees with this share of the mass."""
    taught = zip(teacher.heads, (share * teacher.shares).tolist(), strict=True)
    return mixture_of([(gold, 1.0 - share), *taught])


def pooled(mixtures: Sequence[TreeMixture]) -> TreeMixture:
    """The mean of mixtures: the distribution of an ensemble."""
    return mixture_of(
        (heads, share)
        for mixture in mixtures
        for heads, share in zip(mixture.heads, mixture.shares.tolist(), strict=True)
    )
