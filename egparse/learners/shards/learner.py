"""Training in the dual by K shards of the examples: CoCoA+ (Jaggi et al. 2014, Ma et al. 2015,
Smith et al. 2018), with exponentiated gradient or coordinate ascent as the local learner.

Each example has its dual variables in its shard; only v = sum_i F_i' (z_i - mu_i) is common to all.
In a round each shard k improves, by a part of a pass over its examples, the sub-problem

    sum over i in k of value_i(alpha_i)  -  (|v|^2 + 2 v'd_k + sigma' |d_k|^2) / (2C)

where d_k is the change of v by shard k, and the driver then adds all changes, v <- v + sum_k d_k
(Ma et al. 2015, Alg. 1 with gamma = 1; their eq. 9 in our symbols). As

    |v|^2 / sigma' + 2 v'd_k + sigma' |d_k|^2  =  sigma' |u|^2,       u = v / sigma' + d_k,

this is, up to a constant, the dual of the shard's examples alone with C' = C / sigma' in place of C
and u in place of v: the local learner is an ordinary one, and its weights at the start of a round
are u / C' = v / C.

**No round lowers the dual** if |sum_k d_k|^2 <= sigma' sum_k |d_k|^2, as always for sigma' = K
(their Lemma 4). That is cautious where shards move different weights, and sigma' = 1 would be right
if they shared none. So we measure the quotient in each round, and take ``margin`` times what it was
for the next one, at most K. A round that lowers the dual after all is undone, and made again with
sigma' = K; the paper has a fixed sigma'.

**Rounds are short**, as shards that are ignorant of each other for long move weights against each
other at the full price of |d_k|^2, though the sum is small (docs/decisions/training-jobs.md).

**The certificate is that of one learner on all examples**: with w = v / C the primal is the sum of
the losses of the shards and |v|^2 / (2C), the dual that of the values and - |v|^2 / (2C).

The result depends on the number of shards and the seed, not on how the shards are reached or which
of them is first: sums are taken in the order of the shards.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from egparse.errors import ConfigError, EgparseError
from egparse.learners.certificate import Certificate
from egparse.learners.eg.online import EGConfig
from egparse.learners.problem import VectorProblem
from egparse.learners.shards.flat import FlatVector
from egparse.learners.shards.messages import Change, Report, Round, Sums
from egparse.learners.shards.shard import LocalConfig
from egparse.learners.shards.transport import Connect, Transport, on_threads
from egparse.types import Floats, UInt32s

_ROUNDING = 1e-7
"""A fall of the dual below this fraction of the terms that it is made of is rounding: marginals are
stored in float32.
"""
VISITS = 256
"""Examples that a shard visits in a round in memory."""
_EASING = 0.7
"""The factor by which sigma' may fall from round to round; it may rise at once."""


@dataclass(frozen=True, kw_only=True)
class ShardsConfig:
    """``shards`` K; ``rounds`` in a pass over all examples. sigma' is ``margin`` times the quotient
    |sum_k d_k|^2 / sum_k |d_k|^2 of the last round, between 1 and K; inf: always K.

    Raises:
        ConfigError: a value out of range.
    """

    shards: int
    rounds: int = 8
    margin: float = 1.2

    def __post_init__(self) -> None:
        if self.shards < 1 or self.rounds < 1 or not self.margin >= 1:
            raise ConfigError(
                f"expected shards, rounds and margin of at least 1, got {self.shards}, "
                f"{self.rounds} and {self.margin}"
            )


@dataclass
class ShardedState:
    """The driver's variables. ``values`` (K,) are the sums of the values of each shard; ``sigma``
    is the sigma' of the next round; ``news`` the numbers of the entries of v that have changed
    since the shards knew it (None: all). ``bytes`` counts what the shards sent, or would send;
    ``rounds`` the rounds, of which ``undone`` were made again. ``lower_bound`` of the optimum is
    kept by ``ShardedDCA``.
    """

    c: float
    squared_norm: float
    values: Floats
    gains: Floats
    sigma: float
    news: UInt32s | None = None
    iteration: int = 0
    evaluations: int = 0
    rounds: int = 0
    undone: int = 0
    bytes: int = 0
    lower_bound: float = 0.0

    @property
    def scale(self) -> float:
        """w = v / C."""
        return 1.0 / self.c


class ShardedLearner:
    """A learner of the dual on shards of a problem, which holds v; ``local`` is that of the shards,
    and ``connect`` how they are reached.
    """

    def __init__(
        self,
        problem: VectorProblem,
        local: LocalConfig,
        config: ShardsConfig,
        connect: Connect = on_threads,
    ) -> None:
        self.problem, self.local, self.config = problem, local, config
        self.n = len(problem.part_starts) - 1
        self.examples = divide(problem, config.shards)
        self._v = FlatVector.of(problem)
        self.transport: Transport = connect(problem, self.examples, local)

    @property
    def shards(self) -> int:
        """K, at most the number of examples."""
        return len(self.examples)

    def initialise(self, gold_theta: float | Floats = 3.0) -> ShardedState:
        """As ``OnlineEG.initialise``, by all shards at once."""
        self.problem.reset()
        height = np.broadcast_to(np.asarray(gold_theta, dtype=np.float64), (self.n,))
        own = [(np.ascontiguousarray(height[examples]),) for examples in self.examples]
        reports: list[Report] = self.transport.call("start", own)
        state = ShardedState(
            self._c_at(0.0), 0.0, np.zeros(self.shards), np.zeros(self.shards), float(self.shards)
        )
        self._take(state, reports)
        state.squared_norm, _ = self._add(reports)
        return state

    def iterate(self, state: ShardedState) -> None:
        """The work of one pass over the examples, in rounds; which examples, and with which C, as
        without shards.

        Raises:
            EgparseError: weights that are not finite.
        """
        fraction, done = self._round_fraction, 0.0
        while done < 1.0 - fraction / 2:
            state.c = self._c_at(state.iteration + done)
            by_gain = self._prioritises(state)
            share = fraction if by_gain else 1.0
            rounds = max(1, round(share * self.config.rounds))
            for number in range(rounds):
                self._round(state, number / rounds, (number + 1) / rounds, by_gain)
            done = done + share if by_gain else 1.0
        state.iteration += 1

    def dual(self, state: ShardedState, c: float | None = None) -> float:
        """The dual value for ``c`` or the C of the state."""
        return float(state.values.sum()) - state.squared_norm / (2 * (c or state.c))

    def certificate(self, state: ShardedState) -> Certificate:
        """Primal, dual and effort, for the C of the configuration. Details: ``shards``, ``sigma``,
        and so far ``rounds``, those ``undone``, and the ``bytes`` that the shards sent.

        Raises:
            EgparseError: the primal is not finite.
        """
        c = self.local.c
        sums: list[Sums] = self._call("sums", state, c)
        half = state.squared_norm / (2 * c)
        primal = sum(own.loss for own in sums) + half
        if not math.isfinite(primal):
            raise EgparseError(f"shards: expected a finite objective, got {primal}")
        dual = sum(own.value for own in sums) + sum(own.correction for own in sums) - half
        effort = state.evaluations / max(1, self.n)
        return Certificate(primal, dual, effort, state.c, self._details(state))

    def _details(self, state: ShardedState) -> dict[str, float]:
        return {
            "shards": float(self.shards),
            "sigma": state.sigma,
            "rounds": float(state.rounds),
            "undone": float(state.undone),
            "bytes": float(state.bytes),
        }

    def model_weights(self, state: ShardedState) -> AbstractContextManager[None]:
        """Changes nothing: the present v is that of the model."""
        return nullcontext()

    def memory(self) -> list[dict[str, Any]]:
        """What the shards remember beside v, for a checkpoint."""
        states: list[dict[str, Any]] = self.transport.call("state", [()] * self.shards)
        return states

    def remember(self, memory: Sequence[dict[str, Any]]) -> None:
        """Let the shards continue from what ``memory`` returned, with the v of the problem."""
        v = self._v.at(None)
        self.transport.call("set_state", [(state, v) for state in memory])

    def _round(self, state: ShardedState, begin: float, end: float, by_gain: bool) -> None:
        """One round, made again with sigma' = K if it lowers the dual."""
        undo = False
        while True:
            sigma, c = state.sigma, state.c
            order = (sigma, c, begin, end, by_gain, undo)
            reports: list[Report] = self._call("work", state, *order)
            norm_change, before = self._add(reports)
            grown = float(np.sum([report.value for report in reports]) - state.values.sum())
            rise = grown - norm_change / (2 * c)
            size = 1.0 + abs(grown) + abs(norm_change) / c
            state.evaluations += sum(report.evaluations for report in reports)
            state.bytes += sum(report.bytes for report in reports)
            if not math.isfinite(rise):
                raise EgparseError(f"shards: expected finite weights, got a rise of {rise}")
            if rise >= -_ROUNDING * size or sigma >= self.shards:
                break
            for entries in reversed(before):
                self._v.put(entries)
            state.undone += 1
            state.sigma, undo = float(self.shards), True
        state.squared_norm += norm_change
        state.rounds += 1
        self._take(state, reports)
        if not self.transport.shares_v:
            state.news = self._v.union(_changes(reports))
        state.sigma = self._next_sigma(sigma, reports, norm_change)

    def _next_sigma(self, sigma: float, reports: Sequence[Report], norm_change: float) -> float:
        """sigma' of the next round, from how far the changes of this one pointed the same way."""
        squares = sum(report.square for report in reports)
        if squares == 0.0 or self.config.margin == math.inf:
            return sigma
        together = norm_change - 2.0 * sum(report.slope for report in reports)
        wanted = max(self.config.margin * together / squares, _EASING * sigma, 1.0)
        return float(min(wanted, self.shards))

    def _call(self, method: str, state: ShardedState, *order: Any) -> list[Any]:
        """Call a method of all shards that begins with the news of v, which they know then."""
        news: Change | None = None
        if not self.transport.shares_v and (state.news is None or len(state.news)):
            news = self._v.at(state.news)
        first: Any = Round(news, *order) if method == "work" else news
        own = (first,) if method == "work" else (first, *order)
        results = self.transport.call(method, [own] * self.shards)
        state.news = np.zeros(0, np.uint32)
        return results

    def _add(self, reports: Sequence[Report]) -> tuple[float, list[Change]]:
        """Add the changes to v; returns the change of |v|^2, and what the entries were before each
        of them.
        """
        done = [self._v.add(change) for change in _changes(reports)]
        return sum(norm_change for norm_change, _ in done), [before for _, before in done]

    def _take(self, state: ShardedState, reports: Sequence[Report]) -> None:
        state.values[:] = [report.value for report in reports]
        state.gains[:] = [report.gain for report in reports]

    def _prioritises(self, state: ShardedState) -> bool:
        """See ``OnlineEG._prioritises``."""
        if not isinstance(self.local, EGConfig) or self._round_fraction == 1.0:
            return False
        threshold = self.local.prioritise_below_gain * abs(self.dual(state, self.local.c))
        return state.iteration > 0 and float(state.gains.sum()) < threshold

    def _c_at(self, iteration: float) -> float:
        return self.local.c_at(iteration) if isinstance(self.local, EGConfig) else self.local.c

    @property
    def _round_fraction(self) -> float:
        return self.local.round_fraction if isinstance(self.local, EGConfig) else 1.0


def rounds_in_memory(problem: VectorProblem, shards: int, visits: int = VISITS) -> int:
    """The rounds of a pass by shards that share memory, for which a round costs little; in each a
    shard makes about so many ``visits``.
    """
    n = len(problem.part_starts) - 1
    return max(ShardsConfig.rounds, round(n / shards / visits))


def divide(problem: VectorProblem, shards: int) -> list[slice]:
    """The examples of each shard: runs of the corpus with about as many parts each, as neighbours
    share features. There are no more shards than examples, and each has one at least.
    """
    starts = problem.part_starts
    n = len(starts) - 1
    shards = max(1, min(shards, n))
    wanted = starts[-1] * np.arange(1, shards) / shards
    bounds = np.concatenate([[0], np.searchsorted(starts, wanted), [n]])
    for k in range(1, shards):
        bounds[k] = min(max(bounds[k], bounds[k - 1] + 1), n - (shards - k))
    return [slice(first, end) for first, end in itertools.pairwise(bounds.tolist())]


def _changes(reports: Sequence[Report]) -> list[Change]:
    return [report.change for report in reports]
