"""Kernels of unit length: K(a, b) / sqrt(K(a, a) K(b, b)), so that long examples do not outweigh short ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def normalised(matrix: Floats, rows: Floats, columns: Floats) -> Floats:
    """``matrix`` (a, b) divided by the roots of the self-kernels ``rows`` (a,) and ``columns`` (b,); 0 where one of them is 0."""
    lengths = np.sqrt(rows)[:, None] * np.sqrt(columns)[None, :]
    shares: Floats = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    return shares
