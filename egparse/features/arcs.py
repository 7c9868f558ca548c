"""Features of candidate arcs, hashed into one table of weights.

An arc template is two conjunctions of cells, one at the head and one at the dependent, such as
``h.form h.xpos + d.xpos[-1] d.xpos``. Every conjunction is hashed once per word; an arc combines a
head code and a dependent code by exclusive or, with the direction of the arc, so that a feature
costs a multiplication and a shift. Templates without words count a second time, with the length of
the arc; that place differs from the first in its last four bits only, so that both lie in one line
of the processor's cache. Words with lengths are too sparse to help (see
docs/decisions/arc-features.md). The words between the two ends and counts over them add features of
their own.

Weights live in a table of 2^bits numbers; features whose hashes collide share a weight (Weinberger
et al. 2009). Templates follow McDonald et al. (2005, "Online large-margin training of dependency
parsers", table 1), with more context.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.types import Floats, Ints, Shorts, Singles, UInt32s, UInt64s

MAX_CELLS = 5
LENGTH_BINS = np.array([0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 7, 7, 7, 7, 7, 7], dtype=np.int64)
"""The bin of a length below 16; longer arcs are in bin 8."""

WORD_COLUMNS = ("form", "stem")
"""Columns of words: templates that name them go without the length of the arc."""

_CELL = re.compile(r"([hd])\.([a-z0-9_]+)(?:\[([+-]?\d+)\])?")


class ArcTemplates(NamedTuple):
    """Compiled templates: arrays only, because numba would convert every string of a tuple at every
    call.

    A side is a conjunction at one end: cell ``c`` of side ``s`` is ``side_columns[s, c]`` at offset
    ``side_offsets[s, c]`` (-1: unused). Template ``t`` combines ``head_sides[t]`` of the head sides
    and ``dependent_sides[t]`` of the dependent sides. The first ``n_with_length`` templates count
    with the length of the arc too; the features of the words in between use the first two, a fine
    and a coarse pair of tags.
    """

    head_columns: Ints
    head_offsets: Ints
    dependent_columns: Ints
    dependent_offsets: Ints
    head_sides: Ints
    dependent_sides: Ints
    between_column: int
    n_with_length: int


class ArcCodes(NamedTuple):
    """The hashed conjunctions of one sentence and what is counted between its words; row 0 is the
    root.

    ``head[position, side]``, ``dependent[position, side]``; ``tags[position]`` is the tag counted
    in between; ``before[position, b]`` counts the words up to and including a position with tag
    ``b``.
    """

    head: UInt64s
    dependent: UInt64s
    tags: Ints
    before: Shorts


def compile_arc_templates(
    texts: Sequence[str], columns: Sequence[str], between: str, words: Sequence[str] = WORD_COLUMNS
) -> ArcTemplates:
    """Check and compile templates over named columns; ``between`` names the column of the tags in
    between.

    Templates that name one of the columns ``words`` go without the length of the arc.

    Raises:
        ConfigError: a template that cannot be read or names an unknown column, or fewer than two
            templates without words.
    """
    numbers = {name: number for number, name in enumerate(columns)}
    if between not in numbers:
        raise ConfigError(
            f"expected one of the columns {', '.join(columns)} in between, got {between!r}"
        )
    sparse = {numbers[name] for name in words if name in numbers}
    parsed = [_parse(text, numbers) for text in texts]
    wordless = [own for own in parsed if not _names_any(own, sparse)]
    if len(wordless) < 2:
        raise ConfigError(
            f"expected at least two arc templates without {', '.join(words)}, got {len(wordless)}"
        )
    sides: dict[str, list[tuple[tuple[int, int], ...]]] = {"h": [], "d": []}
    pairs: list[tuple[int, int]] = []
    for own in [*wordless, *(own for own in parsed if _names_any(own, sparse))]:
        places = []
        for end in ("h", "d"):
            if own[end] not in sides[end]:
                sides[end].append(own[end])
            places.append(sides[end].index(own[end]))
        pairs.append((places[0], places[1]))
    head_columns, head_offsets = _table(sides["h"])
    dependent_columns, dependent_offsets = _table(sides["d"])
    table = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return ArcTemplates(
        head_columns,
        head_offsets,
        dependent_columns,
        dependent_offsets,
        np.ascontiguousarray(table[:, 0]),
        np.ascontiguousarray(table[:, 1]),
        numbers[between],
        len(wordless),
    )


def _names_any(template: dict[str, tuple[tuple[int, int], ...]], columns: set[int]) -> bool:
    return any(column in columns for cells in template.values() for column, _ in cells)


def _parse(text: str, numbers: dict[str, int]) -> dict[str, tuple[tuple[int, int], ...]]:
    cells: dict[str, list[tuple[int, int]]] = {"h": [], "d": []}
    for word in text.replace("+", " + ").replace("[ + ", "[+").split():
        if word == "+":
            continue
        match = _CELL.fullmatch(word)
        if match is None or match[2] not in numbers:
            raise ConfigError(
                f"arc template {text!r}: expected cells such as h.form or d.xpos[-1] over the "
                "columns "
                f"{', '.join(numbers)}, got {word!r}"
            )
        cells[match[1]].append((numbers[match[2]], int(match[3] or 0)))
    if max(len(cells["h"]), len(cells["d"])) > MAX_CELLS:
        raise ConfigError(f"arc template {text!r}: expected at most {MAX_CELLS} cells an end")
    return {end: tuple(found) for end, found in cells.items()}


def _table(
    sides: list[tuple[tuple[int, int], ...]],
) -> tuple[Ints, Ints]:
    columns = np.full((len(sides), MAX_CELLS), -1, dtype=np.int32)
    offsets = np.zeros((len(sides), MAX_CELLS), dtype=np.int32)
    for s, side in enumerate(sides):
        for c, (column, offset) in enumerate(side):
            columns[s, c] = column
            offsets[s, c] = offset
    return columns, offsets


@njit(inline=True)
def _mix(code: np.uint64, value: np.uint64) -> np.uint64:
    """One step of a 64-bit hash over small integers: xor, multiply, fold."""
    mixed = (code ^ value) * np.uint64(0xFF51AFD7ED558CCD)
    return mixed ^ (mixed >> np.uint64(32))


@njit
def _side_codes(
    values: Ints,
    columns: Ints,
    offsets: Ints,
    seed: np.uint64,
    codes: UInt64s,
) -> None:
    size = values.shape[0]
    for position in range(size):
        for s in range(columns.shape[0]):
            code = _mix(seed, np.uint64(s + 1))
            for c in range(columns.shape[1]):
                if columns[s, c] < 0:
                    break
                place = position + offsets[s, c]
                # beyond the sentence there is one boundary at each end; the root stands at its left
                value = np.uint64(1 if place < 0 else 2)
                if 0 <= place < size:
                    value = np.uint64(values[place, columns[s, c]] + 3)
                code = _mix(code, value)
            codes[position, s] = code


_HEAD_SEED = np.uint64(0x9E3779B97F4A7C15)
_DEPENDENT_SEED = np.uint64(0xC2B2AE3D27D4EB4F)


@njit
def encode_arcs(values: Ints, templates: ArcTemplates, codes: ArcCodes) -> None:
    """Fill ``codes`` for one sentence: ``values`` is (n + 1, columns), row 0 the root."""
    _side_codes(values, templates.head_columns, templates.head_offsets, _HEAD_SEED, codes.head)
    _side_codes(
        values,
        templates.dependent_columns,
        templates.dependent_offsets,
        _DEPENDENT_SEED,
        codes.dependent,
    )
    n_tags = codes.before.shape[1]
    for position in range(values.shape[0]):
        tag = min(values[position, templates.between_column], n_tags - 1)
        codes.tags[position] = tag
        for b in range(n_tags):
            codes.before[position, b] = codes.before[position - 1, b] if position > 0 else 0
        if position > 0:
            codes.before[position, tag] += 1


@njit(inline=True)
def _place(code: np.uint64, shift: np.uint64) -> np.uint32:
    """The place of a code in the table: the highest bits of a product (multiplicative hashing)."""
    return np.uint32((code * np.uint64(0x9E3779B97F4A7C15)) >> shift)


@njit(inline=True)
def _arc_features(
    head_codes: UInt64s,
    dependent_codes: UInt64s,
    tags: Ints,
    before: Shorts,
    head_sides: Ints,
    dependent_sides: Ints,
    n_with_length: int,
    head: int,
    dependent: int,
    shift: np.uint64,
    places: UInt32s,
) -> int:
    """Write the places in the weight table of the features of one arc; returns how many there are.

    A place changed by a number below 16 stays in the same block of 16 weights: 1 to 8 are the bins
    of the length, 13 to 15 how many words of one tag lie in between.
    """
    rightward = head < dependent
    direction = np.uint64(0xD6E8FEB86659FD93) if rightward else np.uint64(0xA5A5A5A5A5A5A5A7)
    distance = dependent - head if rightward else head - dependent
    length = np.uint32(LENGTH_BINS[distance] if distance < 16 else 8)
    n_templates = head_sides.shape[0]
    head_row, dependent_row = head_codes[head], dependent_codes[dependent]
    for t in range(n_templates):
        # unsigned places spare the test for negative ones
        base = head_row[np.uint32(head_sides[t])] ^ dependent_row[np.uint32(dependent_sides[t])]
        place = _place(((base ^ np.uint64(t)) * np.uint64(0xFF51AFD7ED558CCD)) ^ direction, shift)
        places[t] = place
        if t < n_with_length:
            places[n_templates + t] = place ^ length
    count: int = n_templates + n_with_length
    fine = head_row[head_sides[0]] ^ dependent_row[dependent_sides[0]]
    fine = (fine * np.uint64(0x94D049BB133111EB)) ^ direction
    coarse = head_row[head_sides[1]] ^ dependent_row[dependent_sides[1]]
    coarse = (coarse * np.uint64(0xBF58476D1CE4E5B9)) ^ direction
    shape = coarse
    same_head, same_dependent = 0, 0
    if distance > 1:
        first = before[head if rightward else dependent]
        last = before[dependent - 1 if rightward else head - 1]
        for b in range(first.shape[0]):
            between = last[b] - first[b]
            if between > 0:
                tag = np.uint64(b + 1) * np.uint64(0xD6E8FEB86659FD93)
                place = _place(coarse ^ tag, shift)
                places[count] = _place(fine ^ tag, shift)
                places[count + 1] = place ^ length
                places[count + 2] = place ^ np.uint32(12 + min(between, 3))
                count += 3
                shape = (shape ^ tag) * np.uint64(0xFF51AFD7ED558CCD)
                shape ^= shape >> np.uint64(32)
        same_head = min(last[tags[head]] - first[tags[head]], 3)
        same_dependent = min(last[tags[dependent]] - first[tags[dependent]], 3)
    same = np.uint64(4 * same_head + same_dependent + 1) * np.uint64(0xC4CEB9FE1A85EC53)
    places[count] = _place(coarse ^ same, shift)
    places[count + 1] = _place(fine ^ same, shift)
    places[count + 2] = _place(shape, shift)
    return count + 3


# Arrays are taken out of their tuples before the loops: numba counts a reference for each access to
# a field.


@njit
def score_arcs(
    codes: ArcCodes,
    templates: ArcTemplates,
    arcs: Shorts,
    weights: Singles,
    places: UInt32s,
    scores: Floats,
) -> None:
    """Score the arcs ``arcs[r] = (head, dependent)`` of one sentence; ``len(weights)`` is a power
    of two.
    """
    shift = np.uint64(64) - np.uint64(np.round(np.log2(weights.shape[0])))
    head_codes, dependent_codes, tags, before = (
        codes.head,
        codes.dependent,
        codes.tags,
        codes.before,
    )
    head_sides, dependent_sides = templates.head_sides, templates.dependent_sides
    n_with_length = templates.n_with_length
    for r in range(arcs.shape[0]):
        count = _arc_features(
            head_codes,
            dependent_codes,
            tags,
            before,
            head_sides,
            dependent_sides,
            n_with_length,
            int(arcs[r, 0]),
            int(arcs[r, 1]),
            shift,
            places,
        )
        even, odd = np.float32(0.0), np.float32(0.0)  # two running sums hide the latency of one
        for f in range(0, count - 1, 2):
            even += weights[places[f]]
            odd += weights[places[f + 1]]
        if count % 2:
            even += weights[places[count - 1]]
        scores[r] = even + odd


@njit
def add_arcs(
    codes: ArcCodes,
    templates: ArcTemplates,
    arcs: Shorts,
    changes: Floats,
    weights: Singles,
    places: UInt32s,
) -> float:
    """Add ``changes[r]`` times the features of arc r; returns the exact change of the squared norm
    of the weights.
    """
    shift = np.uint64(64) - np.uint64(np.round(np.log2(weights.shape[0])))
    head_codes, dependent_codes, tags, before = (
        codes.head,
        codes.dependent,
        codes.tags,
        codes.before,
    )
    head_sides, dependent_sides = templates.head_sides, templates.dependent_sides
    n_with_length = templates.n_with_length
    grown = 0.0
    for r in range(arcs.shape[0]):
        change = np.float32(changes[r])
        if change == 0.0:
            continue
        count = _arc_features(
            head_codes,
            dependent_codes,
            tags,
            before,
            head_sides,
            dependent_sides,
            n_with_length,
            int(arcs[r, 0]),
            int(arcs[r, 1]),
            shift,
            places,
        )
        for f in range(count):
            old = weights[places[f]]
            new = old + change
            weights[places[f]] = new
            grown += (np.float64(new) - np.float64(old)) * (np.float64(new) + np.float64(old))
    return grown
