"""The dynamic program of ``pruned_trees`` by logarithms: best tree, k best trees, and log Z where
probabilities underflow.

Items, parts and order of work are those of ``pruned_trees``, products being sums and sums
log-sum-exps or maxima. On the way back each item gets its count (see ``semirings``), so that one
program serves all: where sums are maxima the counts mark the parts of one best tree, the first of
equal ones at each choice.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.structures.logsumexp import log_add
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.structures.semirings import BEST, FAINT
from egparse.structures.trees.dependency_trees import NO_HEAD, BestTree, checked_count
from egparse.types import Floats, Ints


class Chart(NamedTuple):
    """Items, and their derivatives by log Z or their counts.

    ``rows[b]`` is the place of arc b in ``incoming``: the arcs into a word are neighbours there, at
    ``into[h]`` and on, and the root, under no head, has the last row of its own; ``heads[row]`` is
    the head of each, -1 for it. ``right[row, e]`` (arcs + 1, n + 1) are the complete items that
    lead rightward, ``left[e, row]`` the others. Arc b has the items ``incomplete[chains[b]:chains[b
    + 1]]``, one for each arc into its head.
    """

    right: Floats
    left: Floats
    incomplete: Floats
    outer_right: Floats
    outer_left: Floats
    outer_incomplete: Floats
    chains: Ints
    rows: Ints
    heads: Ints


@njit
def best_tree(graph: ArcGraph, potentials: Floats, single_root: bool, heads: Ints) -> float:
    """Write ``heads`` (n + 1,) of a projective tree of highest score for ``potentials`` (parts,),
    without nan or +inf; returns that score.

    Where the candidates have no tree it is ``-inf`` and every head ``NO_HEAD``.
    """
    parts = np.empty(potentials.shape[0])
    score = log_inside_outside(graph, potentials, single_root, BEST, parts)
    heads[:] = NO_HEAD
    for a in range(graph.arcs.shape[0]):
        if parts[a] > 0.0:
            heads[graph.arcs[a, 1]] = graph.arcs[a, 0]
    return score


def k_best(graph: ArcGraph, potentials: Floats, k: int, single_root: bool = True) -> list[BestTree]:
    """The ``k`` best projective trees, best first; fewer where fewer exist. ValueError for k < 1.

    Lawler's (1972) partition, as in ``nonprojective.k_best``: O(k n) searches.
    """
    checked_count(k)
    found: list[BestTree] = []
    # A part of the trees: minus the best score in it, a number that settles ties, its best tree,
    # the potentials that are allowed in it, and how many words, from the left, have no choice left.
    parts = [
        (-best.score, 0, best, potentials, 0)
        for best in [_best(graph, potentials, single_root)]
        if best.score > -math.inf
    ]
    made = 1
    while parts and len(found) < k:
        _, _, best, allowed, n_fixed = heapq.heappop(parts)
        found.append(best)
        fixed = allowed.copy()
        for word in range(n_fixed + 1, len(best.heads)):
            into = graph.incoming[graph.into[word] : graph.into[word + 1]]
            is_own = graph.arcs[into, 0] == best.heads[word]
            other = fixed.copy()
            other[into[is_own]] = -math.inf
            runner_up = _best(graph, other, single_root)
            if runner_up.score > -math.inf:
                heapq.heappush(parts, (-runner_up.score, made, runner_up, other, word - 1))
                made += 1
            fixed[into[~is_own]] = -math.inf
    return found


def _best(graph: ArcGraph, potentials: Floats, single_root: bool) -> BestTree:
    heads = np.empty(len(graph.into) - 1, dtype=np.int32)
    return BestTree(heads, float(best_tree(graph, potentials, single_root, heads)))


@njit
def log_inside_outside(
    graph: ArcGraph, potentials: Floats, single_root: bool, way: int, marginals: Floats
) -> float:
    """As ``inside_outside``, by logarithms: two or three times as slow, and right whatever the
    range of the potentials.

    With ``BEST`` for ``LOG`` as the ``way`` to add (see ``semirings``), marginals are 1 on the
    parts of a tree of highest score, and that score is returned.
    """
    marginals[:] = 0.0
    chart = new_chart(graph, -np.inf)
    ends = np.zeros((2, graph.arcs.shape[0]))
    if graph.siblings:
        for b in range(graph.blocks.shape[0] - 1):
            for a in range(graph.blocks[b], graph.blocks[b + 1]):
                ends[0, a] = potentials[graph.pairs[a]]
                ends[1, a] = potentials[graph.pairs[a] + a - graph.blocks[b] + 1]
    log_z = _log_inside(graph, potentials, ends, single_root, way, chart)
    if log_z > -np.inf:
        _share(graph, potentials, ends, single_root, way, log_z, chart, marginals)
    return log_z


@njit(inline=True)
def _add(left: float, right: float, way: int) -> float:
    return max(left, right) if way == BEST else log_add(left, right)


@njit(inline=True)
def _part(count: float, term: float, total: float, way: int) -> float:
    """The share of a term in the count of a sum; of equal best terms, the caller asks for the first
    alone.
    """
    if way == BEST:
        return count if term == total else 0.0
    return count * math.exp(term - total)


@njit
def _log_inside(
    graph: ArcGraph, potentials: Floats, ends: Floats, single_root: bool, way: int, chart: Chart
) -> float:
    """``_inside``, by logarithms. ``ends`` are the potentials of START and STOP."""
    blocks, into, right, left, incomplete = (
        graph.blocks,
        graph.into,
        chart.right,
        chart.left,
        chart.incomplete,
    )
    rows, chains, heads, stops = chart.rows, chart.chains, chart.heads, ends[1]
    size: int = into.shape[0] - 1
    m = rows.shape[0] - 1
    closed = np.empty(size, dtype=np.int32)
    closed[:] = blocks[:-1:2]
    for i in range(size - 1, 0 if single_root else -1, -1):
        base = into[i] if i > 0 else m
        n_heads = into[i + 1] - base if i > 0 else 1
        for k in range(n_heads):
            right[base + k, i] = 0.0
        for b in range(blocks[2 * i + 1], blocks[2 * i + 2]):
            _log_join(graph, potentials, ends, way, chart, b)
            d, row = graph.arcs[b, 1], rows[b]
            for k in range(n_heads):
                held = incomplete[chains[b] + k] + stops[b]
                end = heads[base + k] if heads[base + k] > i else size
                if held > -np.inf:
                    for e in range(d, end):
                        right[base + k, e] = _add(right[base + k, e], held + right[row, e], way)
        if i == 0:
            break
        for p in range(base, base + n_heads):
            left[i, p] = 0.0
            if heads[p] > i:
                _log_join(graph, potentials, ends, way, chart, graph.incoming[p])
                closed[heads[p]] += 1
        for j in range(i + 1, size):
            for b in range(blocks[2 * j], closed[j]):
                if left[i, rows[b]] > -np.inf:
                    for k in range(into[j + 1] - into[j]):
                        held = incomplete[chains[b] + k] + stops[b]
                        p = into[j] + k
                        left[i, p] = _add(left[i, p], held + left[i, rows[b]], way)
    if not single_root:
        return float(right[m, size - 1])
    log_z = -np.inf
    for b in range(blocks[1], blocks[2]):
        log_z = _add(log_z, _log_root_item(potentials, ends, chart, b), way)
    return log_z


@njit(inline=True)
def _log_root_item(potentials: Floats, ends: Floats, chart: Chart, b: int) -> float:
    """All trees in which b is the one arc from the root."""
    row = chart.rows[b]
    return float(
        potentials[b] + ends[0, b] + ends[1, b] + chart.left[1, row] + chart.right[row, -1]
    )


@njit
def _log_between(graph: ArcGraph, way: int, chart: Chart, s: int, b: int) -> float:
    """What modifiers s and b of one head, s nearer to it, hold between them."""
    near, far = int(graph.arcs[s, 1]), int(graph.arcs[b, 1])
    one, other = (chart.rows[s], chart.rows[b]) if near < far else (chart.rows[b], chart.rows[s])
    total = -np.inf
    for r in range(min(near, far), max(near, far)):
        total = _add(total, chart.right[one, r] + chart.left[r + 1, other], way)
    return total


@njit(inline=True)
def _log_innermost(graph: ArcGraph, ends: Floats, chart: Chart, b: int) -> float:
    """What arc b holds between its head and its dependent where no sibling is between them."""
    h = int(graph.arcs[b, 0])
    row = chart.rows[b]
    return float(
        ends[0, b] + (chart.left[h + 1, row] if graph.arcs[b, 1] > h else chart.right[row, h - 1])
    )


@njit
def _log_join(
    graph: ArcGraph, potentials: Floats, ends: Floats, way: int, chart: Chart, b: int
) -> None:
    """The incomplete items of arc b."""
    incomplete, chains = chart.incomplete, chart.chains
    h = int(graph.arcs[b, 0])
    first = graph.blocks[2 * h + (1 if graph.arcs[b, 1] > h else 0)]
    place, n_heads, pair = chains[b], chains[b + 1] - chains[b], graph.pairs[b]
    inner = _log_innermost(graph, ends, chart, b)
    for k in range(n_heads):
        incomplete[place + k] = inner
    for s in range(first, b):
        held = _log_between(graph, way, chart, s, b)
        if graph.siblings:
            held += potentials[pair + 1 + s - first]
        if held > -np.inf:
            for k in range(n_heads):
                incomplete[place + k] = _add(
                    incomplete[place + k], incomplete[chains[s] + k] + held, way
                )
    grandparent = pair + (b - first + 2 if graph.siblings else 0)
    for k in range(n_heads):
        incomplete[place + k] += potentials[b]
        if graph.grandparents and h > 0:
            incomplete[place + k] += potentials[grandparent + k]


@njit
def _share(
    graph: ArcGraph,
    potentials: Floats,
    ends: Floats,
    single_root: bool,
    way: int,
    log_z: float,
    chart: Chart,
    marginals: Floats,
) -> None:
    """Counts of all items, as in ``semirings``: that of a sum is divided among its terms. In the
    order of ``_outside``.
    """
    blocks, into, incomplete = graph.blocks, graph.into, chart.incomplete
    rows, chains, heads, stops = chart.rows, chart.chains, chart.heads, ends[1]
    size: int = into.shape[0] - 1
    m = rows.shape[0] - 1
    _share_roots(graph, potentials, ends, single_root, way, log_z, chart, marginals)
    closed = np.empty(size, dtype=np.int32)
    closed[:] = blocks[1::2]
    for i in range(1 if single_root else 0, size):
        base = into[i] if i > 0 else m
        n_heads = into[i + 1] - base if i > 0 else 1
        if i > 0:
            for j in range(size - 1, i, -1):
                for k in range(into[j + 1] - into[j]):
                    count, total = chart.outer_left[i, into[j] + k], chart.left[i, into[j] + k]
                    if count <= FAINT:
                        continue
                    for b in range(blocks[2 * j], closed[j]):
                        term = incomplete[chains[b] + k] + stops[b] + chart.left[i, rows[b]]
                        part = _part(count, term, total, way)
                        chart.outer_incomplete[chains[b] + k] += part
                        chart.outer_left[i, rows[b]] += part
                        if graph.siblings:
                            marginals[graph.pairs[b] + b - blocks[2 * j] + 1] += part
                        if way == BEST and part > 0.0:
                            break
            for p in range(base, base + n_heads):
                if heads[p] > i:
                    _share_join(graph, potentials, ends, way, chart, graph.incoming[p], marginals)
                    closed[heads[p]] -= 1
        for k in range(n_heads):
            for e in range(i + 1, size):
                count, total = chart.outer_right[base + k, e], chart.right[base + k, e]
                if count <= FAINT:
                    continue
                for b in range(blocks[2 * i + 1], blocks[2 * i + 2]):
                    if graph.arcs[b, 1] > e:
                        break
                    term = incomplete[chains[b] + k] + stops[b] + chart.right[rows[b], e]
                    part = _part(count, term, total, way)
                    chart.outer_incomplete[chains[b] + k] += part
                    chart.outer_right[rows[b], e] += part
                    if graph.siblings:
                        marginals[graph.pairs[b] + b - blocks[2 * i + 1] + 1] += part
                    if way == BEST and part > 0.0:
                        break
        for b in range(blocks[2 * i + 2] - 1, blocks[2 * i + 1] - 1, -1):
            _share_join(graph, potentials, ends, way, chart, b, marginals)


@njit
def _share_roots(
    graph: ArcGraph,
    potentials: Floats,
    ends: Floats,
    single_root: bool,
    way: int,
    log_z: float,
    chart: Chart,
    marginals: Floats,
) -> None:
    """The counts of what whole trees are made of."""
    if not single_root:
        chart.outer_right[-1, -1] = 1.0
        return
    first = graph.blocks[1]
    for b in range(first, graph.blocks[2]):
        part = _part(1.0, _log_root_item(potentials, ends, chart, b), log_z, way)
        chart.outer_left[1, chart.rows[b]] += part
        chart.outer_right[chart.rows[b], -1] += part
        marginals[b] = part
        if graph.siblings:
            marginals[graph.pairs[b]] = part
            marginals[graph.pairs[b] + b - first + 1] = part
        if way == BEST and part > 0.0:
            break


@njit
def _share_join(
    graph: ArcGraph,
    potentials: Floats,
    ends: Floats,
    way: int,
    chart: Chart,
    b: int,
    marginals: Floats,
) -> None:
    """``_log_join``, backwards."""
    h, d = int(graph.arcs[b, 0]), int(graph.arcs[b, 1])
    first = graph.blocks[2 * h + (1 if d > h else 0)]
    place, n_heads, pair = chart.chains[b], chart.chains[b + 1] - chart.chains[b], graph.pairs[b]
    counts = chart.outer_incomplete[place : place + n_heads]
    if counts.sum() <= FAINT:
        return
    marginals[b] = counts.sum()
    if graph.grandparents and h > 0:
        grandparent = pair + (b - first + 2 if graph.siblings else 0)
        marginals[grandparent : grandparent + n_heads] = counts
    inner = _log_innermost(graph, ends, chart, b)
    between = np.zeros((2, b - first))
    held, pulled = between[0], between[1]
    for s in range(first, b):
        held[s - first] = _log_between(graph, way, chart, s, b)
        if graph.siblings:
            held[s - first] += potentials[pair + 1 + s - first]
    started = 0.0
    for k in range(n_heads):
        if counts[k] <= FAINT:
            continue
        total = inner
        for s in range(first, b):
            total = _add(total, chart.incomplete[chart.chains[s] + k] + held[s - first], way)
        part = _part(counts[k], inner, total, way)
        started += part
        if way == BEST and part > 0.0:
            continue
        for s in range(first, b):
            part = _part(
                counts[k], chart.incomplete[chart.chains[s] + k] + held[s - first], total, way
            )
            chart.outer_incomplete[chart.chains[s] + k] += part
            pulled[s - first] += part
            if way == BEST and part > 0.0:
                break
    if d > h:
        chart.outer_left[h + 1, chart.rows[b]] += started
    else:
        chart.outer_right[chart.rows[b], h - 1] += started
    if graph.siblings:
        marginals[pair] = started
        marginals[pair + 1 : pair + 1 + b - first] = pulled
    for s in range(first, b):
        if pulled[s - first] > FAINT:
            _share_between(graph, way, chart, s, b, pulled[s - first])


@njit
def _share_between(graph: ArcGraph, way: int, chart: Chart, s: int, b: int, count: float) -> None:
    """``_log_between``, backwards."""
    near, far = int(graph.arcs[s, 1]), int(graph.arcs[b, 1])
    one, other = (chart.rows[s], chart.rows[b]) if near < far else (chart.rows[b], chart.rows[s])
    total = _log_between(graph, way, chart, s, b)
    for r in range(min(near, far), max(near, far)):
        part = _part(count, chart.right[one, r] + chart.left[r + 1, other], total, way)
        chart.outer_right[one, r] += part
        chart.outer_left[r + 1, other] += part
        if way == BEST and part > 0.0:
            break


@njit
def new_chart(graph: ArcGraph, empty: float) -> Chart:
    """A chart of items that hold ``empty``, and derivatives that hold 0."""
    m, size = graph.arcs.shape[0], graph.into.shape[0] - 1
    places = np.empty((3, m + 1), dtype=np.int32)
    chains, rows, heads = places[0], places[1], places[2]
    chains[0] = 0
    for b in range(m):
        head = graph.arcs[b, 0]
        chains[b + 1] = chains[b] + (graph.into[head + 1] - graph.into[head] if head > 0 else 1)
    for row in range(m):
        rows[graph.incoming[row]] = row
        heads[row] = graph.arcs[graph.incoming[row], 0]
    rows[m] = m
    heads[m] = -1
    complete = np.zeros((4, (m + 1) * size))
    incomplete = np.zeros((2, chains[m]))
    if empty != 0.0:
        complete[:2] = empty
        incomplete[0] = empty
    return Chart(
        complete[0].reshape((m + 1, size)),
        complete[1].reshape((size, m + 1)),
        incomplete[0],
        complete[2].reshape((m + 1, size)),
        complete[3].reshape((size, m + 1)),
        incomplete[1],
        chains,
        rows,
        heads,
    )
