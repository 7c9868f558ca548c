"""Features of pairs of arcs, hashed into the table of weights that the features of arcs use (see
``hashing``).

A template is a conjunction of cells at the three words of a part: ``h.xpos s.xpos d.form`` for the
siblings s and d below the head h, ``g.xpos h.upos d.xpos[+1]`` for a grandparent g of d. START, the
sibling of an innermost dependent, and STOP, the dependent after the outermost, are words with
values of their own. Each template is hashed once for each word in each of the three roles; a part
combines the three codes by exclusive or, with the directions of its arcs, so that a feature costs
two multiplications and a shift. Templates without words yield a second feature, in conjunction with
a length, whose weight lies in the same line of the processor's cache, as in ``arcs``.

The parts are those of McDonald and Pereira (2006) and Carreras (2007); the templates are theirs
with more words and more context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.features.arcs import LENGTH_BINS, MAX_TEMPLATES
from egparse.features.hashing import change_weights, mix, sum_weights
from egparse.features.templates import MAX_HASHED_CELLS, read_ends, wordless_first
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.types import Floats, Ints, Singles, UInt32s

SIBLING_PLACES = ("s", "h", "d")
GRANDPARENT_PLACES = ("g", "h", "d")
"""The letters of the three roles in a part: the third word, then the head and the dependent of the
arc.
"""

_FOLD = np.uint64(29)


class PairTemplates(NamedTuple):
    """Compiled templates of one kind of part.

    Cell c of template t at role p is the column ``columns[p, t, c]`` (-1: no cell) of the word at
    ``offsets[p, t, c]``. The first ``n_with_length`` templates are combined with a length too.
    ``seed`` keeps the features of one kind of part apart from those of another.
    """

    columns: Ints
    offsets: Ints
    n_with_length: int
    seed: int


class PairCodes(NamedTuple):
    """The hashed templates of a sentence of n words for one kind of part: ``codes[role, position,
    template]``.

    Position 0 is the root, n + 1 is START and n + 2 is STOP.
    """

    codes: UInt32s
    n_with_length: int


def compile_pair_templates(
    texts: Sequence[str], places: Sequence[str], columns: Sequence[str], seed: int
) -> PairTemplates:
    """Check and compile templates over named columns; ``places`` are the letters of the three
    roles.

    Templates that name words (``templates.holds_words``) are not combined with a length.

    Raises:
        ConfigError: a template cannot be read, or it names an unknown column or role; or there are
            more than ``MAX_TEMPLATES``.
    """
    if len(texts) > MAX_TEMPLATES:
        raise ConfigError(f"expected at most {MAX_TEMPLATES} pair templates, got {len(texts)}")
    numbers = {name: number for number, name in enumerate(columns)}
    templates, n_wordless = wordless_first(
        [read_ends(text, places, numbers) for text in texts], numbers
    )
    shape = (len(places), len(texts), MAX_HASHED_CELLS)
    table, offsets = np.full(shape, -1, dtype=np.int32), np.zeros(shape, dtype=np.int32)
    for t, template in enumerate(templates):
        for p, cells in enumerate(template):
            for c, cell in enumerate(cells):
                table[p, t, c], offsets[p, t, c] = cell
    return PairTemplates(table, offsets, n_wordless, seed)


@njit
def encode_pairs(values: Ints, templates: PairTemplates) -> PairCodes:
    """The codes of a sentence of n words: ``values`` is (n + 1, columns), row 0 the root."""
    columns, offsets = templates.columns, templates.offsets
    size = values.shape[0]
    codes = np.empty((columns.shape[0], size + 2, columns.shape[1]), dtype=np.uint32)
    for role in range(columns.shape[0]):
        for t in range(columns.shape[1]):
            number = np.uint64(columns.shape[0] * t + role + 1)
            seed = mix(np.uint64(templates.seed), number, _FOLD)
            for position in range(size + 2):
                code = seed
                for c in range(columns.shape[2]):
                    if columns[role, t, c] < 0:
                        break
                    neighbour = position + offsets[role, t, c]
                    if position >= size:  # START 3 and STOP 4, whatever the column and the offset
                        value = np.uint64(3 + position - size)
                    elif 0 <= neighbour < size:
                        value = np.uint64(values[neighbour, columns[role, t, c]] + 5)
                    else:
                        value = np.uint64(1 if neighbour < 0 else 2)
                    code = mix(code, value, _FOLD)
                codes[role, position, t] = np.uint32(code >> np.uint64(32)) ^ np.uint32(code)
    return PairCodes(codes, templates.n_with_length)


@njit(inline=True)
def _direction(head: int, dependent: int, third: int) -> np.uint32:
    """A code of the order in which the three words of a part stand."""
    order = (
        (1 if head < dependent else 0)
        + (2 if dependent < third else 0)
        + (4 if head < third else 0)
    )
    return np.uint32(np.uint32(order + 1) * np.uint32(0x27D4EB2F))


@njit(inline=True)
def _length(first: int, second: int) -> np.uint32:
    distance = abs(first - second)
    return np.uint32(LENGTH_BINS[distance] if distance < 16 else 8)


@njit(inline=True)
def _combine(head: UInt32s, dependent: UInt32s, arc: UInt32s) -> None:
    """The codes of an arc: what all parts have in common that differ in their third word only."""
    for t in range(arc.shape[0]):
        arc[t] = head[t] ^ dependent[t]


@njit(inline=True)
def _part_features(
    arc: UInt32s,
    third: UInt32s,
    direction: np.uint32,
    length: np.uint32,
    n_with_length: int,
    shift: np.uint32,
    indices: UInt32s,
) -> None:
    """Write the index of each template's weight, then those of the first templates with the
    length.
    """
    n = arc.shape[0]
    for t in range(n):
        code = np.uint32((arc[t] ^ third[t]) * np.uint32(0x9E3779B1))
        code ^= code >> np.uint32(15)
        indices[t] = np.uint32((code ^ direction) * np.uint32(0x85EBCA6B)) >> shift
    for t in range(n_with_length):
        indices[n + t] = indices[t] ^ length


@njit
def visit_pairs(
    parts: ArcGraph,
    siblings: PairCodes,
    grandparents: PairCodes,
    weights: Singles,
    values: Floats,
    is_change: bool,
) -> float:
    """Write the scores of the pair parts of one sentence to ``values`` (parts,), or, with
    ``is_change``, add each value times the features of its part to the weights.

    The values of arcs, the first parts, are left alone. Returns the change of the squared norm of
    the weights, exact for the weights as stored.
    """
    # Scoring and changing share one kernel, because the walk over the parts is most of its code;
    # the flag is the same for all parts, so that its branches are predicted always. The branch
    # stands here three times: an inlined function around it makes changes by three quarters slower,
    # because numba counts references to the arrays that it takes.
    arcs, blocks, pairs = parts.arcs, parts.blocks, parts.pairs
    incoming, into = parts.incoming, parts.into
    shift = np.uint32(32 - np.int64(np.round(np.log2(weights.shape[0]))))
    third_s, head_s, dependent_s = siblings.codes[0], siblings.codes[1], siblings.codes[2]
    third_g, head_g = grandparents.codes[0], grandparents.codes[1]
    dependent_g = grandparents.codes[2]
    n_s, n_g = third_s.shape[1], third_g.shape[1]
    length_s, length_g = siblings.n_with_length, grandparents.n_with_length
    start = into.shape[0] - 1  # the positions of START and STOP
    stop = start + 1
    arc_s, arc_g = np.empty(n_s, dtype=np.uint32), np.empty(n_g, dtype=np.uint32)
    indices = np.empty(2 * max(n_s, n_g), dtype=np.uint32)
    count_s, count_g = n_s + length_s, n_g + length_g
    norm_change = 0.0
    for b in range(blocks.shape[0] - 1):
        head, first = b // 2, blocks[b]
        for a in range(first, blocks[b + 1]):
            dependent = int(arcs[a, 1])
            r = pairs[a]
            if parts.siblings:
                _combine(head_s[head], dependent_s[dependent], arc_s)
                direction = _direction(head, dependent, start)
                for s in range(first - 1, a):  # first - 1 stands for START
                    if not is_change or values[r] != 0.0:
                        sibling = start if s < first else int(arcs[s, 1])
                        length = _length(head if s < first else sibling, dependent)
                        third = third_s[sibling]
                        _part_features(arc_s, third, direction, length, length_s, shift, indices)
                        if is_change:
                            change = np.float32(values[r])
                            norm_change += change_weights(weights, indices, count_s, change)
                        else:
                            values[r] = sum_weights(weights, indices, count_s)
                    r += 1
                if not is_change or values[r] != 0.0:
                    # the dependent is the sibling of STOP: no arc of this side lies beyond it
                    _combine(head_s[head], dependent_s[stop], arc_s)
                    length = _length(head, dependent)
                    third = third_s[dependent]
                    _part_features(arc_s, third, direction, length, length_s, shift, indices)
                    if is_change:
                        change = np.float32(values[r])
                        norm_change += change_weights(weights, indices, count_s, change)
                    else:
                        values[r] = sum_weights(weights, indices, count_s)
                r += 1
            if parts.grandparents:
                _combine(head_g[head], dependent_g[dependent], arc_g)
                for k in range(into[head], into[head + 1]):
                    grandparent = int(arcs[incoming[k], 0])
                    if grandparent == dependent:  # no tree has both arcs
                        if not is_change:
                            values[r] = 0.0
                    elif not is_change or values[r] != 0.0:
                        direction = _direction(head, dependent, grandparent)
                        length = _length(grandparent, dependent)
                        third = third_g[grandparent]
                        _part_features(arc_g, third, direction, length, length_g, shift, indices)
                        if is_change:
                            change = np.float32(values[r])
                            norm_change += change_weights(weights, indices, count_g, change)
                        else:
                            values[r] = sum_weights(weights, indices, count_g)
                    r += 1
    return norm_change
