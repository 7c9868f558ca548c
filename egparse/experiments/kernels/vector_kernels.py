"""Kernels of feature vectors: linear, polynomial and Gaussian (McDonald 2009, "Popular Kernels").

Examples are the rows of a dense (n, d) array or of a SciPy sparse matrix. ``matrix(a, b)`` is the
(a, b) array of kernel values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from egparse.errors import ConfigError
from egparse.types import Floats


@dataclass(frozen=True, kw_only=True)
class Linear:
    """K(a, b) = a . b."""

    def matrix(self, a: Any, b: Any) -> Floats:
        """(a, b): the products of all rows."""
        return _products(a, b)


@dataclass(frozen=True, kw_only=True)
class Polynomial:
    """K(a, b) = (a . b + ``constant``) ^ ``degree``.

    Raises:
        ConfigError: a degree below 1 or a negative constant, which give no kernel.
    """

    degree: int = 2
    constant: float = 1.0

    def __post_init__(self) -> None:
        if self.degree < 1 or not self.constant >= 0:
            raise ConfigError(
                f"polynomial kernel: expected degree >= 1 and constant >= 0, got {self.degree} "
                f"and {self.constant}"
            )

    def matrix(self, a: Any, b: Any) -> Floats:
        """(a, b)."""
        return np.asarray((_products(a, b) + self.constant) ** self.degree)


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """K(a, b) = exp(-|a - b|^2 / (2 ``sigma2``)); the lecture writes sigma for what is squared
    here.

    Raises:
        ConfigError: a variance that is not positive.
    """

    sigma2: float = 1.0

    def __post_init__(self) -> None:
        if not self.sigma2 > 0:
            raise ConfigError(f"gaussian kernel: expected sigma2 > 0, got {self.sigma2}")

    def matrix(self, a: Any, b: Any) -> Floats:
        """(a, b)."""
        distances = _squares(a)[:, None] + _squares(b)[None, :] - 2.0 * _products(a, b)
        return np.exp(np.maximum(distances, 0.0) / (-2.0 * self.sigma2))


def _products(a: Any, b: Any) -> Floats:
    if issparse(a) or issparse(b):
        return np.asarray((csr_matrix(a) @ csr_matrix(b).T).toarray(), dtype=np.float64)
    return np.asarray(a, dtype=np.float64) @ np.asarray(b, dtype=np.float64).T


def _squares(a: Any) -> Floats:
    if issparse(a):
        return np.asarray(a.multiply(a).sum(axis=1), dtype=np.float64).reshape(-1)
    dense = np.asarray(a, dtype=np.float64)
    return np.asarray(np.sum(dense * dense, axis=1))
