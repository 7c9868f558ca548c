"""A stream of pieces, worked on by actors of Ray, with the results in order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeVar

import ray

from egparse.cluster.waiting import first_of, result_of

Piece = TypeVar("Piece")
Result = TypeVar("Result")

AHEAD = 4
"""Pieces in progress for each worker; finished ones may wait for an earlier one."""

_AT_ONCE = 2  # pieces that a worker has at a time, so that it never waits for the next one


class _Worker:
    """Does the work on pieces. It has no state: one that Ray starts anew takes over as it is."""

    def __init__(self) -> None:
        self._work: Callable[[Any], Any] | None = None

    def work(self, piece: Any, make: list[Any]) -> Any:
        """The result for a piece; ``make`` has the reference to the maker of the work."""
        if self._work is None:
            self._work = ray.get(make[0])()
        return self._work(piece)


def map_in_order(
    make: Callable[[], Callable[[Piece], Result]], pieces: Iterable[Piece], workers: int
) -> Generator[Result, None, None]:
    """``make()(piece)`` for each piece, in order, by up to ``workers`` actors on the nodes of the
    cluster that is connected. Each calls ``make``, which is pickled, once, and again where Ray has
    restarted it; a piece that was lost with its worker is worked on again. Pieces are taken as
    workers become free. The workers end with the iterator: close it.

    Raises:
        EgparseError: the work raised one, or a worker was lost and not replaced; all results before
            it have been yielded.
        Exception: raised by ``pieces``; all results before it have been yielded.
    """
    kind = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Worker)
    maker = [ray.put(make)]
    crew: list[Any] = []
    free: list[int] = []  # a worker for each piece that it could take
    running: dict[Any, int] = {}
    waiting: dict[int, Any] = {}
    source, failure = iter(pieces), None
    taken = due = 0
    is_open = True
    try:
        while is_open or due < taken:
            while is_open and taken < due + AHEAD * workers and (free or len(crew) < workers):
                try:
                    piece = next(source)
                except StopIteration:
                    is_open = False
                    break
                except Exception as error:  # raised below: an earlier piece may have a fault
                    is_open, failure = False, error
                    break
                if len(crew) < workers:
                    free += [len(crew)] * _AT_ONCE
                    crew.append(kind.remote())
                worker = free.pop()
                waiting[taken] = crew[worker].work.remote(piece, maker)
                running[waiting[taken]] = worker
                taken += 1
            if due in waiting and waiting[due] not in running:
                yield result_of(waiting.pop(due))
                due += 1
            elif running:
                for done in first_of(list(running), len(crew)):
                    free.insert(0, running.pop(done))
        if failure is not None:
            raise failure
    finally:
        for worker in crew:
            ray.kill(worker)
