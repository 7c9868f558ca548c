"""Shards of the examples on the nodes of a Ray cluster: a transport for ``cocoa``.

Ray places the shards, restarts those whose node or process is lost, and calls the method that was
lost with it again. What a restarted shard lacks is its state: the message of each call holds
references to what it needs to catch up, which nobody fetches otherwise: a snapshot of its state,
now and then, and the messages since then, which it works through once more. As a shard is a
function of its state and its messages, it comes to the same bits, and the run is the same as if
nothing had been lost; ``value`` of each report proves it. Snapshots and messages are kept on the
driver's node.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import ray

from egparse.errors import EgparseError
from egparse.learners.learner import Learner, LearnerConfig, divide
from egparse.learners.problem import Problem
from egparse.learners.shards.changes import FlatVector
from egparse.learners.shards.cluster import results_of
from egparse.learners.shards.cocoa import Arguments, Examples, Report, Shard, ShardsConfig, sharded

SNAPSHOT_EVERY = 8
"""Rounds between two snapshots of the dual variables: as many as a pass has."""


class _Call(NamedTuple):
    """A call of a shard; ``arguments`` refers to them, ``value`` is that of the report."""

    method: str
    arguments: Any
    value: float | None = None


class _Past(NamedTuple):
    """How a shard comes to the state in which it was before a call: from what it was ``made`` of,
    from ``state`` and ``v`` (references; None: as it was made), by ``calls``.
    """

    made: Any
    state: Any
    v: Any
    calls: tuple[_Call, ...]


class _Worker:
    """A shard in a process of Ray, which remembers the number of the call that it answered last. It
    is made by the first one of a problem, and by the first one after a loss.
    """

    def __init__(self) -> None:
        self._answered = -1
        self._last: Any = None
        self._shard: Any
        """A ``Shard``, or ``Examples``."""

    def call(self, number: int, method: str, arguments: tuple[Any, ...], past: _Past) -> Any:
        """Call number ``number``, which is answered once: Ray may repeat it. Numbers follow on
        each other within a problem.
        """
        if number != self._answered:
            if number != self._answered + 1:
                self._catch_up(past)
            if method == "set_state":
                arguments = copy.deepcopy(arguments)  # arrays of Ray cannot be written
            self._last = getattr(self._shard, method)(*arguments)
            self._answered = number
        return self._last

    def snapshot(self, number: int, past: _Past) -> dict[str, Any]:
        """The state after call ``number``."""
        if number != self._answered:
            self._catch_up(past)
            self._answered, self._last = number, None
        state: dict[str, Any] = self._shard.state()
        return state

    def _catch_up(self, past: _Past) -> None:
        kind, arguments = ray.get(past.made)
        self._shard = kind(*copy.deepcopy(arguments))  # arrays of Ray cannot be written
        if past.state is not None:
            state, v = ray.get([past.state, past.v])
            self._shard.set_state(copy.deepcopy(state), v)
        for call in past.calls:
            self._repeat(call, copy.deepcopy(ray.get(call.arguments)))

    def _repeat(self, call: _Call, arguments: tuple[Any, ...]) -> None:
        """Make a call again, and check that it had the same result."""
        report = getattr(self._shard, call.method)(*arguments)
        if call.value is not None and report.value != call.value:
            raise EgparseError(
                "expected a node whose processor gives the same last digits as that of the node "
                f"that was lost, to make its rounds again, got {report.value!r} for {call.value!r}"
            )


class Crew(AbstractContextManager["Crew"]):
    """Workers of one problem after the other on the cluster that is connected: see
    ``connect``. With ``snapshot_every`` 1 no round is ever made again,
    and all dual variables are sent in each.
    """

    def __init__(self, snapshot_every: int = SNAPSHOT_EVERY) -> None:
        self.workers: list[Any] = []
        self.snapshot_every = snapshot_every
        self.number = 1
        """The number of the next call, or of the last one if it was interrupted."""

    def __call__(
        self, problem: Problem, kind: type[Learner], config: LearnerConfig, shards: int
    ) -> Learner:
        """A learner of the problem by so many shards."""
        return sharded(problem, kind, config, ShardsConfig(shards=shards), self.connect)

    def connect(
        self,
        problem: Problem,
        examples: Sequence[slice],
        kind: type[Learner],
        config: LearnerConfig,
    ) -> RayShards:
        """See ``cocoa.Connect``."""
        made = [
            (Shard, (problem.shard(those.start, those.stop), kind, config, number))
            for number, those in enumerate(examples)
        ]
        return RayShards(self, made, FlatVector.of(problem))

    def gather(self, problem: Problem, shards: int) -> RayShards:
        """Divide a problem into so many ``Examples``."""
        examples = divide(problem, shards)
        return RayShards(self, [(Examples, (problem.shard(e.start, e.stop),)) for e in examples])

    def hire(self, count: int) -> list[Any]:
        """So many workers for a new problem."""
        kind = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Worker)
        while len(self.workers) < count:
            self.workers.append(kind.remote())
        self.number += 2  # not the one that workers expect, so that they make the new shards
        return self.workers[:count]

    def __exit__(self, *error: object) -> None:
        for worker in self.workers:
            ray.kill(worker)


class RayShards:
    """See ``cocoa.Transport``: the shards of a problem, until the crew gets
    those of the next. ``made`` says what each is made of.
    """

    def __init__(
        self,
        crew: Crew,
        made: Sequence[tuple[type[Any], tuple[Any, ...]]],
        v: FlatVector | None = None,
    ) -> None:
        self.crew = crew
        self.workers = crew.hire(len(made))
        self._v = v
        self._rounds = 0
        self._pasts = [_Past(ray.put(own), None, None, ()) for own in made]

    def call(self, method: str, arguments: Arguments) -> list[Any]:
        """See ``Transport``.

        Raises:
            EgparseError: a shard raised it; or Ray could not restart one.
        """
        if isinstance(arguments, tuple):
            arguments = [arguments] * len(self.workers)
        if method == "work":
            if (
                self._rounds
                and self._rounds % self.crew.snapshot_every == 0
                and not arguments[0][0].undo
            ):
                self._take_snapshots()
            self._rounds += 1
        messages = _put(arguments)
        waiting = [
            worker.call.remote(self.crew.number, method, message, past)
            for worker, message, past in zip(self.workers, messages, self._pasts, strict=True)
        ]
        results = results_of(waiting)
        self.crew.number += 1
        if method in ("state", "run", "moments"):  # which change nothing
            # arrays of Ray cannot be written, as checkpoints write those of a state
            return copy.deepcopy(results) if method == "state" else results
        self._pasts = [
            past._replace(calls=(*past.calls, _Call(method, message, _value_of(result))))
            for past, message, result in zip(self._pasts, messages, results, strict=True)
        ]
        return results

    def _take_snapshots(self) -> None:
        waiting = [
            worker.snapshot.remote(self.crew.number - 1, past)
            for worker, past in zip(self.workers, self._pasts, strict=True)
        ]
        assert self._v is not None  # shards that work have one
        v = ray.put(self._v.at(None))
        self._pasts = [
            _Past(past.made, ray.put(state), v, ())
            for past, state in zip(self._pasts, results_of(waiting), strict=True)
        ]


def _put(arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """References to the arguments; what all shards get is stored once."""
    if all(own is arguments[0] for own in arguments):
        return [ray.put(arguments[0])] * len(arguments)
    return [ray.put(own) for own in arguments]


def _value_of(result: Any) -> float | None:
    return result.value if isinstance(result, Report) else None
