"""Worker processes that map over a stream in order, with a bounded number of pieces in progress.

Each worker has one pipe and works on one piece at a time, so the two ends of a pipe never write to
each other at the same time, which could deadlock. A worker ends when its pipe is closed: even if
this process is killed, no worker remains.

``experiments.learners.processes`` is not shared with this: it forks one process for each shard of
one call, so that the work is found in shared memory, and waits for all of them. Here processes
serve a stream of unknown length, may be spawned, and get their pieces through pipes. The few lines
in common (fork, ignore SIGINT, translate errors) would need a parameter for each difference.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, suppress
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from egparse.cli.terminal.signals import uninterrupted
from egparse.errors import EgparseError
from egparse.sentences import Sentence

if TYPE_CHECKING:
    from egparse.cli.annotating.bulk.annotation import Annotated, Annotation
    from egparse.cli.annotating.bulk.passages import Passage

Piece = TypeVar("Piece")
Result = TypeVar("Result")

AHEAD = 4
"""Pieces in progress for each worker; finished ones may wait for an earlier one."""

FORKS = sys.platform == "linux"
"""Whether workers are forks of this process, which share its memory. macOS can fork, but some of
its libraries fail in the child.
"""

_TIMEOUT = 5.0  # seconds to wait for the end of a worker


class _Worker(NamedTuple):
    process: BaseProcess
    pipe: Connection


class Answer(NamedTuple):
    """The answer of a worker: a result and its warnings, or the text of an EgparseError, or that
    memory ran out.
    """

    result: Any = None
    fault: str | None = None
    no_memory: bool = False
    warnings: tuple[tuple[str, type[Warning]], ...] = ()


def all_cores() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_in_order(
    work: Callable[[Piece], Result], pieces: Iterable[Piece], jobs: int, *, forks: bool = FORKS
) -> Generator[Result, None, None]:
    """``work(piece)`` for each piece, in order, by up to ``jobs`` processes.

    Pieces are taken as workers become free. A forked worker inherits ``work``; a spawned one gets a
    pickle of it. Warnings of workers are issued again here. The processes end with the iterator:
    close it.

    Raises:
        EgparseError: ``work`` raised one, and all results before it have been yielded; or a worker
            died.
        MemoryError: a worker ran out of memory.
        Exception: raised by ``pieces``; all results before it have been yielded.
    """
    workers: list[_Worker] = []
    free: list[_Worker] = []
    busy: dict[Connection, tuple[_Worker, int]] = {}
    answers: dict[int, Answer] = {}
    taken, due = 0, 0
    source, failure = iter(pieces), None
    open_ = True
    try:
        while open_ or due < taken:
            while open_ and taken < due + AHEAD * jobs and (free or len(workers) < jobs):
                try:
                    piece = next(source)
                except StopIteration:
                    open_ = False
                    break
                except Exception as error:  # raised below: an earlier piece may have a fault
                    open_, failure = False, error
                    break
                if not free:
                    workers.append(_start(work, workers, forks))
                    free.append(workers[-1])
                worker = free.pop()
                _send(worker, piece)
                busy[worker.pipe] = worker, taken
                taken += 1
            if due in answers:
                yield opened(answers.pop(due))
                due += 1
            elif busy:
                for pipe in wait(list(busy)):
                    worker, place = busy.pop(pipe)  # type: ignore[call-overload]
                    answers[place] = _receive(worker)
                    free.append(worker)
        if failure is not None:
            raise failure
        _end(workers)
    except BaseException:
        with uninterrupted():
            _kill(workers)
        raise


def map_pieces(
    work: Annotation, pieces: Iterable[list[Passage]], jobs: int
) -> Generator[Annotated, None, None]:
    """``map_in_order`` for annotation: a single piece is annotated by this process, which costs
    less, and so is everything with one job.
    """
    left = iter(pieces)
    if jobs == 1:
        yield from map(work, left)
        return
    first, failure = list[list["Passage"]](), None
    try:
        for piece in islice(left, 2):
            first.append(piece)
    except Exception as error:  # raised below: an earlier piece may have a fault
        failure = error
    if len(first) < 2 or failure is not None:
        yield from map(work, first)
        if failure is not None:
            raise failure
        return
    if FORKS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            list(work.model.annotate([Sentence(("a",))]))  # loads the kernels for all processes
        gc.freeze()  # the collector writes to the objects it visits, which would copy their pages
    with closing(map_in_order(work, chain(first, left), jobs)) as results:
        yield from results


def _start(work: Callable[[Any], Any], others: Sequence[_Worker], forks: bool) -> _Worker:
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    here, there = context.Pipe()
    # A fork inherits this side's ends of all pipes. While a copy of one is open, the worker at its
    # other end does not notice that this process is gone.
    inherited = [here, *(other.pipe for other in others)] if forks else []
    process = context.Process(target=_serve, args=(work, there, inherited), daemon=True)
    with uninterrupted(), warnings.catch_warnings():
        # Python 3.12 and later warn of forks of processes with threads. Here these are the threads
        # of numpy's BLAS, which handles forks.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    there.close()
    return _Worker(process, here)


def _serve(work: Callable[[Any], Any], pipe: Connection, inherited: Sequence[Connection]) -> None:
    """Answer until the pipe is closed. Ctrl-C is ignored: the parent process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in inherited:
        other.close()
    with suppress(EOFError, OSError):
        while True:
            piece = pipe.recv()
            pipe.send(answer_of(work, piece))


def answer_of(work: Callable[[Any], Any], piece: Any) -> Answer:
    """What ``work(piece)`` returns, with its warnings, or how it failed."""
    try:
        with warnings.catch_warnings(record=True) as issued:
            result = work(piece)
    except EgparseError as error:
        return Answer(fault=str(error))
    except MemoryError:
        return Answer(no_memory=True)
    return Answer(
        result, warnings=tuple((str(warning.message), warning.category) for warning in issued)
    )


def opened(answer: Answer) -> Any:
    """The result in an answer; its warnings are issued again.

    Raises:
        EgparseError, MemoryError: as the work did.
    """
    if answer.fault is not None:
        raise EgparseError(answer.fault)
    if answer.no_memory:
        raise MemoryError
    for text, category in answer.warnings:
        warnings.warn(text, category, stacklevel=3)
    return answer.result


def _send(worker: _Worker, piece: Any) -> None:
    try:
        worker.pipe.send(piece)
    except OSError:
        raise _death(worker) from None


def _receive(worker: _Worker) -> Answer:
    try:
        answer: Answer = worker.pipe.recv()
    except (EOFError, OSError):
        raise _death(worker) from None
    return answer


def _death(worker: _Worker) -> EgparseError:
    worker.process.join(_TIMEOUT)
    code = worker.process.exitcode
    if code is None or code >= 0:
        return EgparseError(f"a worker process ended before its work, with exit code {code}")
    hint = (
        ": perhaps there is not enough memory for so many jobs" if code == -signal.SIGKILL else ""
    )
    return EgparseError(f"a worker process was ended by {signal.Signals(-code).name}{hint}")


def _end(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.pipe.close()
    for worker in workers:
        worker.process.join(_TIMEOUT)


def _kill(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.process.kill()  # SIGTERM would wait until a stopped process continues
    _end(workers)
