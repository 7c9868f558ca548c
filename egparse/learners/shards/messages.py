"""What crosses between driver and shards: numbers and plain arrays, which can be pickled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.types import UInt32s

Vector = npt.NDArray[np.floating[Any]]


class Change(NamedTuple):
    """Entries of v, of which ``places`` (entries,) are the numbers, ascending, and ``values``
    (entries,) what is added to them or what they are now. Where so many entries moved that their
    numbers would take more room than the entries that did not, ``places`` is None, and ``values``
    has all entries.
    """

    places: UInt32s | None
    values: Vector

    @property
    def bytes(self) -> int:
        """How much has to be sent."""
        return self.values.nbytes + (0 if self.places is None else self.places.nbytes)


class Round(NamedTuple):
    """What a shard does next.

    ``news`` are the entries of v that differ from those that the shard knows, with their present
    values (None: there are none, or the shard shares the memory of v). ``sigma`` is sigma' of the
    sub-problem, ``c`` the constant C of this round. With ``undo`` the shard first takes back what
    it did in its last round. It visits the part from ``begin`` to ``end`` (fractions of 1) of its
    order of visits; where ``begin`` is 0, and ``undo`` false, it draws a new order: all examples,
    or with ``by_gain`` those that gain most.
    """

    news: Change | None
    sigma: float
    c: float
    begin: float
    end: float
    by_gain: bool = False
    undo: bool = False


class Report(NamedTuple):
    """What a shard did: the ``change`` of v that its examples make, d_k, and the ``bytes`` that it
    takes at least; ``slope``, v'd_k, and ``square``, |d_k|^2; after it the sums over its examples
    of the ``value`` of the dual and of the ``gain`` of the last visits. ``evaluations`` are the
    inference calls of this round.
    """

    change: Change
    bytes: int
    slope: float
    square: float
    value: float
    gain: float
    evaluations: int


class Sums(NamedTuple):
    """Sums over the examples of a shard at w = v / C: the losses, the values of the dual, and the
    corrections of the dual for the rounding of marginals; ``counts`` has what its learner counted
    in the last pass.
    """

    loss: float
    value: float
    correction: float
    counts: dict[str, float]


class Moments(NamedTuple):
    """What the average of v over the visits of a shard is short of v, times ``visits``, their
    number; None and 0 without an average.
    """

    change: Change | None
    visits: int
