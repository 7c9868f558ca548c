"""A problem small enough to write out: every structure listed, features as matrices; and what
independent solvers make of it.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import logsumexp

from egparse.learners.problem import Problem
from egparse.types import Floats


class EnumeratedProblem(Problem):
    """Example i has the structures ``structures[i]`` (count, parts), the first of them correct, and
    ``features[i]`` (parts, d).
    """

    def __init__(self, structures: list[Floats], features: list[Floats]) -> None:
        self.structures, self.features = structures, features
        self.part_starts = np.cumsum([0] + [own.shape[1] for own in structures], dtype=np.int64)
        self.v = np.zeros(features[0].shape[1])

    def gold(self, i: int) -> Floats:
        return self.structures[i][0].copy()

    def cost(self, i: int) -> Floats:
        return 1.0 - 2.0 * self.structures[i][0]

    def cost_constant(self, i: int) -> float:
        return float(self.structures[i][0].sum())

    def scores(self, i: int) -> Floats:
        return self.features[i] @ self.v

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        scores = self.structures[i] @ potentials
        log_z = float(logsumexp(scores))
        out[:] = np.exp(scores - log_z) @ self.structures[i]
        return log_z

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        scores = self.structures[i] @ potentials
        out[:] = self.structures[i][scores.argmax()]
        return float(scores.max())

    def add(self, i: int, changes: Floats) -> float:
        before = float(self.v @ self.v)
        self.v += self.features[i].T @ changes
        return float(self.v @ self.v) - before

    def reset(self) -> None:
        self.v[:] = 0.0

    def vectors(self) -> tuple[Floats]:
        return (self.v,)

    def with_own_weights(self) -> EnumeratedProblem:
        return EnumeratedProblem(self.structures, self.features)

    def differences(self, i: int) -> tuple[Floats, Floats]:
        """F' (y - gold) for every structure y, and its Hamming cost."""
        moved = self.structures[i] - self.structures[i][0]
        return moved @ self.features[i], self.structures[i] @ self.cost(i) + self.cost_constant(i)


def random_problem(seed: int, n: int = 12, d: int = 6) -> EnumeratedProblem:
    """Some multi-class examples (one part each structure) and some of several binary parts."""
    random = np.random.default_rng(seed)
    structures: list[Floats] = []
    for i in range(n):
        if i % 2:
            own = np.eye(int(random.integers(2, 5)))
        else:
            parts = int(random.integers(2, 5))
            own = np.array(
                [[(code >> bit) & 1 for bit in range(parts)] for code in range(2**parts)],
                dtype=float,
            )
        random.shuffle(own)
        structures.append(own)
    return EnumeratedProblem(
        structures, [random.normal(size=(own.shape[1], d)) for own in structures]
    )


PROVEN = 1e-10
"""The relative precision to which the optima below are proven, whatever the solver says of itself.
"""


def log_linear_optimum(problem: EnumeratedProblem, c: float) -> float:
    """min sum_i log sum_y exp(w . F'(y - gold)) + C/2 |w|^2, by L-BFGS.

    The objective is strongly convex: the optimum is at most |gradient|^2 / (2C) below.
    """
    differences = [problem.differences(i)[0] for i in range(len(problem.structures))]

    def objective(w: Floats) -> tuple[float, Floats]:
        value, gradient = c / 2 * float(w @ w), c * w
        for own in differences:
            scores = own @ w
            log_z = logsumexp(scores)
            value += float(log_z)
            gradient = gradient + np.exp(scores - log_z) @ own
        return value, gradient

    start = np.zeros(len(problem.v))
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9}
    )
    assert found.jac @ found.jac / (2 * c) <= PROVEN * found.fun
    return float(found.fun)


def max_margin_optimum(problem: EnumeratedProblem, c: float) -> float:
    """min sum_i max_y (cost + w . F'(y - gold)) + C/2 |w|^2, as a quadratic program in w and one
    slack an example, by SLSQP.

    The optimum lies between the objective at w and the dual value of the multipliers of the
    constraints that bind there, found by non-negative least squares. That proof counts: SLSQP
    calls it a failure where rounding alone keeps it from a further step.
    """
    d, n = len(problem.v), len(problem.structures)
    rows, bounds = [], []
    for i in range(n):
        differences, costs = problem.differences(i)
        slack = np.zeros((len(costs), n))
        slack[:, i] = 1.0
        rows.append(np.hstack([-differences, slack]))
        bounds.append(costs)
    matrix, bound = np.vstack(rows), np.concatenate(bounds)
    weights = np.concatenate([np.full(d, c), np.zeros(n)])
    slope = np.concatenate([np.zeros(d), np.ones(n)])
    start = np.concatenate([np.zeros(d), np.full(n, bound.max())])
    result = minimize(
        lambda x: x @ (weights * x) / 2 + slope @ x,
        start,
        jac=lambda x: weights * x + slope,
        constraints={"type": "ineq", "fun": lambda x: matrix @ x - bound, "jac": lambda x: matrix},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    w = result.x[:d]
    own = [costs + differences @ w for differences, costs in map(problem.differences, range(n))]
    primal = c / 2 * float(w @ w) + sum(float(losses.max()) for losses in own)
    binds = matrix @ result.x - bound <= 1e-6
    shares = np.zeros(len(bound))
    shares[binds], _ = nnls(matrix[binds].T, weights * result.x + slope)
    shares /= matrix[:, d:] @ (matrix[:, d:].T @ shares)  # those of an example add up to one
    v = matrix[:, :d].T @ shares
    assert primal - (float(shares @ bound) - float(v @ v) / (2 * c)) <= PROVEN * abs(primal)
    return primal


def log_alpha(problem: EnumeratedProblem, theta: Floats, i: int) -> Floats:
    """The logarithms of the distribution of example i over its structures."""
    parts = slice(problem.part_starts[i], problem.part_starts[i + 1])
    scores = problem.structures[i] @ theta[parts].astype(float)
    return scores - logsumexp(scores)


def log_alphas(problem: EnumeratedProblem, theta: Floats) -> list[Floats]:
    """Those of all examples."""
    return [log_alpha(problem, theta, i) for i in range(len(problem.structures))]


def divergence(p: list[Floats], q: list[Floats]) -> float:
    """D[p || q], from logarithms."""
    return sum(float(np.exp(own) @ (own - other)) for own, other in zip(p, q, strict=True))
