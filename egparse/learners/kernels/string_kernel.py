"""The gap-weighted subsequence kernel (Lodhi et al. 2002, section 3).

K_n(s, t) = sum over the sequences u of n symbols, and over the places i where u is a subsequence of s, j where it is one of t, of
decay ^ (l(i) + l(j)), with l the length spanned from the first to the last place: gaps cost as much as symbols. O(n |s| |t|) a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.learners.kernels.normalisation import normalised

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class StringKernel:
    """Examples are strings, or sequences of symbol numbers. ``length`` is n; ``normalise`` divides by the self-kernels.

    Raises:
        ConfigError: a length below 1, or a decay outside (0, 1].
    """

    length: int = 3
    decay: float = 0.5
    normalise: bool = True

    def __post_init__(self) -> None:
        if self.length < 1 or not 0 < self.decay <= 1:
            raise ConfigError(
                f"string kernel: expected length >= 1 and decay in (0, 1], got {self.length} and {self.decay}"
            )

    def matrix(self, a: Sequence[str | Ints], b: Sequence[str | Ints]) -> Floats:
        """(a, b). Strings without a subsequence of n symbols are orthogonal to all."""
        rows, row_starts = _flat(a)
        columns, column_starts = _flat(b)
        out = np.zeros((len(a), len(b)))
        _subsequence_matrix(rows, row_starts, columns, column_starts, self.length, self.decay, out)
        if not self.normalise:
            return out
        own, other = np.zeros(len(a)), np.zeros(len(b))
        _self_kernels(rows, row_starts, self.length, self.decay, own)
        _self_kernels(columns, column_starts, self.length, self.decay, other)
        return normalised(out, own, other)


def _flat(examples: Sequence[str | Ints]) -> tuple[Ints, Ints]:
    symbols = [
        np.array([ord(character) for character in own], dtype=np.int64)
        if isinstance(own, str)
        else np.asarray(own, dtype=np.int64)
        for own in examples
    ]
    starts = np.cumsum([0] + [len(own) for own in symbols], dtype=np.int64)
    return np.concatenate([np.zeros(0, dtype=np.int64), *symbols]), starts


@njit
def _subsequence_matrix(
    rows: Ints, row_starts: Ints, columns: Ints, column_starts: Ints, length: int, decay: float, out: Floats
) -> None:
    for i in range(out.shape[0]):
        s = rows[row_starts[i] : row_starts[i + 1]]
        for j in range(out.shape[1]):
            out[i, j] = subsequence_kernel(s, columns[column_starts[j] : column_starts[j + 1]], length, decay)


@njit
def _self_kernels(symbols: Ints, starts: Ints, length: int, decay: float, out: Floats) -> None:
    for i in range(out.shape[0]):
        own = symbols[starts[i] : starts[i + 1]]
        out[i] = subsequence_kernel(own, own, length, decay)


@njit
def subsequence_kernel(s: Ints, t: Ints, length: int, decay: float) -> float:
    """K_n of two sequences, by the recursion of ibid., Definition 2; ``open_[p, q]`` holds K'_i of the prefixes s[:p] and t[:q]."""
    open_ = np.ones((s.shape[0] + 1, t.shape[0] + 1))  # K'_0 = 1
    longer = np.zeros_like(open_)
    for _ in range(length - 1):
        longer[0, :] = 0.0
        for p in range(1, s.shape[0] + 1):
            running = 0.0
            longer[p, 0] = 0.0
            for q in range(1, t.shape[0] + 1):
                # K''_i(sx, tz) = decay K''_i(sx, t) + [x = z] decay^2 K'_{i-1}(s, t)
                running *= decay
                if s[p - 1] == t[q - 1]:
                    running += decay * decay * open_[p - 1, q - 1]
                # K'_i(sx, t) = decay K'_i(s, t) + K''_i(sx, t)
                longer[p, q] = decay * longer[p - 1, q] + running
        open_, longer = longer, open_
    # K_n(sx, t) = K_n(s, t) + sum over t_j = x of decay^2 K'_{n-1}(s, t[:j - 1])
    total = 0.0
    for p in range(s.shape[0]):
        for q in range(t.shape[0]):
            if s[p] == t[q]:
                total += decay * decay * open_[p, q]
    return total
