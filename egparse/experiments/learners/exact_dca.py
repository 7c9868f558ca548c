"""Dual coordinate ascent that solves the sub-problem of a visit (Martins et al. 2010, eq. 11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from egparse.learners.dca import DCA, DCAConfig, DCAState
from egparse.learners.problem import Problem
from egparse.learners.sdca import DualStep
from egparse.types import Floats

_MOST_STEPS = 30
_SOLVED = 1e-3
"""The gap, relative to the loss, at which the sub-problem of an example counts as solved."""


@dataclass(frozen=True, kw_only=True)
class ExactDCAConfig(DCAConfig):
    """``subproblem`` *linearised* takes the step of eq. 15; *exact* solves eq. 11 at each visit."""

    subproblem: Annotated[Literal["linearised", "exact"], "what a visit solves"] = "linearised"


class ExactDCA(DCA):
    """Online dual coordinate ascent on a problem, with either sub-problem."""

    config_type = ExactDCAConfig
    config: ExactDCAConfig

    def __init__(self, problem: Problem, config: ExactDCAConfig) -> None:
        super().__init__(problem, config)
        self._steps = DualStep(problem, self.loss, config.c, 1.0)
        self._marginals = np.empty(self.longest, dtype=np.float32)

    def set_c(self, c: float) -> None:
        """Go on with another C."""
        super().set_c(c)
        self._steps.c, self._steps.scale = c, 1.0 / c

    def _ascend(
        self,
        state: DCAState,
        i: int,
        scores: Floats,
        gradient: Floats,
        loss: float,
        estimate: float,
    ) -> float:
        if self.config.subproblem == "linearised" or not loss > 0:
            return super()._ascend(state, i, scores, gradient, loss, estimate)
        # steps of SDCA on one new dual variable, which starts at mu = z with a value of 0, as if
        # all others were fixed; the first is about eq. 15
        gold = self.problem.gold(i)
        stored, changes = self._marginals[: len(gold)], self._changes[: len(gold)]
        stored[:] = gold
        value, share, norm_change, increase = 0.0, 1.0, 0.0, 0.0
        for _ in range(_MOST_STEPS):
            done = self._steps.visit(i, stored, value, share)
            state.visits += 1
            value, share = done.value, done.share
            norm_change += done.norm_change
            increase += done.rise
            if done.rise <= _SOLVED * loss:
                break
        changes[:] = self.problem.gold(i)
        changes -= stored
        changes /= self.c * self.scale
        self._record_step(state, i, changes, norm_change, increase)
        return increase
