"""How a driver reaches its shards, and the two ways within one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from egparse.learners.problem import VectorProblem, shard_of
from egparse.learners.shards.flat import FlatVector
from egparse.learners.shards.shard import LocalConfig, Shard


class Transport(Protocol):
    """Calls methods of all shards at once."""

    shares_v: bool
    """Whether the shards read v in the memory of the driver, and need no news of it."""

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What ``method`` of ``Shard`` returns for the arguments of each shard, in their order.
        It returns when all are done, and raises what one of them raises.
        """


Connect = Callable[[VectorProblem, Sequence[slice], LocalConfig], Transport]
"""Makes the shards of a problem, of which ``slice`` says the examples, and the transport to
them.
"""


class InTurn:
    """Shards in this process, one after the other."""

    shares_v = True

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = shards

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """See ``Transport``."""
        return [
            getattr(shard, method)(*own) for shard, own in zip(self.shards, arguments, strict=True)
        ]


class OnThreads(InTurn):
    """Shards in this process, a thread each: compiled kernels release the interpreter lock."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        super().__init__(shards)
        self._threads = ThreadPoolExecutor(len(shards), "egparse-shard")

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """See ``Transport``."""
        waiting = [
            self._threads.submit(getattr(shard, method), *own)
            for shard, own in zip(self.shards, arguments, strict=True)
        ]
        return [each.result() for each in waiting]


def shards_here(
    problem: VectorProblem, examples: Sequence[slice], config: LocalConfig
) -> list[Shard]:
    """The shards of a problem, which share its features and read its v.

    Raises:
        ConfigError: a problem that cannot be divided.
    """
    v = FlatVector.of(problem)
    return [
        Shard(shard_of(problem, own.start, own.stop), config, number, v)
        for number, own in enumerate(examples)
    ]


def in_turn(problem: VectorProblem, examples: Sequence[slice], config: LocalConfig) -> InTurn:
    """See ``Connect``."""
    return InTurn(shards_here(problem, examples, config))


def on_threads(problem: VectorProblem, examples: Sequence[slice], config: LocalConfig) -> OnThreads:
    """See ``Connect``."""
    return OnThreads(shards_here(problem, examples, config))
