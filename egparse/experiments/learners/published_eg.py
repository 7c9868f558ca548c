"""Exponentiated gradient as the papers have it: examples drawn with replacement or in corpus order,
the uniform start, proven learning rates, exact maximisation (Collins et al. 2008; Globerson et al.
2007).

**Proven rates.** With psi_iy = F_i' (z_i - y) for a structure y of example i, the greatest entry of
the dual's matrix is |A| = max_iy |psi_iy|^2 / C (Collins et al. 2008, section 5.1). At a fixed rate
eta <= 1 / (1 / beta + |A|) no step lowers the dual, and T draws with replacement close in on the
optimum Q* of the log-linear dual (Q is minus the dual, D the divergence of the optimum from the
start) as fast as ibid., Theorem 2, eq. 17 says; max-margin (eq. 16) with n / T for the exponential:

    E Q_T - Q*  <=  exp(-eta T / n) (D / eta + Q_0 - Q*)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Interval

from egparse.errors import ConfigError
from egparse.learners.eg.online import EGConfig, EGState, OnlineEG
from egparse.learners.eg.step import StepRule
from egparse.learners.learner import Certificate, LearnerConfig, OnlineLearner
from egparse.learners.losses import LOG_LINEAR
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs

Order = Literal["drawn", "cyclic"]
Start = Annotated[Literal["gold", "uniform"], "the first distributions"]

_SOLVED = 1e-5
"""An example counts as maximised when a step gains no more than this part of what its visit did."""
_MOST_STEPS = 50
_BISECTIONS = 50
_TINY = 1e-30


@dataclass(frozen=True, kw_only=True)
class PublishedConfig(EGConfig):
    """The randomised algorithm of Collins et al. 2008, Fig. 2, with the learning rates of section
    7: a rate for each example, halved until the dual does not fall, then multiplied by 1.05,
    without an upper limit. Every pass visits n examples.

    The first rate is 0.5, which the paper takes for the digits; elsewhere it takes one that is
    calibrated on 10 % of the data, which made things worse here. The only differences left are
    numerical: theta and the marginals are stored in single precision, and halving a rate ends at
    1e-6, below which a step changes nothing there.

    ``order`` *drawn* draws the examples of a pass with replacement, as Theorem 2 assumes; *cyclic*
    visits them in corpus order. ``start`` *uniform* starts with theta = 0, where every structure is
    equally probable (section 5.1); *gold* near the correct structures (``OnlineEG.initialise``).
    ``search`` *proven* keeps the greatest rate that is proven; ``eta`` and ``growth`` are ignored.
    ``exact`` repeats the step of a visit until the dual is maximised over alpha_i (footnote 5).
    ``pairwise`` moves probability between two labels instead (Memisevic 2006, in section 6).

    Raises:
        ConfigError: a ``round_fraction`` other than 1, options without ``published``, or
            ``pairwise`` with another loss than the log-linear one.
    """

    published: Annotated[bool, "as published"] = True
    search: Annotated[Literal["halving", "quadratic", "proven"], "how rates adapt"] = "halving"  # type: ignore[assignment]
    max_halvings: Annotated[int, Interval(ge=1, le=1000), "most rates tried at a visit"] = 60
    round_fraction: Annotated[float, Interval(ge=1e-3, le=1), "the work of a round"] = 1.0
    order: Annotated[Order, "of the visits of a pass"] = "drawn"
    start: Start = "uniform"
    exact: Annotated[bool, "maximise the dual over an example at each visit"] = False
    pairwise: Annotated[bool, "labels one by one: move probability between two of them"] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pairwise and self.loss != LOG_LINEAR:
            raise ConfigError("expected the log-linear loss with pairwise = true")
        if self.round_fraction != 1:
            raise ConfigError(
                f"expected round_fraction = 1 as published, got {self.round_fraction}"
            )

    @classmethod
    def configured(cls, common: LearnerConfig, options: Mapping[str, Any]) -> LearnerConfig:
        """The configuration with these options beside what all learners have in common."""
        if "published" in cls.options() and not options.get("published"):
            raise ConfigError(f"expected published = true with the options {', '.join(options)}")
        return super().configured(common, options)

    def rule(self, c: float) -> StepRule:
        """The settings of a step under a regularisation constant C. Marginals move at each step,
        however little: to wait until small moves add up would cost the line search its precision
        where theta is large, as after a uniform start.
        """
        rule = super().rule(c)._replace(largest=math.inf, floor=0.0)
        return rule._replace(growth=1.0) if self.search == "proven" else rule


@dataclass(frozen=True, kw_only=True)
class CyclicConfig(PublishedConfig):
    """The deterministic algorithm of Collins et al. 2008, section 7.1."""

    published: bool = True
    order: Order = "cyclic"


@dataclass(frozen=True, kw_only=True)
class Config2007(CyclicConfig):
    """The online algorithm of Globerson et al. 2007, Fig. 2 and section 7: in corpus order; at each
    visit the rate starts at eta_0 again and is halved until the dual does not fall. The paper does
    not say what eta_0 is; ours is 0.5, as in that of 2008.
    """

    growth: Annotated[float, Interval(ge=1, le=1000), "factor after a step"] = 1.0


class PublishedEG(OnlineEG):
    """Online EG with the settings of ``PublishedConfig``."""

    config_type: type[EGConfig] = PublishedConfig
    config: PublishedConfig
    restarts: ClassVar[bool] = False
    """Whether rates start again at each visit."""
    set_c_of = None  # type: ignore[assignment]  # its rates hold for one C

    def initialise(self, gold_theta: float | Floats = 3.0) -> EGState:
        """As ``OnlineEG.initialise``, but for ``start`` and for the rate that is proven."""
        config, eta = self.config, self.config.eta
        if config.search == "proven":
            eta = proven_rate(float(squared_radii(self.problem).max()), config)
        state = super().initialise(0.0 if config.start == "uniform" else gold_theta)
        state.first_eta = state.eta[:] = eta
        return state

    def update(self, state: EGState, i: int) -> float:
        """One step on example i, or several with ``exact``; returns the increase of the dual."""
        if self.config.pairwise:
            return self._transfer(state, i)
        gained = rise = super().update(state, i)
        for _ in range(_MOST_STEPS if self.config.exact else 0):
            if rise <= _SOLVED * gained:
                break
            rise = super().update(state, i)
            gained += rise
        return gained

    def _transfer(self, state: EGState, i: int) -> float:
        """Move the probability d from one label of example i to another that raises the dual most.
        The two are those whose derivatives g of the dual differ most, and f are their features:

            g = s / C - log(alpha),    q = |f_1 - f_2|^2
            log((alpha_2 - d) / (alpha_1 + d)) + (s_1 - s_2 - d q) / C = 0
        """
        duals, parts, problem = state.duals, self._parts_of(i), self.problem
        before, scores = duals.marginals[parts].copy(), problem.scores(i).copy()
        alpha = before.astype(np.float64)
        slopes = scores / state.c - np.log(np.maximum(alpha, _TINY))
        to, giver = int(slopes.argmax()), int(np.where(alpha > 0, slopes, np.inf).argmin())
        swap = np.zeros_like(alpha)
        swap[to], swap[giver] = -1.0, 1.0
        difference = scores[to] - scores[giver]
        norm = problem.add(i, swap)
        q, low, high = norm + 2 * difference, 0.0, alpha[giver]
        for _ in range(_BISECTIONS):
            d = (low + high) / 2
            left, right = max(_TINY, alpha[giver] - d), alpha[to] + d
            rises = math.log(left / right) + (difference - d * q) / state.c > 0
            low, high = (d, high) if rises else (low, d)
        duals.marginals[parts] = alpha = np.maximum(0.0, alpha - low * swap)
        duals.theta[parts] = logs = np.log(np.maximum(alpha, _TINY))
        # v is made of the marginals as they are stored
        norm += problem.add(i, before - duals.marginals[parts].astype(np.float64) - swap)
        entropy = -float(alpha @ logs)
        increase = entropy - duals.value[i] - norm / (2 * state.c)
        duals.value[i] = entropy
        state.squared_norm += norm
        state.evaluations += 1
        self._attend(state, i)
        return float(increase)

    def run_steps(self, state: EGState, order: Longs) -> None:
        """One step on each example of ``order``, in this order."""
        if self.restarts:  # for every visit: there are no two visits to an example
            state.eta[order] = state.first_eta
        if self.config.exact or self.config.pairwise:
            OnlineLearner.run_steps(self, state, order)  # by ``update``
        else:
            super().run_steps(state, order)

    def next_visits(self, state: EGState, by_gain: bool) -> Longs:
        """The examples of a pass, in order."""
        if self.config.order == "cyclic":
            return np.arange(self.n)
        return state.generator.integers(self.n, size=self.n)

    def certificate(self, state: EGState) -> Certificate:
        """As ``OnlineEG.certificate``, with the detail ``tried again``: learning rates that were
        tried after the first of a visit, in per cent of the visits.
        """
        certificate = super().certificate(state)
        passes = certificate.effective_iterations
        again = 100.0 * (passes / state.iteration - 1.0) if state.iteration else 0.0
        return certificate._replace(details={"tried again": again})


class CyclicEG(PublishedEG):
    """Online EG in the order of the corpus."""

    config_type = CyclicConfig


class EG2007(PublishedEG):
    """Online EG in the order of the corpus, whose learning rates start again at each visit."""

    config_type = Config2007
    restarts = True


def proven_rate(radius: float, config: LearnerConfig) -> float:
    """The learning rate of Collins et al. 2008, Theorem 2, 1 / (1 / beta + |A|), for the max_iy
    |psi_iy|^2 of all examples; that of Theorem 1 has their sum (see ``batch_eg``).
    """
    return 1.0 / (radius / config.c + 1.0 / config.beta)


def squared_radii(problem: Problem) -> Floats:
    """For each example an upper bound of max_y |F_i' (z_i - y)|^2, (n,), at the cost of one visit
    to an example for each of its parts. v is 0 afterwards.

    We use |F'(z - y)| <= sum_r |z_r - y_r| |f_r|. One argmax bounds the right-hand side over all y:
    if part r occurs at most m_r times in a structure, |z_r - y_r| - z_r <= ((|z_r - m_r| - z_r) /
    m_r) y_r, which is linear in y. The bound is exact if different structures share no part.
    """
    problem.reset()
    radii = np.empty(len(problem.part_starts) - 1)
    for i in range(len(radii)):
        gold = problem.gold(i).copy()
        slopes, norms, out = np.ones_like(gold), np.empty_like(gold), np.empty_like(gold)
        for r, one in enumerate(np.eye(len(gold))):
            norms[r] = math.sqrt(max(0.0, problem.add(i, one)))  # |f_r|
            problem.add(i, -one)
            if gold[r]:
                count = problem.argmax(i, one, out)  # m_r
                slopes[r] = (abs(gold[r] - count) - gold[r]) / count if count > 0 else -1.0
        radii[i] = (float(gold @ norms) + problem.argmax(i, slopes * norms, out)) ** 2
    return radii
