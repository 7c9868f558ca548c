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
from egparse.features.hashing import change_weight, in_units, mix, sum_weights
from egparse.features.templates import MAX_HASHED_CELLS, read_ends, wordless_first
from egparse.storage.arrays import Weights
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


_SIBLING, _GRANDPARENT, _NEITHER = range(3)
_BLOCK = 64  # parts whose indices are computed side by side


@njit
def _list_pairs(parts: ArcGraph, listed: UInt32s) -> None:
    """Write what the features of each pair part depend on, ``listed[:, r]``: which kind of part it
    is; the positions of the third word, the head and the dependent; the direction and the length.

    A grandparent that is the dependent itself is neither kind: no tree has both arcs.
    """
    arcs, blocks = parts.arcs, parts.blocks
    incoming, into = parts.incoming, parts.into
    start = into.shape[0] - 1  # the positions of START and STOP
    stop = start + 1
    r = 0
    for b in range(blocks.shape[0] - 1):
        head, first = b // 2, blocks[b]
        for a in range(first, blocks[b + 1]):
            dependent = int(arcs[a, 1])
            if parts.siblings:
                direction = _direction(head, dependent, start)
                for s in range(first - 1, a):  # first - 1 stands for START
                    sibling = start if s < first else int(arcs[s, 1])
                    length = _length(head if s < first else sibling, dependent)
                    _put_pair(listed, r, _SIBLING, sibling, head, dependent, direction, length)
                    r += 1
                # the dependent is the sibling of STOP: no arc of this side lies beyond it
                length = _length(head, dependent)
                _put_pair(listed, r, _SIBLING, dependent, head, stop, direction, length)
                r += 1
            if parts.grandparents:
                for k in range(into[head], into[head + 1]):
                    third = int(arcs[incoming[k], 0])
                    kind = _NEITHER if third == dependent else _GRANDPARENT
                    direction = _direction(head, dependent, third)
                    length = _length(third, dependent)
                    _put_pair(listed, r, kind, third, head, dependent, direction, length)
                    r += 1


@njit(inline=True)
def _put_pair(
    listed: UInt32s,
    r: int,
    kind: int,
    third: int,
    head: int,
    dependent: int,
    direction: np.uint32,
    length: np.uint32,
) -> None:
    listed[0, r], listed[1, r], listed[2, r], listed[3, r] = kind, third, head, dependent
    listed[4, r], listed[5, r] = direction, length


@njit
def _put_features(
    codes: PairCodes, listed: UInt32s, chosen: Ints, shift: np.uint32, indices: UInt32s
) -> None:
    """Write the indices of the weights of the ``chosen`` parts: of each template, then of the first
    templates with the length; ``indices[f, k]`` is that of feature f of the part chosen[k].
    """
    flat, n = codes.codes.reshape(-1), np.uint32(codes.codes.shape[2])
    size, n_with_length, n_parts = codes.codes.shape[1], codes.n_with_length, chosen.shape[0]
    room = np.empty((5, n_parts), dtype=np.uint32)
    thirds, heads, dependents, directions, lengths = room[0], room[1], room[2], room[3], room[4]
    for k in range(n_parts):
        r = chosen[k]
        thirds[k] = listed[1, r] * n
        heads[k] = (size + listed[2, r]) * n
        dependents[k] = (2 * size + listed[3, r]) * n
        directions[k], lengths[k] = listed[4, r], listed[5, r]
    for t in range(n):
        row = indices[t]
        for k in range(n_parts):
            code = flat[heads[k] + t] ^ flat[dependents[k] + t] ^ flat[thirds[k] + t]
            code = np.uint32(code * np.uint32(0x9E3779B1))
            code ^= code >> np.uint32(15)
            row[k] = np.uint32((code ^ directions[k]) * np.uint32(0x85EBCA6B)) >> shift
    for t in range(n_with_length):
        row, plain = indices[n + t], indices[t]
        for k in range(n_parts):
            row[k] = plain[k] ^ lengths[k]


@njit
def _shift(size: int) -> np.uint32:
    """The shift of an index into a table of 2^bits weights: 32 - bits."""
    return np.uint32(32 - np.int64(np.round(np.log2(size))))


@njit
def score_pairs(
    parts: ArcGraph, siblings: PairCodes, grandparents: PairCodes, weights: Weights, scores: Floats
) -> None:
    """Write the scores of the pair parts of one sentence to ``scores`` (parts,); those of arcs, the
    first parts, are left alone.
    """
    cells, step, m = weights.cells, weights.step, parts.arcs.shape[0]
    shift, n_parts = _shift(cells.shape[0]), parts.pairs[m] - m
    listed = np.empty((6, n_parts), dtype=np.uint32)
    _list_pairs(parts, listed)
    most = 2 * max(siblings.codes.shape[2], grandparents.codes.shape[2])
    indices, chosen = np.empty((most, _BLOCK), dtype=np.uint32), np.empty(_BLOCK, dtype=np.int32)
    room = np.empty(2 * _BLOCK, dtype=np.float32)
    scores[m : parts.pairs[m]] = 0.0
    for kind in range(_NEITHER):
        codes = siblings if kind == _SIBLING else grandparents
        n_features, n = codes.codes.shape[2] + codes.n_with_length, 0
        for r in range(n_parts):
            if listed[0, r] == kind:
                chosen[n] = r
                n += 1
            if n == _BLOCK or r == n_parts - 1:
                _put_features(codes, listed, chosen[:n], shift, indices)
                sums = room[: 2 * n].reshape((2, n))
                sum_weights(cells, indices, n_features, sums)
                for k in range(n):
                    scores[m + chosen[k]] = in_units(step, sums[0, k] + sums[1, k])
                n = 0


@njit
def add_pairs(
    parts: ArcGraph, siblings: PairCodes, grandparents: PairCodes, changes: Floats, weights: Singles
) -> float:
    """Add ``changes`` (parts,) times the features of the pair parts to the weights. Returns the
    change of the squared norm of the weights, exact for the weights as stored.
    """
    m = parts.arcs.shape[0]
    shift, n_parts = _shift(weights.shape[0]), parts.pairs[m] - m
    listed = np.empty((6, n_parts), dtype=np.uint32)
    _list_pairs(parts, listed)
    most = 2 * max(siblings.codes.shape[2], grandparents.codes.shape[2])
    indices, chosen = np.empty((most, 1), dtype=np.uint32), np.empty(1, dtype=np.int32)
    norm_change = 0.0
    for r in range(n_parts):
        change = np.float32(changes[m + r])
        if change == 0.0 or listed[0, r] == _NEITHER:
            continue
        codes = siblings if listed[0, r] == _SIBLING else grandparents
        chosen[0] = r
        _put_features(codes, listed, chosen, shift, indices)
        for f in range(codes.codes.shape[2] + codes.n_with_length):
            norm_change += change_weight(weights, indices[f, 0], change)
    return norm_change
