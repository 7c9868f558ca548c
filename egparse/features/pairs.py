"""Features of pairs of arcs, hashed into the table of weights that arcs have theirs in.

A template is a conjunction of cells at the three words of a part: ``h.xpos s.xpos d.form`` for the
siblings s and d below the head h, ``g.xpos h.upos d.xpos[+1]`` for a grandparent. START and STOP
stand in the place of a word and have values of their own. Each template is hashed once for each
word in each of its three places; a part combines the three by exclusive or, with the directions of
its arcs, so that a feature costs two multiplications and a shift. Templates without words count a
second time, with a length, in the same line of the processor's cache, as in ``arcs``.

The parts are those of McDonald and Pereira (2006) and Carreras (2007), the templates theirs with
more words and more context.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.features.arcs import LENGTH_BINS, WORD_COLUMNS
from egparse.types import Floats, Ints, Shorts, Singles, UInt32s

MAX_CELLS = 5

SIBLING_PLACES = ("s", "h", "d")
GRANDPARENT_PLACES = ("g", "h", "d")
"""The letters of the three words of a part: the third word first, then the head and the dependent
of the arc.
"""


class PairParts(Protocol):
    """What features need of the parts of a sentence: see ``structures.arc_graph.ArcGraph``."""

    @property
    def arcs(self) -> Shorts:
        """Head and dependent of each arc."""

    @property
    def blocks(self) -> Ints:
        """Where the arcs of each side of each head are."""

    @property
    def incoming(self) -> Ints:
        """The arcs by dependent."""

    @property
    def into(self) -> Ints:
        """Where in ``incoming`` those of each word are."""

    @property
    def pairs(self) -> Ints:
        """Where the pair parts of each arc are."""

    @property
    def siblings(self) -> bool:
        """Whether there are sibling and stop parts."""

    @property
    def grandparents(self) -> bool:
        """Whether there are grandparents."""


class PairTemplates(NamedTuple):
    """Compiled templates of one kind of part. Cell c of template t at place p is ``columns[p, t,
    c]`` at ``offsets[p, t, c]`` (-1: none).

    The first ``n_with_length`` templates count with a length too. ``seed`` tells one kind of part
    from another.
    """

    columns: Ints
    offsets: Ints
    n_with_length: int
    seed: int


class PairCodes(NamedTuple):
    """The hashed templates of one sentence with n words, for one kind of part: ``codes[place,
    position, template]``.

    Position 0 is the root, n + 1 START and n + 2 STOP.
    """

    codes: UInt32s
    n_with_length: int


def compile_pair_templates(
    texts: Sequence[str], places: Sequence[str], columns: Sequence[str], seed: int
) -> PairTemplates:
    """Check and compile templates over named columns; templates that name words go without length.

    Raises:
        ConfigError: a template that cannot be read or names an unknown column or place.
    """
    numbers = {name: number for number, name in enumerate(columns)}
    parsed = [_parse(text, places, numbers) for text in texts]
    sparse = {numbers[name] for name in WORD_COLUMNS if name in numbers}
    has_words = [any(column in sparse for cells in own for column, _ in cells) for own in parsed]
    ordered = [own for own, words in zip(parsed, has_words, strict=True) if not words]
    ordered += [own for own, words in zip(parsed, has_words, strict=True) if words]
    shape = (len(places), len(texts), MAX_CELLS)
    table, offsets = np.full(shape, -1, dtype=np.int32), np.zeros(shape, dtype=np.int32)
    for t, own in enumerate(ordered):
        for p, cells in enumerate(own):
            for c, (column, offset) in enumerate(cells):
                table[p, t, c], offsets[p, t, c] = column, offset
    return PairTemplates(table, offsets, has_words.count(False), seed)


def _parse(
    text: str, places: Sequence[str], numbers: dict[str, int]
) -> list[list[tuple[int, int]]]:
    cells: list[list[tuple[int, int]]] = [[] for _ in places]
    for word in text.split():
        match = re.fullmatch(r"([a-z])\.([a-z0-9_]+)(?:\[([+-]?\d+)\])?", word)
        if match is None or match[1] not in places or match[2] not in numbers:
            raise ConfigError(
                f"pair template {text!r}: expected cells such as {places[0]}.form or "
                f"{places[-1]}.xpos[-1] at "
                f"{', '.join(places)} over the columns {', '.join(numbers)}, got {word!r}"
            )
        cells[places.index(match[1])].append((numbers[match[2]], int(match[3] or 0)))
    most = max(len(own) for own in cells)
    if most > MAX_CELLS:
        raise ConfigError(
            f"pair template {text!r}: expected at most {MAX_CELLS} cells a word, got {most}"
        )
    return cells


@njit
def encode_pairs(values: Ints, templates: PairTemplates) -> PairCodes:
    """The codes of one sentence: ``values`` is (n + 1, columns), row 0 the root."""
    columns, offsets = templates.columns, templates.offsets
    size = values.shape[0]
    codes = np.empty((columns.shape[0], size + 2, columns.shape[1]), dtype=np.uint32)
    for place in range(columns.shape[0]):
        for t in range(columns.shape[1]):
            seed = _mixed(np.uint64(templates.seed), np.uint64(columns.shape[0] * t + place + 1))
            for position in range(size + 2):
                code = seed
                for c in range(columns.shape[2]):
                    if columns[place, t, c] < 0:
                        break
                    there = position + offsets[place, t, c]
                    if (
                        position >= size
                    ):  # START and STOP are what they are with every column and offset
                        value = np.uint64(3 + position - size)
                    elif 0 <= there < size:
                        value = np.uint64(values[there, columns[place, t, c]] + 5)
                    else:
                        value = np.uint64(1 if there < 0 else 2)
                    code = _mixed(code, value)
                codes[place, position, t] = np.uint32(code >> np.uint64(32)) ^ np.uint32(code)
    return PairCodes(codes, templates.n_with_length)


@njit(inline=True)
def _mixed(code: np.uint64, value: np.uint64) -> np.uint64:
    """One step of a 64-bit hash over small integers: xor, multiply, fold."""
    mixed = (code ^ value) * np.uint64(0xFF51AFD7ED558CCD)
    return mixed ^ (mixed >> np.uint64(29))


@njit(inline=True)
def _direction(first: int, second: int, third: int) -> np.uint32:
    """Which way the two arcs of a part go, and where its third word is: before, between or behind
    the others.
    """
    way = (1 if first < second else 0) + (2 if second < third else 0) + (4 if first < third else 0)
    return np.uint32(np.uint32(way + 1) * np.uint32(0x27D4EB2F))


@njit(inline=True)
def _length(first: int, second: int) -> np.uint32:
    distance = abs(first - second)
    return np.uint32(LENGTH_BINS[distance] if distance < 16 else 8)


@njit(inline=True)
def _bases(one: UInt32s, other: UInt32s, bases: UInt32s) -> None:
    for t in range(bases.shape[0]):
        bases[t] = one[t] ^ other[t]


@njit(inline=True)
def _places(
    bases: UInt32s,
    third: UInt32s,
    direction: np.uint32,
    length: np.uint32,
    n_with_length: int,
    shift: np.uint32,
    places: UInt32s,
) -> None:
    """Places of the templates, then of the first again with the length."""
    n = bases.shape[0]
    for t in range(n):
        code = np.uint32((bases[t] ^ third[t]) * np.uint32(0x9E3779B1))
        code ^= code >> np.uint32(15)
        places[t] = np.uint32((code ^ direction) * np.uint32(0x85EBCA6B)) >> shift
    for t in range(n_with_length):
        places[n + t] = places[t] ^ length


@njit(inline=True)
def _sum(weights: Singles, places: UInt32s, count: int) -> np.float32:
    even, odd = np.float32(0.0), np.float32(0.0)  # two running sums hide the latency of one
    for f in range(0, count - 1, 2):
        even += weights[places[f]]
        odd += weights[places[f + 1]]
    if count % 2:
        even += weights[places[count - 1]]
    return np.float32(even + odd)


@njit(inline=True)
def _move(weights: Singles, places: UInt32s, count: int, change: np.float32) -> float:
    """Add a change to each weight; returns the change of the squared norm."""
    grown = 0.0
    for f in range(count):
        old = weights[places[f]]
        new = np.float32(old + change)
        weights[places[f]] = new
        grown += (np.float64(new) - np.float64(old)) * (np.float64(new) + np.float64(old))
    return grown


@njit
def visit_pairs(
    parts: PairParts,
    siblings: PairCodes,
    grandparents: PairCodes,
    weights: Singles,
    values: Floats,
    is_change: bool,
) -> float:
    """Write the scores of the pair parts of one sentence to ``values`` (parts,), or add these,
    times the features, to the weights.

    Those of arcs are left alone. Returns the exact change of the squared norm of the weights.
    """
    arcs, blocks, incoming, into, pairs = (
        parts.arcs,
        parts.blocks,
        parts.incoming,
        parts.into,
        parts.pairs,
    )
    shift = np.uint32(32 - np.int64(np.round(np.log2(weights.shape[0]))))
    third_s, head_s, dependent_s = siblings.codes[0], siblings.codes[1], siblings.codes[2]
    third_g, head_g, dependent_g = (
        grandparents.codes[0],
        grandparents.codes[1],
        grandparents.codes[2],
    )
    n_s, n_g = third_s.shape[1], third_g.shape[1]
    size = into.shape[0] - 1
    bases_s, bases_g = np.empty(n_s, dtype=np.uint32), np.empty(n_g, dtype=np.uint32)
    places = np.empty(2 * max(n_s, n_g), dtype=np.uint32)
    count_s, count_g = n_s + siblings.n_with_length, n_g + grandparents.n_with_length
    grown = 0.0
    for b in range(blocks.shape[0] - 1):
        head, first = b // 2, blocks[b]
        for a in range(first, blocks[b + 1]):
            dependent = int(arcs[a, 1])
            r = pairs[a]
            if parts.siblings:
                _bases(head_s[head], dependent_s[dependent], bases_s)
                for s in range(first - 1, a):
                    if is_change and values[r] == 0.0:
                        r += 1
                        continue
                    sibling = size if s < first else int(arcs[s, 1])
                    between = head if s < first else sibling
                    _places(
                        bases_s,
                        third_s[sibling],
                        _direction(head, dependent, size),
                        _length(between, dependent),
                        siblings.n_with_length,
                        shift,
                        places,
                    )
                    if is_change:
                        grown += _move(weights, places, count_s, np.float32(values[r]))
                    else:
                        values[r] = _sum(weights, places, count_s)
                    r += 1
                if not is_change or values[r] != 0.0:
                    _bases(head_s[head], dependent_s[size + 1], bases_s)
                    _places(
                        bases_s,
                        third_s[dependent],
                        _direction(head, dependent, size),
                        _length(head, dependent),
                        siblings.n_with_length,
                        shift,
                        places,
                    )
                    if is_change:
                        grown += _move(weights, places, count_s, np.float32(values[r]))
                    else:
                        values[r] = _sum(weights, places, count_s)
                r += 1
            if parts.grandparents:
                _bases(head_g[head], dependent_g[dependent], bases_g)
                for k in range(into[head], into[head + 1]):
                    grandparent = int(arcs[incoming[k], 0])
                    if grandparent == dependent:  # no tree has both arcs
                        if not is_change:
                            values[r] = 0.0
                    elif not is_change or values[r] != 0.0:
                        _places(
                            bases_g,
                            third_g[grandparent],
                            _direction(head, dependent, grandparent),
                            _length(grandparent, dependent),
                            grandparents.n_with_length,
                            shift,
                            places,
                        )
                        if is_change:
                            grown += _move(weights, places, count_g, np.float32(values[r]))
                        else:
                            values[r] = _sum(weights, places, count_g)
                    r += 1
    return grown
