"""Scores of the candidate labels of words: their attributes are looked up, and rows of weights are
added up.

About half of the templates of a tagger depend on the form of one word alone: affixes, shape and
classes of the word, or of its neighbour. Their rows are summed once for each form of a batch, for
each place that the form may have beside a word; for the word itself the sums are remembered
(``form_scores``). Weights of a model file are multiples of a step, or of half precision where
they have more than 256 values, and a double holds their sums without rounding: no score depends
on the order of summation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.classes.tables import parse_column
from egparse.compilation import njit, prefetch
from egparse.features.forms import OBSERVABLES
from egparse.features.index import KeyIndex, line_of, value_of
from egparse.features.sequence import DenseRows, LabelParts, WeightRows
from egparse.features.tag_dictionary import Candidates
from egparse.features.templates import MAX_CELLS, TEMPLATE_SHIFT, VALUE_BITS, read_template
from egparse.features.vocabulary import BOUNDARY, UNKNOWN
from egparse.types import Floats, Ints, Longs, Singles, UInt16s, UInt32s, UInt64s

_WORDS = 16
"""Words whose rows are asked for at a time."""

_MOST_PARTS = 1 << 10
"""Where labels have more parts, the sums of a batch would take too much memory."""

_LENGTH_BITS = 24
_LENGTH = (1 << _LENGTH_BITS) - 1
_VECTOR = 1 << 63
_LEVEL_BITS = 16

_FEW = 6
"""Long rows are read at the candidates alone if there are so many times as many labels: adding a
vector takes as long as reading a sixth of its elements one by one.
"""


class Grouped(NamedTuple):
    """Templates in groups: those of group g depend on the form ``offsets[g]`` words after the word
    at hand alone, and are ``of_forms[bounds[g]:bounds[g + 1]]``; ``others`` do not.
    """

    offsets: Longs
    bounds: Longs
    of_forms: Longs
    others: Longs

    def divided(self) -> tuple[Grouped, Grouped]:
        """The templates of the form of the word itself, as ``others``, and all other ones."""
        groups = np.repeat(self.offsets, np.diff(self.bounds))
        own, beside = self.offsets == 0, np.diff(self.bounds)[self.offsets != 0]
        bounds = np.cumsum([0, *beside], dtype=np.int64)
        rest = Grouped(self.offsets[~own], bounds, self.of_forms[groups != 0], self.others)
        return Grouped(*NO_GROUPS, self.of_forms[groups == 0]), rest


NO_GROUPS = (np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))


def group(texts: Sequence[str], n_parts: int | None = None) -> Grouped:
    """The groups of some templates where labels have so many parts; without them there is none. A
    group has several templates: one row is as quickly added as a sum.
    """
    by_form = n_parts is not None and n_parts <= _MOST_PARTS
    groups: defaultdict[int, list[int]] = defaultdict(list)
    others: list[int] = []
    for t, text in enumerate(texts):
        cells = read_template(text)
        offsets = {cell.offset for cell in cells} or {0}
        of_form = all(one.of_item in OBSERVABLES or parse_column(one.of_item) for one in cells)
        (groups[offsets.pop()] if by_form and of_form and len(offsets) == 1 else others).append(t)
    kept = {offset: found for offset, found in groups.items() if len(found) > 1}
    others += [t for offset, found in groups.items() if offset not in kept for t in found]
    return Grouped(
        np.array([*kept], dtype=np.int64),
        np.cumsum([0, *map(len, kept.values())], dtype=np.int64),
        np.array([t for found in kept.values() for t in found], dtype=np.int64),
        np.array(sorted(others), dtype=np.int64),
    )


class Cells(NamedTuple):
    """The cells of templates, see ``Templates``."""

    columns: Ints
    offsets: Ints
    pads: bool


class Weights(NamedTuple):
    """Rows of weights by the keys of their attributes, each as close to its key as can be: rows are
    not in the cache, and every detour waits for memory.

    ``lines`` is the table of a ``KeyIndex`` whose values say where the cells of a row are:
    ``begin << _LENGTH_BITS | length``, or for a long row, which is laid out as a vector, its number
    and ``_VECTOR``. A cell of 32 bits has the label and the number of the weight among the
    ``levels``, the different weights. More than 2^16 weights are held in half precision, in which
    those of a model file are exact.
    """

    lines: UInt64s
    cells: UInt32s
    levels: Floats
    vectors: Singles
    divided: LabelParts

    @classmethod
    def of(cls, index: KeyIndex, rows: WeightRows, divided: LabelParts, n_parts: int) -> Weights:
        """The rows of an index, over the parts of labels."""
        dense, sizes = DenseRows.of(rows, n_parts), np.diff(rows.starts)
        places = rows.starts[:-1].astype(np.uint64) << np.uint64(_LENGTH_BITS)
        places |= sizes.astype(np.uint64)
        long = dense.rows >= 0
        places[long] = dense.rows[long].astype(np.uint64) | np.uint64(_VECTOR)
        levels, numbers = _levels_of(rows.weights)
        cells = rows.labels.astype(np.uint32) << np.uint32(_LEVEL_BITS) | numbers
        return cls(index.with_values(places), cells, levels, dense.weights, divided)


def _levels_of(weights: Singles) -> tuple[Floats, UInt32s]:
    """The different weights, and the number of each weight among them."""
    if len(weights) <= 1 << _LEVEL_BITS:
        levels, numbers = np.unique(weights, return_inverse=True)
        return levels.astype(np.float64), numbers.astype(np.uint32)
    exponent = 15 - np.frexp(np.abs(weights).max())[1]  # the largest weight is below 2^15 then
    patterns = np.ldexp(weights, exponent).astype(np.float16).view(np.uint16)
    is_used = np.zeros(1 << _LEVEL_BITS, dtype=np.bool_)
    is_used[patterns] = True
    half = np.flatnonzero(is_used).astype(np.uint16).view(np.float16)
    levels = np.ldexp(half.astype(np.float64), -exponent)
    return levels, (np.cumsum(is_used, dtype=np.uint32) - 1)[patterns]


@njit
def score_words(
    words: Longs,
    values: Ints,
    starts: Longs,
    form_ids: Ints,
    cells: Cells,
    grouped: Grouped,
    weights: Weights,
    items: Longs,
    candidates: Candidates,
    scores: Floats,
) -> None:
    """Score the candidate labels of some ``words``, ascending: word ``words[k]`` has those of
    ``items[k]``, and their scores are added to the same slice of ``scores``.

    ``values[word, column]`` holds the columns of consecutive sentences; sentence ``i`` has the
    words ``starts[i]`` up to ``starts[i + 1]``. Words of equal ``form_ids`` have equal forms.
    """
    n_groups, size = grouped.offsets.shape[0], weights.vectors.shape[1]
    places = np.empty((words.shape[0], n_groups), dtype=np.int32)
    sums = np.empty((0, n_groups, size))
    if n_groups:
        forms = np.empty(values.shape[0], dtype=np.int32)
        first = np.empty(values.shape[0] + 1, dtype=np.int64)
        n_forms = _number_forms(form_ids, forms, first)
        sums = np.empty((n_forms + 1, n_groups, size))
        _sum_forms(first[:n_forms], values, cells, grouped, weights, sums)
        _find_places(words, starts, forms, grouped.offsets, places)
    found = np.empty((words.shape[0], grouped.others.shape[0]), dtype=np.uint64)
    _find_rows(words, values, starts, cells, grouped.others, weights.lines, found)
    score_candidates(
        items, found, weights, places, sums, candidates.starts, candidates.labels, scores
    )


@njit
def _number_forms(form_ids: Ints, forms: Ints, first: Longs) -> int:
    """Number the forms of words in order of appearance; ``first`` gets the first word of each, and
    what is returned is how many there are.
    """
    highest = -1
    for k in range(form_ids.shape[0]):
        highest = max(highest, form_ids[k])
    numbers = np.full(highest + 1, -1, dtype=np.int32)
    n_forms = 0
    for k in range(form_ids.shape[0]):
        if numbers[form_ids[k]] < 0:
            numbers[form_ids[k]] = n_forms
            first[n_forms] = k
            n_forms += 1
        forms[k] = numbers[form_ids[k]]
    return n_forms


@njit
def _find_places(words: Longs, starts: Longs, forms: Ints, offsets: Longs, places: Ints) -> None:
    """Write which form stands ``offsets[g]`` words after each of some ``words``, ascending, -1
    where there is none, to ``places`` (words, groups).
    """
    i = 0
    for k in range(words.shape[0]):
        while starts[i + 1] <= words[k]:
            i += 1
        for g in range(offsets.shape[0]):
            position = words[k] + offsets[g]
            inside = starts[i] <= position < starts[i + 1]
            places[k, g] = forms[position] if inside else -1


@njit
def _sum_forms(
    first: Longs, values: Ints, cells: Cells, grouped: Grouped, weights: Weights, sums: Floats
) -> None:
    """Write the sum of the rows of group g at form f to ``sums[f, g]`` (parts,), from the ``first``
    word of each form; the last f stands for no word.
    """
    n_forms, chosen, bounds = first.shape[0], grouped.of_forms, grouped.bounds
    found = np.empty((n_forms + 1, chosen.shape[0]), dtype=np.uint64)
    alone = Cells(cells.columns, np.zeros_like(cells.offsets), cells.pads)
    whole = np.array([0, values.shape[0]])
    _find_rows(first, values, whole, alone, chosen, weights.lines, found[:n_forms])
    beyond = np.full((1, values.shape[1]), BOUNDARY if cells.pads else UNKNOWN, dtype=np.int32)
    nothing, one = np.zeros(1, dtype=np.int64), np.array([0, 1])
    _find_rows(nothing, beyond, one, alone, chosen, weights.lines, found[n_forms:])
    packed, levels, vectors = weights.cells, weights.levels, weights.vectors
    size = vectors.shape[1]
    for block in range(0, n_forms + 1, _WORDS):
        some = found[block : block + _WORDS]
        _ask_for(some, weights)
        for k in range(some.shape[0]):
            for g in range(bounds.shape[0] - 1):
                total = sums[block + k, g]
                total[:] = 0.0
                for j in range(bounds[g], bounds[g + 1]):
                    place = some[k, j]
                    if place >= np.uint64(_VECTOR):
                        vector = vectors[place ^ np.uint64(_VECTOR)]
                        for q in range(size):
                            total[q] += vector[q]
                    else:
                        begin = np.int64(place >> np.uint64(_LENGTH_BITS))
                        for r in range(begin, begin + np.int64(place & np.uint64(_LENGTH))):
                            cell = packed[r]
                            total[cell >> np.uint32(_LEVEL_BITS)] += levels[np.uint16(cell)]


@njit
def _find_rows(
    words: Longs,
    values: Ints,
    starts: Longs,
    cells: Cells,
    chosen: Longs,
    lines: UInt64s,
    found: UInt64s,
) -> None:
    """Write where the row of each of the ``chosen`` templates at some ``words``, ascending, is
    (see ``Weights``) to ``found`` (words, chosen), 0, an empty row, where there is none.
    """
    columns, offsets = cells.columns, cells.offsets
    n_chosen, mask = chosen.shape[0], np.uint64(lines.shape[0] - 1)
    # each value that some template names stands in a row once, so that keys are made without a
    # branch; the last value is that of cells that a template has not
    n_most = n_chosen * MAX_CELLS
    column_of, offset_of = np.empty(n_most, dtype=np.int64), np.empty(n_most, dtype=np.int64)
    places = np.full((n_chosen, MAX_CELLS), n_most, dtype=np.uint64)
    unused = np.ones((n_chosen, MAX_CELLS), dtype=np.bool_)
    n_values = 0
    for j in range(n_chosen):
        for c in range(MAX_CELLS):
            column, offset = columns[chosen[j], c], offsets[chosen[j], c]
            if column < 0:
                continue
            at = 0
            while at < n_values and (column_of[at] != column or offset_of[at] != offset):
                at += 1
            if at == n_values:
                column_of[at], offset_of[at] = column, offset
                n_values += 1
            places[j, c] = at
            unused[j, c] = False
    flat = lines.reshape(-1)
    window = np.zeros(n_most + 1, dtype=np.int32)
    beyond = np.int32(BOUNDARY if cells.pads else UNKNOWN)
    i = 0
    for k in range(words.shape[0]):
        word, of_word = words[k], found[k]
        while starts[i + 1] <= word:
            i += 1
        for at in range(n_values):
            position = word + offset_of[at]
            inside = starts[i] <= position < starts[i + 1]
            value = values[np.uint64(position if inside else word), np.uint64(column_of[at])]
            window[at] = value if inside else beyond
        for j in range(n_chosen):
            key = np.uint64(chosen[j] + 1) << np.uint64(TEMPLATE_SHIFT)
            known = True
            for c in range(MAX_CELLS):
                value = window[places[j, c]]
                known &= (value != UNKNOWN) | unused[j, c]
                key |= np.uint64(value) << np.uint64(c * VALUE_BITS)
            of_word[j] = key * np.uint64(known)
            prefetch(flat, line_of(of_word[j], mask) * np.uint64(lines.shape[1]))
        for j in range(n_chosen):
            of_word[j] = value_of(of_word[j], lines, mask, np.uint64(0))


@njit
def _ask_for(found: UInt64s, weights: Weights) -> None:
    """Ask for the first cells of each row.

    Most rows are not in the cache, and one at a time they would take most of the time. Those of
    some words are asked for before they are added up: none of these reads waits for another.
    """
    # taken out of the tuple before the loops: numba counts a reference for each access to a field
    cells, vectors = weights.cells, weights.vectors.reshape(-1)
    size = np.uint64(weights.vectors.shape[1])
    for k in range(found.shape[0]):
        for t in range(found.shape[1]):
            place = found[k, t]
            if place >= np.uint64(_VECTOR):
                prefetch(vectors, (place ^ np.uint64(_VECTOR)) * size)
            else:
                prefetch(cells, place >> np.uint64(_LENGTH_BITS))


@njit
def score_candidates(
    items: Longs,
    found: UInt64s,
    weights: Weights,
    places: Ints,
    sums: Floats,
    starts: Longs,
    candidates: UInt16s,
    scores: Floats,
) -> None:
    """Score the candidates ``candidates[starts[items[k]]:starts[items[k] + 1]]`` of each item,
    from the rows ``found`` (items, templates) and from ``sums[places[k, g], g]``
    for each group g of templates.
    """
    cells, levels = weights.cells, weights.levels
    part_starts, parts = weights.divided.starts, weights.divided.parts
    vectors = weights.vectors
    n, n_templates = found.shape
    n_groups, size = places.shape[1], vectors.shape[1]
    whole = part_starts.shape[0] == 0
    buffer = np.empty(size)
    read = np.empty(n_templates, dtype=np.int64)
    for first in range(0, n, _WORDS):
        last = min(first + _WORDS, n)
        _ask_for(found[first:last], weights)
        for k in range(first, last):
            begin, end = starts[items[k]], starts[items[k] + 1]
            few = (end - begin) * _FEW < size
            n_read = 0
            buffer[:] = 0.0
            if not few:
                for g in range(n_groups):
                    total = sums[places[k, g], g]
                    for q in range(size):
                        buffer[q] += total[q]
            for t in range(n_templates):
                place = found[k, t]
                if place < np.uint64(_VECTOR):
                    at = np.int64(place >> np.uint64(_LENGTH_BITS))
                    for r in range(at, at + np.int64(place & np.uint64(_LENGTH))):
                        cell = cells[r]
                        buffer[cell >> np.uint32(_LEVEL_BITS)] += levels[np.uint16(cell)]
                elif few:
                    read[n_read] = np.int64(place ^ np.uint64(_VECTOR))
                    n_read += 1
                else:
                    vector = vectors[place ^ np.uint64(_VECTOR)]
                    for q in range(size):
                        buffer[q] += vector[q]
            for c in range(begin, end):
                label = np.int64(candidates[c])
                score = 0.0
                for r in range(
                    0 if whole else part_starts[label], 1 if whole else part_starts[label + 1]
                ):
                    part = label if whole else np.int64(parts[r])
                    score += buffer[part]
                    if few:
                        for g in range(n_groups):
                            score += sums[places[k, g], g, part]
                        for j in range(n_read):
                            score += vectors[read[j], part]
                scores[c] += score
