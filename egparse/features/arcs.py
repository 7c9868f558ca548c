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
    index_shift,
    mix,
    weight_index,
)
from egparse.features.sentence_context import N_BETWEEN
from egparse.features.templates import (
    MAX_HASHED_CELLS,
    WORD_COLUMNS,
    read_ends,
    wordless_first,
)
from egparse.types import Floats, Ints, Shorts, Singles, UInt8s, UInt32s, UInt64s

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
    indices: UInt32s,
) -> int:
    """Write the indices of the weights of one arc's features; returns how many there are.

    An index combined (exclusive or) with a number below 16 stays in the same block of 16 weights:
    1 to 8 are the bins of the length, 13 to 15 stand for 1, 2 or more words of one tag in between.
    """
    rightward = head < dependent
    direction = direction_code(head, dependent)
    distance = dependent - head if rightward else head - dependent
    length = np.uint32(LENGTH_BINS[distance] if distance < 16 else 8)
    n_templates = head_sides.shape[0]
    head_row, dependent_row = head_codes[head], dependent_codes[dependent]
    for t in range(n_templates):
        # unsigned indices spare numba the test for negative ones
        base = head_row[np.uint32(head_sides[t])] ^ dependent_row[np.uint32(dependent_sides[t])]
        index = weight_index(((base ^ np.uint64(t)) * MIXER) ^ direction, shift)
        indices[t] = index
        if t < n_with_length:
            indices[n_templates + t] = index ^ length
    count: int = n_templates + n_with_length
    fine = head_row[head_sides[0]] ^ dependent_row[dependent_sides[0]]
    fine = (fine * np.uint64(0x94D049BB133111EB)) ^ direction
    coarse = head_row[head_sides[1]] ^ dependent_row[dependent_sides[1]]
    coarse = (coarse * np.uint64(0xBF58476D1CE4E5B9)) ^ direction
    shape = coarse  # the pair of tags and the set of tags in between
    same_head, same_dependent = 0, 0  # words in between with the tag of the head, the dependent
    if distance > 1:
        first = before[head if rightward else dependent]
        last = before[dependent - 1 if rightward else head - 1]
        for b in range(first.shape[0]):
            between = last[b] - first[b]
            if between > 0:
                tag = np.uint64(b + 1) * np.uint64(0xD6E8FEB86659FD93)
                index = weight_index(coarse ^ tag, shift)
                indices[count] = weight_index(fine ^ tag, shift)
                indices[count + 1] = index ^ length
                indices[count + 2] = index ^ np.uint32(12 + min(between, 3))
                count += 3
                shape = mix(shape, tag, _FOLD)
        same_head = min(last[tags[head]] - first[tags[head]], 3)
        same_dependent = min(last[tags[dependent]] - first[tags[dependent]], 3)
    same = np.uint64(4 * same_head + same_dependent + 1) * np.uint64(0xC4CEB9FE1A85EC53)
    indices[count] = weight_index(coarse ^ same, shift)
    indices[count + 1] = weight_index(fine ^ same, shift)
    indices[count + 2] = weight_index(shape, shift)
    return count + 3


# Arrays are taken out of their tuples before the loops: numba counts a reference for each access to
# a field.


@njit
def score_arcs(
    codes: ArcCodes,
    templates: ArcTemplates,
    arcs: Shorts,
    weights: Singles,
    indices: UInt32s,
    scores: Floats,
) -> None:
    """Write the score of each arc ``arcs[r] = (head, dependent)`` of one sentence to ``scores[r]``.

    ``weights`` is (2^bits,); ``indices`` is a buffer with room for the features of one arc.
    """
    shift = index_shift(weights)
    head_codes, dependent_codes = codes.head, codes.dependent
    tags, before = codes.tags, codes.before
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
            indices,
        )
        # the loop of hashing.sum_weights: inlined by numba it makes this kernel a tenth slower
        even, odd = np.float32(0.0), np.float32(0.0)
        for f in range(0, count - 1, 2):
            even += weights[indices[f]]
            odd += weights[indices[f + 1]]
        if count % 2:
            even += weights[indices[count - 1]]
        scores[r] = even + odd


@njit
def add_arcs(
    codes: ArcCodes,
    templates: ArcTemplates,
    arcs: Shorts,
    changes: Floats,
    weights: Singles,
    indices: UInt32s,
) -> float:
    """Add ``changes[r]`` times the features of arc r to the weights; buffers as in ``score_arcs``.

    Returns the change of the squared norm of the weights, exact for the weights as stored.
    """
    shift = index_shift(weights)
    head_codes, dependent_codes = codes.head, codes.dependent
    tags, before = codes.tags, codes.before
    head_sides, dependent_sides = templates.head_sides, templates.dependent_sides
    n_with_length = templates.n_with_length
    norm_change = 0.0
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
            indices,
        )
        for f in range(count):
            norm_change += change_weight(weights, indices[f], change)
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
