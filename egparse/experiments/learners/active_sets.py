"""Mixtures of a few structures of one example: the active sets of Frank-Wolfe steps that move
weight from one structure to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.types import Floats

Key = bytes
"""Names a structure within its example."""


@dataclass
class _Member:
    """A structure: the ``parts`` that it has, how often, and its weight in the mixture."""

    parts: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]
    weight: float


class ActiveSet:
    """Structures of one example with weights above 0 that add up to one; at first one structure,
    the part vector ``first`` (parts,), alone.
    """

    def __init__(self, first: Floats) -> None:
        self._members: dict[Key, _Member] = {}
        self._members[self._found(first)].weight = 1.0

    def saved(self) -> list[tuple[npt.NDArray[np.int32], npt.NDArray[np.float32], float]]:
        """For a checkpoint."""
        return [(own.parts, own.counts, own.weight) for own in self._members.values()]

    def restore(self, saved: list[Any]) -> None:
        """Continue from what ``saved`` returned."""
        self._members = {
            parts.tobytes() + counts.tobytes(): _Member(parts, counts, weight)
            for parts, counts, weight in saved
        }

    def __len__(self) -> int:
        """The number of structures."""
        return len(self._members)

    def worst(self, potentials: Floats) -> tuple[Key, float]:
        """The structure of the lowest score, and that score."""
        scores = {
            key: float(potentials[own.parts] @ own.counts) for key, own in self._members.items()
        }
        key = min(scores, key=scores.__getitem__)
        return key, scores[key]

    def weight(self, key: Key) -> float:
        """The weight of a structure."""
        return self._members[key].weight

    def vector(self, key: Key, out: Floats) -> None:
        """Write the part vector of a structure into ``out`` (parts,)."""
        out[:] = 0.0
        own = self._members[key]
        out[own.parts] = own.counts

    def mixture(self, out: Floats) -> None:
        """Write the mixture of the part vectors into ``out`` (parts,)."""
        out[:] = 0.0
        for own in self._members.values():
            out[own.parts] += own.weight * own.counts

    def shrink(self, factor: float) -> None:
        """Multiply all weights by ``factor``; those that become 0 are dropped."""
        for key in list(self._members):
            self._change(key, (factor - 1.0) * self._members[key].weight)

    def include(self, structure: Floats, weight: float) -> None:
        """Give a structure (parts,) more weight."""
        if weight > 0.0:
            self._change(self._found(structure), weight)

    def take(self, key: Key, weight: float) -> None:
        """Take weight from a structure, which is dropped once it has none."""
        self._change(key, -weight)

    def _found(self, structure: Floats) -> Key:
        """The key of a part vector, which becomes a member of weight 0 if it is none."""
        parts = np.flatnonzero(structure).astype(np.int32)
        counts = structure[parts].astype(np.float32)
        key = parts.tobytes() + counts.tobytes()
        self._members.setdefault(key, _Member(parts, counts, 0.0))
        return key

    def _change(self, key: Key, by: float) -> None:
        member = self._members[key]
        left = member.weight + by
        # what rounding leaves of a weight that was taken whole
        if left <= 4 * np.finfo(np.float64).eps * abs(by):
            del self._members[key]
        else:
            member.weight = left
