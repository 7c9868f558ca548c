"""Copies between arrays, for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.compilation.kernel import njit


@njit
def copy_numbers(numbers: npt.NDArray[np.generic], out: npt.NDArray[Any]) -> None:
    """Write ``numbers`` (n,) to the first n places of ``out``.

    For ``out[:] = numbers`` numba would compile an error message with the two shapes as well, which
    takes two seconds.
    """
    for r in range(numbers.shape[0]):
        out[r] = numbers[r]
