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

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from egparse.errors import ConfigError, EgparseError
from egparse.learners.dca import DCA, DCAState, Tally
from egparse.learners.eg.online import EGConfig
from egparse.learners.learner import Certificate, Learner, LearnerConfig, divide, visits_of
from egparse.learners.problem import Problem, squared_norm
from egparse.learners.sgd import Arrays, restore
from egparse.learners.shards.changes import Change, FlatVector, Vector
from egparse.types import Floats, Longs, UInt32s

_ROUNDING = 1e-7
"""A fall of the dual below this fraction of the terms that it is made of is rounding: marginals are
stored in float32.
"""
_EASING = 0.7
"""The factor by which sigma' may fall from round to round; it may rise at once."""
_CHUNK = 1000  # examples in a call of compiled steps, as without shards


class Round(NamedTuple):
    """What a shard does next.

    ``changes`` are the entries of v that differ from those that the shard knows, with their present
    values (None: there are none). ``sigma`` is sigma' of the
    sub-problem, ``c`` the constant C of this round. With ``undo`` the shard first takes back what
    it did in its last round. It visits the part from ``begin`` to ``end`` (fractions of 1) of its
    order of visits; where ``begin`` is 0, and ``undo`` false, it draws a new order: all examples,
    or with ``by_gain`` those that gain most.
    """

    changes: Change | None
    sigma: float
    c: float
    begin: float
    end: float
    by_gain: bool = False
    undo: bool = False


class Report(NamedTuple):
    """What a shard did: the ``change`` of v that its examples make, d_k; ``slope``, v'd_k, and
    ``square``, |d_k|^2; after it the sums over its examples of the ``value`` of the dual and of the
    ``gain`` of the last visits. ``evaluations`` are the inference calls of this round.
    """

    change: Change
    slope: float
    square: float
    value: float
    gain: float
    evaluations: int


class Sums(NamedTuple):
    """Sums over the examples of a shard at w = v / C: the losses, the values of the dual, and the
    corrections of the dual for the rounding of marginals; ``counts`` has what its learner counted
    in the last pass.
    """

    loss: float
    value: float
    correction: float
    counts: dict[str, float]


class Moments(NamedTuple):
    """What the average of v over the visits of a shard is short of v, times ``visits``, their
    number; None and 0 without an average.
    """

    change: Change | None
    visits: int


Arguments = tuple[Any, ...] | Sequence[tuple[Any, ...]]
"""The arguments of a call: the same for all shards, or a list with those of each."""


class Transport(Protocol):
    """Calls methods of all shards at once."""

    def call(self, method: str, arguments: Arguments) -> list[Any]:
        """What ``method`` of ``Shard`` or ``Examples`` returns for the arguments of each shard, in
        their order. It returns when all are done, and raises what one of them raises.
        """


Connect = Callable[[Problem, Sequence[slice], type[Learner], LearnerConfig], Transport]
"""Makes the shards of a problem, of which ``slice`` says the examples, and the transport to
them.
"""


class InTurn:
    """Shards in this process, one after the other."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = shards

    def call(self, method: str, arguments: Arguments) -> list[Any]:
        """See ``Transport``."""
        if isinstance(arguments, tuple):
            arguments = [arguments] * len(self.shards)
        calls = zip(self.shards, arguments, strict=True)
        return [getattr(shard, method)(*given) for shard, given in calls]


def in_turn(
    problem: Problem, examples: Sequence[slice], kind: type[Learner], config: LearnerConfig
) -> InTurn:
    """See ``Connect``."""
    return InTurn(
        [
            Shard(problem.shard(those.start, those.stop), kind, config, number)
            for number, those in enumerate(examples)
        ]
    )


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
    is the sigma' of the next round; ``unknown`` the numbers of the entries of v that have
    changed since the shards knew it (None: all). ``bytes`` counts what the shards sent, or would
    send; ``rounds`` the rounds, of which ``undone`` were made again. ``lower_bound`` of the optimum
    is kept by ``ShardedDCA``.
    """

    c: float
    squared_norm: float
    values: Floats
    gains: Floats
    sigma: float
    unknown: UInt32s | None = None
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


class ShardedLearner(Learner):
    """A learner of the dual on shards of a problem, which holds v; ``kind`` and ``local`` are that
    of the shards, and ``connect`` how they are reached.
    """

    def __init__(
        self,
        problem: Problem,
        kind: type[Learner],
        local: LearnerConfig,
        config: ShardsConfig,
        connect: Connect,
    ) -> None:
        super().__init__(problem)
        self.local, self.config = local, config
        self.examples = divide(problem, config.shards)
        self._v = FlatVector.of(problem)
        self.transport: Transport = connect(problem, self.examples, kind, local)

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

    def saved(self) -> Any:
        """The states of the shards beside v."""
        states: list[dict[str, Any]] = self.transport.call("state", ())
        return states

    def restore(self, saved: Any) -> None:
        """Let the shards continue from what ``saved`` returned, with the v of the problem."""
        v = self._v.at(None)
        self.transport.call("set_state", [(state, v) for state in saved])

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
            state.bytes += sum(report.change.bytes for report in reports)
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
        state.unknown = self._v.union(_changes(reports))
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
        """Call a method of all shards that begins with the changes of v since the last call."""
        changes: Change | None = None
        if state.unknown is None or len(state.unknown):
            changes = self._v.at(state.unknown)
        first: Any = Round(changes, *order) if method == "work" else changes
        own = (first,) if method == "work" else (first, *order)
        results = self.transport.call(method, own)
        state.unknown = np.zeros(0, np.uint32)
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


class ShardedDCA(ShardedLearner):
    """``DCA`` on shards of a problem, which holds v = C w.

    A visit adds a dual variable a_t with the plane b_t + w . g_t that supports the loss of an
    example, so that after some passes the dual is

        sum over visits t of a_t b_t  -  |v|^2 / (2C),     v = C w = - sum_t a_t g_t,  0 <= a_t <= 1

    and CoCoA+ applies as it does to other duals: the value of a shard is the sum of its a_t b_t,
    and no round lowers the dual. The paper (Martins et al. 2010) has one learner.

    The model is the average of the weights over all visits. Shards make theirs at the same time.
    What is averaged is v of the round's start plus what every shard has added up to then, although
    a shard itself sees only what it has added. So the average of v is v less, for each shard, what
    the average over its own visits is short of.
    """

    def __init__(
        self,
        problem: Problem,
        kind: type[Learner],
        local: LearnerConfig,
        config: ShardsConfig,
        connect: Connect,
    ) -> None:
        super().__init__(problem, kind, local, config, connect)
        self._is_in_place = False
        self._short: tuple[int, list[Change]] | None = None  # after so many rounds

    def iterate(self, state: ShardedState) -> None:
        """See ``ShardedLearner.iterate``."""
        super().iterate(state)
        state.lower_bound = max(state.lower_bound, self.dual(state) / state.iteration)

    def certificate(self, state: ShardedState) -> Certificate:
        """The primal at the weights of the model; there is no dual. Details: those of ``DCA`` and
        of ``ShardedLearner``.

        Raises:
            EgparseError: the primal is not finite.
        """
        c = self.local.c
        with self.model_weights(state):
            sums: list[Sums] = self._call("sums", state, c)
            primal = sum(own.loss for own in sums) + squared_norm(self.problem) / (2 * c)
        if not math.isfinite(primal):
            raise EgparseError(f"shards: expected a finite objective, got {primal}")
        counts = {name: sum(own.counts[name] for own in sums) for name in sums[0].counts}
        details = {
            "online_loss": counts["loss"] / max(1.0, counts["visits"]),
            "lower_bound": state.lower_bound,
            **{name: counts[name] for name in ("passive", "negative", "skipped")},
            **self._details(state),
        }
        return Certificate(primal, -math.inf, state.evaluations / max(1, self.n), c, details)

    @contextmanager
    def model_weights(self, state: ShardedState) -> Iterator[None]:
        """Inside it v is C times the average of the weights, if configured."""
        if self._is_in_place:
            yield
            return
        before = [self._v.add(change)[1] for change in self._shortfalls(state)]
        self._is_in_place, state.unknown = True, None
        try:
            yield
        finally:
            for entries in reversed(before):
                self._v.put(entries)
            self._is_in_place, state.unknown = False, None

    def _shortfalls(self, state: ShardedState) -> list[Change]:
        """What is to be added to v, for each shard."""
        if self._short is None or self._short[0] != state.rounds:
            moments: list[Moments] = self.transport.call("moments", ())
            self._short = (
                state.rounds,
                [
                    own.change._replace(values=own.change.values / -own.visits)
                    for own in moments
                    if own.change is not None
                ],
            )
        return self._short[1]


def sharded(
    problem: Problem,
    kind: type[Learner],
    local: LearnerConfig,
    config: ShardsConfig,
    connect: Connect,
) -> ShardedLearner:
    """The learner of a problem by shards, on each of which a learner ``kind`` works.

    Raises:
        ConfigError: a learner that cannot work on shards.
    """
    if kind is not DCA and getattr(kind, "set_c_of", None) is None:
        raise ConfigError(
            "expected a learner whose dual variables can be divided among several jobs (eg-online, "
            f"sdca, dca), got {kind.__name__}"
        )
    made = ShardedDCA if kind is DCA else ShardedLearner
    return made(problem, kind, local, config, connect)


class Shard:
    """A problem of some examples, whose v is the shard's alone, and a learner on it.

    ``number`` is that of the shard: its random numbers follow from it and the seed. What it knows
    of v of all shards it is told by the ``changes`` of each message.
    """

    def __init__(
        self,
        problem: Problem,
        kind: type[Learner],
        config: LearnerConfig,
        number: int,
    ) -> None:
        seed = np.random.SeedSequence([config.seed, number]).generate_state(1)[0]
        learner = kind(problem, replace(config, seed=int(seed)))  # type: ignore[call-arg]
        self.local = LocalDCA(learner) if isinstance(learner, DCA) else LocalDual(learner)
        self._u = FlatVector.of(problem)
        self._known = self._u.like()
        self._order = np.zeros(0, dtype=np.int64)

    def start(self, height: Floats) -> Report:
        """The start of the learner, with theta ``height[i]`` on the correct parts of example i; the
        change is that from v = 0.
        """
        self.local.start(height)
        return self._report(0.0, 0)

    def work(self, order: Round) -> Report:
        """One round. As u = v / sigma' + d_k, the local learner sees the sub-problem of CoCoA+ as
        its own dual with C' = C / sigma'.
        """
        if order.undo:
            self.local.undo()
        elif order.begin == 0.0:
            self._order = self.local.draw(order.by_gain)
        self._learn(order.changes)
        self._u.assign(self._known, 1.0 / order.sigma)
        begin, end = (round(share * len(self._order)) for share in (order.begin, order.end))
        evaluations = self.local.visit(self._order[begin:end], order.c / order.sigma)
        return self._report(1.0 / order.sigma, evaluations)

    def sums(self, changes: Change | None, c: float) -> Sums:
        """The sums of the certificate for the constant C."""
        self._learn(changes)
        self._u.assign(self._known, 1.0)
        loss, correction = self.local.sums(c)
        return Sums(loss, self.local.value, correction, self.local.counts)

    def moments(self) -> Moments:
        """What the average of v needs to know of this shard."""
        visits = self.local.form_moments()
        return Moments(self._u.change_since(self._known, 0.0).change if visits else None, visits)

    def state(self) -> dict[str, Any]:
        """All that changes in the course of rounds, but for v: a shard in another process that is
        set to it, and knows v, goes on as this one would. It can be pickled; not a copy.
        """
        return {"local": self.local.state, "order": self._order}

    def set_state(self, state: dict[str, Any], v: Change) -> None:
        """Continue from the ``state`` of a shard of the same examples; ``v`` has all entries."""
        self.local.state, self._order = state["local"], state["order"]
        self._known.put(v)

    def _learn(self, changes: Change | None) -> None:
        if changes is not None:
            self._known.put(changes)

    def _report(self, factor: float, evaluations: int) -> Report:
        """What the last steps came to, which began at ``factor`` v."""
        moved = self._u.change_since(self._known, factor)
        slope = moved.slope / factor if factor else 0.0
        value, gain = self.local.value, self.local.gain
        return Report(moved.change, slope, moved.square, value, gain, evaluations)


class Copies:
    """Variables of ``examples`` as they are now, to which they can be set back: of each array,
    which has an entry for each part, or for each example, whose parts are
    ``part_starts[i]:part_starts[i + 1]``.
    """

    def __init__(
        self, examples: Longs, part_starts: Longs, arrays: Sequence[npt.NDArray[Any]]
    ) -> None:
        rows = np.unique(examples)
        sizes = part_starts[rows + 1] - part_starts[rows]
        ends = np.cumsum(sizes)
        parts = np.arange(sizes.sum()) + np.repeat(part_starts[rows] - (ends - sizes), sizes)
        self._copies = [
            (array, places, array[places])
            for array in arrays
            for places in [parts if len(array) == part_starts[-1] else rows]
        ]

    def restore(self) -> None:
        """Set the variables back."""
        for array, places, values in self._copies:
            array[places] = values


class LocalDual:
    """The dual variables of a shard, which EG or coordinate ascent improves; the problem holds u.
    ``state`` is all that rounds change but for u, not a copy.
    """

    def __init__(self, learner: Any) -> None:
        self.learner = learner
        self.state: Any = None
        self._before: Copies | None = None

    def start(self, height: Floats) -> None:
        """The start of the learner; u becomes the part of v that is made of the shard."""
        self.state = self.learner.initialise(height)

    def draw(self, by_gain: bool) -> Longs:
        """The next order of visits."""
        order: Longs = self.learner.next_visits(self.state, by_gain)
        return order

    def visit(self, order: Longs, c: float) -> int:
        """Steps on the examples of ``order`` with C' = ``c``, which ``undo`` can take back; returns
        the number of inference calls.
        """
        learner, state = self.learner, self.state
        self._before = Copies(order, learner.problem.part_starts, _arrays_of(state))
        before = state.evaluations
        learner.set_c_of(state, c)
        for begin in range(0, len(order), _CHUNK):
            learner.run_steps(state, order[begin : begin + _CHUNK])
        return int(state.evaluations - before)

    def undo(self) -> None:
        """Take back the steps of the last visits; u is left as it is."""
        if self._before is not None:
            self._before.restore()

    @property
    def value(self) -> float:
        """The sum of the values of the dual."""
        return float(self.state.value.sum())

    @property
    def gain(self) -> float:
        """The sum of what the last visits gained."""
        duals = getattr(self.state, "duals", None)
        return 0.0 if duals is None else float(duals.gain.sum())

    def sums(self, c: float) -> tuple[float, float]:
        """The sum of the losses at w = u / c, and that of the corrections of the dual."""
        sums: tuple[float, float] = self.learner.sums(self.state, c)
        return sums

    def form_moments(self) -> int:
        """u becomes what the average of v over the visits is short of v, times their number, which
        is returned; 0 if there is no average.
        """
        return 0

    @property
    def counts(self) -> dict[str, float]:
        """What is counted in a pass."""
        return {}


def _arrays_of(state: Any) -> list[npt.NDArray[Any]]:
    """The dual variables of a state."""
    found = [getattr(state, one.name) for one in fields(state)]
    within = [array for one in found if isinstance(one, tuple) for array in one]
    return [one for one in (*found, *within) if isinstance(one, np.ndarray)]


@dataclass
class LocalDCAState:
    """All that rounds change but for u: of the average of v the ``moments`` (parts,) and the
    ``count`` of visits (``egparse.learners.averaging``), the ``value`` of the dual, the ``tally``
    of the last pass.
    """

    moments: Vector
    count: int
    value: float
    tally: Tally
    generator: np.random.Generator


class LocalDCA(LocalDual):
    """The visits of a shard; the problem holds u.

    A visit linearises the loss of its example, and adds a dual variable a to the planes that the
    dual consists of: with the intercept b of the plane, the sum of all a b is the shard's value.
    """

    def __init__(self, learner: DCA) -> None:
        self._now: DCAState = learner.initialise()
        self._value = 0.0
        self.learner = learner
        self._undone: tuple[Copies, LocalDCAState] | None = None

    @property
    def state(self) -> LocalDCAState:
        now, average = self._now, self._now.average
        moments = np.empty(0) if average is None else average.moments
        count = 0 if average is None else average.count
        return LocalDCAState(moments, count, self._value, now.tally, now.generator)

    @state.setter
    def state(self, state: LocalDCAState) -> None:
        now, average = self._now, self._now.average
        if average is not None:
            average.moments[:], average.count = state.moments, state.count
        self._value, now.tally, now.generator = state.value, state.tally, state.generator

    def start(self, height: Floats) -> None:
        self._now = self.learner.initialise()

    def draw(self, by_gain: bool) -> Longs:
        n, generator = self.learner.n, self._now.generator
        self._now.tally = Tally()
        return visits_of(n, generator)

    def visit(self, order: Longs, c: float) -> int:
        now, learner, before = self._now, self.learner, self.state
        moments = [] if now.average is None else [now.average.moments]
        copies = Copies(order, learner.problem.part_starts, moments)
        self._undone = copies, replace(before, tally=copy(now.tally))
        now.visits, now.total_increase, now.squared_norm = 0, 0.0, 0.0
        learner.set_c(c)
        for i in order.tolist():
            learner.update(now, i)
        # a b = the increase of the dual of the shard + C' / 2 times that of |w|^2
        self._value += now.total_increase + c / 2 * now.squared_norm
        return now.visits

    def undo(self) -> None:
        if self._undone is not None:
            copies, state = self._undone
            copies.restore()
            self.state = state

    def form_moments(self) -> int:
        average = self._now.average
        if average is None or not average.count:
            return 0
        average.form_moments()
        return average.count

    @property
    def value(self) -> float:
        """The sum of a b over all visits."""
        return self._value

    @property
    def gain(self) -> float:
        return 0.0

    def sums(self, c: float) -> tuple[float, float]:
        self.learner.set_c(c)
        return self.learner.sum_losses(), 0.0

    @property
    def counts(self) -> dict[str, float]:
        return asdict(self._now.tally)


class Examples:
    """The examples of a shard without variables of its own: functions of a problem are called."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def run(self, function: Callable[..., Any], v: Arrays, *arguments: Any) -> Any:
        """``function(problem, *arguments)`` at v."""
        restore(self.problem, v)
        return function(self.problem, *arguments)


def _changes(reports: Sequence[Report]) -> list[Change]:
    return [report.change for report in reports]
