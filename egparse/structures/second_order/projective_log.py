"""The dynamic program of ``second_order.projective`` by logarithms: best tree, k best trees, and
log Z where probabilities underflow.

Items, parts and order of work are those of ``projective``; products become sums, and sums become
log-sum-exps or maxima, depending on the semiring (Goodman 1999, "Semiring parsing"). Equations
write (+) for the sum of the semiring.

The outside pass computes a *count* for each item: the number of times that it is used, expected
over all trees (``BEST``: in one best tree). It is the derivative of log Z by the logarithm of the
item, computed by backpropagation (Eisner 2016, "Inside-outside and forward-backward algorithms are
just backprop"): the count of a sum is divided among its terms in proportion to them; ``BEST`` gives
all of it to the first of the largest terms. Counts never exceed the number of times that a tree can
use an item, so that they need neither logarithms nor scaling.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.structures.logsumexp import log_add
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.structures.trees.dependency_trees import NO_HEAD, BestTree, checked_count
from egparse.structures.trees.partition import k_best_of
from egparse.types import Floats, Ints, Mask

LOG, BEST = 0, 1
"""The semirings: log-sum-exps of sums, and maxima of sums."""

MIN_COUNT = 1e-40
"""Smaller counts are not passed on: they are lost in the rounding of all others."""


class Chart(NamedTuple):
    """Inside items, and their derivatives of log Z or their counts (``outer_*``).

    ``rows[b]`` is the index of arc b in ``ArcGraph.incoming``, where the arcs into word h are
    neighbours, from ``into[h]`` on. The root, which has no head, has the last row. ``heads[row]``
    is the head of the row's arc, -1 for the root. ``right[row, e]`` (arcs + 1, n + 1) are the
    complete items that lead rightward, ``left[e, row]`` (n + 1, arcs + 1) those that lead leftward.
    Arc b has the items ``incomplete[chains[b]:chains[b + 1]]``, one for each arc into its head.
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
    without nan or +inf, and return its score.

    Where the candidates have no tree the score is ``-inf`` and every head ``NO_HEAD``.
    """
    parts = np.empty(potentials.shape[0])
    score = log_inside_outside(graph, potentials, single_root, BEST, parts)
    heads[:] = NO_HEAD
    for a in range(graph.arcs.shape[0]):
        if parts[a] > 0.0:
            heads[graph.arcs[a, 1]] = graph.arcs[a, 0]
    return score


def k_best(graph: ArcGraph, potentials: Floats, k: int, single_root: bool = True) -> list[BestTree]:
    """The ``k`` best projective trees, best first; fewer where fewer exist.

    Lawler's partition (``trees.partition``): O(k n) searches, and O(parts + k n) memory beside that
    of a search.

    Raises:
        ValueError: k < 1.
    """
    return k_best_of(_SparseArcs(graph, potentials, single_root), checked_count(k))


class _SparseArcs:
    """The candidate arcs of a sentence; pairs of arcs keep their potentials."""

    def __init__(self, graph: ArcGraph, potentials: Floats, single_root: bool) -> None:
        self._graph = graph
        self._potentials = potentials
        self._allowed = potentials.copy()
        self._single_root = single_root

    def allow_all(self) -> None:
        self._allowed[:] = self._potentials

    def fix(self, word: int, head: int) -> None:
        into, is_head = self._into(word, head)
        self._allowed[into] = np.where(is_head, self._potentials[into], -math.inf)

    def forbid(self, word: int, head: int) -> None:
        into, is_head = self._into(word, head)
        self._allowed[into[is_head]] = -math.inf

    def best(self) -> BestTree:
        heads = np.empty(len(self._graph.into) - 1, dtype=np.int32)
        score = best_tree(self._graph, self._allowed, self._single_root, heads)
        return BestTree(heads, float(score))

    def _into(self, word: int, head: int) -> tuple[Ints, Mask]:
        """The arcs into a word, and whether each is from ``head``."""
        graph = self._graph
        into = graph.incoming[graph.into[word] : graph.into[word + 1]]
        return into, graph.arcs[into, 0] == head


@njit(separate=True)
def log_inside_outside(
    graph: ArcGraph, potentials: Floats, single_root: bool, semiring: int, marginals: Floats
) -> float:
    """``projective.inside_outside`` by logarithms: two or three times as slow, and accurate
    whatever the range of the potentials.

    ``semiring`` is ``LOG`` or ``BEST``. With ``BEST`` marginals are 1 on the parts of a tree of
    highest score and 0 elsewhere, and that score is returned.
    """
    marginals[:] = 0.0
    chart = new_chart(graph, -np.inf)
    ends = np.zeros((2, graph.arcs.shape[0]))
    if graph.siblings:
        for b in range(graph.blocks.shape[0] - 1):
            for a in range(graph.blocks[b], graph.blocks[b + 1]):
                ends[0, a] = potentials[graph.pairs[a]]
                ends[1, a] = potentials[graph.pairs[a] + a - graph.blocks[b] + 1]
    log_z = _log_inside(graph, potentials, ends, single_root, semiring, chart)
    if log_z > -np.inf:
        _log_outside(graph, potentials, ends, single_root, semiring, log_z, chart, marginals)
    return log_z


@njit(inline=True)
def _add(left: float, right: float, semiring: int) -> float:
    """The sum of the semiring: log(exp(left) + exp(right)), or the larger of both."""
    return max(left, right) if semiring == BEST else log_add(left, right)


@njit(inline=True)
def _count_of_term(count: float, term: float, total: float, semiring: int) -> float:
    """The count of one term, given the count of the sum: count exp(term - total), or for ``BEST``
    all of it where the term is the largest. The caller passes over all but the first of these.
    """
    if semiring == BEST:
        return count if term == total else 0.0
    return count * math.exp(term - total)


@njit
def _log_inside(
    graph: ArcGraph,
    potentials: Floats,
    ends: Floats,
    single_root: bool,
    semiring: int,
    chart: Chart,
) -> float:
    """``_inside`` by logarithms. ``ends`` (2, arcs) are the potentials of START and STOP."""
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
    # As in projective._inside: the leftward arcs of h before ready_end[h] have their items.
    ready_end = np.empty(size, dtype=np.int32)
    copy_numbers(blocks[:-1:2], ready_end)
    for i in range(size - 1, 0 if single_root else -1, -1):
        base = into[i] if i > 0 else m
        n_heads = into[i + 1] - base if i > 0 else 1
        for k in range(n_heads):
            right[base + k, i] = 0.0
        for b in range(blocks[2 * i + 1], blocks[2 * i + 2]):
            _log_inside_incomplete(graph, potentials, ends, semiring, chart, b)
            d, row = graph.arcs[b, 1], rows[b]
            # complete[a, e] = (+)_b incomplete[a, b] + stop[b] + complete[b, e]
            for k in range(n_heads):
                term = incomplete[chains[b] + k] + stops[b]
                end = heads[base + k] if heads[base + k] > i else size
                if term > -np.inf:
                    for e in range(d, end):
                        right[base + k, e] = _add(
                            right[base + k, e], term + right[row, e], semiring
                        )
        if i == 0:
            break
        for p in range(base, base + n_heads):
            left[i, p] = 0.0
            if heads[p] > i:
                _log_inside_incomplete(graph, potentials, ends, semiring, chart, graph.incoming[p])
                ready_end[heads[p]] += 1
        # complete[a, i] = (+)_b incomplete[a, b] + stop[b] + complete[b, i]
        for j in range(i + 1, size):
            for b in range(blocks[2 * j], ready_end[j]):
                if left[i, rows[b]] > -np.inf:
                    for k in range(into[j + 1] - into[j]):
                        term = incomplete[chains[b] + k] + stops[b]
                        p = into[j] + k
                        left[i, p] = _add(left[i, p], term + left[i, rows[b]], semiring)
    if not single_root:
        return float(right[m, size - 1])
    log_z = -np.inf
    for b in range(blocks[1], blocks[2]):
        log_z = _add(log_z, _log_root_item(potentials, ends, chart, b), semiring)
    return log_z


@njit(inline=True)
def _log_root_item(potentials: Floats, ends: Floats, chart: Chart, b: int) -> float:
    """The item of all trees in which b is the only arc from the root."""
    row = chart.rows[b]
    return float(
        potentials[b] + ends[0, b] + ends[1, b] + chart.left[1, row] + chart.right[row, -1]
    )


@njit
def _log_between(graph: ArcGraph, semiring: int, chart: Chart, s: int, b: int) -> float:
    """between[s, b], for modifiers s and b of the same head, s nearer to it."""
    near, far = int(graph.arcs[s, 1]), int(graph.arcs[b, 1])
    left_row, right_row = (
        (chart.rows[s], chart.rows[b]) if near < far else (chart.rows[b], chart.rows[s])
    )
    # between[s, b] = (+)_r complete[s, r] + complete[b, r + 1]
    total = -np.inf
    for r in range(min(near, far), max(near, far)):
        total = _add(total, chart.right[left_row, r] + chart.left[r + 1, right_row], semiring)
    return total


@njit(inline=True)
def _log_start(graph: ArcGraph, ends: Floats, chart: Chart, b: int) -> float:
    """start[b] + complete[b, h + 1]: b is the innermost modifier of its head h."""
    h = int(graph.arcs[b, 0])
    row = chart.rows[b]
    return float(
        ends[0, b] + (chart.left[h + 1, row] if graph.arcs[b, 1] > h else chart.right[row, h - 1])
    )


@njit
def _log_inside_incomplete(
    graph: ArcGraph, potentials: Floats, ends: Floats, semiring: int, chart: Chart, b: int
) -> None:
    """Compute incomplete[a, b] for all arcs a into the head of arc b."""
    incomplete, chains = chart.incomplete, chart.chains
    h = int(graph.arcs[b, 0])
    first = graph.blocks[2 * h + (1 if graph.arcs[b, 1] > h else 0)]
    place, n_heads, pair = chains[b], chains[b + 1] - chains[b], graph.pairs[b]
    first_term = _log_start(graph, ends, chart, b)
    # incomplete[a, b] = score[b] + grandparent[a, b] + ((start[b] + complete[b, h + 1])
    #                    (+) (+)_s incomplete[a, s] + sibling[s, b] + between[s, b])
    for k in range(n_heads):
        incomplete[place + k] = first_term
    for s in range(first, b):
        between = _log_between(graph, semiring, chart, s, b)
        if graph.siblings:
            between += potentials[pair + 1 + s - first]
        if between > -np.inf:
            for k in range(n_heads):
                incomplete[place + k] = _add(
                    incomplete[place + k], incomplete[chains[s] + k] + between, semiring
                )
    grandparent = pair + (b - first + 2 if graph.siblings else 0)
    for k in range(n_heads):
        incomplete[place + k] += potentials[b]
        if graph.grandparents and h > 0:
            incomplete[place + k] += potentials[grandparent + k]


@njit
def _log_outside(
    graph: ArcGraph,
    potentials: Floats,
    ends: Floats,
    single_root: bool,
    semiring: int,
    log_z: float,
    chart: Chart,
    marginals: Floats,
) -> None:
    """Write the marginals: the counts of the parts, from those of all items, in the order of
    ``projective._outside``.
    """
    blocks, into, incomplete = graph.blocks, graph.into, chart.incomplete
    rows, chains, heads, stops = chart.rows, chart.chains, chart.heads, ends[1]
    size: int = into.shape[0] - 1
    m = rows.shape[0] - 1
    _log_outside_roots(graph, potentials, ends, single_root, semiring, log_z, chart, marginals)
    ready_end = np.empty(size, dtype=np.int32)
    copy_numbers(blocks[1::2], ready_end)
    for i in range(1 if single_root else 0, size):
        base = into[i] if i > 0 else m
        n_heads = into[i + 1] - base if i > 0 else 1
        if i > 0:
            # count(incomplete[a, b]), count(complete[b, i]), P(b, STOP) += count(complete[a, i])
            #     exp(incomplete[a, b] + stop[b] + complete[b, i] - complete[a, i])
            for j in range(size - 1, i, -1):
                for k in range(into[j + 1] - into[j]):
                    count, total = chart.outer_left[i, into[j] + k], chart.left[i, into[j] + k]
                    if count <= MIN_COUNT:
                        continue
                    for b in range(blocks[2 * j], ready_end[j]):
                        term = incomplete[chains[b] + k] + stops[b] + chart.left[i, rows[b]]
                        term_count = _count_of_term(count, term, total, semiring)
                        chart.outer_incomplete[chains[b] + k] += term_count
                        chart.outer_left[i, rows[b]] += term_count
                        if graph.siblings:
                            marginals[graph.pairs[b] + b - blocks[2 * j] + 1] += term_count
                        if semiring == BEST and term_count > 0.0:
                            break
            for p in range(base, base + n_heads):
                if heads[p] > i:
                    _log_outside_incomplete(
                        graph, potentials, ends, semiring, chart, graph.incoming[p], marginals
                    )
                    ready_end[heads[p]] -= 1
        # the same with e for i, to the right
        for k in range(n_heads):
            for e in range(i + 1, size):
                count, total = chart.outer_right[base + k, e], chart.right[base + k, e]
                if count <= MIN_COUNT:
                    continue
                for b in range(blocks[2 * i + 1], blocks[2 * i + 2]):
                    if graph.arcs[b, 1] > e:
                        break
                    term = incomplete[chains[b] + k] + stops[b] + chart.right[rows[b], e]
                    term_count = _count_of_term(count, term, total, semiring)
                    chart.outer_incomplete[chains[b] + k] += term_count
                    chart.outer_right[rows[b], e] += term_count
                    if graph.siblings:
                        marginals[graph.pairs[b] + b - blocks[2 * i + 1] + 1] += term_count
                    if semiring == BEST and term_count > 0.0:
                        break
        for b in range(blocks[2 * i + 2] - 1, blocks[2 * i + 1] - 1, -1):
            _log_outside_incomplete(graph, potentials, ends, semiring, chart, b, marginals)


@njit
def _log_outside_roots(
    graph: ArcGraph,
    potentials: Floats,
    ends: Floats,
    single_root: bool,
    semiring: int,
    log_z: float,
    chart: Chart,
    marginals: Floats,
) -> None:
    """The counts of the items that whole trees are made of."""
    if not single_root:
        chart.outer_right[-1, -1] = 1.0
        return
    first = graph.blocks[1]
    for b in range(first, graph.blocks[2]):
        term_count = _count_of_term(
            1.0, _log_root_item(potentials, ends, chart, b), log_z, semiring
        )
        chart.outer_left[1, chart.rows[b]] += term_count
        chart.outer_right[chart.rows[b], -1] += term_count
        marginals[b] = term_count
        if graph.siblings:
            marginals[graph.pairs[b]] = term_count
            marginals[graph.pairs[b] + b - first + 1] = term_count
        if semiring == BEST and term_count > 0.0:
            break


@njit
def _log_outside_incomplete(
    graph: ArcGraph,
    potentials: Floats,
    ends: Floats,
    semiring: int,
    chart: Chart,
    b: int,
    marginals: Floats,
) -> None:
    """The counts of the items of ``_log_inside_incomplete``, and the marginals of their parts."""
    h, d = int(graph.arcs[b, 0]), int(graph.arcs[b, 1])
    first = graph.blocks[2 * h + (1 if d > h else 0)]
    place, n_heads, pair = chart.chains[b], chart.chains[b + 1] - chart.chains[b], graph.pairs[b]
    counts = chart.outer_incomplete[place : place + n_heads]
    if counts.sum() <= MIN_COUNT:
        return
    # P(grandparent a of b) = count(incomplete[a, b]);   P(b) = their sum over a
    marginals[b] = counts.sum()
    if graph.grandparents and h > 0:
        grandparent = pair + (b - first + 2 if graph.siblings else 0)
        copy_numbers(counts, marginals[grandparent : grandparent + n_heads])
    first_term = _log_start(graph, ends, chart, b)
    buffers = np.zeros((2, b - first))
    terms, between_counts = buffers[0], buffers[1]
    for s in range(first, b):
        terms[s - first] = _log_between(graph, semiring, chart, s, b)
        if graph.siblings:
            terms[s - first] += potentials[pair + 1 + s - first]
    start_count = 0.0
    for k in range(n_heads):
        if counts[k] <= MIN_COUNT:
            continue
        total = first_term
        for s in range(first, b):
            total = _add(total, chart.incomplete[chart.chains[s] + k] + terms[s - first], semiring)
        # P(START, b), count(complete[b, h + 1]) += count(incomplete[a, b]) exp(first term - total)
        term_count = _count_of_term(counts[k], first_term, total, semiring)
        start_count += term_count
        if semiring == BEST and term_count > 0.0:
            continue
        # P(s, b), count(incomplete[a, s]), count(between[s, b]) += count(incomplete[a, b])
        #     exp(incomplete[a, s] + sibling[s, b] + between[s, b] - total)
        for s in range(first, b):
            term_count = _count_of_term(
                counts[k], chart.incomplete[chart.chains[s] + k] + terms[s - first], total, semiring
            )
            chart.outer_incomplete[chart.chains[s] + k] += term_count
            between_counts[s - first] += term_count
            if semiring == BEST and term_count > 0.0:
                break
    if d > h:
        chart.outer_left[h + 1, chart.rows[b]] += start_count
    else:
        chart.outer_right[chart.rows[b], h - 1] += start_count
    if graph.siblings:
        marginals[pair] = start_count
        copy_numbers(between_counts, marginals[pair + 1 : pair + 1 + b - first])
    for s in range(first, b):
        if between_counts[s - first] > MIN_COUNT:
            _log_outside_between(graph, semiring, chart, s, b, between_counts[s - first])


@njit
def _log_outside_between(
    graph: ArcGraph, semiring: int, chart: Chart, s: int, b: int, count: float
) -> None:
    """Divide the count of between[s, b] among its terms."""
    near, far = int(graph.arcs[s, 1]), int(graph.arcs[b, 1])
    left_row, right_row = (
        (chart.rows[s], chart.rows[b]) if near < far else (chart.rows[b], chart.rows[s])
    )
    total = _log_between(graph, semiring, chart, s, b)
    for r in range(min(near, far), max(near, far)):
        term_count = _count_of_term(
            count, chart.right[left_row, r] + chart.left[r + 1, right_row], total, semiring
        )
        chart.outer_right[left_row, r] += term_count
        chart.outer_left[r + 1, right_row] += term_count
        if semiring == BEST and term_count > 0.0:
            break


@njit
def new_chart(graph: ArcGraph, empty: float) -> Chart:
    """A chart whose items are ``empty`` (the zero of the semiring), and whose counts are 0."""
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
