"""Features of labelled arcs: arc templates in conjunction with a label, hashed into the table of
weights that arcs have theirs in.

What a template says of an arc leads to a line of 16 weights, and labels to places in it, by their
rank: so that the labels of an arc cost hardly more than one of them. Labels of rank 16 and above
are in the neighbouring lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.arcs import LENGTH_BINS, ArcCodes, ArcTemplates
from egparse.types import Floats, Ints, Shorts, Singles, UInt8s


class ArcLabels(NamedTuple):
    """The candidate labels of each arc of a sentence: ``labels[starts[a]:starts[a + 1]]``, ranks by
    frequency.
    """

    labels: UInt8s
    starts: Ints


@njit(inline=True)
def _line(code: np.uint64, shift: np.uint64) -> np.uint32:
    return np.uint32((code * np.uint64(0x9E3779B97F4A7C15)) >> shift)


@njit(inline=True)
def _place(line: np.uint32, label: np.uint32) -> np.uint32:
    """The place of a label: turned by the lowest bits of the line, so that frequent labels do not
    crowd at its beginning.
    """
    return ((line & ~np.uint32(15)) ^ ((label >> np.uint32(4)) << np.uint32(4))) | (
        (line + label) & np.uint32(15)
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
    """Add the weights of each labelled arc to ``values`` (labels,), or the values to the weights;
    returns the change of |w|^2.
    """
    shift = np.uint64(64) - np.uint64(np.round(np.log2(weights.shape[0])))
    head_codes, dependent_codes = codes.head, codes.dependent
    head_sides, dependent_sides = templates.head_sides, templates.dependent_sides
    labels, starts = candidates.labels, candidates.starts
    grown = 0.0
    for a in range(arcs.shape[0]):
        first, end = starts[a], starts[a + 1]
        if is_change:
            moved = False
            for k in range(first, end):
                moved = moved or values[k] != 0.0
            if not moved:
                continue
        head, dependent = int(arcs[a, 0]), int(arcs[a, 1])
        distance = abs(head - dependent)
        length = LENGTH_BINS[distance] if distance < 16 else 8
        direction = (
            np.uint64(0xD6E8FEB86659FD93) if head < dependent else np.uint64(0xA5A5A5A5A5A5A5A7)
        )
        head_row, dependent_row = head_codes[head], dependent_codes[dependent]
        for t in range(head_sides.shape[0]):
            base = head_row[np.uint32(head_sides[t])] ^ dependent_row[np.uint32(dependent_sides[t])]
            code = ((base ^ np.uint64(t + 256)) * np.uint64(0xFF51AFD7ED558CCD)) ^ direction
            if t == 0:  # the pair of tags counts with the length
                code ^= np.uint64(length + 1) * np.uint64(0xC4CEB9FE1A85EC53)
            line = _line(code, shift)
            if is_change:
                for k in range(first, end):
                    place = _place(line, np.uint32(labels[k]))
                    old = weights[place]
                    new = np.float32(old + np.float32(values[k]))
                    weights[place] = new
                    grown += (np.float64(new) - np.float64(old)) * (
                        np.float64(new) + np.float64(old)
                    )
            else:
                for k in range(first, end):
                    values[k] += weights[_place(line, np.uint32(labels[k]))]
    return grown
