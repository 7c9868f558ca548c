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

# The greatest K / C. Where C is small, the features that examples share limit the steps, and the
# line search adapts the rates to that.
_MAX_CURVATURE_PER_C = 4.0


@dataclass(frozen=True, kw_only=True)
class EGConfig:
    """``c`` is the regularisation constant C of the summed objective.

    ``anneal_from`` (>= c) starts C higher and lets it decay to ``c`` by ``anneal_decay`` an
    iteration after ``anneal_hold`` iterations (Collins et al. 2008, section 7.1.1); 0 means no
    annealing.

    ``search`` adapts the learning rate of an example, which starts at ``eta``: *halving* as in the
    paper (halve until the dual does not fall, then times ``growth``), or *quadratic*:
    ``relaxation`` times the best rate along the last step. At most ``max_halvings`` rates are tried
    at a visit.

    ``curvature`` K gives each group of parts a learning rate, eta / (1 + K u / C), where u measures
    how undecided the group is (``propose_step_in_groups``). It is for the log-linear loss of
    problems with groups; 0 means one rate for each example, as in the paper.

    ``round_fraction`` < 1 splits a pass into rounds, each with this fraction of the work of a pass,
    and visits the examples that gained most at their last visit more often
    (``egparse.learners.eg.example_sampling``); 1 visits every example once in a pass, as in the
    paper. Every example is visited also while the last gains add up to the fraction
    ``prioritise_below_gain`` of the dual or more; inf prioritises from the second pass on, which
    pays where few examples matter (entities). ``visit_cost`` is the unit of work: with *parts*
    gains are compared per part, with *examples* per visit. Each example is visited in a round with
    a probability of at least ``min_visit_probability``.

    ``order`` *cyclic* visits the examples in corpus order in every pass: the deterministic
    algorithm that the paper compares with in section 7.1.

    Raises:
        ConfigError: a value out of range.
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
                f"expected a visit_cost among parts, examples, got {self.visit_cost!r}"
            )
        if not 0 < self.round_fraction <= 1:
            raise ConfigError(f"expected a round_fraction in (0, 1], got {self.round_fraction}")
        if not 0 <= self.min_visit_probability <= 1:
            raise ConfigError(
                f"expected a min_visit_probability in [0, 1], got {self.min_visit_probability}"
            )
        if self.order == "cyclic" and self.round_fraction != 1:
            raise ConfigError(
                f"expected round_fraction = 1 with the cyclic order, got {self.round_fraction}"
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

        It differs from Fig. 2: the examples of a pass are a random permutation, not drawn with
        replacement, and learning rates start at ``eta``, not at one calibrated on a sample.
        """
        return cls(loss=loss, c=c, seed=seed, order=order, round_fraction=1.0)

    def c_at(self, iteration: float) -> float:
        """The regularisation constant C after so many iterations (0 at the start, fractions within
        one).
        """
        steps = max(0.0, iteration - self.anneal_hold + 1)
        return self.c + max(0.0, self.anneal_from - self.c) * float(self.anneal_decay**steps)

    def rule(self, c: float) -> StepRule:
        """The settings of a step under a regularisation constant C."""
        max_margin = self.loss == "max-margin"
        return StepRule(
            c=c,
            max_margin=max_margin,
            quadratic=self.search == "quadratic",
            growth=self.growth,
            relaxation=self.relaxation,
            # beyond a rate of 1 a log-linear step would overshoot its fixed point, theta = s / C
            largest=float("inf") if max_margin else 1.0,
            attempts=self.max_halvings,
            curvature=0.0 if max_margin else min(self.curvature, _MAX_CURVATURE_PER_C * c),
        )
