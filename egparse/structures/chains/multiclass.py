"""Independent multi-class choices: a chain without transitions, block after block of classes.

One candidate is chosen in each block, and the score of a joint choice is the sum of theirs. The
parts of block k are ``starts[k]:starts[k + 1]``. A multi-class example is a single block; a
sentence of words without transitions is a block for each word, so that one call serves the
sentence. Everything takes O(parts) time.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.types import Floats, Ints


@njit(fast=True)
def softmax(parts: Floats, starts: Ints, marginals: Floats) -> float:
    """Write the probability of every candidate to ``marginals`` (parts,) and return log Z in nats,
    summed over the blocks.

    Where a block has no candidate above -inf, log Z is -inf and all probabilities are 0.
    """
    log_z = 0.0
    for k in range(starts.shape[0] - 1):
        shift = -np.inf
        for c in range(starts[k], starts[k + 1]):
            shift = max(shift, parts[c])
        if shift == -np.inf:
            marginals[: starts[starts.shape[0] - 1]] = 0.0
            return -np.inf
        total = 0.0
        for c in range(starts[k], starts[k + 1]):
            marginals[c] = np.exp(parts[c] - shift)
            total += marginals[c]
        for c in range(starts[k], starts[k + 1]):
            marginals[c] /= total
        log_z += shift + np.log(total)
    return log_z


@njit
def best_choice(parts: Floats, starts: Ints, choice: Ints) -> float:
    """Write the index of the best candidate of each block (the first of equally good ones) to
    ``choice`` (blocks,), and return the score of all blocks together.
    """
    score = 0.0
    for k in range(starts.shape[0] - 1):
        place = starts[k]
        for c in range(starts[k], starts[k + 1]):
            if parts[c] > parts[place]:
                place = c
        choice[k] = place - starts[k]
        score += parts[place]
    return score
