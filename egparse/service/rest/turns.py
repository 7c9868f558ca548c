"""Turns of requests at the threads that annotate: work is done in steps, and after some steps the
next request has its turn.

Large requests are worked on one after the other, as many at a time as there are threads, and a
small one waits for no more than a turn of each of them. Work ends with the step at which its client
goes.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import nullcontext
from typing import Generic, NamedTuple, TypeVar

import anyio
import anyio.to_thread

TURN = 0.2
"""Seconds after which a turn ends with the step that is being done."""

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work that yields after each step, and returns its result."""


class Gone(Exception):
    """The client has closed the connection."""


class _Done(NamedTuple, Generic[T]):
    result: T


class Turns:
    """Has ``threads`` requests worked on at a time."""

    def __init__(self, threads: int) -> None:
        self._turns = anyio.CapacityLimiter(threads)
        self._large = anyio.CapacityLimiter(threads)

    async def result(
        self, steps: Steps[T], gone: Callable[[], Awaitable[object]], *, large: bool
    ) -> T:
        """The result of some work, for a client that has left when ``gone`` returns.

        Raises:
            Gone: the client has left; the work is not finished.
            Exception: raised by the work.
        """
        done: _Done[T] | Exception = Gone()
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                await gone()
                group.cancel_scope.cancel()

            group.start_soon(watch)
            try:
                async with self._large if large else nullcontext():
                    done = await self._in_turns(steps)
            except Exception as error:
                done = error  # not raised here: the group would wrap it
            group.cancel_scope.cancel()
        if isinstance(done, Exception):
            raise done
        return done.result

    async def _in_turns(self, steps: Steps[T]) -> _Done[T]:
        while True:
            done = await anyio.to_thread.run_sync(_turn, steps, limiter=self._turns)
            if done is not None:
                return done


def _turn(steps: Steps[T]) -> _Done[T] | None:
    """Steps for the time of a turn; the result if they have come to their end."""
    end = time.monotonic() + TURN
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return _Done(stop.value)
        if time.monotonic() >= end:
            return None
