"""Kernels of objects of many sizes, normalised."""

from __future__ import annotations

import numpy as np

from egparse.types import Floats


def normalised(values: Floats, squares_a: Floats, squares_b: Floats) -> Floats:
    """K(a, b) / sqrt(K(a, a) K(b, b)), the cosine of the feature vectors, so that large objects do
    not have greater values with everything; 0 where an object has no features.

    ``values`` (m, n) are overwritten; ``squares_a`` (m,) and ``squares_b`` (n,) are the values of
    each object with itself.
    """
    for squares, shape in ((squares_a, (-1, 1)), (squares_b, (1, -1))):
        lengths = np.sqrt(squares)
        values /= np.where(lengths > 0, lengths, 1.0).reshape(shape)
    return values
