"""What Martins et al. 2010 prove, by enumeration. Eq. 9 and footnotes 1 and 18 are tests of losses,
eq. 11 and 15 and footnote 17 of the learners.
"""

from __future__ import annotations

import numpy as np
import pytest
from learners.enumerated import log_linear_optimum, random_problem
from learners.small_problems import FAMILY, sample_trees

from egparse.experiments.problems.precision import precision_of_arc_marginals
from egparse.learners.dca import DCA, DCAConfig
from egparse.learners.losses import Loss


@pytest.mark.parametrize(("beta", "gamma"), FAMILY)
def test_losses_are_maxima_over_the_marginal_polytope(beta: float, gamma: float) -> None:
    """Eq. 8; for beta = 1 and gamma = 0 it is Prop. 1."""
    problem, random = random_problem(2), np.random.default_rng(1)
    for i, structures in enumerate(problem.structures):
        differences, costs = problem.differences(i)
        w = random.normal(size=len(problem.v))
        scores = problem.features[i] @ w
        value = Loss(beta, gamma).value(problem, i, scores, np.empty(structures.shape[1]))
        for other in random.dirichlet(np.ones(len(structures)), 20):
            entropy = -float(other @ np.log(other))
            assert value >= other @ (differences @ w + gamma * costs) + entropy / beta - 1e-12


def test_several_epochs_ascend_the_dual_of_another_problem() -> None:
    """Section 4: K passes add K n dual variables, so that the dual that rises is that of K times
    the loss. It passes the optimum of the problem that is named, from which the weights move away.
    """
    problem, c, passes = random_problem(5), 2.0, 20
    learner = DCA(problem, DCAConfig(c=c, averaged=False))
    state = learner.initialise()
    for _ in range(passes):
        learner.iterate(state)
    named = log_linear_optimum(problem, c)
    assert named < state.total_increase <= passes * log_linear_optimum(problem, c / passes)
    assert learner.certificate(state).primal > 1.1 * named


def test_the_inverse_of_the_laplacian_loses_its_digits() -> None:
    """Caption of Table 1; the random walk of this project does not."""
    found = precision_of_arc_marginals(sample_trees(60), (1.0, 20.0))
    assert found["1"]["inverse"] < 1e-9 < 1e-3 < found["20"]["inverse"]
    assert all(row["walk"] < 1e-9 for row in found.values())
