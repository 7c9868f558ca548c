"""Which examples a round of online learning visits: those that gained most when last seen, and some
of all others.

Most examples of a trained tagger are settled after a few passes. We visit example i with a
probability in proportion to its last gain per unit of work, at least ``least`` and at most 1,
scaled so that the expected work of a round is a given share of a whole pass. Compare the sampling
by duality gap of Le Priol et al. 2018 (Adaptive stochastic dual coordinate ascent for CRFs, section
5): the gain is a by-product of the step, where the gap needs inference at the primal weights.
"""

from __future__ import annotations

import numpy as np

from egparse.types import Floats, Longs

MIN_VISIT_PROBABILITY = 0.1
"""The probability that an example which gains nothing is visited in a round."""
_BISECTIONS = 40
_NOTHING = 1e-200  # gains that are none, and would overflow what they are scaled by


def sample_examples(
    gains: Floats,
    sizes: Floats,
    share: float,
    generator: np.random.Generator,
    least: float = MIN_VISIT_PROBABILITY,
) -> Longs:
    """Draw the examples of a round, in random order; ``sizes`` is the work of each, ``share`` the
    part of all work to do.
    """
    chances = visit_chances(gains, sizes, share, least)
    chosen = np.flatnonzero(generator.random(len(gains)) < chances)
    generator.shuffle(chosen)
    return chosen


def visit_chances(
    gains: Floats, sizes: Floats, share: float, least: float = MIN_VISIT_PROBABILITY
) -> Floats:
    """Probabilities p with sum p size = share * sum size, proportional to gain / size between
    ``least`` and 1.

    If no scale reaches the share (hardly any example gains), whatever is missing goes to all
    examples alike.
    """
    rates = np.maximum(gains, 0.0) / sizes
    weights = sizes / sizes.sum()
    top = float(rates.max(initial=0.0))
    if not _NOTHING < top < np.inf:
        return np.full(len(gains), share)
    least = min(least, share)
    low, high = np.log(least / top), np.log(1e12 / top)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if float(weights @ np.clip(np.exp(middle) * rates, least, 1.0)) > share:
            high = middle
        else:
            low = middle
    chances: Floats = np.clip(np.exp(low) * rates, least, 1.0)
    missing = share - float(weights @ chances)
    free = float(weights @ (1.0 - chances))
    if missing > 0.0 and free > 0.0:
        chances = np.minimum(1.0, chances + (1.0 - chances) * (missing / free))
    return chances
