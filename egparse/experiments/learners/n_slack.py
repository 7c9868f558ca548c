"""The structured SVM by working sets of each example (Tsochantaridis et al. 2004, Support vector
machine learning for interdependent and structured output spaces, Alg. 1, with margin rescaling):
what SVM-Struct ran when Collins et al. 2008 (section 8) compared it with exponentiated gradient.

The problem and its dual are those of ``egparse.experiments.learners.working_sets``, with a slack
for each example, over the structures found so far. A pass visits the examples in order:

    1. one argmax finds the structure y* of the greatest H_i(y) = cost_i(y) - w . psi_iy;
    2. if H_i(y*) > slack_i + precision, y* joins the working set of example i, where slack_i is
       the greatest H_i(y) in that set;
    3. the program over all working sets is solved again, to half the precision.

Every mixture of structures in the working sets is a feasible point of the whole dual, so that the
value of the program is a lower bound of the optimum.

As SVM-Struct does, we solve the program after every ``accumulate`` new structures and at the end of
a pass, not after each; we start with a low precision, here half the mean violation at the last
visits, down to ``epsilon``; and we drop structures that had no weight in ``patience`` programs. We
differ from it in the solver, which is coordinate ascent in the dual instead of SVM-light, and in
the first structure of each working set, the one nearest to the correct one: slacks are not bounded
by 0 where inference cannot reach that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.frank_wolfe import nearest_structure
from egparse.experiments.learners.working_sets import WorkingSets
from egparse.learners.learner import Certificate, Learner, LearnerConfig
from egparse.learners.losses import HINGE
from egparse.learners.problem import Problem, size, write
from egparse.types import Floats


@dataclass(frozen=True, kw_only=True)
class NSlackConfig(LearnerConfig):
    """``epsilon`` is the violation, in units of cost, up to which a structure may stay outside;
    ``accumulate`` and ``patience``: see the module.

    Raises:
        ConfigError: another loss than the structured hinge (beta = inf, gamma = 1), or a value out
            of range.
    """

    beta: float = math.inf
    gamma: float = 1.0
    epsilon: Annotated[float, Interval(ge=1e-9, le=1e9), "the violation, in units of cost"] = 1e-3
    accumulate: Annotated[int, Interval(ge=1, le=1_000_000_000), "see the module"] = 100
    patience: Annotated[int, Interval(ge=1, le=1_000_000_000), "see the module"] = 50

    def __post_init__(self) -> None:
        if (self.beta, self.gamma) != (HINGE.beta, HINGE.gamma):
            raise ConfigError(
                f"working sets expect the loss max-margin (beta = inf, gamma = 1), "
                f"got beta = {self.beta:g}, gamma = {self.gamma:g}"
            )
        if not 0 < self.c < math.inf or not self.epsilon > 0:
            raise ConfigError(
                f"expected c > 0 and epsilon > 0, got c = {self.c}, epsilon = {self.epsilon}"
            )
        if self.accumulate < 1 or self.patience < 1:
            raise ConfigError(
                f"expected accumulate >= 1 and patience >= 1, got {self.accumulate} and "
                f"{self.patience}"
            )


@dataclass
class NSlackState:
    """``sets`` hold the structures, their weights and v; ``violation`` (n,) is H_i(y*) - slack_i at
    the last visit, inf before the first.

    ``solved``: the last program was solved to its precision. ``finished``: a pass at the last
    precision has found no new structure after that.
    """

    sets: WorkingSets
    violation: Floats
    c: float
    evaluations: int = 0
    programs: int = 0
    sweeps: int = 0
    solved: bool = True
    finished: bool = False

    @property
    def scale(self) -> float:
        """w = v / C."""
        return 1.0 / self.c


class NSlack(Learner):
    """The structured SVM with a slack for each example; the problem holds v = C w."""

    config_type = NSlackConfig

    def __init__(self, problem: Problem, config: NSlackConfig) -> None:
        super().__init__(problem)
        self.config = config
        self._twin = problem.with_own_weights()
        self._twin.reset()
        self._potentials, self._best = np.empty((2, self.longest))

    def initialise(self, gold_theta: float | Floats = 3.0) -> NSlackState:
        """One structure in each working set, the one nearest to the correct one; ``gold_theta`` is
        ignored.
        """
        self.problem.reset()
        state = NSlackState(
            WorkingSets(self.n, size(self.problem), self.config.c),
            np.full(self.n, np.inf),
            self.config.c,
        )
        for i in range(self.n):
            first = nearest_structure(self.problem, i, self._potentials, self._best)
            self._include(state, i, first)
        state.evaluations = self.n
        write(self.problem, state.sets.v)
        return state

    def iterate(self, state: NSlackState) -> None:
        """One visit to each example, with the programs in between; nothing once it has
        ``finished``.

        Raises:
            EgparseError: a structure of a score that is not finite.
        """
        if state.finished:
            return
        precision, found, new = self._precision(state), 0, 0
        slacks = state.sets.slacks()
        for i in range(self.n):
            highest, structure = self._search(state, i)
            state.violation[i] = highest - slacks[i]
            if state.violation[i] > precision:
                self._include(state, i, structure)
                found, new = found + 1, new + 1
            if new == self.config.accumulate:
                self._solve(state)
                slacks, new = state.sets.slacks(), 0
        state.finished = not found and state.solved and precision <= self.config.epsilon
        if not state.finished:
            self._solve(state)
            state.sets.drop(self.config.patience)

    def certificate(self, state: NSlackState) -> Certificate:
        """Primal at the current w, the value of the last program, and effort in passes.

        Details: the number of ``structures`` in all working sets, of ``programs`` solved, and of
        ``sweeps`` over the working sets that they took.
        """
        problem, loss = self.problem, 0.0
        for i in range(self.n):
            scores = problem.scores(i) * state.scale
            loss += HINGE.value(problem, i, scores, self._best[: len(scores)])
        details = {
            "structures": float(len(state.sets)),
            "programs": float(state.programs),
            "sweeps": float(state.sweeps),
        }
        return Certificate(
            loss + state.sets.squared_norm() / (2 * state.c),
            state.sets.dual(),
            state.evaluations / max(1, self.n),
            state.c,
            details,
        )

    def _search(self, state: NSlackState, i: int) -> tuple[float, Floats]:
        """The greatest H_i, and its structure."""
        problem, scores = self.problem, self.problem.scores(i)
        potentials = np.multiply(scores, state.scale, out=self._potentials[: len(scores)])
        correct = float(potentials @ problem.gold(i))
        potentials += problem.cost(i)
        best = self._best[: len(scores)]
        highest = problem.argmax(i, potentials, best)
        state.evaluations += 1
        if not math.isfinite(highest - correct):
            raise EgparseError(
                f"working sets: expected a structure of finite score for example {i}, got "
                f"{highest - correct}"
            )
        return highest - correct + problem.cost_constant(i), best

    def _include(self, state: NSlackState, i: int, structure: Floats) -> None:
        """Add a structure (parts,) to the working set of example i; overwrites it."""
        problem, twin = self.problem, self._twin
        cost = float(problem.cost(i) @ structure) + problem.cost_constant(i)
        np.subtract(problem.gold(i), structure, out=structure)
        if structure.any():
            twin.add(i, structure)
        indices, values, before = [], [], 0
        for array in twin.vectors():
            flat = array.reshape(-1)
            used = np.flatnonzero(flat != 0.0)
            indices.append(used + before)
            values.append(flat[used].astype(np.float64))
            flat[used] = 0.0
            before += array.size
        state.sets.include(i, cost, np.concatenate(indices), np.concatenate(values))

    def _precision(self, state: NSlackState) -> float:
        """The violation from which a structure is added, and twice that of the programs."""
        known = state.violation[np.isfinite(state.violation)]
        mean = float(np.maximum(0.0, known).mean()) if len(known) else 0.0
        return max(self.config.epsilon, mean / 2)

    def _solve(self, state: NSlackState) -> None:
        sweeps, state.solved = state.sets.solve(self._precision(state) / 2)
        state.sweeps += sweeps
        state.programs += 1
        write(self.problem, state.sets.v)
