"""Second-order dependency trees: pseudo-marginals and an estimate of log Z by loopy belief
propagation.

The variables are the heads of the words, each with its candidate arcs for values. There is one hard
TREE factor over all of them, whose messages come from inside-outside or the matrix-tree theorem
(Smith and Eisner 2008, "Dependency parsing by belief propagation"; Martins et al. 2010, appendix
A), and a *head factor* for each word and the root. That of h knows the head g of h and which words
have the head h; it scores on each side the chain of modifiers of h from the innermost outward, with
their siblings, stops and grandparents (see ``arc_graph``). Its messages are exact: for each g a
forward-backward pass over the candidate modifiers.

The sources have a binary variable for each arc, and a factor for each pair of arcs. Larger factors
make fewer loops, and with the heads for variables no factor but TREE is needed where no pair has a
score: then the answer is exact. (Binary variables and head factors that know of one head each would
count that constraint twice.) Head factors of siblings are those of Martins et al. 2013, "Turning on
the Turbo".

One sweep is TREE, then the head factors from 0 to n, each seeing the latest messages. Sweeps end
when no arc's probability under TREE has moved by more than ``residual``, or at the largest number.
The estimate of log Z is minus the Bethe free energy at the
messages (Yedidia et al. 2001; Martins et al. 2010, eq. 18)::

    log Z = sum over factors log Z_f - sum over factors and their variables log Z_fv
            + sum over variables log Z_v

Z_v adds up what all factors say of the values of v; Z_fv what f says and what it hears. Where
messages have converged the estimate is stationary in them, and its gradient in the scores is the
pseudo-marginals. It is no bound in either direction.

**A tree of high score** is looked for by annealing: with all potentials times s, sums become maxima
as s grows, and messages those of max-product. (Max-marginals of TREE would take a search for each
arc.) After each sweep the best tree under what TREE hears is scored, and the best of all is kept.
The first s makes the potentials' root mean square 1: what is found does not depend on their scale.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.structures.second_order.arc_graph import ArcGraph, mark_tree
from egparse.structures.second_order.projective import relative_weights
from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.chu_liu_edmonds import (
    SearchWorkspace,
    chu_liu_edmonds,
    search_workspace,
)
from egparse.structures.trees.dependency_trees import NO_HEAD
from egparse.structures.trees.nonprojective import matrix_tree
from egparse.structures.trees.projective import eisner, inside_outside
from egparse.types import Floats, Ints

CLIP = 20.0
"""The most nats of log odds that a head factor hears or says of an arc: who is surer changes no
tree.
"""

_HIGHEST, _LOWEST = math.exp(CLIP), math.exp(-CLIP)
_RANGE = 600.0
"""The most nats of a weight: its product with what messages and odds are clipped to neither
overflows nor vanishes. As these are clipped to far less, no message can tell a part that is surer.
"""

_TINY = 1e-290
_SMALLEST_OFF = 1e-15
_SURE, _STILL = 0.95, 0.02
"""Annealing ends when every arc of the tree has that probability, and none has moved by more: it
would only get surer.
"""


class Schedule(NamedTuple):
    """``sweeps`` at most; ``residual``: see the module.

    ``damping`` is the share of the last message that every message keeps, in log odds.
    """

    sweeps: int = 12
    residual: float = 0.005
    damping: float = 0.0


class Annealing(NamedTuple):
    """``sweeps`` at most; potentials are multiplied by ``growth`` after each ``wait`` of them."""

    sweeps: int = 20
    wait: int = 2
    growth: float = 1.5


class Outcome(NamedTuple):
    """``log_partition`` in nats (an estimate; ``-inf`` where the candidates have no tree),
    ``sweeps`` made, the ``residual`` after them.
    """

    log_partition: float
    sweeps: int
    residual: float


class Workspace(NamedTuple):
    """Buffers for sentences of up to n words; for one of the two kinds of trees there is no
    room.
    """

    square: Floats
    marginals: Floats
    projective: projective.Workspace
    nonprojective: nonprojective.Workspace
    search: SearchWorkspace


def workspace(n_max: int, *, is_projective: bool) -> Workspace:
    """Buffers for ``propagate`` and ``find_tree``, for sentences of up to ``n_max`` words."""
    cells = (n_max + 1) ** 2
    return Workspace(
        np.empty(cells),
        np.empty(cells),
        projective.workspace(n_max if is_projective else 1),
        nonprojective.workspace(1 if is_projective else n_max),
        search_workspace(1 if is_projective else n_max),
    )


class _Messages(NamedTuple):
    """What is known of each arc, as weights: its score, what TREE says, what the factor of its head
    and that of its dependent say.

    ``belief`` is their product; those of a word add up to one after TREE has spoken. ``log_score``
    is exact, whatever its range.
    """

    log_score: Floats
    score: Floats
    tree: Floats
    head: Floats
    dependent: Floats
    belief: Floats


class _Pairs(NamedTuple):
    """Weights of pair parts, at most 1.

    ``shift[a]`` is what those of arc a were divided by, ``stop_shift[b]`` that of the stops of a
    block, in nats.
    """

    weights: Floats
    shift: Floats
    stop_shift: Floats


class _Chart(NamedTuple):
    """Scratch of a head factor. ``inward[a, g]``: sum over the choices of modifiers inward of a,
    with a, given that the head's head is g.

    ``outward[a, g]`` is that over choices outward of it; ``odds[a]`` what else is known of a, as
    weight against 1; ``steps`` weights of going from one modifier (or START) to the next past those
    in between, those into a from ``step_places[a]`` on; ``tail[a]`` of stopping at a. ``sides[side,
    g]`` are the sums over all choices, ``heads[g]`` what else is known of the head's head,
    ``posterior[g]`` its probability.
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
def propagate(
    graph: ArcGraph,
    potentials: Floats,
    is_projective: bool,
    single_root: bool,
    schedule: Schedule,
    with_pairs: bool,
    marginals: Floats,
    work: Workspace,
) -> Outcome:
    """Write the pseudo-marginals of the parts for ``potentials`` (parts,), of the arcs alone
    without ``with_pairs``.

    Those of arcs are TREE's: a distribution over trees has them. log Z is only estimated
    ``with_pairs``; it is TREE's share otherwise.
    """
    m = graph.arcs.shape[0]
    size: int = graph.into.shape[0] - 1
    messages = _new_messages(m)
    offset = _arc_weights(graph, potentials, messages.log_score, messages.score)
    log_z = _hear_tree(graph, messages, is_projective, single_root, 0.0, marginals, work)
    if log_z == -np.inf:
        marginals[:] = 0.0
        return Outcome(-np.inf, 0, 0.0)
    sweeps, residual = 0, 0.0
    if not graph.siblings and not graph.grandparents:
        return Outcome(log_z + offset, sweeps, residual)
    pairs = _pair_weights(graph, potentials)
    chart = _new_chart(graph)
    before = np.zeros(m)
    while sweeps < schedule.sweeps:
        damping = schedule.damping if sweeps > 0 else 0.0
        before[:] = marginals[:m]
        _hear_heads(graph, pairs, messages, chart, damping)
        log_z = _hear_tree(graph, messages, is_projective, single_root, damping, marginals, work)
        sweeps += 1
        residual = 0.0
        for a in range(m):
            residual = max(residual, abs(marginals[a] - before[a]))
        if residual <= schedule.residual:
            break
    if with_pairs:
        for h in range(size):
            log_z += _sum_choices(graph, h, pairs, messages, chart)
            _pair_marginals(graph, h, pairs, messages, chart, marginals)
    return Outcome(log_z + offset, sweeps, residual)


@njit
def find_tree(
    graph: ArcGraph,
    potentials: Floats,
    is_projective: bool,
    single_root: bool,
    annealing: Annealing,
    heads: Ints,
    work: Workspace,
) -> float:
    """Write ``heads`` (n + 1,) of a tree of high score for ``potentials`` (parts,), a best one if
    no pairs are scored; returns its score.

    Where the candidates have no tree the score is ``-inf`` and every head ``NO_HEAD``.
    """
    m = graph.arcs.shape[0]
    size: int = graph.into.shape[0] - 1
    messages, chart = _new_messages(m), _new_chart(graph)
    sharpened = potentials / _root_mean_square(potentials)
    marginals, before, parts = (
        np.zeros(potentials.shape[0]),
        np.zeros(m),
        np.empty(potentials.shape[0]),
    )
    own = np.empty(size, dtype=np.int32)
    heads[:] = NO_HEAD
    highest = -np.inf
    _arc_weights(graph, sharpened, messages.log_score, messages.score)
    pairs = _pair_weights(graph, sharpened)
    for sweep in range(annealing.sweeps + 1):
        if sweep > 0:
            _hear_heads(graph, pairs, messages, chart, 0.0)
            if sweep % annealing.wait == 0:
                sharpened *= annealing.growth
                _arc_weights(graph, sharpened, messages.log_score, messages.score)
                pairs = _pair_weights(graph, sharpened)
                _sharpen(messages, annealing.growth)
        before[:] = marginals[:m]
        if _hear_tree(graph, messages, is_projective, single_root, 0.0, marginals, work) == -np.inf:
            break
        heard = work.square[: size * size].reshape((size, size))
        if is_projective:
            eisner(heard, single_root, own, work.projective)
        else:
            chu_liu_edmonds(heard, single_root, own, work.search)
        mark_tree(graph, own, parts)
        score = 0.0
        for r in range(parts.shape[0]):
            if parts[r] > 0.0:
                score += potentials[r]
        if score > highest or sweep == 0:
            highest = score
            heads[:] = own
        if not graph.siblings and not graph.grandparents:
            break
        moved, least = 0.0, 1.0
        for a in range(m):
            moved = max(moved, abs(marginals[a] - before[a]))
            if parts[a] > 0.0:
                least = min(least, marginals[a])
        if least >= _SURE and moved <= _STILL:
            break
    return highest


@njit
def _root_mean_square(potentials: Floats) -> float:
    """Of those above -inf; 1 where they are all 0."""
    total, count = 0.0, 0
    for r in range(potentials.shape[0]):
        if potentials[r] > -np.inf:
            total += potentials[r] ** 2
            count += 1
    return math.sqrt(total / count) if total > 0.0 else 1.0


@njit
def _new_messages(m: int) -> _Messages:
    rows = np.ones((6, m))
    return _Messages(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5])


@njit
def _sharpen(messages: _Messages, growth: float) -> None:
    """What head factors have said, to the power of ``growth``; TREE answers afresh."""
    head, dependent = messages.head, messages.dependent
    for a in range(head.shape[0]):
        head[a] = min(_HIGHEST, max(_LOWEST, head[a] ** growth))
        dependent[a] = max(_LOWEST * _LOWEST, dependent[a] ** growth)


@njit
def _hear_heads(
    graph: ArcGraph, pairs: _Pairs, messages: _Messages, chart: _Chart, damping: float
) -> None:
    """The messages of all head factors, from 0 to n."""
    for h in range(graph.into.shape[0] - 1):
        _sum_choices(graph, h, pairs, messages, chart)
        _speak(graph, h, pairs, messages, chart, damping)


@njit
def _arc_weights(graph: ArcGraph, potentials: Floats, relative: Floats, weights: Floats) -> float:
    """The arcs' potentials relative to the best of each word, and exp of them; returns the sum of
    these best.
    """
    total = 0.0
    for d in range(1, graph.into.shape[0] - 1):
        highest = -np.inf
        for k in range(graph.into[d], graph.into[d + 1]):
            highest = max(highest, potentials[graph.incoming[k]])
        if highest == -np.inf:
            highest = 0.0
        total += highest
        for k in range(graph.into[d], graph.into[d + 1]):
            a = graph.incoming[k]
            relative[a] = potentials[a] - highest
            weights[a] = math.exp(max(relative[a], -_RANGE)) if relative[a] > -np.inf else 0.0
    return total


@njit
def _pair_weights(graph: ArcGraph, potentials: Floats) -> _Pairs:
    """exp of the pairs' potentials, relative to the best sibling and the best grandparent of each
    arc and the best stop of a side.
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
            shift[a] = math.exp(min(_RANGE, max(-_RANGE, sum_of_highest)))
        if graph.siblings:
            for a in range(first, end):
                stop = graph.pairs[a] + a - first + 1
                weights[stop] = math.exp(potentials[stop] - highest_stop)
            stop_shift[b] = highest_stop
    return _Pairs(weights, shift, stop_shift)


@njit
def _new_chart(graph: ArcGraph) -> _Chart:
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
    return _Chart(
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


@njit
def _hear_tree(
    graph: ArcGraph,
    messages: _Messages,
    is_projective: bool,
    single_root: bool,
    damping: float,
    marginals: Floats,
    work: Workspace,
) -> float:
    """TREE's messages, and its marginals of the arcs; returns its log Z."""
    arcs, incoming = graph.arcs, graph.incoming
    size: int = graph.into.shape[0] - 1
    square = work.square[: size * size].reshape((size, size))
    inferred = work.marginals[: size * size].reshape((size, size))
    square[:, :] = -np.inf
    score, head, dependent = messages.score, messages.head, messages.dependent
    for a in range(arcs.shape[0]):
        if messages.log_score[a] > -_RANGE:
            heard = math.log(score[a] * head[a] * dependent[a])
        else:
            heard = messages.log_score[a] + math.log(head[a] * dependent[a])
        square[arcs[a, 0], arcs[a, 1]] = heard
    if is_projective:
        log_z = inside_outside(square, single_root, inferred, work.projective)
    else:
        log_z = matrix_tree(square, single_root, inferred, work.nonprojective)
    for d in range(1, size):
        total = 0.0
        for k in range(graph.into[d], graph.into[d + 1]):
            a = incoming[k]
            heard = score[a] * head[a] * dependent[a]
            marginals[a] = inferred[arcs[a, 0], d]
            said = marginals[a] / heard if heard > 0.0 else 0.0
            messages.tree[a] = _damped(messages.tree[a], said, damping)
            messages.belief[a] = messages.tree[a] * heard
            total += messages.belief[a]
        if total > 0.0:
            for k in range(graph.into[d], graph.into[d + 1]):
                messages.tree[incoming[k]] /= total
                messages.belief[incoming[k]] /= total
    return float(log_z)


@njit(inline=True)
def _damped(old: float, new: float, damping: float) -> float:
    """The geometric mean of two weights."""
    if damping == 0.0 or old <= 0.0 or new <= 0.0:
        return new
    return math.exp(damping * math.log(old) + (1.0 - damping) * math.log(new))


@njit(fast=True)
def _sum_choices(
    graph: ArcGraph, h: int, pairs: _Pairs, messages: _Messages, chart: _Chart
) -> float:
    """Fill the chart for head h; returns log Z of its factor, less what it hears and says of its
    modifiers (log Z_fv).
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
        others = 0.0
        for k in range(into[graph.arcs[a, 1]], into[graph.arcs[a, 1] + 1]):
            if incoming[k] != a:
                others += belief[incoming[k]]
        own = belief[a] * pairs.shift[a]
        said = head[a]
        odds = own / (said * others) if own < _HIGHEST * said * others else _HIGHEST
        odds = max(odds, _LOWEST)
        chart.odds[a] = odds
        log_z += math.log((1.0 + odds) / (1.0 + odds * said / pairs.shift[a]))
    for side in range(2):
        b = 2 * h + side
        _sum_side(graph, b, n_heads, pairs, chart, chart.sides[side])
        log_z += pairs.stop_shift[b]
    total = 0.0
    for k in range(n_heads):
        chart.posterior[k] = chart.heads[k] * chart.sides[0, k] * chart.sides[1, k]
        total += chart.posterior[k]
    total = max(total, _TINY)
    for k in range(n_heads):
        chart.posterior[k] /= total
    return log_z + math.log(total)


@njit(fast=True)
def _sum_side(
    graph: ArcGraph, b: int, n_heads: int, pairs: _Pairs, chart: _Chart, total: Floats
) -> None:
    """Forward and backward over the candidate modifiers of one side, weights of being a modifier or
    not adding up to one.
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
        own = inward[a]
        for g in range(n_heads):
            own[g] = 0.0
        for s in range(a - 1, first - 1, -1):
            step = chosen * weights[place + 1 + s - first] if with_siblings else chosen
            steps[step_place + 1 + s - first] = step
            before = inward[s]
            for g in range(n_heads):
                own[g] += before[g] * step
            chosen /= 1.0 + odds[s]
        step = chosen * weights[place] if with_siblings else chosen
        steps[step_place] = step
        factor = _factors(graph, pairs, chart, a, first, n_heads, with_heads)
        for g in range(n_heads):
            own[g] = (own[g] + step) * factor[g]
    passed = 1.0
    for g in range(n_heads):
        total[g] = 0.0
    for a in range(end - 1, first - 1, -1):
        tail = passed * weights[graph.pairs[a] + a - first + 1] if with_siblings else passed
        chart.tail[a] = tail
        own, after = inward[a], outward[a]
        for g in range(n_heads):
            total[g] += own[g] * tail
            after[g] = tail
        passed /= 1.0 + odds[a]
    passed *= math.exp(-pairs.stop_shift[b])
    for g in range(n_heads):
        total[g] = max(total[g] + passed, _TINY)
    for a in range(end - 1, first - 1, -1):
        own = outward[a]
        step_place = chart.step_places[a] + 1 - first
        factor = _factors(graph, pairs, chart, a, first, n_heads, with_heads)
        for s in range(first, a):
            step = steps[step_place + s]
            before = outward[s]
            for g in range(n_heads):
                before[g] += step * factor[g] * own[g]


@njit(inline=True)
def _factors(
    graph: ArcGraph,
    pairs: _Pairs,
    chart: _Chart,
    a: int,
    first: int,
    n_heads: int,
    with_heads: bool,
) -> Floats:
    """The grandparent weights of arc a, in a block that begins at ``first``."""
    if not with_heads:
        return chart.ones[:n_heads]
    place = graph.pairs[a] + (a - first + 2 if graph.siblings else 0)
    return pairs.weights[place : place + n_heads]


@njit(fast=True)
def _speak(
    graph: ArcGraph, h: int, pairs: _Pairs, messages: _Messages, chart: _Chart, damping: float
) -> None:
    """The messages of head factor h, after ``_sum_choices``, to its modifiers and to h itself."""
    n_heads = graph.into[h + 1] - graph.into[h] if h > 0 else 1
    belief, head, dependent = messages.belief, messages.head, messages.dependent
    for side in range(2):
        b = 2 * h + side
        for a in range(graph.blocks[b], graph.blocks[b + 1]):
            on = 0.0
            for g in range(n_heads):
                on += (
                    chart.posterior[g]
                    * chart.inward[a, g]
                    * chart.outward[a, g]
                    / chart.sides[side, g]
                )
            said = on / max(1.0 - on, _SMALLEST_OFF) * pairs.shift[a] / chart.odds[a]
            said = _damped(head[a], min(_HIGHEST, max(_LOWEST, said)), damping)
            belief[a] *= said / head[a]
            head[a] = said
    if h == 0 or not graph.grandparents:
        return
    highest = _TINY
    for g in range(n_heads):
        highest = max(highest, chart.sides[0, g] * chart.sides[1, g])
    for g in range(n_heads):
        a = graph.incoming[graph.into[h] + g]
        said = max(chart.sides[0, g] * chart.sides[1, g] / highest, _LOWEST * _LOWEST)
        said = _damped(dependent[a], said, damping)
        belief[a] *= said / dependent[a]
        dependent[a] = said


@njit(fast=True)
def _pair_marginals(
    graph: ArcGraph, h: int, pairs: _Pairs, messages: _Messages, chart: _Chart, marginals: Floats
) -> None:
    """The pseudo-marginals of the pair parts of head h, after ``_sum_choices``."""
    n_heads = graph.into[h + 1] - graph.into[h] if h > 0 else 1
    for side in range(2):
        b = 2 * h + side
        first = graph.blocks[b]
        for a in range(first, graph.blocks[b + 1]):
            place, step_place = graph.pairs[a], chart.step_places[a]
            own, after = chart.inward[a], chart.outward[a]
            factor = _factors(graph, pairs, chart, a, first, n_heads, graph.grandparents and h > 0)
            if graph.siblings:
                start, stop = 0.0, 0.0
                for g in range(n_heads):
                    share = chart.posterior[g] / chart.sides[side, g]
                    start += share * factor[g] * after[g]
                    stop += share * own[g]
                marginals[place] = start * chart.steps[step_place]
                for s in range(first, a):
                    both = 0.0
                    for g in range(n_heads):
                        share = chart.posterior[g] / chart.sides[side, g]
                        both += share * chart.inward[s, g] * factor[g] * after[g]
                    marginals[place + 1 + s - first] = (
                        both * chart.steps[step_place + 1 + s - first]
                    )
                marginals[place + a - first + 1] = stop * chart.tail[a]
                place += a - first + 2
            if graph.grandparents and h > 0:
                for g in range(n_heads):
                    share = chart.posterior[g] / chart.sides[side, g]
                    marginals[place + g] = share * own[g] * after[g]
