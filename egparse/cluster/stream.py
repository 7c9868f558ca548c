"""A stream of pieces, worked on by actors of Ray, with the results in order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeVar

import ray

Piece = TypeVar("Piece")
Result = TypeVar("Result")

AHEAD = 4
"""Pieces in progress for each worker; finished ones may wait for an earlier one."""

_AT_ONCE = 2  # pieces of a worker at a time, so that none waits for the next one


class _Worker:
    """Does the work on pieces. Nothing changes it, so that a worker which Ray starts anew takes
    over as it is.
    """

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self._work = make()

    def work(self, piece: Any) -> Any:
        return self._work(piece)


def map_in_order(
    make: Callable[[], Callable[[Piece], Result]], pieces: Iterable[Piece], workers: int
) -> Generator[Result, None, None]:
    """``make()(piece)`` for each piece, in order, by ``workers`` actors on the nodes of the cluster
    that is connected. Each calls ``make``, which is pickled, once, and again where Ray restarts it;
    a piece whose worker was lost is worked on again. Pieces are taken as workers become free, and a
    bounded number of results waits.

    Raises:
        ray.exceptions.RayError: the work raised something, or Ray gave up.
        Exception: raised by ``pieces``; all results before it have been yielded.
    """
    kind = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Worker)
    shared = ray.put(make)
    crew: list[Any] = []
    load: list[int] = []
    running: dict[Any, tuple[int, int]] = {}
    done: dict[int, Any] = {}
    source, failure = iter(pieces), None
    taken = due = 0
    is_open = True
    try:
        while is_open or due < taken:
            while is_open and taken < due + AHEAD * workers:
                worker = min(range(len(crew)), key=load.__getitem__, default=None)
                if worker is None or load[worker] > 0 and len(crew) < workers:
                    worker = len(crew)
                if worker < len(crew) and load[worker] >= _AT_ONCE:
                    break
                try:
                    piece = next(source)
                except StopIteration:
                    is_open = False
                    break
                except Exception as error:  # raised below: an earlier piece may have a fault
                    is_open, failure = False, error
                    break
                if worker == len(crew):
                    crew.append(kind.remote(_Make(shared)))
                    load.append(0)
                running[crew[worker].work.remote(piece)] = taken, worker
                load[worker] += 1
                taken += 1
            if due in done:
                yield ray.get(done.pop(due))
                due += 1
            elif running:
                ready, _ = ray.wait(list(running), fetch_local=True)
                for one in ready:
                    place, worker = running.pop(one)
                    done[place] = one
                    load[worker] -= 1
        if failure is not None:
            raise failure
    finally:
        for worker in crew:
            ray.kill(worker)
