"""Features of labelled arcs: arc templates in conjunction with a label, hashed into the table of
weights that the features of arcs use (see ``hashing``).

A template and an arc select a line of 16 weights, and the rank of a label selects one weight in it,
so that all labels of an arc cost hardly more memory accesses than one. Labels of rank 16 and above
are in the neighbouring lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.arcs import LENGTH_BINS, ArcCodes, ArcTemplates
from egparse.features.hashing import (
    MIXER,
    change_weight,
    direction_code,
    index_shift,
    weight_index,
)
from egparse.types import Floats, Ints, Shorts, Singles, UInt8s


class ArcLabels(NamedTuple):
    """The candidate labels of arc ``a`` of a sentence are ``labels[starts[a]:starts[a + 1]]``, as
    ranks by frequency.
    """

    labels: UInt8s
    starts: Ints


@njit(inline=True)
def _label_index(line: np.uint32, rank: np.uint32) -> np.uint32:
    """The index of a label's weight. Ranks are rotated within the line by its lowest bits, so that
    frequent labels do not crowd at the beginning of lines.
    """
    return ((line & ~np.uint32(15)) ^ ((rank >> np.uint32(4)) << np.uint32(4))) | (
        (line + rank) & np.uint32(15)
    )


@njit
def visit_labels(
    codes: ArcCodes,
    templates: ArcTemplates,
    arcs: Shorts,
    candidates: ArcLabels,
    weights: Singles,
    values: Floats,
    is_change: bool,
) -> float:
    """Add the score of each labelled arc to ``values`` (labels,), or, with ``is_change``, add each
    value times the features of its labelled arc to the weights.

    Returns the change of the squared norm of the weights, exact for the weights as stored.
    """
    # Scoring and changing share one kernel because they share the walk over arcs and templates; the
    # branch inside the loop over templates is predicted always.
    shift = index_shift(weights)
    head_codes, dependent_codes = codes.head, codes.dependent
    head_sides, dependent_sides = templates.head_sides, templates.dependent_sides
    labels, starts = candidates.labels, candidates.starts
    norm_change = 0.0
    for a in range(arcs.shape[0]):
        first, end = starts[a], starts[a + 1]
        if is_change:
            changes = False
            for k in range(first, end):
                changes = changes or values[k] != 0.0
            if not changes:
                continue
        head, dependent = int(arcs[a, 0]), int(arcs[a, 1])
        distance = abs(head - dependent)
        length = LENGTH_BINS[distance] if distance < 16 else 8
        direction = direction_code(head, dependent)
        head_row, dependent_row = head_codes[head], dependent_codes[dependent]
        for t in range(head_sides.shape[0]):
            base = head_row[np.uint32(head_sides[t])] ^ dependent_row[np.uint32(dependent_sides[t])]
            code = ((base ^ np.uint64(t + 256)) * MIXER) ^ direction
            if t == 0:  # the pair of tags is combined with the length
                code ^= np.uint64(length + 1) * np.uint64(0xC4CEB9FE1A85EC53)
            line = weight_index(code, shift)
            if is_change:
                for k in range(first, end):
                    index = _label_index(line, np.uint32(labels[k]))
                    norm_change += change_weight(weights, index, np.float32(values[k]))
            else:
                for k in range(first, end):
                    values[k] += weights[_label_index(line, np.uint32(labels[k]))]
    return norm_change
