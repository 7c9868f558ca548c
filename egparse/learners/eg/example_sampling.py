"""Which examples a round of online learning visits: mostly those that gained most at their last
visit, and a few of all others.

Most examples of a trained tagger hardly change after a few passes. We visit example i with a
probability in proportion to its last gain per unit of cost, between ``min_probability`` and 1,
scaled so that the expected cost of a round is a given fraction of that of a whole pass. Compare the
sampling by duality gap of Le Priol et al. 2018 (Adaptive stochastic dual coordinate ascent for
CRFs, section 5): the gain is a by-product of the step, while the gap needs inference at the primal
weights.
"""

from __future__ import annotations

import numpy as np

from egparse.types import Floats, Longs

MIN_VISIT_PROBABILITY = 0.1
"""The probability that an example which gains nothing is visited in a round."""
_BISECTIONS = 40
_NEGLIGIBLE_GAIN = 1e-200  # the scale of smaller gains would overflow


def sample_examples(
    gains: Floats,
    costs: Floats,
    fraction: float,
    generator: np.random.Generator,
    min_probability: float = MIN_VISIT_PROBABILITY,
) -> Longs:
    """Draw the examples of a round, in random order. ``gains`` and ``costs`` are (n,), and
    ``fraction`` is the part of the total cost to spend.
    """
    probabilities = visit_probabilities(gains, costs, fraction, min_probability)
    visited = np.flatnonzero(generator.random(len(gains)) < probabilities)
    generator.shuffle(visited)
    return visited


def visit_probabilities(
    gains: Floats,
    costs: Floats,
    fraction: float,
    min_probability: float = MIN_VISIT_PROBABILITY,
) -> Floats:
    """Probabilities p (n,) with p . costs = fraction * sum(costs), proportional to gain / cost
    between ``min_probability`` and 1.

    If no scale spends the whole fraction (hardly any example gains), the rest goes to all examples
    alike.
    """
    rates = np.maximum(gains, 0.0) / costs
    weights = costs / costs.sum()
    top = float(rates.max(initial=0.0))
    if not _NEGLIGIBLE_GAIN < top < np.inf:
        return np.full(len(gains), fraction)
    min_probability = min(min_probability, fraction)
    # bisection for log a, the scale in p = clip(a rates, min_probability, 1)
    low, high = np.log(min_probability / top), np.log(1e12 / top)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if float(weights @ np.clip(np.exp(middle) * rates, min_probability, 1.0)) > fraction:
            high = middle
        else:
            low = middle
    probabilities: Floats = np.clip(np.exp(low) * rates, min_probability, 1.0)
    missing = fraction - float(weights @ probabilities)
    free = float(weights @ (1.0 - probabilities))
    if missing > 0.0 and free > 0.0:
        probabilities = np.minimum(1.0, probabilities + (1.0 - probabilities) * (missing / free))
    return probabilities
