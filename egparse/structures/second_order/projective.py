"""Projective second-order trees over a sparse set of candidate arcs: log Z and marginals, exact.

The parts are those of ``arc_graph``; the dynamic program is Model 1 of Koo and Collins (2010,
"Efficient third-order dependency parsers", sec. 4.1), with the candidate arcs in the place of pairs
of words: with K candidate heads a word it takes O(K^2 n^2) time and O(K n^2) memory, where theirs
takes O(n^4) and O(n^3). For the few heads that a pruner leaves, that is less than one sweep of
belief propagation takes. The items, for arcs a = (g, h) and b = (h, d), the one
from g to h, the other from h on::

    complete[a, e]      h, under g, governs all of h..e (or e..h)
    incomplete[a, b]    h, under g, governs all of h..d, and has d as its outermost modifier on
                        that side; nothing beyond d yet
    between[s, b]       sum over r of complete[s, r] complete[b, r + 1]: what two neighbouring
                        modifiers s and d of h hold between them

    incomplete[a, b]  = w[b] grandparent[a, b] (start[b] complete[b, h + 1]
                        + sum_s incomplete[a, s] rest[s] sibling[s, b] between[s, b])
    complete[a, e]    = sum_b incomplete[a, b] stop[b] complete[b, e];   complete[a, h] = 1

and mirrored to the left; g is outside of the stretch. The head 0 of several roots has one more arc,
from nowhere. Marginals are derivatives of log Z, taken backwards through the same sums. Items with
a g inside of the stretch are computed at times, where to leave them out costs more: no other item
is made of them.

**Order.** For each i from the right: first all items that start at i and lead rightward, then those
from further right that end at i. The former need leftward items that end right of i, so a whole row
of ends is made at once; the latter are made for all g at once.

**Range.** Pair weights are taken relative to the best sibling, grandparent and stop of an arc
(rest[s] is what not stopping at s weighs beside that); arcs are divided by the sum of these best
over the candidates of their dependent. So no item exceeds one, and z is the share that trees have
of all choices of heads. Where z is at least ``SMALLEST``, what underflows is too little to count.
Otherwise, in long sentences and where the best heads of words are far from a tree, logarithms
decide (``pruned_best``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.structures.second_order.projective_log import Chart, log_inside_outside, new_chart
from egparse.structures.semirings import LOG
from egparse.types import Floats, Ints

SMALLEST = 1e-250
"""The share that trees have of all choices of heads, below which they may have lost mass to
underflow.
"""


class _Weights(NamedTuple):
    """exp of the potentials: of arcs in ``arcs``, with what the pairs were divided by; of pairs in
    their places (1 where there are none).

    ``starts``, ``stops`` and ``rest`` (arcs,) are 1 without sibling parts. ``offset`` is what log Z
    of the weights has to be raised by.
    """

    arcs: Floats
    pairs: Floats
    starts: Floats
    stops: Floats
    rest: Floats
    offset: float


def inside_outside(
    graph: ArcGraph, potentials: Floats, single_root: bool, marginals: Floats
) -> float:
    """Write the marginals of all parts for ``potentials`` (parts,) in nats, without nan or +inf;
    returns log Z, ``-inf`` without a tree.

    Marginals are then 0. Potentials may be ``-inf``.
    """
    log_z = scaled_inside_outside(graph, potentials, single_root, marginals)
    if math.isnan(log_z):  # rare: the kernel of logarithms is compiled when it is needed
        log_z = log_inside_outside(graph, potentials, single_root, LOG, marginals)
    return float(log_z)


@njit
def scaled_inside_outside(
    graph: ArcGraph, potentials: Floats, single_root: bool, marginals: Floats
) -> float:
    """As ``inside_outside``, for other kernels; nan where the trees have too small a share of all
    choices of heads.
    """
    marginals[:] = 0.0
    weights = _weigh(graph, potentials)
    if weights.offset == -np.inf:
        return -np.inf
    chart = new_chart(graph, 0.0)
    z = _inside(graph, weights, single_root, chart)
    if not z >= SMALLEST:
        return np.nan
    _outside(graph, weights, single_root, z, chart, marginals)
    return float(math.log(z) + weights.offset)


@njit
def _weigh(graph: ArcGraph, potentials: Floats) -> _Weights:
    m, n_blocks = graph.arcs.shape[0], graph.blocks.shape[0] - 1
    pairs = np.ones(potentials.shape[0])
    rows = np.ones((4, m))
    arcs, starts, stops, rest = rows[0], rows[1], rows[2], rows[3]
    offset = 0.0
    for b in range(n_blocks):
        head, first, end = b // 2, graph.blocks[b], graph.blocks[b + 1]
        n_heads = graph.into[head + 1] - graph.into[head] if graph.grandparents else 0
        for a in range(first, end):
            place = graph.pairs[a]
            arcs[a] = potentials[a]
            if graph.siblings:
                stop = place + a - first + 1
                arcs[a] += relative_weights(potentials, place, stop, pairs)
                starts[a] = pairs[place]
                highest = max(0.0, potentials[stop])
                arcs[a] += highest
                stops[a] = math.exp(potentials[stop] - highest)
                rest[a] = math.exp(-highest)
                place = stop + 1
            if n_heads > 0:
                arcs[a] += relative_weights(potentials, place, place + n_heads, pairs)
    for d in range(1, graph.into.shape[0] - 1):
        highest = -np.inf
        for k in range(graph.into[d], graph.into[d + 1]):
            highest = max(highest, arcs[graph.incoming[k]])
        if highest == -np.inf:
            return _Weights(arcs, pairs, starts, stops, rest, -np.inf)
        total = 0.0
        for k in range(graph.into[d], graph.into[d + 1]):
            a = graph.incoming[k]
            arcs[a] = math.exp(arcs[a] - highest)
            total += arcs[a]
        for k in range(graph.into[d], graph.into[d + 1]):
            arcs[graph.incoming[k]] /= total
        offset += highest + math.log(total)
    return _Weights(arcs, pairs, starts, stops, rest, offset)


@njit
def relative_weights(potentials: Floats, first: int, end: int, weights: Floats) -> float:
    """exp of potentials relative to the highest, which is returned (0 if none is finite)."""
    highest = -np.inf
    for r in range(first, end):
        highest = max(highest, potentials[r])
    if highest == -np.inf:
        highest = 0.0
    for r in range(first, end):
        weights[r] = math.exp(potentials[r] - highest)
    return highest


@njit
def _inside(graph: ArcGraph, weights: _Weights, single_root: bool, chart: Chart) -> float:
    """Fill the chart; returns z."""
    size: int = graph.into.shape[0] - 1
    closed = graph.blocks[
        :-1:2
    ].copy()  # where the arcs leftward from each head end that have their items
    for i in range(size - 1, 0 if single_root else -1, -1):
        _close_rightward(graph, weights, chart, i)
        if i > 0:
            _close_leftward(graph, weights, chart, i, closed)
    if not single_root:
        return float(chart.right[-1, size - 1])
    z = 0.0
    for b in range(graph.blocks[1], graph.blocks[2]):
        row = chart.rows[b]
        own = weights.arcs[b] * weights.starts[b] * weights.stops[b]
        z += own * chart.left[1, row] * chart.right[row, size - 1]
    return z


@njit
def _rows_of(graph: ArcGraph, h: int) -> tuple[int, int]:
    """The first row of the chart for the arcs into h, and the one behind the last."""
    if h == 0:
        return graph.arcs.shape[0], graph.arcs.shape[0] + 1
    return int(graph.into[h]), int(graph.into[h + 1])


@njit(fast=True)
def _close_rightward(graph: ArcGraph, weights: _Weights, chart: Chart, i: int) -> None:
    """The items that start at i and lead rightward."""
    right, incomplete, rows, heads = chart.right, chart.incomplete, chart.rows, chart.heads
    size = right.shape[1]
    first, end = _rows_of(graph, i)
    for a in range(first, end):
        right[a, i] = 1.0
    for b in range(graph.blocks[2 * i + 1], graph.blocks[2 * i + 2]):
        _join(graph, weights, chart, b)
        d, row, place = graph.arcs[b, 1], rows[b], chart.chains[b]
        # complete[a, e] = sum_b incomplete[a, b] stop[b] complete[b, e]
        for k in range(end - first):
            a = first + k
            held = incomplete[place + k] * weights.stops[b]
            for e in range(d, heads[a] if heads[a] > i else size):
                right[a, e] += held * right[row, e]


@njit(fast=True)
def _close_leftward(graph: ArcGraph, weights: _Weights, chart: Chart, i: int, closed: Ints) -> None:
    """The items that end at i and lead leftward."""
    left, incomplete, rows, heads, into = (
        chart.left,
        chart.incomplete,
        chart.rows,
        chart.heads,
        graph.into,
    )
    for a in range(into[i], into[i + 1]):
        left[i, a] = 1.0
        if heads[a] > i:
            _join(graph, weights, chart, graph.incoming[a])
            closed[heads[a]] += 1
    for h in range(i + 1, left.shape[0]):
        first = into[h]
        # complete[a, i] = sum_b incomplete[a, b] stop[b] complete[b, i]
        for b in range(graph.blocks[2 * h], closed[h]):
            held = left[i, rows[b]] * weights.stops[b]
            if held == 0.0:
                continue
            place = chart.chains[b]
            for k in range(into[h + 1] - first):
                left[i, first + k] += incomplete[place + k] * held


@njit(fast=True, inline=True)
def _join(graph: ArcGraph, weights: _Weights, chart: Chart, b: int) -> None:
    """incomplete[a, b] for all arcs a into the head of arc b."""
    right, left, incomplete, rows, chains = (
        chart.right,
        chart.left,
        chart.incomplete,
        chart.rows,
        chart.chains,
    )
    h, d = int(graph.arcs[b, 0]), int(graph.arcs[b, 1])
    is_rightward = d > h
    first = graph.blocks[2 * h + (1 if is_rightward else 0)]
    row, place, pair = rows[b], chains[b], graph.pairs[b]
    n_heads = chains[b + 1] - place
    inner = weights.starts[b] * (left[h + 1, row] if is_rightward else right[row, h - 1])
    for k in range(n_heads):
        incomplete[place + k] = inner
    for s in range(first, b):
        near, of_sibling, before = int(graph.arcs[s, 1]), rows[s], chains[s]
        # between[s, b] = sum_r complete[s, r] complete[b, r + 1]
        held = 0.0
        if is_rightward:
            for r in range(near, d):
                held += right[of_sibling, r] * left[r + 1, row]
        else:
            for r in range(d, near):
                held += right[row, r] * left[r + 1, of_sibling]
        held *= weights.rest[s]
        if graph.siblings:
            held *= weights.pairs[pair + 1 + s - first]
        for k in range(n_heads):
            incomplete[place + k] += incomplete[before + k] * held
    weight = weights.arcs[b]
    if graph.grandparents and h > 0:
        grandparent = pair + (b - first + 2 if graph.siblings else 0)
        for k in range(n_heads):
            incomplete[place + k] *= weight * weights.pairs[grandparent + k]
    else:
        for k in range(n_heads):
            incomplete[place + k] *= weight


@njit
def _outside(
    graph: ArcGraph, weights: _Weights, single_root: bool, z: float, chart: Chart, marginals: Floats
) -> None:
    """Derivatives of log Z in all items, and so the marginals: every sum of ``_inside``,
    backwards.
    """
    size: int = graph.into.shape[0] - 1
    closed = graph.blocks[1::2].copy()
    if single_root:
        for b in range(graph.blocks[1], graph.blocks[2]):
            row = chart.rows[b]
            own = weights.arcs[b] * weights.starts[b] * weights.stops[b] / z
            chart.outer_left[1, row] += own * chart.right[row, size - 1]
            chart.outer_right[row, size - 1] += own * chart.left[1, row]
            marginals[b] = own * chart.left[1, row] * chart.right[row, size - 1]
            if graph.siblings:
                marginals[graph.pairs[b]] = marginals[b]
                marginals[graph.pairs[b] + b - graph.blocks[1] + 1] = marginals[b]
    else:
        chart.outer_right[-1, size - 1] = 1.0 / z
    for i in range(1 if single_root else 0, size):
        if i > 0:
            _open_leftward(graph, weights, chart, i, closed, marginals)
        _open_rightward(graph, weights, chart, i, marginals)


@njit(fast=True)
def _open_rightward(
    graph: ArcGraph, weights: _Weights, chart: Chart, i: int, marginals: Floats
) -> None:
    """``_close_rightward``, backwards."""
    right, incomplete, rows, heads = chart.right, chart.incomplete, chart.rows, chart.heads
    outer_right, outer_incomplete = chart.outer_right, chart.outer_incomplete
    size = right.shape[1]
    first, end = _rows_of(graph, i)
    for b in range(graph.blocks[2 * i + 2] - 1, graph.blocks[2 * i + 1] - 1, -1):
        d, row, place = graph.arcs[b, 1], rows[b], chart.chains[b]
        stopped = 0.0
        for k in range(end - first):
            a = first + k
            held = incomplete[place + k] * weights.stops[b]
            total = 0.0
            for e in range(d, heads[a] if heads[a] > i else size):
                pull = outer_right[a, e]
                total += pull * right[row, e]
                outer_right[row, e] += pull * held
            outer_incomplete[place + k] += total * weights.stops[b]
            stopped += total * held
        if graph.siblings:
            marginals[graph.pairs[b] + b - graph.blocks[2 * i + 1] + 1] = stopped
        _open(graph, weights, chart, b, marginals)


@njit(fast=True)
def _open_leftward(
    graph: ArcGraph, weights: _Weights, chart: Chart, i: int, closed: Ints, marginals: Floats
) -> None:
    """``_close_leftward``, backwards."""
    left, incomplete, rows, heads, into = (
        chart.left,
        chart.incomplete,
        chart.rows,
        chart.heads,
        graph.into,
    )
    outer_left, outer_incomplete = chart.outer_left, chart.outer_incomplete
    for h in range(left.shape[0] - 1, i, -1):
        first, begin = into[h], graph.blocks[2 * h]
        for b in range(begin, closed[h]):
            held = left[i, rows[b]] * weights.stops[b]
            if held == 0.0:
                continue
            place = chart.chains[b]
            total = 0.0
            for k in range(into[h + 1] - first):
                pull = outer_left[i, first + k]
                outer_incomplete[place + k] += pull * held
                total += pull * incomplete[place + k]
            outer_left[i, rows[b]] += total * weights.stops[b]
            if graph.siblings:
                marginals[graph.pairs[b] + b - begin + 1] += total * held
    for a in range(into[i], into[i + 1]):
        if heads[a] > i:
            _open(graph, weights, chart, graph.incoming[a], marginals)
            closed[heads[a]] -= 1


@njit(fast=True, inline=True)
def _open(graph: ArcGraph, weights: _Weights, chart: Chart, b: int, marginals: Floats) -> None:
    """``_join``, backwards."""
    right, left, incomplete, rows, chains = (
        chart.right,
        chart.left,
        chart.incomplete,
        chart.rows,
        chart.chains,
    )
    outer_right, outer_left, outer_incomplete = (
        chart.outer_right,
        chart.outer_left,
        chart.outer_incomplete,
    )
    h, d = int(graph.arcs[b, 0]), int(graph.arcs[b, 1])
    is_rightward = d > h
    first = graph.blocks[2 * h + (1 if is_rightward else 0)]
    row, place, pair = rows[b], chains[b], graph.pairs[b]
    n_heads = chains[b + 1] - place
    grandparent = pair + (b - first + 2 if graph.siblings else 0)
    has_grandparents = graph.grandparents and h > 0
    marginal, pulled = 0.0, 0.0
    for k in range(n_heads):
        pull = outer_incomplete[place + k]
        share = pull * incomplete[place + k]
        marginal += share
        pull *= weights.arcs[b]
        if has_grandparents:
            marginals[grandparent + k] = share
            pull *= weights.pairs[grandparent + k]
        outer_incomplete[place + k] = pull
        pulled += pull
    marginals[b] = marginal
    if pulled == 0.0:
        return
    pulled *= weights.starts[b]
    if is_rightward:
        outer_left[h + 1, row] += pulled
        started = pulled * left[h + 1, row]
    else:
        outer_right[row, h - 1] += pulled
        started = pulled * right[row, h - 1]
    if graph.siblings:
        marginals[pair] = started
    for s in range(first, b):
        near, of_sibling, before = int(graph.arcs[s, 1]), rows[s], chains[s]
        weight = weights.rest[s]
        if graph.siblings:
            weight *= weights.pairs[pair + 1 + s - first]
        pull = 0.0
        for k in range(n_heads):
            pull += outer_incomplete[place + k] * incomplete[before + k]
        pull *= weight
        held = 0.0
        if is_rightward:
            for r in range(near, d):
                held += right[of_sibling, r] * left[r + 1, row]
                outer_right[of_sibling, r] += pull * left[r + 1, row]
                outer_left[r + 1, row] += pull * right[of_sibling, r]
        else:
            for r in range(d, near):
                held += right[row, r] * left[r + 1, of_sibling]
                outer_right[row, r] += pull * left[r + 1, of_sibling]
                outer_left[r + 1, of_sibling] += pull * right[row, r]
        if graph.siblings:
            marginals[pair + 1 + s - first] = pull * held
        held *= weight
        for k in range(n_heads):
            outer_incomplete[before + k] += outer_incomplete[place + k] * held
