"""The structured SVM by working sets of each example (Tsochantaridis et al. 2004, Support vector
machine learning for interdependent and structured output spaces, Alg. 1, with margin rescaling):
what SVM-Struct ran when Collins et al. 2008 (section 8) compared it with exponentiated gradient.

The program is that of ``working_sets``, over the structures found so far. A pass visits the
examples in order:

    1. one argmax finds the structure y* of the greatest H_i(y) = cost_i(y) - w . psi_iy;
    2. if H_i(y*) > slack_i + precision, y* joins the working set of example i, where slack_i is
       the greatest H_i(y) in that set;
    3. the program over all working sets is solved again, to half the precision.

As SVM-Struct does, we solve the program after every ``accumulate`` new structures and at the end of
a pass, not after each; we start with a low precision, here half the mean violation at the last
visits, down to ``epsilon``; and we drop structures that had no weight in 50 programs. We
differ from it in the solver, which is coordinate ascent in the dual instead of SVM-light, and in
the first structure of each working set, the one nearest to the correct one: slacks are not bounded
by 0 where inference cannot reach that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval

from egparse.errors import EgparseError
from egparse.experiments.learners.frank_wolfe import nearest_structure
from egparse.experiments.learners.working_sets import Structure, WorkingSets
from egparse.learners.dual import DualLearner, DualState, require_hinge
from egparse.learners.learner import Certificate, LearnerConfig
from egparse.learners.losses import HINGE
from egparse.learners.problem import Problem, size, write
from egparse.types import Floats

_PATIENCE = 50
"""A structure without weight in so many programs is dropped."""


@dataclass(frozen=True, kw_only=True)
class NSlackConfig(LearnerConfig):
    """``epsilon`` is the violation, in units of cost, up to which a structure may stay outside; for
    ``accumulate`` see the module.

    Raises:
        ConfigError: another loss than the structured hinge (beta = inf, gamma = 1), or a value out
            of range.
    """

    beta: float = math.inf
    gamma: float = 1.0
    epsilon: Annotated[float, Interval(ge=1e-9, le=1e9), "the violation, in units of cost"] = 1e-3
    accumulate: Annotated[int, Interval(ge=1, le=1_000_000_000), "see the module"] = 100

    def __post_init__(self) -> None:
        require_hinge("working sets", self)


@dataclass(kw_only=True)
class NSlackState(DualState):
    """``sets`` hold the structures, their weights and v; ``value`` and |v|^2 are those at the last
    certificate. ``violation`` (n,) is H_i(y*) - slack_i at the last visit, inf before the first.
    ``solved``: the last program was solved to its precision. ``finished``: a pass at the last
    precision has found no new structure after that.
    """

    sets: WorkingSets
    violation: Floats
    solved: bool = True
    finished: bool = False


class NSlack(DualLearner):
    """The structured SVM with a slack for each example; the problem holds v = C w."""

    name = "working sets"
    config_type = NSlackConfig
    loss = HINGE

    def __init__(self, problem: Problem, config: NSlackConfig) -> None:
        super().__init__(problem)
        self.config = config
        self._twin = problem.with_own_weights()
        self._twin.reset()

    def initialise(self, gold_theta: float | Floats = 3.0) -> NSlackState:
        """One structure in each working set, the one nearest to the correct one; ``gold_theta`` is
        ignored.
        """
        self.problem.reset()
        first = [self._structure(i, nearest_structure(self.problem, i), 1.0) for i in range(self.n)]
        state = NSlackState(
            value=0.0,
            squared_norm=0.0,
            c=self.config.c,
            evaluations=self.n,
            sets=WorkingSets.of(size(self.problem), self.config.c, first),
            violation=np.full(self.n, np.inf),
        )
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
        precision, found, new = self._precision(state), False, list[Structure]()
        slacks = state.sets.slacks()
        for i in range(self.n):
            highest, structure = self._search(state, i)
            state.violation[i] = highest - slacks[i]
            if state.violation[i] > precision:
                new.append(self._structure(i, structure))
                found = True
            if len(new) == self.config.accumulate:
                self._solve(state, new)
                slacks, new = state.sets.slacks(), []
        state.finished = not found and state.solved and precision <= self.config.epsilon
        if not state.finished:
            self._solve(state, new)
            state.sets.drop(_PATIENCE)

    def certificate(self, state: NSlackState) -> Certificate:  # type: ignore[override]
        """As of all learners in the dual, with the dual of the working sets."""
        state.value, state.squared_norm = state.sets.value(), float(state.sets.v @ state.sets.v)
        return super().certificate(state)

    def _search(self, state: NSlackState, i: int) -> tuple[float, Floats]:
        """The greatest H_i, and its structure."""
        problem = self.problem
        potentials = problem.scores(i) * state.scale
        correct = float(potentials @ problem.gold(i))
        potentials += problem.cost(i)
        best = np.empty_like(potentials)
        above = problem.argmax(i, potentials, best) - correct
        state.evaluations += 1
        if not math.isfinite(above):
            raise EgparseError(
                f"working sets: expected a structure of finite score for example {i}, got {above}"
            )
        return above + problem.cost_constant(i), best

    def _structure(self, i: int, structure: Floats, weight: float = 0.0) -> Structure:
        """A structure (parts,) of example i, with psi in float32, which changes no counts."""
        changes, twin = self.problem.gold(i) - structure, self._twin
        if changes.any():
            twin.add(i, changes)
        indices, values, before = [], [], 0
        for array in twin.vectors():
            flat = array.reshape(-1)
            used = np.flatnonzero(flat != 0.0)
            indices.append((used + before).astype(np.int32))
            values.append(flat[used].astype(np.float32))
            flat[used] = 0.0
            before += array.size
        cost = self.problem.expected_cost(i, structure)
        return Structure(i, cost, weight, np.concatenate(indices), np.concatenate(values))

    def _precision(self, state: NSlackState) -> float:
        """The violation from which a structure is added, and twice that of the programs."""
        known = state.violation[np.isfinite(state.violation)]
        mean = float(np.maximum(0.0, known).mean()) if len(known) else 0.0
        return max(float(self.config.epsilon), mean / 2)

    def _solve(self, state: NSlackState, new: Sequence[Structure]) -> None:
        state.sets.add(new)
        state.solved = state.sets.solve(self._precision(state) / 2)
        write(self.problem, state.sets.v)
