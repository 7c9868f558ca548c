"""Projective second-order trees over a sparse set of candidate arcs: log Z and marginals, exact.

The parts are those of ``arc_graph``. The dynamic program is Model 1 of Koo and Collins (2010,
"Efficient third-order dependency parsers", sec. 4.1), with candidate arcs in the place of pairs of
words. With K candidate heads a word it takes O(K^2 n^2) time and O(K n^2) memory, where theirs
takes O(n^4) and O(n^3); for the few heads that a pruner leaves this is less than one sweep of
belief propagation. The items, for arcs a = (g, h) and b = (h, d), are::

    complete[a, e]      h, with the head g, governs all of h..e (or e..h)
    incomplete[a, b]    h, with the head g, governs all of h..d, and d is its outermost modifier on
                        that side so far; d has no modifiers beyond d yet
    between[s, b]       sum over r of complete[s, r] complete[b, r + 1]: the words between two
                        neighbouring modifiers s and d of h

    incomplete[a, b]  = w[b] grandparent[a, b] (start[b] complete[b, h + 1]
                        + sum_s incomplete[a, s] rest[s] sibling[s, b] between[s, b])
    complete[a, e]    = sum_b incomplete[a, b] stop[b] complete[b, e];   complete[a, h] = 1

and mirrored to the left. The head g lies outside of the span. The root as a head of several words
has one more arc, from nowhere. Marginals are derivatives of log Z, computed by backpropagation
through the same sums. Some items with a g inside of the span are computed as well, where leaving
them out would cost more; no other item is built from them.

**Order.** For each i from the right: first all items that start at i and lead rightward, then those
from further right that end at i. The former need leftward items that end right of i, so a whole row
of ends is computed at once; the latter are computed for all g at once.

**Range.** Pair weights are taken relative to the best sibling, grandparent and stop of an arc
(rest[s] is the weight, relative to the best stop, of not stopping at s); arc weights are divided by
their sum over the candidate heads of the dependent. So no item exceeds one, and z is the share of
trees among all choices of one head a word. Where z is at least ``SMALLEST``, no mass that counts
has underflowed. Otherwise, in long sentences and where the best heads of the words are far from a
tree, ``projective_log`` computes the same by logarithms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.structures.second_order.projective_log import (
    LOG,
    Chart,
    log_inside_outside,
    new_chart,
)
from egparse.types import Floats, Ints

SMALLEST = 1e-250
"""Where trees are a smaller share than this of all choices of heads, mass may have underflowed."""


class _Weights(NamedTuple):
    """Exponentials of the potentials, relative to the best ones (see the module).

    ``arcs`` (arcs,) includes what the pair weights of an arc were divided by. ``pairs`` has the
    layout of the parts. ``starts``, ``stops`` and ``rest`` (arcs,) are 1 without sibling parts.
    ``offset`` in nats is to be added to log Z of the weights.
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
    """Write the marginals (parts,) for ``potentials`` (parts,) in nats and return log Z.

    Potentials may be ``-inf``, but not nan or +inf. Where no tree exists log Z is ``-inf`` and all
    marginals are 0.
    """
    log_z = scaled_inside_outside(graph, potentials, single_root, marginals)
    if math.isnan(log_z):  # rare, so that this second kernel is compiled only when it is needed
        log_z = log_inside_outside(graph, potentials, single_root, LOG, marginals)
    return float(log_z)


@njit(separate=True)
def scaled_inside_outside(
    graph: ArcGraph, potentials: Floats, single_root: bool, marginals: Floats
) -> float:
    """``inside_outside`` for calls from other kernels; nan where z is below ``SMALLEST``."""
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
    """Write the exponentials of potentials ``first``..``end`` - 1 relative to the largest of them,
    and return the largest (0 if none is finite).
    """
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
    # The leftward arcs of h get their items from the innermost outward: those before ready_end[h].
    ready_end = graph.blocks[:-1:2].copy()
    for i in range(size - 1, 0 if single_root else -1, -1):
        _inside_rightward(graph, weights, chart, i)
        if i > 0:
            _inside_leftward(graph, weights, chart, i, ready_end)
    if not single_root:
        return float(chart.right[-1, size - 1])
    z = 0.0
    for b in range(graph.blocks[1], graph.blocks[2]):
        row = chart.rows[b]
        weight = weights.arcs[b] * weights.starts[b] * weights.stops[b]
        z += weight * chart.left[1, row] * chart.right[row, size - 1]
    return z


@njit
def _rows_of(graph: ArcGraph, h: int) -> tuple[int, int]:
    """The rows of the chart for the arcs into h: the first, and the one behind the last."""
    if h == 0:
        return graph.arcs.shape[0], graph.arcs.shape[0] + 1
    return int(graph.into[h]), int(graph.into[h + 1])


@njit(fast=True)
def _inside_rightward(graph: ArcGraph, weights: _Weights, chart: Chart, i: int) -> None:
    """Compute the items that start at i and lead rightward."""
    right, incomplete, rows, heads = chart.right, chart.incomplete, chart.rows, chart.heads
    size = right.shape[1]
    first, end = _rows_of(graph, i)
    for a in range(first, end):
        right[a, i] = 1.0
    for b in range(graph.blocks[2 * i + 1], graph.blocks[2 * i + 2]):
        _inside_incomplete(graph, weights, chart, b)
        d, row, place = graph.arcs[b, 1], rows[b], chart.chains[b]
        # complete[a, e] = sum_b incomplete[a, b] stop[b] complete[b, e]
        for k in range(end - first):
            a = first + k
            weight = incomplete[place + k] * weights.stops[b]
            for e in range(d, heads[a] if heads[a] > i else size):
                right[a, e] += weight * right[row, e]


@njit(fast=True)
def _inside_leftward(
    graph: ArcGraph, weights: _Weights, chart: Chart, i: int, ready_end: Ints
) -> None:
    """Compute the items that end at i and lead leftward."""
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
            _inside_incomplete(graph, weights, chart, graph.incoming[a])
            ready_end[heads[a]] += 1
    for h in range(i + 1, left.shape[0]):
        first = into[h]
        # complete[a, i] = sum_b incomplete[a, b] stop[b] complete[b, i]
        for b in range(graph.blocks[2 * h], ready_end[h]):
            weight = left[i, rows[b]] * weights.stops[b]
            if weight == 0.0:
                continue
            place = chart.chains[b]
            for k in range(into[h + 1] - first):
                left[i, first + k] += incomplete[place + k] * weight


@njit(fast=True, inline=True)
def _inside_incomplete(graph: ArcGraph, weights: _Weights, chart: Chart, b: int) -> None:
    """Compute incomplete[a, b] for all arcs a into the head of arc b."""
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
    first_sum = weights.starts[b] * (left[h + 1, row] if is_rightward else right[row, h - 1])
    # incomplete[a, b] = w[b] grandparent[a, b] (start[b] complete[b, h + 1]
    #                    + sum_s incomplete[a, s] rest[s] sibling[s, b] between[s, b])
    for k in range(n_heads):
        incomplete[place + k] = first_sum
    for s in range(first, b):
        near, sibling_row, sibling_place = int(graph.arcs[s, 1]), rows[s], chains[s]
        # between[s, b] = sum_r complete[s, r] complete[b, r + 1]
        between = 0.0
        if is_rightward:
            for r in range(near, d):
                between += right[sibling_row, r] * left[r + 1, row]
        else:
            for r in range(d, near):
                between += right[row, r] * left[r + 1, sibling_row]
        between *= weights.rest[s]
        if graph.siblings:
            between *= weights.pairs[pair + 1 + s - first]
        for k in range(n_heads):
            incomplete[place + k] += incomplete[sibling_place + k] * between
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
    """Write the marginals, by backpropagation through ``_inside``: outer x = d log Z / d x for each
    item x.
    """
    size: int = graph.into.shape[0] - 1
    ready_end = graph.blocks[1::2].copy()
    if single_root:
        # z = sum_b w[b] start[b] stop[b] complete[b, 1] complete[b, n], for the arcs b of the root
        for b in range(graph.blocks[1], graph.blocks[2]):
            row = chart.rows[b]
            weight = weights.arcs[b] * weights.starts[b] * weights.stops[b] / z
            chart.outer_left[1, row] += weight * chart.right[row, size - 1]
            chart.outer_right[row, size - 1] += weight * chart.left[1, row]
            marginals[b] = weight * chart.left[1, row] * chart.right[row, size - 1]
            if graph.siblings:
                marginals[graph.pairs[b]] = marginals[b]
                marginals[graph.pairs[b] + b - graph.blocks[1] + 1] = marginals[b]
    else:
        chart.outer_right[-1, size - 1] = 1.0 / z
    for i in range(1 if single_root else 0, size):
        if i > 0:
            _outside_leftward(graph, weights, chart, i, ready_end, marginals)
        _outside_rightward(graph, weights, chart, i, marginals)


@njit(fast=True)
def _outside_rightward(
    graph: ArcGraph, weights: _Weights, chart: Chart, i: int, marginals: Floats
) -> None:
    """The derivatives of the items of ``_inside_rightward``, and the marginals of their parts."""
    right, incomplete, rows, heads = chart.right, chart.incomplete, chart.rows, chart.heads
    outer_right, outer_incomplete = chart.outer_right, chart.outer_incomplete
    size = right.shape[1]
    first, end = _rows_of(graph, i)
    for b in range(graph.blocks[2 * i + 2] - 1, graph.blocks[2 * i + 1] - 1, -1):
        d, row, place = graph.arcs[b, 1], rows[b], chart.chains[b]
        # outer incomplete[a, b] += stop[b] sum_e outer complete[a, e] complete[b, e]
        # outer complete[b, e]   += outer complete[a, e] incomplete[a, b] stop[b]
        # P(b, STOP) = sum_a incomplete[a, b] stop[b] sum_e outer complete[a, e] complete[b, e]
        stop_marginal = 0.0
        for k in range(end - first):
            a = first + k
            weight = incomplete[place + k] * weights.stops[b]
            total = 0.0
            for e in range(d, heads[a] if heads[a] > i else size):
                outer = outer_right[a, e]
                total += outer * right[row, e]
                outer_right[row, e] += outer * weight
            outer_incomplete[place + k] += total * weights.stops[b]
            stop_marginal += total * weight
        if graph.siblings:
            marginals[graph.pairs[b] + b - graph.blocks[2 * i + 1] + 1] = stop_marginal
        _outside_incomplete(graph, weights, chart, b, marginals)


@njit(fast=True)
def _outside_leftward(
    graph: ArcGraph, weights: _Weights, chart: Chart, i: int, ready_end: Ints, marginals: Floats
) -> None:
    """The derivatives of the items of ``_inside_leftward``, and the marginals of their parts."""
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
        # The equations of _outside_rightward, with e = i.
        for b in range(begin, ready_end[h]):
            weight = left[i, rows[b]] * weights.stops[b]
            if weight == 0.0:
                continue
            place = chart.chains[b]
            total = 0.0
            for k in range(into[h + 1] - first):
                outer = outer_left[i, first + k]
                outer_incomplete[place + k] += outer * weight
                total += outer * incomplete[place + k]
            outer_left[i, rows[b]] += total * weights.stops[b]
            if graph.siblings:
                marginals[graph.pairs[b] + b - begin + 1] += total * weight
    for a in range(into[i], into[i + 1]):
        if heads[a] > i:
            _outside_incomplete(graph, weights, chart, graph.incoming[a], marginals)
            ready_end[heads[a]] -= 1


@njit(fast=True, inline=True)
def _outside_incomplete(
    graph: ArcGraph, weights: _Weights, chart: Chart, b: int, marginals: Floats
) -> None:
    """The derivatives of the items of ``_inside_incomplete``, and the marginals of their parts.

    bracket[a] stands for the bracket in the equation of incomplete[a, b].
    """
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
    marginal, outer_sum = 0.0, 0.0
    # P(grandparent a of b) = outer incomplete[a, b] incomplete[a, b];   P(b) = their sum over a
    # outer bracket[a] = outer incomplete[a, b] w[b] grandparent[a, b], kept in outer_incomplete
    for k in range(n_heads):
        outer = outer_incomplete[place + k]
        part_marginal = outer * incomplete[place + k]
        marginal += part_marginal
        outer *= weights.arcs[b]
        if has_grandparents:
            marginals[grandparent + k] = part_marginal
            outer *= weights.pairs[grandparent + k]
        outer_incomplete[place + k] = outer
        outer_sum += outer
    marginals[b] = marginal
    if outer_sum == 0.0:
        return
    # outer complete[b, h + 1] += start[b] sum_a outer bracket[a]
    # P(START, b) = complete[b, h + 1] start[b] sum_a outer bracket[a]
    outer_sum *= weights.starts[b]
    if is_rightward:
        outer_left[h + 1, row] += outer_sum
        start_marginal = outer_sum * left[h + 1, row]
    else:
        outer_right[row, h - 1] += outer_sum
        start_marginal = outer_sum * right[row, h - 1]
    if graph.siblings:
        marginals[pair] = start_marginal
    for s in range(first, b):
        near, sibling_row, sibling_place = int(graph.arcs[s, 1]), rows[s], chains[s]
        weight = weights.rest[s]
        if graph.siblings:
            weight *= weights.pairs[pair + 1 + s - first]
        # outer between[s, b] = rest[s] sibling[s, b] sum_a outer bracket[a] incomplete[a, s]
        outer = 0.0
        for k in range(n_heads):
            outer += outer_incomplete[place + k] * incomplete[sibling_place + k]
        outer *= weight
        # outer complete[s, r]     += outer between[s, b] complete[b, r + 1]
        # outer complete[b, r + 1] += outer between[s, b] complete[s, r]
        between = 0.0
        if is_rightward:
            for r in range(near, d):
                between += right[sibling_row, r] * left[r + 1, row]
                outer_right[sibling_row, r] += outer * left[r + 1, row]
                outer_left[r + 1, row] += outer * right[sibling_row, r]
        else:
            for r in range(d, near):
                between += right[row, r] * left[r + 1, sibling_row]
                outer_right[row, r] += outer * left[r + 1, sibling_row]
                outer_left[r + 1, sibling_row] += outer * right[row, r]
        # P(s, b) = outer between[s, b] between[s, b]
        if graph.siblings:
            marginals[pair + 1 + s - first] = outer * between
        # outer incomplete[a, s] += outer bracket[a] rest[s] sibling[s, b] between[s, b]
        between *= weight
        for k in range(n_heads):
            outer_incomplete[sibling_place + k] += outer_incomplete[place + k] * between
