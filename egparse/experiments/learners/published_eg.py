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
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Interval

from egparse.errors import ConfigError, EgparseError
from egparse.learners.eg.online import EGConfig, EGState, OnlineEG
from egparse.learners.eg.step import StepRule
from egparse.learners.learner import Certificate, LearnerConfig
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs

Start = Literal["gold", "uniform"]
Order = Annotated[Literal["random", "drawn", "cyclic"], "of the visits of a pass"]
FirstDistributions = Annotated[Start, "the first distributions"]
Largest = Annotated[float, Ge(1e-9), "the greatest rate"]
Restarts = Annotated[bool, "start at eta at each visit"]

_SOLVED = 1e-5
"""An example counts as maximised when a step gains no more than this part of what its visit did."""
_MOST_STEPS = 50


@dataclass(frozen=True, kw_only=True)
class PublishedConfig(EGConfig):
    """What ``EGConfig`` leaves out.

    ``order`` *random* visits the examples of a pass in a random permutation; *drawn* draws n of
    them with replacement, as Collins et al. 2008, Fig. 2, does and its Theorem 2 assumes; *cyclic*
    visits them in corpus order, as Globerson et al. 2007, Fig. 2, does. With ``drawn`` and
    ``cyclic``, and with ``restart_eta``, every pass visits all examples (``round_fraction`` = 1).

    ``search`` *proven* keeps the greatest rate that is proven; ``eta`` and ``growth`` are ignored.

    ``start`` *uniform* starts with theta = 0, where every structure is equally probable (Collins et
    al. 2008, section 5.1); *gold* near the correct structures (``OnlineEG.initialise``).

    ``restart_eta`` starts at ``eta`` again at each visit: the rule of Globerson et al. 2007,
    section 7. ``largest_eta`` is the greatest rate (None: beta). ``exact`` repeats the step of a
    visit until the dual is maximised over alpha_i (Collins et al. 2008, footnote 5).

    With ``every_move`` marginals move at each step, however little; without it those that moved by
    less than 1e-7 wait until their moves add up to more, which saves time and costs the line search
    its precision where theta is large, as after a uniform start.

    Raises:
        ConfigError: settings that exclude each other.
    """

    search: Annotated[Literal["halving", "quadratic", "proven"], "how rates adapt"] = "halving"  # type: ignore[assignment]
    order: Order = "random"
    start: FirstDistributions = "gold"
    restart_eta: Restarts = False
    largest_eta: Largest | None = None
    exact: Annotated[bool, "maximise the dual over an example at each visit"] = False
    every_move: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order != "random" and self.round_fraction != 1:
            raise ConfigError(
                f"expected round_fraction = 1 with the {self.order} order, "
                f"got {self.round_fraction}"
            )
        if self.restart_eta and (self.order == "drawn" or self.round_fraction != 1):
            raise ConfigError(
                "expected passes that visit every example once with restart_eta (order random or "
                f"cyclic, round_fraction = 1), got {self.order!r} and {self.round_fraction}"
            )
        if self.search == "proven" and (self.curvature or self.restart_eta):
            raise ConfigError("expected no curvature or restart_eta with search = 'proven'")

    @classmethod
    def options(cls) -> dict[str, Any]:
        """The options, ``published`` among them (see ``configured``)."""
        published = {"published": Annotated[bool, "as published"]}
        return (published if cls is PublishedConfig else {}) | super().options()

    @classmethod
    def configured(cls, common: LearnerConfig, options: Mapping[str, Any]) -> LearnerConfig:
        """With the option ``published`` the others change what is published."""
        rest = dict(options)
        if cls is PublishedConfig and rest.pop("published", False):
            return AsPublishedConfig.configured(common, rest)
        return super().configured(common, rest)

    def rule(self, c: float) -> StepRule:
        """The settings of a step under a regularisation constant C."""
        rule = super().rule(c)
        return rule._replace(
            growth=1.0 if self.search == "proven" else rule.growth,
            largest=rule.largest if self.largest_eta is None else float(self.largest_eta),
            floor=0.0 if self.every_move else rule.floor,
        )


@dataclass(frozen=True, kw_only=True)
class AsPublishedConfig(PublishedConfig):
    """The randomised algorithm of Collins et al. 2008, Fig. 2, with the learning rates of section
    7: n examples drawn with replacement make a pass, from the uniform start; a rate for each
    example, halved until the dual does not fall, then multiplied by 1.05, without an upper limit.

    The first rate is 0.5, which the paper takes for the digits; elsewhere it takes one that is
    calibrated on 10 % of the data, which made things worse here. The only differences left are
    numerical: theta and the marginals are stored in single precision, and halving a rate ends at
    1e-6, below which a step changes nothing there.
    """

    max_halvings: Annotated[int, Interval(ge=1, le=1000), "most rates tried at a visit"] = 60
    round_fraction: Annotated[float, Interval(ge=1e-3, le=1), "the work of a round"] = 1.0
    order: Order = "drawn"
    start: FirstDistributions = "uniform"
    largest_eta: Largest | None = math.inf
    every_move: bool = True


@dataclass(frozen=True, kw_only=True)
class CyclicConfig(AsPublishedConfig):
    """The deterministic algorithm of Collins et al. 2008, section 7.1."""

    order: Order = "cyclic"


@dataclass(frozen=True, kw_only=True)
class Config2007(CyclicConfig):
    """The online algorithm of Globerson et al. 2007, Fig. 2 and section 7: in corpus order; at each
    visit the rate starts at eta_0 again and is halved until the dual does not fall. The paper does
    not say what eta_0 is; ours is 0.5, as in that of 2008.
    """

    restart_eta: Restarts = True
    growth: Annotated[float, Interval(ge=1, le=1000), "factor after a step"] = 1.0


class PublishedEG(OnlineEG):
    """Online EG with the settings of ``PublishedConfig``."""

    config_type: type[EGConfig] = PublishedConfig
    config: PublishedConfig
    set_c_of = None  # type: ignore[assignment]  # its rates hold for one C

    def initialise(self, gold_theta: float | Floats = 3.0) -> EGState:
        """As ``OnlineEG.initialise``, but for ``start`` and for the rate that is proven."""
        config, proven = self.config, self.config.search == "proven"
        radii = squared_radii(self.problem) if proven else np.empty(0)  # which sets v to 0
        state = super().initialise(0.0 if config.start == "uniform" else gold_theta)
        if proven:
            state.first_eta = state.eta[:] = proven_rate(radii, config, online=True)
        return state

    def update(self, state: EGState, i: int) -> float:
        """One step on example i, or several with ``exact``; returns the increase of the dual."""
        if self.config.restart_eta:
            state.eta[i] = state.first_eta
        gained = rise = super().update(state, i)
        for _ in range(_MOST_STEPS if self.config.exact else 0):
            if rise <= _SOLVED * gained:
                break
            rise = super().update(state, i)
            gained += rise
        return gained

    def run_steps(self, state: EGState, order: Longs) -> None:
        """One step on each example of ``order``, in this order."""
        if self.config.exact:
            for i in order.tolist():
                self.update(state, i)
            return
        if self.config.restart_eta:  # for every visit: there are no two visits to an example
            state.eta[order] = state.first_eta
        super().run_steps(state, order)

    def next_visits(self, state: EGState, by_gain: bool) -> Longs:
        """The examples to visit next, in order."""
        if not by_gain and self.config.order == "cyclic":
            return np.arange(self.n)
        if not by_gain and self.config.order == "drawn":
            return state.generator.integers(self.n, size=self.n)
        return super().next_visits(state, by_gain)

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


def proven_rate(radii: Floats, config: LearnerConfig, *, online: bool) -> float:
    """The learning rate of Collins et al. 2008, Theorem 2 (``online``) or 1, 1 / (1 / beta + |A|)
    or 1 / (1 / beta + n |A|), from the max_y |psi_iy|^2 of the examples, (n,). In place of n |A| it
    takes sum_i max_y |psi_iy|^2 / C, which is never greater (see ``batch_eg``).

    Raises:
        EgparseError: the bound is not finite.
    """
    bound = float(radii.max(initial=0.0) if online else radii.sum()) / config.c
    if not math.isfinite(bound):
        raise EgparseError(
            f"exponentiated gradient: expected finite features, got norms of {bound}"
        )
    smoothness = bound + 1.0 / config.beta
    return 1.0 / smoothness if smoothness > 0 else 1.0


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
