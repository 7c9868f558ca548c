"""The worked examples of the lectures, computed (McDonald 2009, "Example 2", "Linear Classifiers -
Bias Terms", "Aside: Min error versus max log-likelihood", "Example: Polynomial Kernel", "Linear
Classifiers in High Dimension").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from egparse.experiments.kernels.functions import Polynomial
from egparse.types import Floats

WORDS = ("George", "Washington", "Bridge", "General")
LABELS = ("Person", "Object")


def block_features(name: str, label: str, *, bias: bool = False) -> list[int]:
    """A block for each label: whether the name contains each word, and 1 for the bias."""
    own = [int(word in name.split()) for word in WORDS] + [1] * bias
    return [value * (label == block) for block in LABELS for value in own]


def log_likelihood(w: Floats) -> tuple[float, int]:
    """Log-likelihood in nats and the number of errors on the 1,001 points of the lectures: 1,000
    times x = (-1, 1) with label 0, once x = (3, 1) with label 1, features in a block a label.
    """
    points = ((np.array([-1.0, 1.0]), 0, 1000), (np.array([3.0, 1.0]), 1, 1))
    total, errors = 0.0, 0
    for x, label, count in points:
        scores = w.reshape(2, 2) @ x
        total += count * float(scores[label] - np.logaddexp(scores[0], scores[1]))
        errors += count * int(scores.argmax() != label)
    return total, errors


def polynomial_difference(seed: int) -> float:
    """The greatest difference of (a . b + 1)^2 from the product of the six features that the
    lectures list, over 100 pairs of points of the plane.
    """
    root = np.sqrt(2.0)
    x, y = np.random.default_rng(seed).normal(size=(2, 100, 2))

    def features(points: Floats) -> Floats:
        a, b = points.T
        return np.stack([a**2, b**2, root * a, root * b, root * a * b, np.ones_like(a)], axis=1)

    return float(np.abs(Polynomial(degree=2).matrix(x, y) - features(x) @ features(y).T).max())


def measure_examples(seed: int) -> dict[str, Any]:
    """All examples."""
    minimal, likely = (
        log_likelihood(np.array(w)) for w in ([-1.0, 0.0, 1.0, 0.0], [-1.0, 7.0, 1.0, 0.0])
    )
    return {
        "General George Washington": block_features("General George Washington", "Person"),
        "George Washington Bridge": block_features("George Washington Bridge", "Object"),
        "George Washington George": block_features("George Washington George", "Object"),
        "with bias": block_features("General George Washington", "Object", bias=True),
        "minimum error": {"log-likelihood": minimal[0], "errors": minimal[1]},
        "maximum likelihood": {"log-likelihood": likely[0], "errors": likely[1]},
        "polynomial kernel": polynomial_difference(seed),
    }
