"""Which arcs are worth scoring: those whose tags, direction and length have been seen together in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit

Ints = npt.NDArray[np.int32]

UNLIMITED = 1 << 14


class ArcFilter(NamedTuple):
    """``longest[head tag, dependent tag, rightward]``: the greatest length of an arc between two tags in a direction.

    ``column`` is the column of the tags. Arcs from the root, and to each word from the word before it, are always kept, so that a
    (projective, single-root) tree always exists.
    """

    longest: npt.NDArray[np.int16]
    column: int

    @classmethod
    def build(
        cls, sentences: Sequence[Ints], heads: Sequence[Ints], names: Sequence[str], min_count: int
    ) -> ArcFilter:
        """Count the arcs of the training trees; the tag is XPOS, or UPOS where there is no XPOS."""
        column = names.index("xpos")
        if not any(own[:, column].any() for own in sentences):
            column = names.index("upos")
        size = 1 + max((int(own[:, column].max()) for own in sentences), default=0)
        longest = np.zeros((size, size, 2), dtype=np.int16)
        counts = np.zeros((size, size, 2), dtype=np.int64)
        for own, correct in zip(sentences, heads, strict=True):
            tags = own[:, column]
            dependents = np.arange(1, len(own))
            cells = (tags[correct], tags[dependents], (correct < dependents).astype(np.int64))
            np.add.at(counts, cells, 1)
            np.maximum.at(longest, cells, np.abs(correct - dependents).astype(np.int16))
        longest[counts < min_count] = 0
        if min_count == 0:
            longest[:] = UNLIMITED
        return cls(longest, column)

    def with_correct(self, values: Ints, heads: Ints) -> npt.NDArray[np.int16]:
        """The candidate arcs of a training sentence, the correct ones among them."""
        room = np.empty((len(values) ** 2, 2), dtype=np.int16)
        arcs = room[: candidate_arcs(values, self, room)]
        correct = np.stack([heads, np.arange(1, len(values))], axis=1).astype(np.int16)
        present = np.zeros((len(values), len(values)), dtype=bool)
        present[arcs[:, 0], arcs[:, 1]] = True
        missing = correct[~present[correct[:, 0], correct[:, 1]]]
        return np.ascontiguousarray(np.concatenate([arcs, missing]))


@njit
def candidate_arcs(values: Ints, arc_filter: ArcFilter, arcs: npt.NDArray[np.int16]) -> int:
    """List the candidate (head, dependent) pairs of a sentence, row 0 of ``values`` being the root; returns how many."""
    longest, column = arc_filter.longest, arc_filter.column
    size, tags = values.shape[0], longest.shape[0]
    count = 0
    for dependent in range(1, size):
        tag = values[dependent, column]
        for head in range(size):
            if head == dependent:
                continue
            other = values[head, column]
            length = abs(head - dependent)
            rightward = 1 if head < dependent else 0
            keep = head == 0 or head == dependent - 1
            if not keep and tag < tags and other < tags:
                keep = length <= longest[other, tag, rightward]
            if keep:
                arcs[count, 0] = head
                arcs[count, 1] = dependent
                count += 1
    return count
