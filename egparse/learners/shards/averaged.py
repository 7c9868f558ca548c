"""Online dual coordinate ascent (Martins et al. 2010; ``egparse.learners.dca``) by K shards of the
examples.

A visit adds a dual variable a_t with the plane b_t + w . g_t that supports the loss of an example,
so that after some passes the dual is

    sum over visits t of a_t b_t  -  |v|^2 / (2C),        v = C w = - sum_t a_t g_t,   0 <= a_t <= 1

and CoCoA+ applies as it does to other duals (``egparse.learners.shards.learner``): the value of a
shard is the sum of its a_t b_t, and no round lowers the dual. The paper has one learner.

The model is the average of the weights over all visits. Shards make theirs at the same time. What
is averaged is v of the round's start plus what every shard has added up to then, although a shard
itself sees only what it has added. So the average of v is v less, for each shard, what the average
over its own visits is short of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from egparse.errors import EgparseError
from egparse.learners.certificate import Certificate
from egparse.learners.dca import DCAConfig
from egparse.learners.problem import VectorProblem
from egparse.learners.shards.learner import VISITS, ShardedLearner, ShardedState, ShardsConfig
from egparse.learners.shards.messages import Change, Moments, Sums
from egparse.learners.shards.shard import LocalConfig
from egparse.learners.shards.transport import Connect, on_threads
from egparse.learners.vectors import squared_norm

_VISITS = 768
"""Examples that a shard visits in a round in memory: fewer would be no better, and the table of a
second-order parser is large (docs/decisions/training-jobs.md).
"""
_LEAST_ROUNDS = 4
"""Rounds of a pass in memory with so many visits, below which there are fewer shards."""


class ShardedDCA(ShardedLearner):
    """``DCA`` on shards of a problem, which holds v = C w."""

    def __init__(
        self,
        problem: VectorProblem,
        local: DCAConfig,
        config: ShardsConfig,
        connect: Connect = on_threads,
    ) -> None:
        super().__init__(problem, local, config, connect)
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
        self._is_in_place, state.news = True, None
        try:
            yield
        finally:
            for entries in reversed(before):
                self._v.put(entries)
            self._is_in_place, state.news = False, None

    def _shortfalls(self, state: ShardedState) -> list[Change]:
        """What is to be added to v, for each shard."""
        if self._short is None or self._short[0] != state.rounds:
            moments: list[Moments] = self.transport.call("moments", [()] * self.shards)
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
    problem: VectorProblem,
    local: LocalConfig,
    config: ShardsConfig,
    connect: Connect = on_threads,
) -> ShardedLearner:
    """The learner of a problem by shards whose local learner has the settings ``local``."""
    if isinstance(local, DCAConfig):
        return ShardedDCA(problem, local, config, connect)
    return ShardedLearner(problem, local, config, connect)


def visits_in_memory(local: LocalConfig) -> int:
    """How many examples a shard in memory visits in a round."""
    return _VISITS if isinstance(local, DCAConfig) else VISITS


def most_in_memory(problem: VectorProblem) -> int:
    """The most shards that make so many visits in a pass that its rounds in memory take little time
    beside them.
    """
    n = len(problem.part_starts) - 1
    return max(1, n // (_LEAST_ROUNDS * _VISITS))
