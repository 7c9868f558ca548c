"""What Martins et al. 2010 prove or note, checked in numbers on a training problem."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from egparse.experiments.learners.sdca import DualStep
from egparse.learners.dca import DCA, DCAConfig
from egparse.learners.losses import Loss
from egparse.learners.mira import MIRA, MIRAConfig
from egparse.learners.problem import Problem, read
from egparse.structures.second_order.arc_graph import lay_out, mark_tree
from egparse.structures.second_order.loopy import Schedule, propagate, workspace
from egparse.structures.second_order.projective import inside_outside
from egparse.structures.second_order.projective_log import best_tree
from egparse.structures.trees import nonprojective
from egparse.types import Floats

Numbers = dict[str, float]

_STEPS = 200
_STRIDE = 1e-3  # in the potentials, for slopes of log Z


def check_all(problem: Problem, c: float, examples: int) -> dict[str, object]:
    """All checks on the first examples of a problem, after a pass of training."""
    return {
        "proposition 1": _proposition_1(problem, c, examples),
        "subproblems": {
            name: _subproblems(problem, loss, c, examples)
            for name, loss in (
                ("CRF", Loss()),
                ("softmax-margin", Loss(1.0, 1.0)),
                ("SVM", Loss(math.inf, 1.0)),
            )
        },
        "footnote 18": _footnote_18(problem, c),
        "MIRA": _one_best_mira(problem, c),
        "large beta": _large_beta((1.0, 10.0, 100.0, 1000.0)),
        "limit of beta": _limit_of_beta(problem, c, examples, (1.0, 10.0, 100.0, 1000.0)),
        "pseudo-marginals": pseudo_marginals(600),
    }


def _trained(problem: Problem, loss: Loss, c: float) -> DCA:
    """A pass of DCA; the problem holds its last weights."""
    learner = DCA(problem, DCAConfig(beta=loss.beta, gamma=loss.gamma, c=c, averaged=False))
    learner.iterate(learner.initialise())
    return learner


def _proposition_1(problem: Problem, c: float, examples: int) -> Numbers:
    """The slope of log Z in random directions against the marginals: greatest error relative to
    the sizes.
    """
    _trained(problem, Loss(), c)
    random, worst = np.random.default_rng(1), 0.0
    for i in range(examples):
        scores = problem.scores(i).copy()
        marginals, none = np.empty(len(scores)), np.empty(len(scores))
        problem.marginals(i, scores, marginals)
        direction = random.normal(size=len(scores))
        above = problem.marginals(i, scores + _STRIDE * direction, none)
        below = problem.marginals(i, scores - _STRIDE * direction, none)
        slope = (above - below) / (2 * _STRIDE)
        worst = max(worst, abs(slope - float(direction @ marginals)) / (1.0 + abs(slope)))
    return {"examples": examples, "error": worst}


def _subproblems(problem: Problem, loss: Loss, c: float, examples: int) -> Numbers:
    """Eq. 11 of single examples, solved exactly and by eq. 15 from the same weights.

    ``gap`` is the mean of the gap of its primal and dual (Prop. 2 and 3: strong duality) after the
    exact solution, relative to the loss; ``linearised`` the mean share of the possible decrease of
    its objective that the closed-form step attains; ``inferences`` the mean number of calls.
    """
    _trained(problem, loss, c)
    step = DualStep(problem, loss, c, 1.0)
    gaps, shares, calls = [], [], []
    for i in range(examples):
        scores, gold = problem.scores(i).copy(), problem.gold(i).copy()
        expected = np.empty(len(gold))
        before = loss.value(problem, i, scores, expected)
        gradient = expected - gold
        if before <= 1e-6 or not gradient.any():
            continue
        # eq. 15: the longest step gives |g|^2
        longest = problem.add(i, gradient / -c)
        norm = c * (c * longest + 2.0 * float(scores @ gradient))
        eta = min(1.0 / c, before / norm)
        problem.add(i, gradient * (1.0 / c - eta))
        linearised = loss.value(problem, i, problem.scores(i).copy(), expected)
        linearised += c / 2.0 * eta * eta * norm
        problem.add(i, gradient * eta)
        # eq. 11, by steps on one dual variable
        stored, value, share, moved, number = gold.astype(np.float32), 0.0, 1.0, 0.0, 0
        while number < _STEPS:
            number += 1
            done = step.visit(i, stored, value, share)
            value, share, moved = done.value, done.share, moved + done.norm_change
            if done.rise <= 1e-6 * before:
                break
        exact = loss.value(problem, i, problem.scores(i).copy(), expected)
        # |w' - w|^2 = |w'|^2 - |w|^2 - 2 w.(w' - w),  w.(w' - w) = s.(z - mu) / C
        distance = moved - 2.0 / c * float(scores @ (gold - stored))
        exact += c / 2.0 * distance
        dual = value - c / 2.0 * moved
        problem.add(i, (stored - gold) / c)
        calls.append(number)
        gaps.append((exact - dual) / before)
        if before - dual > 1e-6 * before:
            shares.append((before - linearised) / (before - dual))
    return {
        "examples": len(gaps),
        "gap": float(np.mean(gaps)),
        "linearised": float(np.mean(shares)),
        "inferences": float(np.mean(calls)),
    }


def _footnote_18(problem: Problem, c: float) -> Numbers:
    """(C, beta, gamma) and (C / a, beta / a, a gamma): w' = a w after a pass, relative error."""
    worst = 0.0
    for beta, gamma in ((1.0, 0.0), (1.0, 1.0), (5.0, 1.0), (math.inf, 1.0)):
        _trained(problem, Loss(beta, gamma), c)
        plain = read(problem)
        for a in (0.5, 3.0):
            _trained(problem, Loss(beta / a, a * gamma), c / a)
            error = float(np.abs(read(problem) - a * plain).max()) / float(np.abs(a * plain).max())
            worst = max(worst, error)
    return {"error": worst}


def _one_best_mira(problem: Problem, c: float) -> Numbers:
    """DCA with the hinge loss against 1-best MIRA, one pass in the same order: relative error."""
    _trained(problem, Loss(math.inf, 1.0), c)
    plain = read(problem)
    mira = MIRA(problem, MIRAConfig(beta=math.inf, gamma=1.0, c=c))
    mira.iterate(mira.initialise())
    return {"error": float(np.abs(read(problem) - plain).max()) / float(np.abs(plain).max())}


def _large_beta(values: Sequence[float]) -> list[Numbers]:
    """Arc marginals of 20 words at potentials of standard deviation beta, from the random walk and
    from the inverse of the Laplacian (Koo et al. 2007): the greatest error of the sum of the
    marginals into a word.
    """
    size = 21
    rows = []
    for beta in values:
        worst = {"walk": 0.0, "inverse": 0.0}
        for seed in range(10):
            scores = beta * np.random.default_rng(seed).normal(size=(size, size))
            np.fill_diagonal(scores, -np.inf)
            scores[:, 0] = -np.inf
            marginals = np.empty((size, size))
            nonprojective.matrix_tree(scores, False, marginals, nonprojective.workspace(size))
            for name, found in (("walk", marginals), ("inverse", _by_inverse(scores))):
                error = float(np.abs(np.nan_to_num(found[:, 1:], nan=1e9).sum(axis=0) - 1).max())
                worst[name] = max(worst[name], min(1.0, error))
        rows.append({"beta": beta, **worst})
    return rows


def _by_inverse(scores: Floats) -> Floats:
    """Marginals of all arcs by the matrix-tree theorem, several roots allowed."""
    weights = np.exp(scores - scores[:, 1:].max(axis=0, initial=-np.inf, keepdims=True).max())
    weights[:, 0] = 0.0
    laplacian = np.diag(weights.sum(axis=0)[1:]) - weights[1:, 1:]
    out: Floats = np.zeros_like(weights)
    try:
        inverse = np.linalg.inv(laplacian)
    except np.linalg.LinAlgError:
        return out * np.nan
    diagonal = np.diag(inverse)
    out[0, 1:] = weights[0, 1:] * diagonal
    out[1:, 1:] = weights[1:, 1:] * (diagonal[None, :] - inverse.T)
    return out


def _limit_of_beta(
    problem: Problem, c: float, examples: int, values: Sequence[float]
) -> list[Numbers]:
    """The loss with gamma = 1 less that of beta = inf, the mean over examples."""
    _trained(problem, Loss(), c)
    rows = []
    for beta in values:
        excess = []
        for i in range(examples):
            scores = problem.scores(i).copy()
            expected = np.empty(len(scores))
            hinge = Loss(math.inf, 1.0).value(problem, i, scores, expected)
            excess.append(Loss(beta, 1.0).value(problem, i, scores, expected) - hinge)
        rows.append({"beta": beta, "excess": float(np.mean(excess)), "least": float(min(excess))})
    return rows


def pseudo_marginals(graphs: int, words: int = 8, spread: float = 2.0) -> Numbers:
    """Random projective graphs with pairs of arcs: in how many the Bethe loss of the best tree is
    below zero, and in how many of these the estimate of ``egparse.learners.dca`` by the
    pseudo-marginals is above the true loss, with the greatest excess in nats.
    """
    below, above, most = 0, 0, 0.0
    work = workspace(words, is_projective=True)
    for seed in range(graphs):
        random = np.random.default_rng(seed)
        arcs = {(d - 1, d) for d in range(1, words + 1)}
        for d in range(1, words + 1):
            others = [h for h in range(words + 1) if h != d]
            arcs |= {(int(h), d) for h in random.choice(others, size=3, replace=False)}
        graph = lay_out(np.array(sorted(arcs), dtype=np.int16), words + 1, True, True)
        potentials = random.normal(0.0, spread, int(graph.pairs[-1]))
        marginals, heads = np.zeros(len(potentials)), np.zeros(words + 1, dtype=np.int32)
        schedule = Schedule()
        bethe = propagate(graph, potentials, True, True, schedule, True, marginals, work)
        best = best_tree(graph, potentials, True, heads)
        tree = np.zeros(len(potentials))
        mark_tree(graph, heads, tree)
        if bethe.log_partition - best >= 0:
            continue
        below += 1
        loss = inside_outside(graph, potentials, True, np.zeros(len(potentials))) - best
        estimate = -math.log(max(1e-300, float(marginals[tree > 0].min())))
        above += estimate > loss
        most = max(most, estimate - loss)
    return {"graphs": graphs, "below zero": below, "above": above, "most": most}
