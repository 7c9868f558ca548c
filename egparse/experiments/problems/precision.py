"""The precision of arc marginals where potentials are large, as in losses with a large beta."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egparse.learners.dca import DCA, DCAConfig
from egparse.learners.problem import Problem
from egparse.parsing.arc_problem import TreeProblem
from egparse.structures.trees.nonprojective import matrix_tree, workspace
from egparse.types import Floats


def precision_of_arc_marginals(
    problem: Problem, betas: Sequence[float], sentences: int = 200
) -> dict[str, dict[str, float]]:
    """The errors of arc marginals at beta times the scores of a parser (softmax-margin, one pass).

    For each beta: how far the marginals of the arcs into a word are from a sum of one, in the worst
    case of the first sentences, at most 1. ``inverse``: by the inverse of the Laplacian in float64
    (Koo et al. 2007), with several roots; ``walk``: as this project computes them.
    """
    assert isinstance(problem, TreeProblem)
    learner = DCA(problem, DCAConfig(gamma=1.0, c=10.0, averaged=False))
    learner.iterate(learner.initialise())
    worst = {f"{beta:g}": {"inverse": 0.0, "walk": 0.0} for beta in betas}
    for i in range(min(sentences, learner.n)):
        arcs, scores = problem.arcs(i), problem.scores(i).copy()
        size = int(arcs.max()) + 1
        for beta in betas:
            potentials = np.full((size, size), -np.inf)
            potentials[arcs[:, 0], arcs[:, 1]] = beta * scores
            by_walk = np.empty((size, size))
            matrix_tree(potentials, False, by_walk, workspace(size))
            for name, found in (("inverse", _by_inverse(potentials)), ("walk", by_walk)):
                sums = np.nan_to_num(found[:, 1:].sum(axis=0), nan=2.0, posinf=2.0, neginf=0.0)
                error = min(1.0, float(np.abs(sums - 1).max()))
                worst[f"{beta:g}"][name] = max(worst[f"{beta:g}"][name], error)
    return worst


def _by_inverse(potentials: Floats) -> Floats:
    """Marginals of all arcs by the matrix-tree theorem, several roots allowed."""
    # weights of the arcs into a word may be divided by any number
    weights = np.exp(potentials - np.maximum(potentials.max(axis=0), -1e300))
    laplacian = np.diag(weights.sum(axis=0)[1:]) - weights[1:, 1:]
    out: Floats = np.full_like(weights, np.nan)
    try:
        inverse = np.linalg.inv(laplacian)
    except np.linalg.LinAlgError:
        return out
    diagonal = np.diag(inverse)
    with np.errstate(invalid="ignore", over="ignore"):
        out[0, 1:] = weights[0, 1:] * diagonal
        out[1:, 1:] = weights[1:, 1:] * (diagonal[None, :] - inverse.T)
    return out
