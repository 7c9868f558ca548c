"""Hyper-parameters of online exponentiated gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from egparse.errors import ConfigError
from egparse.learners.eg.example_sampling import MIN_VISIT_PROBABILITY
from egparse.learners.eg.step import StepRule

Loss = Literal["log-linear", "max-margin"]
Search = Literal["quadratic", "halving"]
Order = Literal["random", "cyclic"]
VisitCost = Literal["parts", "examples"]

# K / C; where C is small, steps are held back by what examples share, and rates find that out by
# themselves
_STEEPEST = 4.0


@dataclass(frozen=True, kw_only=True)
class EGConfig:
    """``c`` is the regularisation constant C of the summed objective.

    ``anneal_from`` (>= c) starts C higher and lets it decay to ``c`` by ``anneal_decay`` an
    iteration after ``anneal_hold`` iterations (Collins et al. 2008, section 7.1.1); 0 means no
    annealing.

    ``search`` moves the learning rate of an example, which starts at ``eta``: *halving* as in the
    paper (halve until the dual does not fall, then times ``growth``), or *quadratic*:
    ``relaxation`` times the rate that is best along the last step.

    ``curvature`` K gives each group of parts a rate of its own, eta / (1 + K u / C), u being how
    undecided it is (``propose_step_in_groups``), for the log-linear loss of problems that have
    groups; 0 is one rate for the example, as in the paper.

    ``share`` is the part of the work of a pass that goes by in one round of visits, chosen by what
    examples gained (``egparse.learners.eg.example_sampling``); 1 visits every example once in a
    round, as in the paper. So do passes in which the dual still gains more than ``settled`` of its
    value; where few examples matter (entities), choose from the start (``settled`` = inf). ``work``
    is what it is counted in: the examples with the greatest gain per part are chosen, or those with
    the greatest gain; each with a chance of at least ``least``.

    ``order`` *cyclic* visits the examples as they stand in the corpus, pass for pass: the
    deterministic algorithm that the paper compares with in section 7.1.
    """

    loss: Loss = "log-linear"
    c: float = 10.0
    eta: float = 0.5
    search: Search = "halving"
    relaxation: float = 1.6
    growth: float = 1.05
    curvature: float = 0.0
    max_halvings: int = 12
    round_fraction: float = 0.3
    prioritise_below_gain: float = 0.02
    visit_cost: VisitCost = "parts"
    min_visit_probability: float = MIN_VISIT_PROBABILITY
    anneal_from: float = 0.0
    anneal_decay: float = 0.7
    anneal_hold: int = 1
    seed: int = 1
    order: Order = "random"

    def __post_init__(self) -> None:
        if not self.c > 0 or not self.eta > 0:
            raise ConfigError(f"expected c > 0 and eta > 0, got c = {self.c}, eta = {self.eta}")
        if not 0 <= self.curvature < math.inf:
            raise ConfigError(f"expected a curvature >= 0, got {self.curvature}")
        if self.visit_cost not in ("parts", "examples"):
            raise ConfigError(
                f"expected work to be counted in parts or examples, got {self.visit_cost!r}"
            )
        if not 0 < self.round_fraction <= 1:
            raise ConfigError(f"expected a share of visits in (0, 1], got {self.round_fraction}")
        if not 0 <= self.min_visit_probability <= 1:
            raise ConfigError(
                f"expected a least chance of a visit in [0, 1], got {self.min_visit_probability}"
            )
        if self.order == "cyclic" and self.round_fraction != 1:
            raise ConfigError(
                f"expected a share of visits of 1 with the cyclic order, got {self.round_fraction}"
            )
        if self.order not in ("random", "cyclic"):
            raise ConfigError(f"expected an order among random, cyclic, got {self.order!r}")
        if not 0 < self.relaxation < 2:
            raise ConfigError(f"expected a relaxation in (0, 2), got {self.relaxation}")
        if not 0 < self.anneal_decay <= 1 or self.anneal_from < 0:
            raise ConfigError(
                f"expected anneal_from >= 0 and anneal_decay in (0, 1], got {self.anneal_from}, "
                f"{self.anneal_decay}"
            )

    @classmethod
    def as_published(
        cls, *, loss: Loss = "log-linear", c: float = 10.0, seed: int = 1, order: Order = "random"
    ) -> EGConfig:
        """The randomised (or cyclic) algorithm of Collins et al. 2008, section 7: halving, and
        every example once a pass.
        """
        return cls(loss=loss, c=c, seed=seed, order=order, round_fraction=1.0)

    def c_at(self, iteration: float) -> float:
        """The regularisation constant after so many iterations (0 at the start, fractions within
        one).
        """
        steps = max(0.0, iteration - self.anneal_hold + 1)
        return self.c + max(0.0, self.anneal_from - self.c) * float(self.anneal_decay**steps)

    def rule(self, c: float) -> StepRule:
        """How to step under a regularisation constant. Beyond a rate of 1 a log-linear step would
        overshoot its fixed point.
        """
        max_margin = self.loss == "max-margin"
        return StepRule(
            c,
            max_margin,
            self.search == "quadratic",
            self.growth,
            self.relaxation,
            float("inf") if max_margin else 1.0,
            self.max_halvings,
            0.0 if max_margin else min(self.curvature, _STEEPEST * c),
        )
