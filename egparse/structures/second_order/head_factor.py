"""The head factors of ``loopy``: exact messages and marginals by forward-backward.

The factor of h connects the head g of h with the modifiers of h. The two sides of h are independent
given g. On a side, let a, b, r and s stand for candidate arcs from h, p[a] for the probability that
the other factors give to a, and q[a] = 1 - p[a]. The sums over all choices of modifiers of a side
come from two recurrences, from the innermost candidate outward and back::

    step[s, a]    = p[a] (product over r between s and a of q[r]) sibling[s, a]
    step[START, a] = p[a] (product over r inward of a of q[r]) start[a]
    tail[a]       = stop[a] (product over r outward of a of q[r])

    inward[a, g]  = grandparent[g, a] (step[START, a] + sum over s inward of a of
                    inward[s, g] step[s, a])
    outward[a, g] = tail[a] + sum over b outward of a of
                    step[a, b] grandparent[g, b] outward[b, g]
    side[g]       = (product over r of q[r]) + sum over a of inward[a, g] tail[a]

so inward[a, g] outward[a, g] sums over all choices that contain a. With K candidate heads g and M
candidate modifiers on a side this takes O(K M^2) time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.structures.second_order.messages import (
    MAX_LOG_WEIGHT,
    MAX_ODDS,
    MIN_ODDS,
    Messages,
    damped,
)
from egparse.structures.second_order.projective import relative_weights
from egparse.types import Floats, Ints

_MIN_SUM = 1e-290  # sums over choices are at least this, so that dividing by them is safe
_MIN_ABSENCE = 1e-15  # the least probability that an arc is not in the tree


class PairWeights(NamedTuple):
    """Weights of the pair parts, at most 1, in the layout of the parts.

    ``shift`` (arcs,) is what the sibling and grandparent weights of an arc were divided by, as a
    weight; ``stop_shift`` (blocks,) what the stop weights of a block were divided by, in nats.
    """

    weights: Floats
    shift: Floats
    stop_shift: Floats


class HeadChart(NamedTuple):
    """Buffers of one head factor, with the items of the module's equations.

    ``inward`` and ``outward`` are (arcs, candidate heads). ``odds`` (arcs,) is p[a] / q[a], with
    the arc's ``shift`` in it. ``tail`` is (arcs,). ``steps[step_places[a]]`` is step[START, a]; the
    steps from the siblings follow, innermost first. ``sides[side, g]`` are the sums over all
    choices of a side, ``heads[g]`` the message to the factor about the head g, ``posterior[g]`` the
    probability of g. ``ones`` stand for grandparent weights where there are none.
    """

    inward: Floats
    outward: Floats
    odds: Floats
    tail: Floats
    steps: Floats
    step_places: Ints
    sides: Floats
    heads: Floats
    posterior: Floats
    ones: Floats


@njit
def pair_weights(graph: ArcGraph, potentials: Floats) -> PairWeights:
    """Exponentials of the pair potentials, relative to the best sibling and the best grandparent of
    each arc and to the best stop of each side.
    """
    m, n_blocks = graph.arcs.shape[0], graph.blocks.shape[0] - 1
    weights = np.ones(potentials.shape[0])
    shift = np.ones(m)
    stop_shift = np.zeros(n_blocks)
    for b in range(n_blocks):
        head, first, end = b // 2, graph.blocks[b], graph.blocks[b + 1]
        n_heads = graph.into[head + 1] - graph.into[head] if graph.grandparents else 0
        highest_stop = 0.0
        for a in range(first, end):
            place = graph.pairs[a]
            sum_of_highest = 0.0
            if graph.siblings:
                stop = place + a - first + 1
                sum_of_highest += relative_weights(potentials, place, stop, weights)
                highest_stop = max(highest_stop, potentials[stop])
                place = stop + 1
            if n_heads > 0:
                sum_of_highest += relative_weights(potentials, place, place + n_heads, weights)
            shift[a] = math.exp(min(MAX_LOG_WEIGHT, max(-MAX_LOG_WEIGHT, sum_of_highest)))
        if graph.siblings:
            for a in range(first, end):
                stop = graph.pairs[a] + a - first + 1
                weights[stop] = math.exp(potentials[stop] - highest_stop)
            stop_shift[b] = highest_stop
    return PairWeights(weights, shift, stop_shift)


@njit
def new_head_chart(graph: ArcGraph) -> HeadChart:
    """Buffers that serve every head factor of a sentence in turn."""
    m = graph.arcs.shape[0]
    most = 1
    for d in range(graph.into.shape[0] - 1):
        most = max(most, graph.into[d + 1] - graph.into[d])
    charts = np.empty((2, m, most))
    rows = np.empty((2, m))
    small = np.ones((5, most))
    step_places = np.empty(m, dtype=np.int32)
    n_steps = 0
    for b in range(graph.blocks.shape[0] - 1):
        for a in range(graph.blocks[b], graph.blocks[b + 1]):
            step_places[a] = n_steps
            n_steps += a - graph.blocks[b] + 1
    return HeadChart(
        charts[0],
        charts[1],
        rows[0],
        rows[1],
        np.empty(n_steps),
        step_places,
        small[:2],
        small[2],
        small[3],
        small[4],
    )


@njit(fast=True)
def infer_head_factor(
    graph: ArcGraph, h: int, pairs: PairWeights, messages: Messages, chart: HeadChart
) -> float:
    """Fill the chart for the factor of h; returns log Z_f - sum over its modifiers of log Z_fv (see
    ``loopy``).
    """
    incoming, into = graph.incoming, graph.into
    belief, head = messages.belief, messages.head
    n_heads = into[h + 1] - into[h] if h > 0 else 1
    for k in range(n_heads):
        chart.heads[k] = 1.0
        if h > 0:
            a = incoming[into[h] + k]
            chart.heads[k] = belief[a] / messages.dependent[a]
    log_z = 0.0
    for a in range(graph.blocks[2 * h], graph.blocks[2 * h + 2]):
        # odds[a] = shift[a] (belief[a] / message[a]) / (belief of the other arcs into the word)
        others = 0.0
        for k in range(into[graph.arcs[a, 1]], into[graph.arcs[a, 1] + 1]):
            if incoming[k] != a:
                others += belief[incoming[k]]
        shifted = belief[a] * pairs.shift[a]
        message = head[a]
        odds = shifted / (message * others) if shifted < MAX_ODDS * message * others else MAX_ODDS
        odds = max(odds, MIN_ODDS)
        chart.odds[a] = odds
        log_z += math.log((1.0 + odds) / (1.0 + odds * message / pairs.shift[a]))
    for side in range(2):
        b = 2 * h + side
        _forward_backward(graph, b, n_heads, pairs, chart, chart.sides[side])
        log_z += pairs.stop_shift[b]
    # posterior[g] = heads[g] side[0, g] side[1, g] / total
    total = 0.0
    for k in range(n_heads):
        chart.posterior[k] = chart.heads[k] * chart.sides[0, k] * chart.sides[1, k]
        total += chart.posterior[k]
    total = max(total, _MIN_SUM)
    for k in range(n_heads):
        chart.posterior[k] /= total
    return log_z + math.log(total)


@njit(fast=True)
def _forward_backward(
    graph: ArcGraph, b: int, n_heads: int, pairs: PairWeights, chart: HeadChart, total: Floats
) -> None:
    """Fill the chart for the candidate modifiers of block b, and ``total`` (heads,) with side[g].

    The equations are those of the module.
    """
    first, end = graph.blocks[b], graph.blocks[b + 1]
    with_siblings, with_heads = graph.siblings, graph.grandparents and b > 1
    weights, steps, odds, inward, outward = (
        pairs.weights,
        chart.steps,
        chart.odds,
        chart.inward,
        chart.outward,
    )
    for a in range(first, end):
        place, step_place = graph.pairs[a], chart.step_places[a]
        chosen = odds[a] / (1.0 + odds[a])
        sums = inward[a]
        for g in range(n_heads):
            sums[g] = 0.0
        for s in range(a - 1, first - 1, -1):
            # step[s, a] = p[a] (product over r between s and a of q[r]) sibling[s, a]
            step = chosen * weights[place + 1 + s - first] if with_siblings else chosen
            steps[step_place + 1 + s - first] = step
            before = inward[s]
            for g in range(n_heads):
                sums[g] += before[g] * step
            chosen /= 1.0 + odds[s]
        step = chosen * weights[place] if with_siblings else chosen
        steps[step_place] = step
        factor = _grandparent_weights(graph, pairs, chart, a, first, n_heads, with_heads)
        # inward[a, g] = grandparent[g, a] (step[START, a] + sum_s inward[s, g] step[s, a])
        for g in range(n_heads):
            sums[g] = (sums[g] + step) * factor[g]
    passed = 1.0
    for g in range(n_heads):
        total[g] = 0.0
    for a in range(end - 1, first - 1, -1):
        # tail[a] = stop[a] (product over r outward of a of q[r])
        tail = passed * weights[graph.pairs[a] + a - first + 1] if with_siblings else passed
        chart.tail[a] = tail
        sums, after = inward[a], outward[a]
        for g in range(n_heads):
            total[g] += sums[g] * tail
            after[g] = tail
        passed /= 1.0 + odds[a]
    # side[g] = (product over r of q[r]) + sum_a inward[a, g] tail[a]; stops were divided by their
    # shift, so that a side without modifiers, which has no stop, is divided by it as well
    passed *= math.exp(-pairs.stop_shift[b])
    for g in range(n_heads):
        total[g] = max(total[g] + passed, _MIN_SUM)
    for a in range(end - 1, first - 1, -1):
        after = outward[a]
        step_place = chart.step_places[a] + 1 - first
        factor = _grandparent_weights(graph, pairs, chart, a, first, n_heads, with_heads)
        for s in range(first, a):
            # outward[s, g] = tail[s] + sum_a step[s, a] grandparent[g, a] outward[a, g]
            step = steps[step_place + s]
            before = outward[s]
            for g in range(n_heads):
                before[g] += step * factor[g] * after[g]


@njit(inline=True)
def _grandparent_weights(
    graph: ArcGraph,
    pairs: PairWeights,
    chart: HeadChart,
    a: int,
    first: int,
    n_heads: int,
    with_heads: bool,
) -> Floats:
    """The grandparent weights (heads,) of arc a, in a block that begins at ``first``."""
    if not with_heads:
        return chart.ones[:n_heads]
    place = graph.pairs[a] + (a - first + 2 if graph.siblings else 0)
    return pairs.weights[place : place + n_heads]


@njit(fast=True)
def send_head_messages(
    graph: ArcGraph,
    h: int,
    pairs: PairWeights,
    messages: Messages,
    chart: HeadChart,
    damping: float,
) -> None:
    """Update the messages of the factor of h to its modifiers and to h, from the chart that
    ``infer_head_factor`` has filled for h.
    """
    n_heads = graph.into[h + 1] - graph.into[h] if h > 0 else 1
    belief, head, dependent = messages.belief, messages.head, messages.dependent
    for side in range(2):
        b = 2 * h + side
        for a in range(graph.blocks[b], graph.blocks[b + 1]):
            # P(a) = sum_g posterior[g] inward[a, g] outward[a, g] / side[g]
            probability = 0.0
            for g in range(n_heads):
                probability += (
                    chart.posterior[g]
                    * chart.inward[a, g]
                    * chart.outward[a, g]
                    / chart.sides[side, g]
                )
            # message[a] = shift[a] P(a) / (1 - P(a)) / odds[a]
            message = (
                probability / max(1.0 - probability, _MIN_ABSENCE) * pairs.shift[a] / chart.odds[a]
            )
            message = damped(head[a], min(MAX_ODDS, max(MIN_ODDS, message)), damping)
            belief[a] *= message / head[a]
            head[a] = message
    if h == 0 or not graph.grandparents:
        return
    # message[g] = side[0, g] side[1, g], relative to the largest
    highest = _MIN_SUM
    for g in range(n_heads):
        highest = max(highest, chart.sides[0, g] * chart.sides[1, g])
    for g in range(n_heads):
        a = graph.incoming[graph.into[h] + g]
        message = max(chart.sides[0, g] * chart.sides[1, g] / highest, MIN_ODDS * MIN_ODDS)
        message = damped(dependent[a], message, damping)
        belief[a] *= message / dependent[a]
        dependent[a] = message


@njit(fast=True)
def pair_marginals(
    graph: ArcGraph,
    h: int,
    pairs: PairWeights,
    messages: Messages,
    chart: HeadChart,
    marginals: Floats,
) -> None:
    """Write the pseudo-marginals of the pair parts of head h, from the chart that
    ``infer_head_factor`` has filled for h.
    """
    n_heads = graph.into[h + 1] - graph.into[h] if h > 0 else 1
    for side in range(2):
        b = 2 * h + side
        first = graph.blocks[b]
        for a in range(first, graph.blocks[b + 1]):
            place, step_place = graph.pairs[a], chart.step_places[a]
            before, after = chart.inward[a], chart.outward[a]
            factor = _grandparent_weights(
                graph, pairs, chart, a, first, n_heads, graph.grandparents and h > 0
            )
            # All with scale[g] = posterior[g] / side[g]:
            if graph.siblings:
                # P(START, a) = step[START, a] sum_g scale[g] grandparent[g, a] outward[a, g]
                # P(a, STOP)  = tail[a] sum_g scale[g] inward[a, g]
                start, stop = 0.0, 0.0
                for g in range(n_heads):
                    scale = chart.posterior[g] / chart.sides[side, g]
                    start += scale * factor[g] * after[g]
                    stop += scale * before[g]
                marginals[place] = start * chart.steps[step_place]
                for s in range(first, a):
                    # P(s, a) = step[s, a] sum_g scale[g] inward[s, g] grandparent[g, a]
                    #           outward[a, g]
                    both = 0.0
                    for g in range(n_heads):
                        scale = chart.posterior[g] / chart.sides[side, g]
                        both += scale * chart.inward[s, g] * factor[g] * after[g]
                    marginals[place + 1 + s - first] = (
                        both * chart.steps[step_place + 1 + s - first]
                    )
                marginals[place + a - first + 1] = stop * chart.tail[a]
                place += a - first + 2
            if graph.grandparents and h > 0:
                # P(g, a) = scale[g] inward[a, g] outward[a, g]
                for g in range(n_heads):
                    scale = chart.posterior[g] / chart.sides[side, g]
                    marginals[place + g] = scale * before[g] * after[g]
