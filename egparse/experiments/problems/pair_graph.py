"""Smith and Eisner's factor graph of second-order dependency trees, as a training problem.

Martins et al. 2010, appendix A: a binary variable for each candidate arc, one hard factor TREE over
all of them, and a soft factor for each *pair* of arcs, which counts only where both are in the
tree. It has more loops than the graph of this project's parser (``structures.second_order.loopy``);
sentences, candidate arcs, features and weights are those of ``SecondOrderProblem``.

**Pairs.** Grandparents (g, h), (h, d) are those of this project. Siblings (h, s), (h, d) are *any*
two arcs from one head to one side: a factor that sees two arcs cannot know whether s is the next
modifier, nor of START and STOP, which have no factor here. A pair that no tree contains (d = g, or
two arcs from a single root) has none either.

**Messages** are odds. With the odds l_a of arc a without the message of a pair (a, b) of weight W =
exp w, the pair sends (1 + l_a W) / (1 + l_a) to b. TREE receives all of them, and its marginals z
come from the matrix-tree theorem; the odds of an arc are z / (1 - z). The paper gives no schedule:
a sweep of ours renews the messages of all pairs from the odds of the last one, then TREE.

**log Z** is minus the Bethe free energy (eq. 18-19), at the messages, with the odds o; the terms of
TREE for the variables cancel those of the variables themselves. It bounds nothing::

    log Z = log Z of TREE + sum over pairs log [(1 + l_a + l_b + l_a l_b W) / (1 + o_a) (1 + o_b)]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from egparse.compilation import njit
from egparse.config.sections import PrunerConfig
from egparse.experiments.problems.second_order import PrunedTrees
from egparse.experiments.problems.setup import Setup
from egparse.experiments.problems.trees import Right, heads_of
from egparse.learners.dca import DCA, DCAConfig
from egparse.learners.problem import Problem
from egparse.parsing.candidates import ALL_CANDIDATES
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.parsing.second_order.parts import build_parts, new_work
from egparse.parsing.second_order.problem import SecondOrderProblem
from egparse.parsing.training import PART_THETA
from egparse.sentences import Sentence
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.structures.second_order.loopy import Outcome, Schedule, Workspace
from egparse.structures.second_order.messages import MAX_ODDS
from egparse.structures.trees.chu_liu_edmonds import chu_liu_edmonds
from egparse.structures.trees.nonprojective import matrix_tree
from egparse.training.columns import part_of
from egparse.types import Floats, Ints, Mask

SCHEDULE = Schedule(sweeps=12, residual=0.005, damping=0.3)

_MOST = 100.0  # the potentials of pairs are clipped to +-100 nats, so that no product overflows


@njit
def list_pairs(graph: ArcGraph, single_root: bool) -> Ints:
    """The pairs of arcs with a factor, (pairs, 3): both arcs, and the part that scores them."""
    m = graph.arcs.shape[0]
    out = np.empty((graph.pairs[m] - m, 3), dtype=np.int32)
    count = 0
    for b in range(graph.blocks.shape[0] - 1):
        head, first = b // 2, graph.blocks[b]
        for a in range(first, graph.blocks[b + 1]):
            place = graph.pairs[a] + 1 - first  # of siblings, behind START
            for s in range(first, a):
                if head > 0 or not single_root:
                    out[count, 0], out[count, 1], out[count, 2] = s, a, place + s
                    count += 1
            place = graph.pairs[a] + a - first + 2 - graph.into[head]  # of grandparents
            for k in range(graph.into[head], graph.into[head + 1]):
                above = graph.incoming[k]
                if graph.arcs[above, 0] != graph.arcs[a, 1]:
                    out[count, 0], out[count, 1], out[count, 2] = above, a, place + k
                    count += 1
    return out[:count]


@njit(separate=True)
def propagate_pairs(
    graph: ArcGraph,
    potentials: Floats,
    single_root: bool,
    schedule: Schedule,
    marginals: Floats,
    work: Workspace,
) -> Outcome:
    """Write the pseudo-marginals (parts,) for ``potentials`` (parts,) in nats, and return the
    estimate of log Z; as ``loopy.propagate`` for non-projective trees.
    """
    m, pairs = graph.arcs.shape[0], list_pairs(graph, single_root)
    weights = np.empty(pairs.shape[0])
    for p in range(pairs.shape[0]):
        weights[p] = math.exp(max(-_MOST, min(_MOST, potentials[pairs[p, 2]])))
    messages = np.ones((pairs.shape[0], 2))
    odds, before = np.empty(m), np.empty(m)
    marginals[:] = 0.0
    log_z = _update_tree(graph, potentials, pairs, messages, single_root, marginals, odds, work)
    sweeps, residual = 0, 0.0
    if pairs.shape[0] == 0 or log_z == -np.inf:
        return Outcome(log_z, sweeps, residual)
    while sweeps < schedule.sweeps:
        before[:] = marginals[:m]
        _update_pairs(pairs, weights, odds, schedule.damping if sweeps > 0 else 0.0, messages)
        log_z = _update_tree(graph, potentials, pairs, messages, single_root, marginals, odds, work)
        sweeps += 1
        residual = np.abs(marginals[:m] - before).max()
        if residual <= schedule.residual:
            break
    return Outcome(
        log_z + _infer_pairs(pairs, weights, odds, messages, marginals), sweeps, residual
    )


@njit
def _update_pairs(
    pairs: Ints, weights: Floats, odds: Floats, damping: float, messages: Floats
) -> None:
    """Renew the messages of pairs; ``damping`` is the share of the old one in each."""
    for p in range(pairs.shape[0]):
        weight = weights[p]
        to_first, to_second = messages[p, 0], messages[p, 1]
        of_first, of_second = odds[pairs[p, 0]] / to_first, odds[pairs[p, 1]] / to_second
        first = (1.0 + of_second * weight) / (1.0 + of_second)
        second = (1.0 + of_first * weight) / (1.0 + of_first)
        messages[p, 0] = damping * to_first + (1.0 - damping) * first
        messages[p, 1] = damping * to_second + (1.0 - damping) * second


@njit
def _update_tree(
    graph: ArcGraph,
    potentials: Floats,
    pairs: Ints,
    messages: Floats,
    single_root: bool,
    marginals: Floats,
    odds: Floats,
    work: Workspace,
) -> float:
    """Write the marginals of the arcs under TREE, and their odds; returns log Z of TREE."""
    arcs, m = graph.arcs, graph.arcs.shape[0]
    size: int = graph.into.shape[0] - 1
    square = work.square[: size * size].reshape((size, size))
    inferred = work.marginals[: size * size].reshape((size, size))
    incoming = potentials[:m].copy()
    product = np.ones(m)  # of messages that are not yet in ``incoming``
    for p in range(pairs.shape[0]):
        for side in range(2):
            a = pairs[p, side]
            product[a] *= messages[p, side]
            if not 1e-100 < product[a] < 1e100:
                incoming[a] += math.log(product[a])
                product[a] = 1.0
    square[:, :] = -np.inf
    for a in range(m):
        square[arcs[a, 0], arcs[a, 1]] = incoming[a] + math.log(product[a])
    log_z = matrix_tree(square, single_root, inferred, work.nonprojective)
    for d in range(1, size):
        first, end = graph.into[d], graph.into[d + 1]
        for k in range(first, end):
            marginals[graph.incoming[k]] = inferred[arcs[graph.incoming[k], 0], d]
        for k in range(first, end):
            # 1 - z is the sum of the others: a difference would lose its digits
            others = 0.0
            for j in range(first, end):
                if j != k:
                    others += marginals[graph.incoming[j]]
            z = marginals[graph.incoming[k]]
            odds[graph.incoming[k]] = z / others if z < MAX_ODDS * others else MAX_ODDS
    return float(log_z)


@njit
def _infer_pairs(
    pairs: Ints, weights: Floats, odds: Floats, messages: Floats, marginals: Floats
) -> float:
    """Write the pseudo-marginals of pairs; returns their part of the estimate of log Z."""
    log_z, product = 0.0, 1.0
    for p in range(pairs.shape[0]):
        of_first, of_second = odds[pairs[p, 0]], odds[pairs[p, 1]]
        first, second = of_first / messages[p, 0], of_second / messages[p, 1]
        both = first * second * weights[p]
        total = 1.0 + first + second + both
        marginals[pairs[p, 2]] = both / total
        product *= total / ((1.0 + of_first) * (1.0 + of_second))
        if not 1e-100 < product < 1e100:
            log_z += math.log(product)
            product = 1.0
    return log_z + math.log(product)


class PairGraphProblem(SecondOrderProblem):
    """The sentences of another second-order problem without labels, with its weights, in Smith and
    Eisner's graph.

    ``calls`` and ``unconverged`` count as in ``SecondOrderProblem``.
    """

    # not offered: a word may have several siblings; the best tree is searched in the other graph
    groups, argmax, k_best = Problem.groups, Problem.argmax, Problem.k_best

    def __init__(self, problem: SecondOrderProblem, schedule: Schedule = SCHEDULE) -> None:
        vars(self).update(vars(problem))
        self._gold, self._schedule = problem._gold.copy(), schedule
        self._is_projective = self._is_exact = False
        self.calls = self.unconverged = 0
        self._make_room()
        for i, (graph, _) in enumerate(self._parts):
            # a structure has the pairs of its arcs, and no other parts but arcs
            pairs, parts = list_pairs(graph, self._single_root), self._gold[self._of(i)]
            parts[len(graph.arcs) :] = 0.0
            parts[pairs[:, 2]] = parts[pairs[:, 0]] * parts[pairs[:, 1]]

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Pseudo-marginals and the estimate of log Z."""
        outcome = propagate_pairs(
            self._parts[i].graph, potentials, self._single_root, self._schedule, out, self._work
        )
        self.calls += 1
        self.unconverged += outcome.residual > self._schedule.residual
        return float(outcome.log_partition)

    def most_probable_heads(self, i: int, potentials: Floats) -> Ints:
        """The heads (n + 1,) of the tree with the greatest sum of pseudo-marginals, as Smith and
        Eisner decode; -1 where the candidates have no tree.
        """
        marginals = np.empty(len(potentials))
        self.marginals(i, potentials, marginals)
        arcs, size = self.arcs(i), len(self._parts[i].graph.into) - 1
        square, heads = np.full((size, size), -np.inf), self._heads[:size]
        square[arcs[:, 0], arcs[:, 1]] = marginals[: len(arcs)]
        chu_liu_edmonds(square, self._single_root, heads, self._work.search)
        return heads


def pair_graph_parser(
    trees: PrunedTrees, schedule: Schedule = SCHEDULE, pruning: PrunerConfig | None = None
) -> Setup:
    """The non-projective parser of ``PrunedTrees.setup`` in this graph."""
    learner, state, snapshot = trees.task(pruning or PrunerConfig()).prepare()
    base: Any = learner.problem
    problem, parser = PairGraphProblem(base, schedule), snapshot(state)

    def right_of(part: Sequence[Sentence]) -> Right:
        heads, columns = heads_of(part), trees.treebank.columns
        values = parser.sentences(part_of(part, columns, ("heads",)).words)
        held_out = PairGraphProblem(_without_heads(parser, list(values), heads), schedule)
        held_out.weights = problem.weights

        def right(scale: float) -> Mask:
            found = [
                held_out.most_probable_heads(i, held_out.scores(i) * scale)[1:].copy()
                for i in range(len(heads))
            ]
            return np.asarray(np.concatenate(found) == np.concatenate(heads))

        return right

    return trees.treebank.setup(problem, PART_THETA, right_of)


def _without_heads(
    parser: SecondOrderParser, values: Sequence[Ints], heads: Sequence[Ints]
) -> SecondOrderProblem:
    """Sentences that are to be parsed: the pruner may have lost their correct arcs."""
    model = parser.kernel_model()
    work = new_work(max(map(len, heads)), model.structure)
    built = [build_parts(own, ALL_CANDIDATES, model, work) for own in values]
    return SecondOrderProblem(
        codes=[codes for codes, _ in built],
        parts=[parts for _, parts in built],
        heads=heads,
        ranks=heads,  # no labels are scored
        templates=model.templates,
        bits=1,  # the weights are those of the problem in training
        trees="non-projective",
        single_root=model.structure.single_root,
        inference="loopy",
        schedule=SCHEDULE,
    )


def footnote17(setup: Setup, c: float, passes: int, seed: int = 1) -> dict[str, dict[str, float]]:
    """Train as Martins et al. (2010, Alg. 1; footnote 17: no update where the estimate of P(y | x)
    is above one), in either graph; by name and pass, in per cent: ``above one``, the sentences with
    such an estimate when they are visited; ``unconverged``, the calls of inference that did not
    converge; ``score``, the validation score of the average weights. ``c`` is lambda m.
    """
    problem: Any = setup.problem
    learner = DCA(problem, DCAConfig(c=c, seed=seed, below_zero="skip"))
    state, out = learner.initialise(), dict[str, dict[str, float]]()
    for k in range(1, passes + 1):
        problem.calls = problem.unconverged = 0
        learner.iterate(state)
        found = {
            "above one": 100.0 * state.tally.negative / setup.n,
            "unconverged": 100.0 * problem.unconverged / problem.calls,
        }
        with learner.model_weights(state):
            found["score"] = setup.score(state.scale)
        for name, value in found.items():
            out.setdefault(name, {})[str(k)] = value
    return out
