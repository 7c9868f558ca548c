"""The kernel of gappy subsequences of strings (Lodhi et al. 2002, "Text classification using string
kernels", Definition 2; McDonald 2009, "Popular Kernels").

The feature of a string u of n characters is the sum, over all places at which u is a subsequence of
s, of lambda to the length that it covers there, first to last character with the gaps:

    K_n(s, t) = sum_u  sum_{i: s[i] = u}  sum_{j: t[j] = u}  lambda^(l(i) + l(j))

There are as many features as strings of length n, and the kernel takes O(n |s| |t|) steps. With n =
1 it compares how often each character occurs, so it is linear in these counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.experiments.kernels.normal import normalised
from egparse.types import Floats, Ints, Longs


@dataclass(frozen=True, kw_only=True)
class Subsequence:
    """K_n(s, t) / sqrt(K_n(s, s) K_n(t, t)) for n = ``length`` and lambda = ``decay`` (Lodhi et al.
    2002, section 3); 0 for a string of fewer than ``length`` characters.

    Raises:
        ConfigError: a length below 1, or a decay outside (0, 1].
    """

    kind: ClassVar[str] = "strings"
    length: int = 3
    decay: float = 0.5

    def __post_init__(self) -> None:
        if self.length < 1 or not 0 < self.decay <= 1:
            raise ConfigError(
                f"subsequence kernel: expected length >= 1 and 0 < decay <= 1, got {self.length} "
                f"and {self.decay}"
            )

    def matrix(self, a: Sequence[str], b: Sequence[str]) -> Floats:
        """The normalised values for all pairs of strings."""
        return normalised(self._values(a, b), self._squares(a), self._squares(b))

    def _values(self, a: Sequence[str], b: Sequence[str]) -> Floats:
        (letters_a, starts_a), (letters_b, starts_b) = _packed(a), _packed(b)
        out = np.empty((len(a), len(b)))
        room = _room(starts_a, starts_b)
        _fill(letters_a, starts_a, letters_b, starts_b, self.length, self.decay, room, out)
        return out

    def _squares(self, strings: Sequence[str]) -> Floats:
        letters, starts = _packed(strings)
        out = np.empty(len(strings))
        _fill_squares(letters, starts, self.length, self.decay, _room(starts, starts), out)
        return out


def _packed(strings: Sequence[str]) -> tuple[Ints, Longs]:
    """All characters, end to end, and where each string starts, (strings + 1,)."""
    letters = np.fromiter(map(ord, "".join(strings)), dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum([len(string) for string in strings])])
    return letters, starts.astype(np.int64)


def _room(starts_a: Longs, starts_b: Longs) -> Floats:
    """Two tables of K', for the longest strings."""
    longest_a, longest_b = (int(np.diff(starts).max(initial=0)) for starts in (starts_a, starts_b))
    return np.empty((2, longest_a + 1, longest_b + 1))


@njit
def _fill(
    letters_a: Ints,
    starts_a: Longs,
    letters_b: Ints,
    starts_b: Longs,
    length: int,
    decay: float,
    room: Floats,
    out: Floats,
) -> None:
    for i in range(out.shape[0]):
        s = letters_a[starts_a[i] : starts_a[i + 1]]
        for j in range(out.shape[1]):
            t = letters_b[starts_b[j] : starts_b[j + 1]]
            out[i, j] = _value(s, t, length, decay, room)


@njit
def _fill_squares(
    letters: Ints, starts: Longs, length: int, decay: float, room: Floats, out: Floats
) -> None:
    for i in range(out.shape[0]):
        s = letters[starts[i] : starts[i + 1]]
        out[i] = _value(s, s, length, decay, room)


@njit
def _value(s: Ints, t: Ints, length: int, decay: float, room: Floats) -> float:
    """K_n of two strings, by the recursion of Lodhi et al. 2002, Definition 3."""
    m, n = s.shape[0], t.shape[0]
    if min(m, n) < length:
        return 0.0
    before, now = 0, 1
    for i in range(m + 1):
        for j in range(n + 1):
            room[before, i, j] = 1.0  # K'_0 = 1
    for _ in range(length - 1):
        for j in range(n + 1):
            room[now, 0, j] = 0.0
        for i in range(1, m + 1):
            room[now, i, 0] = 0.0
            gapped = 0.0
            for j in range(1, n + 1):
                # K''(s_1..i, t_1..j) = lambda K''(s_1..i, t_1..j-1)
                #                       + [s_i = t_j] lambda^2 K'_{k-1}(s_1..i-1, t_1..j-1)
                gapped *= decay
                if s[i - 1] == t[j - 1]:
                    gapped += decay * decay * room[before, i - 1, j - 1]
                # K'_k(s_1..i, t_1..j) = lambda K'_k(s_1..i-1, t_1..j) + K''(s_1..i, t_1..j)
                room[now, i, j] = decay * room[now, i - 1, j] + gapped
        before, now = now, before
    value = 0.0
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            # K_n = sum_ij [s_i = t_j] lambda^2 K'_{n-1}(s_1..i-1, t_1..j-1)
            if s[i - 1] == t[j - 1]:
                value += decay * decay * room[before, i - 1, j - 1]
    return value
