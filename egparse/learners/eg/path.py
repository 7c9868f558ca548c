"""The path of solutions over the regularisation constant C, each with a warm start from the dual
variables of the one before (Collins et al. 2008, section 7.1.2): they are feasible for every C, and
v does not depend on it.

When C changes, learning rates are multiplied by the square root of new C / old C, unless the
configuration says otherwise: the quadratic part of the dual has a curvature of 1 / C, its entropy
none, so that the best rate shrinks by a factor between that ratio and 1 (a parser of 200 sentences
over 16 values of C takes 54 effective iterations; with the powers 0, 0.3, 0.7 and 1 in place of 0.5
72, 58, 60 and 80). Gains are set to 0, and the first pass visits all examples, as the gain of a
step under another C does not predict that under this one (on 600 sentences 107 in place of 54).

The paper shows this for log-linear losses (Tables 2-3). For max-margin the gap closes many times
more slowly: ask for a larger one. We differ from the paper in the rates (it does not say; as
published means *kept* or *restarted*), in a gap relative to the dual, as where training stops,
unless ``gap_of`` = *primal*, in a last C of ``c_to`` whatever the factor, and in a budget of
passes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from egparse.errors import ConfigError, EgparseError
from egparse.learners.eg.online import EGState, OnlineEG
from egparse.learners.learner import Certificate

_ROUNDING = 1e-4
"""A primal below the dual by more than this fraction is an error, and not the rounding of v, which
is held in single precision.
"""


@dataclass(frozen=True, kw_only=True)
class PathConfig:
    """The values of C: ``c_from``, then ``decay`` times the last one, down to ``c_to``. The
    defaults are those of the paper, except ``c_to``.

    A C is finished at a relative duality gap of ``gap``, a fraction of the dual or the primal value
    (``gap_of``), or after ``iterations`` passes.

    ``rates`` says what becomes of the learning rates at the next C: *scaled* by the square root of
    new C / old C, *kept*, or *restarted* at the first rate.

    Raises:
        ConfigError: c_to above c_from or not positive, a decay outside (0, 1), a gap that is not
            positive, no passes, or an unknown choice.
    """

    c_from: float = 1000.0
    c_to: float = 1.0
    decay: float = 0.7
    gap: float = 0.001
    iterations: int = 50
    rates: Literal["scaled", "kept", "restarted"] = "scaled"
    gap_of: Literal["dual", "primal"] = "dual"

    def __post_init__(self) -> None:
        if not 0 < self.c_to <= self.c_from < math.inf:
            raise ConfigError(
                f"expected a path of C with 0 < c_to <= c_from, got c_from = {self.c_from:g}, "
                f"c_to = {self.c_to:g}"
            )
        if not 0 < self.decay < 1:
            raise ConfigError(f"expected a decay of C in (0, 1), got {self.decay:g}")
        if not 0 < self.gap < math.inf:
            raise ConfigError(f"expected a relative gap > 0 for each C, got {self.gap:g}")
        if self.iterations < 1:
            raise ConfigError(f"expected at least one pass for each C, got {self.iterations}")
        if self.rates not in ("scaled", "kept", "restarted"):
            raise ConfigError(f"expected rates among scaled, kept, restarted, got {self.rates!r}")
        if self.gap_of not in ("dual", "primal"):
            raise ConfigError(f"expected the gap of the dual or the primal, got {self.gap_of!r}")

    @property
    def constants(self) -> tuple[float, ...]:
        """The values of C in order, with both ends."""
        steps = math.log(self.c_to / self.c_from) / math.log(self.decay)
        inner = math.ceil(steps - 1e-9)  # without 1e-9, rounding might give c_to twice
        return (*(self.c_from * self.decay**k for k in range(inner)), self.c_to)


class PathPoint(NamedTuple):
    """The solution for one C; w = ``scale`` v, with the v of the problem until the next point is
    asked for.

    ``primal`` and ``dual`` are summed over examples, in nats (log-linear) or cost units
    (max-margin). ``iterations`` (passes), ``effective_iterations`` (evaluations / n) and
    ``cpu_seconds`` (with certificates) are those of this C; ``total_effective_iterations`` is over
    the path so far. ``reached``: the gap is within the tolerance.
    """

    c: float
    primal: float
    dual: float
    iterations: int
    effective_iterations: float
    total_effective_iterations: float
    cpu_seconds: float
    reached: bool

    @property
    def gap(self) -> float:
        """Primal minus dual."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a fraction of the dual value."""
        return self.gap / abs(self.dual) if self.dual else math.inf

    @property
    def scale(self) -> float:
        """w = v / C."""
        return 1.0 / self.c


Report = Callable[[PathPoint], None]


def follow(
    learner: OnlineEG, state: EGState, path: PathConfig, report: Report = lambda point: None
) -> Iterator[PathPoint]:
    """One point for each C, as it is solved, from the dual variables of ``state``.

    The problem, the loss and the rule of steps are those of the learner; its C and its annealing
    are ignored. ``report`` is called after each pass that is not the last of its C, so that every
    pass is either reported or yielded.

    Raises:
        EgparseError: an objective that is not finite, or a primal below the dual.
    """
    for number, c in enumerate(path.constants):
        if number:
            _change_rates(state, c, path.rates)
        state.c, state.iteration = c, 0
        state.duals.gain[:] = 0.0
        at_c = type(learner)(learner.problem, replace(learner.config, c=c, anneal_from=0.0))
        yield _solve(at_c, state, path, report)


def _solve(learner: OnlineEG, state: EGState, path: PathConfig, report: Report) -> PathPoint:
    """Make passes at one C until the gap or the budget is reached."""
    begun, before = time.process_time(), state.evaluations / max(1, learner.n)
    while True:
        learner.iterate(state)
        certificate = learner.certificate(state)
        _check(certificate)
        total = certificate.effective_iterations
        point = PathPoint(
            state.c,
            certificate.primal,
            certificate.dual,
            state.iteration,
            total - before,
            total,
            time.process_time() - begun,
            certificate.gap <= path.gap * abs(getattr(certificate, path.gap_of)),
        )
        if point.reached or point.iterations >= path.iterations:
            return point
        report(point)


def _change_rates(state: EGState, c: float, how: str) -> None:
    """The learning rates for the next C."""
    if how == "scaled":
        state.eta[:] *= math.sqrt(c / state.c)
    elif how == "restarted":
        state.eta[:] = state.first_eta


def _check(certificate: Certificate) -> None:
    primal, dual, c = certificate.primal, certificate.dual, certificate.c
    if not math.isfinite(primal) or not math.isfinite(dual):
        raise EgparseError(
            f"path over C: expected a finite objective at C = {c:g}, got primal {primal} and dual "
            f"{dual}"
        )
    if certificate.gap < -_ROUNDING * (1.0 + abs(dual)):
        raise EgparseError(
            f"path over C: expected the dual below the primal at C = {c:g}, got {dual:g} above "
            f"{primal:g}"
        )
