"""The first learning rate of online EG, from a share of the examples (Collins et al. 2008, section
7).

The paper: "we first consider only 10% of the data-set, and find a value of eta that results in
monotone improvement for at least 95% of the samples". We read this as follows. The problem is that
of the sample alone, so that v is made of its examples only. They are visited ``PASSES`` times, in
one random order, and every step is taken at the same rate, whatever it does to the dual. An example
improves monotonically if none of its steps lowers the dual. The result is the greatest eta 2^k, for
the configured eta and a whole number k, with which enough examples do.

One step from the starting point would not do. There the quadratic part of the dual is small, and
steps of any size raise it, above all under max-margin, where it is linear otherwise: the rate would
be many times too large for the steps that follow. Visits to the sample count as evaluations.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from egparse.learners.eg.online import EGState, OnlineEG
    from egparse.types import Floats, Longs

ENOUGH = 0.95
"""The share of the examples whose steps must all raise the dual."""
PASSES = 3
_DOUBLINGS = 20  # at most, up or down


def calibrated_eta(learner: OnlineEG, state: EGState, height: Floats) -> float:
    """The first rate for ``learner``; ``height`` (n,) is the theta of correct parts at the start.

    ``state`` gets the evaluations, and its generator draws the sample. v is not 0 afterwards, and
    belongs to no state.
    """
    count = max(1, math.ceil(learner.config.calibrate * learner.n))
    sample = state.generator.permutation(learner.n)[:count]

    def improves(eta: float) -> bool:
        return _improving(learner, state, height, sample, eta) >= ENOUGH

    eta = learner.config.eta
    if improves(eta):
        for _ in range(_DOUBLINGS):
            if not improves(2 * eta):
                break
            eta *= 2
        return eta
    for _ in range(_DOUBLINGS):
        eta /= 2
        if improves(eta):
            break
    return eta


def _improving(
    learner: OnlineEG, counted: EGState, height: Floats, sample: Longs, eta: float
) -> float:
    """The share of the sample whose every step at the rate raises the dual, or leaves it."""
    state = learner.begin(height, sample)
    falls = np.zeros(learner.n, dtype=bool)
    for _ in range(PASSES):
        for i in sample.tolist():
            falls[i] |= not learner.take_step(state, i, eta)
        if falls.sum() > (1.0 - ENOUGH) * len(sample):
            break
    counted.evaluations += state.evaluations
    return 1.0 - float(falls.sum()) / len(sample)
