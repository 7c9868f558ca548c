"""Hyper-parameters of online exponentiated gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from egparse.errors import ConfigError
from egparse.learners import losses
from egparse.learners.eg.example_sampling import MIN_VISIT_PROBABILITY
from egparse.learners.eg.step import FLOOR, HINGED, PLAIN, WEIGHTED, StepRule

LossName = Literal["log-linear", "max-margin", "softmax-margin"]
Loss = LossName | losses.Loss
Search = Literal["quadratic", "halving", "proven"]
Order = Literal["random", "drawn", "cyclic"]
Start = Literal["gold", "uniform"]
VisitCost = Literal["parts", "examples"]

# The greatest K / C. Where C is small, the features that examples share limit the steps, and the
# line search adapts the rates to that.
_MAX_CURVATURE_PER_C = 4.0

_ALL_HALVINGS = 60
"""From any rate below 1e12 more halvings would end at the least rate of ``accept_step``."""


_NAMED: dict[str, losses.Loss] = {
    "log-linear": losses.LOG_LINEAR,
    "max-margin": losses.HINGE,
    "softmax-margin": losses.SOFTMAX_MARGIN,
}


def member_of(loss: Loss) -> losses.Loss:
    """The member of the family of losses.

    Raises:
        ConfigError: an unknown name, or the loss of the perceptron (beta = inf, gamma = 0).
    """
    member = _NAMED.get(loss) if isinstance(loss, str) else loss
    if member is None:
        raise ConfigError(f"expected a loss among {', '.join(_NAMED)}, got {loss!r}")
    if member == losses.PERCEPTRON:
        raise ConfigError(
            "exponentiated gradient expects a loss whose optimum is not w = 0: beta < inf or "
            f"gamma > 0, got beta = {member.beta:g}, gamma = {member.gamma:g}"
        )
    return member


@dataclass(frozen=True, kw_only=True)
class EGConfig:
    """``c`` is the regularisation constant C of the summed objective. ``loss`` is a name, or any
    member of the family of ``egparse.learners.losses`` but that of the perceptron.

    ``anneal_from`` (>= c) starts C higher and lets it decay to ``c`` by ``anneal_decay`` an
    iteration after ``anneal_hold`` iterations (Collins et al. 2008, section 7.1.1); 0 means no
    annealing.

    ``search`` adapts the learning rate of an example, which starts at ``eta``: *halving* as in the
    paper (halve until the dual does not fall, then times ``growth``), or *quadratic*:
    ``relaxation`` times the best rate along the last step. At most ``max_halvings`` rates are tried
    at a visit, none above ``largest_eta`` (None: beta, the rate that leads to the fixed point of
    the step in one go, which is 1 for the log-linear loss and infinite for max-margin).
    *proven* keeps the rate at which no step lowers the dual, and for which the paper proves how
    fast it rises in expectation: eta <= 1 / (1 / beta + |A|), which is 1 / (1 + |A|) for the
    log-linear loss and 1 / |A| for max-margin (Theorem 2; ``egparse.learners.eg.radii``); ``eta``
    and ``growth`` are ignored.

    ``restart_eta`` starts at ``eta`` again at each visit: the rule of Globerson et al. 2007,
    section 7.

    ``calibrate`` > 0 sets the first rate, in place of ``eta``, by the rule of Collins et al. 2008,
    section 7, from this share of the examples (``egparse.learners.eg.calibration``); the paper
    takes 0.1.

    With ``every_move`` marginals move at each step, however little; without it those that moved by
    less than 1e-7 wait until their moves add up to more, which saves time and costs the line search
    its precision where theta is large, as after a uniform start.

    ``start`` *uniform* starts with theta = 0, where every structure is equally probable; *gold*
    near the correct structures (``OnlineEG.initialise``). The paper asks only for a point in the
    interior of the simplex, but states its bounds for the uniform one (section 5.1).

    ``curvature`` K gives each group of parts a learning rate, eta / (1 + beta K u / C), where u
    measures how undecided the group is (``propose_step_in_groups``). It is for losses with finite
    beta of problems with groups; 0 means one rate for each example, as in the paper.

    ``round_fraction`` < 1 splits a pass into rounds, each with this fraction of the work of a pass,
    and visits the examples that gained most at their last visit more often
    (``egparse.learners.eg.example_sampling``); 1 visits every example once in a pass, as in the
    paper. Every example is visited also while the last gains add up to the fraction
    ``prioritise_below_gain`` of the dual or more; inf prioritises from the second pass on, which
    pays where few examples matter (entities). ``visit_cost`` is the unit of work: with *parts*
    gains are compared per part, with *examples* per visit. Each example is visited in a round with
    a probability of at least ``min_visit_probability``.

    ``order`` *random* visits the examples of a pass in a random permutation; *drawn* draws n of
    them with replacement, as Fig. 2 of the paper does and its Theorem 2 assumes; *cyclic* visits
    them in corpus order: the algorithm of Globerson et al. 2007, Fig. 2, and the deterministic one
    that the later paper compares with in section 7.1. The order is that of passes that visit all
    examples; with ``drawn`` and ``cyclic``, and with ``restart_eta``, all passes are
    (``round_fraction`` = 1).

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
    start: Start = "gold"
    restart_eta: bool = False
    largest_eta: float | None = None
    calibrate: float = 0.0
    every_move: bool = False

    def __post_init__(self) -> None:
        member_of(self.loss)
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
        if self.order not in ("random", "drawn", "cyclic"):
            raise ConfigError(f"expected an order among random, drawn, cyclic, got {self.order!r}")
        if self.order != "random" and self.round_fraction != 1:
            raise ConfigError(
                f"expected round_fraction = 1 with the {self.order} order, "
                f"got {self.round_fraction}"
            )
        if self.start not in ("gold", "uniform"):
            raise ConfigError(f"expected a start among gold, uniform, got {self.start!r}")
        if self.search not in ("quadratic", "halving", "proven"):
            raise ConfigError(
                f"expected a search among quadratic, halving, proven, got {self.search!r}"
            )
        if self.restart_eta and (self.order == "drawn" or self.round_fraction != 1):
            raise ConfigError(
                "expected passes that visit every example once with restart_eta "
                f"(order random or cyclic, round_fraction = 1), got order = {self.order!r}, "
                f"round_fraction = {self.round_fraction}"
            )
        if self.largest_eta is not None and not self.largest_eta > 0:
            raise ConfigError(f"expected largest_eta > 0, got {self.largest_eta}")
        if not 0 <= self.calibrate <= 1:
            raise ConfigError(
                f"expected a share of the examples to calibrate on in [0, 1], got {self.calibrate}"
            )
        if self.search == "proven" and (self.calibrate or self.curvature or self.restart_eta):
            raise ConfigError(
                "expected no calibrate, curvature or restart_eta with search = 'proven', whose "
                "rate is one and the same for all examples and visits"
            )
        if not 0 < self.relaxation < 2:
            raise ConfigError(f"expected a relaxation in (0, 2), got {self.relaxation}")
        if not 0 < self.anneal_decay <= 1 or self.anneal_from < 0:
            raise ConfigError(
                f"expected anneal_from >= 0 and anneal_decay in (0, 1], got {self.anneal_from}, "
                f"{self.anneal_decay}"
            )

    @classmethod
    def as_published(
        cls, *, loss: Loss = "log-linear", c: float = 10.0, seed: int = 1, order: Order = "drawn"
    ) -> EGConfig:
        """The randomised algorithm of Collins et al. 2008, Fig. 2, with the learning rates of
        section 7: n examples drawn with replacement make a pass, from the uniform start; a rate for
        each example, halved until the dual does not fall, then multiplied by 1.05, without an upper
        limit. With ``order`` = *cyclic* it is the deterministic algorithm of section 7.1.

        The first rate is 0.5, which the paper takes for the digits; elsewhere it takes one that is
        calibrated on 10 % of the data: add ``calibrate=0.1``. The only differences left are
        numerical: theta and the marginals are stored in single precision, and a rate that is halved
        ends at 1e-6, below which a step changes nothing there.
        """
        return cls(
            loss=loss,
            c=c,
            seed=seed,
            order=order,
            round_fraction=1.0,
            start="uniform",
            largest_eta=math.inf,
            max_halvings=_ALL_HALVINGS,
            every_move=True,
        )

    @classmethod
    def of_2007(cls, *, loss: Loss = "log-linear", c: float = 10.0, seed: int = 1) -> EGConfig:
        """The online algorithm of Globerson et al. 2007, Fig. 2 and section 7: in corpus order; at
        each visit the rate starts at eta_0 again and is halved until the dual does not fall.

        The paper does not say what eta_0 is; ours is 0.5, as in that of 2008.
        """
        published = cls.as_published(loss=loss, c=c, seed=seed, order="cyclic")
        return replace(published, restart_eta=True, growth=1.0)

    def c_at(self, iteration: float) -> float:
        """The regularisation constant C after so many iterations (0 at the start, fractions within
        one).
        """
        steps = max(0.0, iteration - self.anneal_hold + 1)
        return self.c + max(0.0, self.anneal_from - self.c) * float(self.anneal_decay**steps)

    @property
    def member(self) -> losses.Loss:
        """The member of the family of losses."""
        return member_of(self.loss)

    def rule(self, c: float) -> StepRule:
        """The settings of a step under a regularisation constant C."""
        member = self.member
        forms = {losses.LOG_LINEAR: PLAIN, losses.HINGE: HINGED}
        finite = member.differentiable
        return StepRule(
            c=c,
            form=forms.get(member, WEIGHTED),
            entropy=1.0 / member.beta,
            gamma=float(member.gamma),
            quadratic=self.search == "quadratic",
            growth=1.0 if self.search == "proven" else self.growth,
            relaxation=self.relaxation,
            # beyond beta a step would overshoot its fixed point, theta = beta (gamma cost + s / C)
            largest=float(member.beta if self.largest_eta is None else self.largest_eta),
            attempts=self.max_halvings,
            curvature=(
                min(self.curvature, _MAX_CURVATURE_PER_C * c / member.beta) if finite else 0.0
            ),
            floor=0.0 if self.every_move else FLOOR,
        )
