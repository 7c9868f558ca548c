"""Features of arcs and of labelled arcs, hashed into one table of weights (see ``hashing``).

A template (see ``templates``) is a conjunction of cells at the head and at the dependent, such as
``h.form h.xpos + d.xpos[-1] d.xpos``. That of each end is hashed once per word; an arc combines a
head code and a dependent code by exclusive or, with the direction of the arc, so that a feature
costs a multiplication and a shift. Templates without words yield a second feature, the same in
conjunction with the length of the arc; the indices of the two differ in their last four bits only,
so that both weights lie in one line of the processor's cache. Words with lengths are too sparse to
help (see docs/decisions/arc-features.md). The tags of the words between the two ends, and counts of
them, yield further features.

For labelled arcs a template and an arc select a line of 16 weights, and the rank of a label selects
one weight in it, so that all labels of an arc cost hardly more memory accesses than one. Labels of
rank 16 and above are in the neighbouring lines.

Templates follow McDonald et al. (2005, "Online large-margin training of dependency parsers", table
1), with more context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.features.hashing import (
    MIXER,
    change_weight,
    direction_code,
    in_units,
    index_shift,
    mix,
    sum_weights,
    weight_index,
)
from egparse.features.sentence_context import N_BETWEEN
from egparse.features.templates import (
    MAX_HASHED_CELLS,
    WORD_COLUMNS,
    read_ends,
    wordless_first,
)
from egparse.storage.arrays import Weights
from egparse.types import Floats, Int8s, Ints, Shorts, Singles, UInt8s, UInt32s, UInt64s

MAX_TEMPLATES = 256
"""The features of one arc fit a buffer, and hashing tells templates apart by a number below this.
"""

LENGTH_BINS = np.array([0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 7, 7, 7, 7, 7, 7], dtype=np.int64)
"""The bin of a length below 16; longer arcs are in bin 8."""


class ArcTemplates(NamedTuple):
    """Compiled templates: arrays only, because numba would convert every string of a tuple at every
    call.

    A side is a conjunction at one end: cell ``c`` of head side ``s`` is the column
    ``head_columns[s, c]`` (-1: no cell) of the word at offset ``head_offsets[s, c]``, and the same
    for dependent sides. Template ``t`` combines the sides ``head_sides[t]`` and
    ``dependent_sides[t]``. The first ``n_with_length`` templates are combined with the length of
    the arc too; the first two, a fine and a coarse pair of tags, also with the words in between,
    whose tags are in ``between_column``.
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
    """The hashed conjunctions of one sentence and the tags between its words; position 0 is the
    root.

    ``head[position, side]`` and ``dependent[position, side]`` are codes; ``tags[position]`` is the
    tag that counts between words; ``before[position, b]`` is the number of words with tag ``b`` up
    to and including the position.
    """

    head: UInt64s
    dependent: UInt64s
    tags: Ints
    before: Shorts


def compile_arc_templates(
    texts: Sequence[str], columns: Sequence[str], between: str
) -> ArcTemplates:
    """Check and compile templates over named columns; ``between`` names the column of the tags
    that count between the ends of an arc.

    Templates that name words (``templates.holds_words``) are not combined with the length of the
    arc.

    Raises:
        ConfigError: a template cannot be read or names an unknown column, or there are fewer than
            two templates without words or more than ``MAX_TEMPLATES``.
    """
    if len(texts) > MAX_TEMPLATES:
        raise ConfigError(f"expected at most {MAX_TEMPLATES} arc templates, got {len(texts)}")
    numbers = {name: number for number, name in enumerate(columns)}
    if between not in numbers:
        raise ConfigError(
            f"expected one of the columns {', '.join(columns)} in between, got {between!r}"
        )
    read = [read_ends(text, ("h", "d"), numbers) for text in texts]
    templates, n_wordless = wordless_first(read, numbers)
    if n_wordless < 2:
        raise ConfigError(
            f"expected at least two arc templates without {', '.join(WORD_COLUMNS)}, got "
            f"{n_wordless}"
        )
    sides = [list(dict.fromkeys(tuple(template[end]) for template in templates)) for end in (0, 1)]
    numbered = np.array(
        [[sides[end].index(tuple(template[end])) for template in templates] for end in (0, 1)],
        dtype=np.int32,
    )
    return ArcTemplates(
        *_table(sides[0]), *_table(sides[1]), numbered[0], numbered[1], numbers[between], n_wordless
    )


def _table(sides: Sequence[Sequence[tuple[int, int]]]) -> tuple[Ints, Ints]:
    columns = np.full((len(sides), MAX_HASHED_CELLS), -1, dtype=np.int32)
    offsets = np.zeros((len(sides), MAX_HASHED_CELLS), dtype=np.int32)
    for s, side in enumerate(sides):
        for c, cell in enumerate(side):
            columns[s, c], offsets[s, c] = cell
    return columns, offsets


_FOLD = np.uint64(32)
_HEAD_SEED = np.uint64(0x9E3779B97F4A7C15)
_DEPENDENT_SEED = np.uint64(0xC2B2AE3D27D4EB4F)


@njit
def _side_codes(
    values: Ints, columns: Ints, offsets: Ints, seed: np.uint64, codes: UInt64s
) -> None:
    """The code of each side at each position, from ``values`` (n + 1, columns)."""
    size = values.shape[0]
    for position in range(size):
        for s in range(columns.shape[0]):
            code = mix(seed, np.uint64(s + 1), _FOLD)
            for c in range(columns.shape[1]):
                if columns[s, c] < 0:
                    break
                neighbour = position + offsets[s, c]
                # 1 left of the root, 2 right of the last word: one boundary at each end
                value = np.uint64(1 if neighbour < 0 else 2)
                if 0 <= neighbour < size:
                    value = np.uint64(values[neighbour, columns[s, c]] + 3)
                code = mix(code, value, _FOLD)
            codes[position, s] = code


@njit
def encode_arcs(values: Ints, templates: ArcTemplates, codes: ArcCodes) -> None:
    """Fill ``codes`` for a sentence of n words: ``values`` is (n + 1, columns), row 0 the root."""
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


def codes_for(templates: ArcTemplates, n: int) -> ArcCodes:
    """Room for the codes of a sentence of n words."""
    return ArcCodes(
        np.empty((n + 1, len(templates.head_columns)), dtype=np.uint64),
        np.empty((n + 1, len(templates.dependent_columns)), dtype=np.uint64),
        np.empty(n + 1, dtype=np.int32),
        np.zeros((n + 1, N_BETWEEN), dtype=np.int16),
    )


@njit
def encode_sentence(values: Ints, templates: ArcTemplates) -> ArcCodes:
    """``encode_arcs`` into new arrays, for kernels."""
    size = values.shape[0]
    codes = ArcCodes(
        np.empty((size, templates.head_columns.shape[0]), dtype=np.uint64),
        np.empty((size, templates.dependent_columns.shape[0]), dtype=np.uint64),
        np.empty(size, dtype=np.int32),
        np.zeros((size, N_BETWEEN), dtype=np.int16),
    )
    encode_arcs(values, templates, codes)
    return codes


@njit
def _put_features(
    codes: ArcCodes, templates: ArcTemplates, arcs: Shorts, shift: np.uint64, indices: UInt32s
) -> None:
    """Write the indices of the weights of some arcs' features: ``indices[f, r]`` is that of feature
    f of arc r, and the last row has the number of features of each arc.

    Template by template, because a loop over arcs neither waits for one product before the next nor
    reads the template again. An index combined (exclusive or) with a number below 16 stays in the
    same block of 16 weights: 1 to 8 are the bins of the length, 13 to 15 stand for 1, 2 or more
    words of one tag in between.
    """
    # arrays are taken out of their tuples before the loops: numba counts a reference for each
    # access to a field; and unsigned indices spare it the test for negative ones
    head_codes, dependent_codes = codes.head.reshape(-1), codes.dependent.reshape(-1)
    tags, before = codes.tags, codes.before
    head_sides, dependent_sides = templates.head_sides, templates.dependent_sides
    n_templates, n_with_length = head_sides.shape[0], templates.n_with_length
    n_arcs = arcs.shape[0]
    ends = np.empty((3, n_arcs), dtype=np.uint64)
    heads, dependents, directions = ends[0], ends[1], ends[2]
    lengths = np.empty(n_arcs, dtype=np.uint32)
    for r in range(n_arcs):
        head, dependent = int(arcs[r, 0]), int(arcs[r, 1])
        distance = abs(head - dependent)
        heads[r] = np.uint64(head * codes.head.shape[1])
        dependents[r] = np.uint64(dependent * codes.dependent.shape[1])
        directions[r] = direction_code(head, dependent)
        lengths[r] = np.uint32(LENGTH_BINS[distance] if distance < 16 else 8)
    for t in range(n_templates):
        number, row = np.uint64(t), indices[t]
        head_side, dependent_side = np.uint64(head_sides[t]), np.uint64(dependent_sides[t])
        for r in range(n_arcs):
            code = head_codes[heads[r] + head_side] ^ number
            code ^= dependent_codes[dependents[r] + dependent_side]
            row[r] = weight_index((code * MIXER) ^ directions[r], shift)
    for t in range(n_with_length):
        row, plain = indices[n_templates + t], indices[t]
        for r in range(n_arcs):
            row[r] = plain[r] ^ lengths[r]
    for r in range(n_arcs):
        head, dependent = int(arcs[r, 0]), int(arcs[r, 1])
        length, direction = lengths[r], directions[r]
        fine = head_codes[heads[r] + np.uint64(head_sides[0])]
        fine ^= dependent_codes[dependents[r] + np.uint64(dependent_sides[0])]
        fine = (fine * np.uint64(0x94D049BB133111EB)) ^ direction
        coarse = head_codes[heads[r] + np.uint64(head_sides[1])]
        coarse ^= dependent_codes[dependents[r] + np.uint64(dependent_sides[1])]
        coarse = (coarse * np.uint64(0xBF58476D1CE4E5B9)) ^ direction
        shape = coarse  # the pair of tags and the set of tags in between
        same_head, same_dependent = 0, 0  # words in between with the tag of the head, the dependent
        f: int = n_templates + n_with_length
        if abs(head - dependent) > 1:
            first, last = before[min(head, dependent)], before[max(head, dependent) - 1]
            for b in range(first.shape[0]):
                between = last[b] - first[b]
                if between > 0:
                    tag = np.uint64(b + 1) * np.uint64(0xD6E8FEB86659FD93)
                    index = weight_index(coarse ^ tag, shift)
                    indices[f, r] = weight_index(fine ^ tag, shift)
                    indices[f + 1, r] = index ^ length
                    indices[f + 2, r] = index ^ np.uint32(12 + min(between, 3))
                    f += 3
                    shape = mix(shape, tag, _FOLD)
            same_head = min(last[tags[head]] - first[tags[head]], 3)
            same_dependent = min(last[tags[dependent]] - first[tags[dependent]], 3)
        same = np.uint64(4 * same_head + same_dependent + 1) * np.uint64(0xC4CEB9FE1A85EC53)
        indices[f, r] = weight_index(coarse ^ same, shift)
        indices[f + 1, r] = weight_index(fine ^ same, shift)
        indices[f + 2, r] = weight_index(shape, shift)
        indices[-1, r] = f + 3


@njit
def _rows_for(templates: ArcTemplates, places: UInt32s) -> UInt32s:
    """The buffer as rows of indices, one for each feature that an arc may have and one for their
    number; as long as there is room.
    """
    n_features = templates.head_sides.shape[0] + templates.n_with_length + 3 * N_BETWEEN + 3
    n_arcs = places.shape[0] // (n_features + 1)
    return places[: (n_features + 1) * n_arcs].reshape((n_features + 1, n_arcs))


@njit
def score_arcs(
    codes: ArcCodes,
    templates: ArcTemplates,
    arcs: Shorts,
    weights: Weights,
    places: UInt32s,
    scores: Floats,
) -> None:
    """Write the score of each arc ``arcs[r] = (head, dependent)`` of one sentence to ``scores[r]``.

    ``places`` is a buffer for the indices of some arcs.
    """
    cells, step = weights.cells, weights.step
    shift, indices = index_shift(cells), _rows_for(templates, places)
    n_of_all = templates.head_sides.shape[0] + templates.n_with_length
    room = np.empty(2 * indices.shape[1], dtype=np.float32)
    for start in range(0, arcs.shape[0], indices.shape[1]):
        some = arcs[start : start + indices.shape[1]]
        n = some.shape[0]
        sums = room[: 2 * n].reshape((2, n))
        _put_features(codes, templates, some, shift, indices)
        sum_weights(cells, indices, n_of_all, sums)
        for r in range(n):
            for f in range(n_of_all, indices[-1, r]):
                sums[f % 2, r] += np.float32(cells[indices[f, r]])
            scores[start + r] = in_units(step, sums[0, r] + sums[1, r])


@njit
def add_arcs(
    codes: ArcCodes,
    templates: ArcTemplates,
    arcs: Shorts,
    changes: Floats,
    weights: Singles,
    places: UInt32s,
) -> float:
    """Add ``changes[r]`` times the features of arc r to the weights; buffers as in ``score_arcs``.

    Returns the change of the squared norm of the weights, exact for the weights as stored.
    """
    shift, indices = index_shift(weights), _rows_for(templates, places)
    some = np.empty((indices.shape[1], 2), dtype=np.int16)
    of_some = np.empty(indices.shape[1], dtype=np.float32)
    norm_change, n = 0.0, 0
    for r in range(arcs.shape[0]):
        change = np.float32(changes[r])
        if change != 0.0:
            some[n, 0], some[n, 1], of_some[n] = arcs[r, 0], arcs[r, 1], change
            n += 1
        if n == some.shape[0] or r == arcs.shape[0] - 1:
            _put_features(codes, templates, some[:n], shift, indices)
            for k in range(n):
                for f in range(indices[-1, k]):
                    norm_change += change_weight(weights, indices[f, k], of_some[k])
            n = 0
    return norm_change


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
def _put_lines(
    codes: ArcCodes, templates: ArcTemplates, arcs: Shorts, shift: np.uint64, lines: UInt32s
) -> None:
    """Write the line of each arc and template, ``lines[a, t]``."""
    head_codes, dependent_codes = codes.head, codes.dependent
    head_sides, dependent_sides = templates.head_sides, templates.dependent_sides
    for a in range(arcs.shape[0]):
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
            lines[a, t] = weight_index(code, shift)


@njit
def score_labels(
    codes: ArcCodes,
    templates: ArcTemplates,
    arcs: Shorts,
    candidates: ArcLabels,
    weights: Weights,
    scores: Floats,
) -> None:
    """Add the score of each labelled arc to ``scores`` (labels,)."""
    lines = np.empty((arcs.shape[0], templates.head_sides.shape[0]), dtype=np.uint32)
    _put_lines(codes, templates, arcs, index_shift(weights.cells), lines)
    _sum_lines(weights.step, weights.cells, lines, candidates, scores)


@njit
def _sum_lines(
    step: float | None,
    cells: Singles | Int8s,
    lines: UInt32s,
    candidates: ArcLabels,
    scores: Floats,
) -> None:
    """Add the weights of each arc's ``lines`` (arcs, templates) at its labels to ``scores``."""
    labels, starts = candidates.labels, candidates.starts
    if step is None:
        for a in range(lines.shape[0]):
            for t in range(lines.shape[1]):
                for k in range(starts[a], starts[a + 1]):
                    scores[k] += cells[_label_index(lines[a, t], np.uint32(labels[k]))]
    else:
        octets, n = cells.view(np.uint64), lines.shape[1]
        sums = np.empty(4, dtype=np.uint64)
        for a in range(lines.shape[0]):
            blocks, block = 0, 0
            for k in range(starts[a], starts[a + 1]):
                blocks |= 1 << (labels[k] >> 4)
            while blocks > 0:
                if blocks & 1:
                    _sum_blocks(octets, lines[a], np.uint32(block), sums)
                    for k in range(starts[a], starts[a + 1]):
                        if labels[k] >> 4 == block:
                            scores[k] += step * (_sum_at(sums, labels[k] & 15) - 128 * n)
                blocks >>= 1
                block += 1


_SIGNS = np.uint64(0x8080808080808080)
_EVEN = np.uint64(0x00FF00FF00FF00FF)


@njit(inline=True)
def _sum_blocks(octets: UInt64s, lines: UInt32s, block: np.uint32, sums: UInt64s) -> None:
    """Add up the 16 weights of one block of each line, all at once: ``octets`` are the weights,
    eight to a number, and ``sums`` (4,) has the sums, with 128 more for each weight, four to a
    number, see ``_sum_at``. So many weights as there may be templates do not overflow 16 bits.
    """
    one, eight = np.uint64(1), np.uint64(8)
    first_even = first_odd = last_even = last_odd = np.uint64(0)
    for t in range(lines.shape[0]):
        line = lines[t]
        # undo the rotation by the lowest bits of the line (``_label_index``): by a multiple of
        # eight weights in the choice of numbers, by less within them
        place = np.uint64((line >> np.uint32(4)) ^ block) << one
        half, turn = np.uint64(line >> np.uint32(3)) & one, np.uint64(line & np.uint32(7)) * eight
        low, high = octets[place + half] ^ _SIGNS, octets[place + (half ^ one)] ^ _SIGNS
        back = np.uint64(63) - turn  # in two shifts, as no number can be shifted by 64 bits
        first = (low >> turn) | ((high << one) << back)
        last = (high >> turn) | ((low << one) << back)
        first_even += first & _EVEN
        first_odd += (first >> eight) & _EVEN
        last_even += last & _EVEN
        last_odd += (last >> eight) & _EVEN
    sums[0], sums[1], sums[2], sums[3] = first_even, first_odd, last_even, last_odd


@njit(inline=True)
def _sum_at(sums: UInt64s, rank: int) -> np.int64:
    """The sum of one of 16 weights, see ``_sum_blocks``."""
    number = sums[2 * (rank >> 3) + (rank & 1)]
    return np.int64((number >> np.uint64(16 * ((rank & 7) >> 1))) & np.uint64(0xFFFF))


@njit
def add_labels(
    codes: ArcCodes,
    templates: ArcTemplates,
    arcs: Shorts,
    candidates: ArcLabels,
    changes: Floats,
    weights: Singles,
) -> float:
    """Add ``changes`` (labels,) times the features of the labelled arcs to the weights; returns as
    ``add_arcs``.
    """
    labels, starts = candidates.labels, candidates.starts
    lines = np.empty((1, templates.head_sides.shape[0]), dtype=np.uint32)
    shift, norm_change = index_shift(weights), 0.0
    for a in range(arcs.shape[0]):
        first, end = starts[a], starts[a + 1]
        if not np.any(changes[first:end]):
            continue
        _put_lines(codes, templates, arcs[a : a + 1], shift, lines)
        for t in range(lines.shape[1]):
            for k in range(first, end):
                index = _label_index(lines[0, t], np.uint32(labels[k]))
                norm_change += change_weight(weights, index, np.float32(changes[k]))
    return norm_change
