"""By how many jobs training is done at once: what a run says here, the tasks in it ask for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from egparse.learners.learner import Learner, LearnerConfig
    from egparse.learners.problem import Problem

Piece = TypeVar("Piece")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Jobs:
    """``count`` threads of this process or, with ``connect``, nodes of a cluster: ``connect`` makes
    a learner of a problem whose examples are divided among them, from the class and configuration
    of the learner of each and their number. ``gather`` divides examples for learners that only sum
    over them.
    """

    count: int = 1
    connect: Callable[[Problem, type[Learner], LearnerConfig, int], Learner] | None = None
    gather: Callable[[Problem, int], Any] | None = None

    @property
    def threads(self) -> int:
        """The threads for work that is done side by side in this process."""
        return self.count if self.connect is None else min(self.count, os.cpu_count() or 1)


class JobsWarning(UserWarning):
    """A task is learned by one job, although there are several."""


_ONE = Jobs()
_jobs: ContextVar[Jobs] = ContextVar("egparse_jobs", default=_ONE)
_beside: ContextVar[bool] = ContextVar("egparse_beside", default=False)


def present_jobs() -> Jobs:
    """The jobs of the run that this code is called in. In a new thread it is one, so that what a
    run gives to threads is not divided once more.
    """
    return _jobs.get()


def cpu_time() -> float:
    """CPU seconds: of this process, or within ``beside_others`` of this thread."""
    return time.thread_time() if _beside.get() else time.process_time()


@contextmanager
def beside_others() -> Iterator[None]:
    """Within the block, this thread works beside others of the same run."""
    before = _beside.set(True)
    try:
        yield
    finally:
        _beside.reset(before)


@contextmanager
def working_with(jobs: Jobs) -> Iterator[None]:
    """Within the block, tasks learn by so many jobs."""
    before = _jobs.set(jobs)
    try:
        yield
    finally:
        _jobs.reset(before)


def in_threads(work: Callable[[Piece], Result], pieces: Iterable[Piece]) -> Iterator[Result]:
    """``work(piece)`` for each piece, in order: one after the other, or where there are several
    jobs in threads.
    """
    jobs = present_jobs()
    count = jobs.threads
    if jobs.count == 1 and jobs.connect is None:
        yield from map(work, pieces)
        return
    threads = ThreadPoolExecutor(count, "egparse-job")
    try:
        yield from threads.map(work, pieces)
    finally:
        threads.shutdown(cancel_futures=True)
