"""What a kernel is, and the kernels of vectors: linear, polynomial and Gaussian (McDonald 2009,
"Popular Kernels").

Vectors are the rows of an (n, d) array; ``matrix(a, b)`` is the (rows of a, rows of b) array of
kernel values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from egparse.errors import ConfigError
from egparse.types import Floats


class Kernel(Protocol):
    """A symmetric positive semidefinite function of two objects of one ``kind``: vectors, strings
    or trees.
    """

    kind: ClassVar[str]

    def matrix(self, a: Any, b: Any) -> Floats:
        """(len(a), len(b)): the values for all pairs of objects. Vectors are the rows of arrays,
        other objects the items of sequences.
        """


@dataclass(frozen=True, kw_only=True)
class Linear:
    """K(a, b) = a . b."""

    kind: ClassVar[str] = "vectors"

    def matrix(self, a: Floats, b: Floats) -> Floats:
        """The products of all pairs of rows."""
        return a @ b.T


@dataclass(frozen=True, kw_only=True)
class Polynomial:
    """K(a, b) = (a . b + ``constant``) ^ ``degree``.

    Raises:
        ConfigError: a degree below 1 or a negative constant, which give no kernel.
    """

    kind: ClassVar[str] = "vectors"
    degree: int = 2
    constant: float = 1.0

    def __post_init__(self) -> None:
        if self.degree < 1 or not self.constant >= 0:
            raise ConfigError(
                f"polynomial kernel: expected degree >= 1 and constant >= 0, got {self.degree} "
                f"and {self.constant}"
            )

    def matrix(self, a: Floats, b: Floats) -> Floats:
        """The values for all pairs of rows."""
        return np.asarray((a @ b.T + self.constant) ** self.degree)


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """K(a, b) = exp(-|a - b|^2 / (2 ``sigma2``)). The lecture's sigma is our ``sigma2``, the
    variance.

    Raises:
        ConfigError: a variance that is not positive.
    """

    kind: ClassVar[str] = "vectors"
    sigma2: float = 1.0

    def __post_init__(self) -> None:
        if not self.sigma2 > 0:
            raise ConfigError(f"gaussian kernel: expected sigma2 > 0, got {self.sigma2}")

    def matrix(self, a: Floats, b: Floats) -> Floats:
        """The values for all pairs of rows."""
        # |a - b|^2 = |a|^2 + |b|^2 - 2 a . b
        squares_a, squares_b = np.sum(a * a, axis=1), np.sum(b * b, axis=1)
        distances = squares_a[:, None] + squares_b[None, :] - 2.0 * (a @ b.T)
        return np.asarray(np.exp(np.maximum(distances, 0.0) / (-2.0 * self.sigma2)))
