"""One shard of the examples: their dual variables, and the work of a round on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from egparse.errors import ConfigError
from egparse.learners.dca import DCAConfig
from egparse.learners.eg.online import EGConfig
from egparse.learners.problem import VectorProblem
from egparse.learners.sdca import SDCAConfig
from egparse.learners.shards.flat import FlatVector, Moved
from egparse.learners.shards.local_dca import LocalDCA
from egparse.learners.shards.local_eg import LocalEG, check_eg
from egparse.learners.shards.local_sdca import LocalSDCA
from egparse.learners.shards.messages import Change, Moments, Report, Round, Sums
from egparse.types import Floats, Longs

LocalConfig = EGConfig | SDCAConfig | DCAConfig
"""The settings of a learner that can work on shards."""


class Local(Protocol):
    """A learner on the examples of one shard, whose problem holds u."""

    state: Any

    def start(self, height: Floats) -> None:
        """The start of the learner; u becomes the part of v that is made of the shard."""

    def draw(self, by_gain: bool) -> Longs:
        """The next order of visits."""

    def visit(self, order: Longs, c: float) -> int:
        """Steps with C' = ``c``; returns the number of inference calls."""

    def undo(self) -> None:
        """Take back the steps of the last visits; u is left as it is."""

    @property
    def value(self) -> float:
        """The sum of the values of the dual."""

    @property
    def gain(self) -> float:
        """The sum of what the last visits gained."""

    def sums(self, c: float) -> tuple[float, float]:
        """The sums of the losses at w = u / c, and of the corrections of the dual."""


class Shard:
    """A problem of some examples, whose v is the shard's alone, and a learner on it.

    ``number`` is that of the shard: its random numbers follow from it and the seed. ``known`` is
    v of all shards as this one knows it: a shard in the process of the driver shares the memory of
    v, and others (None) are told by the ``news`` of each message.
    """

    def __init__(
        self,
        problem: VectorProblem,
        config: LocalConfig,
        number: int,
        known: FlatVector | None = None,
    ) -> None:
        seed = np.random.SeedSequence([config.seed, number]).generate_state(1)[0]
        config = replace(config, seed=int(seed))
        self.local = _local(problem, config)
        self._u = FlatVector.of(problem)
        self._shares_v = known is not None
        self._known = self._u.like() if known is None else known
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
        self._learn(order.news)
        self._u.assign(self._known, 1.0 / order.sigma)
        begin, end = (round(share * len(self._order)) for share in (order.begin, order.end))
        evaluations = self.local.visit(self._order[begin:end], order.c / order.sigma)
        return self._report(1.0 / order.sigma, evaluations)

    def sums(self, news: Change | None, c: float) -> Sums:
        """The sums of the certificate for the constant C."""
        self._learn(news)
        self._u.assign(self._known, 1.0)
        loss, correction = self.local.sums(c)
        counts = self.local.counts if isinstance(self.local, LocalDCA) else {}
        return Sums(loss, self.local.value, correction, counts)

    def moments(self) -> Moments:
        """What the average of v needs to know of this shard."""
        visits = self.local.form_moments() if isinstance(self.local, LocalDCA) else 0
        if not visits:
            return Moments(None, 0)
        return Moments(self._moved_from(0.0).change, visits)

    def state(self) -> dict[str, Any]:
        """All that changes in the course of rounds, but for v: a shard in another process that is
        set to it, and knows v, goes on as this one would. It can be pickled; not a copy.
        """
        return {"local": self.local.state, "order": self._order}

    def set_state(self, state: dict[str, Any], v: Change) -> None:
        """Continue from the ``state`` of a shard of the same examples; ``v`` has all entries."""
        self.local.state, self._order = state["local"], state["order"]
        self._known.put(v)

    def _learn(self, news: Change | None) -> None:
        if news is not None:
            self._known.put(news)

    def _report(self, factor: float, evaluations: int) -> Report:
        """What the last steps came to, which began at ``factor`` v."""
        moved = self._moved_from(factor)
        slope = moved.slope / factor if factor else 0.0
        value, gain = self.local.value, self.local.gain
        return Report(moved.change, moved.bytes, slope, moved.square, value, gain, evaluations)

    def _moved_from(self, factor: float) -> Moved:
        """What u differs by from ``factor`` v."""
        u, known = self._u, self._known
        return (
            u.whole_change_since(known, factor) if self._shares_v else u.change_since(known, factor)
        )


def _local(problem: VectorProblem, config: LocalConfig) -> Local:
    if isinstance(config, EGConfig):
        return LocalEG(problem, config)
    if isinstance(config, DCAConfig):
        return LocalDCA(problem, config)
    return LocalSDCA(problem, config)


def local_config(config: object) -> LocalConfig:
    """The settings of a learner, as those of a shard.

    Raises:
        ConfigError: a learner that cannot work on shards, or settings that shards cannot keep to.
    """
    if isinstance(config, EGConfig):
        check_eg(config)
    if isinstance(config, EGConfig | SDCAConfig) or type(config) is DCAConfig:  # and not MIRA's
        return config
    raise ConfigError(
        "expected a learner whose dual variables can be divided among several jobs (eg-online, "
        f"sdca, dca), got {type(config).__name__}"
    )
