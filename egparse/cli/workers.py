"""Workers that map over a stream in order, with few pieces in progress: processes on this machine,
or actors of Ray on a cluster.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from egparse.cli.options import Engine
from egparse.cli.process import uninterrupted
from egparse.errors import EgparseError
from egparse.sentences import Sentence

if TYPE_CHECKING:
    from egparse.cli.annotating.pieces import Passage
    from egparse.cli.annotating.work import Annotated, Annotation

    MapPieces: TypeAlias = Callable[[Annotation, Iterable[list[Passage]]], Iterator[Annotated]]
    """Gives what has become of each piece, in order."""

AHEAD = 4
"""Pieces in progress for each worker; finished ones may wait for an earlier one."""

FORKS = sys.platform == "linux"
"""Whether workers are forks of this process, which share its memory. macOS can fork, but some of
its libraries fail in the child.
"""

_TIMEOUT = 5.0  # seconds to wait for the end of a worker
_AT_ONCE = 2  # pieces that a worker of a cluster has at a time, so that it never waits for the next


class Answer(NamedTuple):
    """The answer of a worker: a result and its warnings, or the text of an EgparseError, or that
    memory ran out.
    """

    result: Any = None
    fault: str | None = None
    no_memory: bool = False
    warnings: tuple[tuple[str, type[Warning]], ...] = ()


class Workers(Protocol):
    """Up to ``size`` workers, which are started as they are needed."""

    size: int

    def has_room(self) -> bool:
        """Whether one could take a piece."""

    def submit(self, place: int, piece: Any) -> None:
        """Give a piece to one; ``place`` is its number."""

    def done(self) -> dict[int, Callable[[], Answer]]:
        """Wait until pieces are done; what tells their answers, which may raise EgparseError."""

    def close(self) -> None:
        """End them: there is no more work."""

    def kill(self) -> None:
        """End them in the middle of their work."""


@contextmanager
def annotators_of(
    engine: Engine, workers: int | None, address: str | None, jobs: int
) -> Iterator[MapPieces]:
    """What annotates pieces: so many processes here (0: one for each processor), or workers of a
    cluster, which is connected within the context.

    Raises:
        EgparseError: no cluster, or too small a one.
    """
    if engine is Engine.LOCAL or workers is None:
        yield partial(map_pieces, jobs=jobs or all_cores())
        return
    from egparse.learners.shards.cluster import connected

    with connected(workers, address):
        yield partial(_map_on_cluster, size=workers)


def all_cores() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_in_order(workers: Workers, pieces: Iterable[Any]) -> Generator[Any, None, None]:
    """The result for each piece, in order. Pieces are taken as workers become free; warnings of
    workers are issued again here. The workers end with the iterator: close it.

    Raises:
        EgparseError: the work raised one, and all results before it have been yielded; or a worker
            died.
        MemoryError: a worker ran out of memory.
        Exception: raised by ``pieces``; all results before it have been yielded.
    """
    answers: dict[int, Callable[[], Answer]] = {}
    taken = due = 0
    source, failure, is_open = iter(pieces), None, True
    try:
        while is_open or due < taken:
            while is_open and taken < due + AHEAD * workers.size and workers.has_room():
                try:
                    piece = next(source)
                except StopIteration:
                    is_open = False
                except Exception as error:  # raised below: an earlier piece may have a fault
                    is_open, failure = False, error
                else:
                    workers.submit(taken, piece)
                    taken += 1
            if due in answers:
                yield _opened(answers.pop(due)())
                due += 1
            elif due < taken:
                answers |= workers.done()
        if failure is not None:
            raise failure
        workers.close()
    except BaseException:
        with uninterrupted():
            workers.kill()
        raise


def map_pieces(
    work: Annotation, pieces: Iterable[list[Passage]], jobs: int
) -> Generator[Annotated, None, None]:
    """Annotate by processes; a single piece is annotated by this one, which costs less, and so is
    everything with one job.
    """
    left = iter(pieces)
    if jobs == 1:
        yield from map(work, left)
        return
    first, failure = list[Any](), None
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
    with closing(map_in_order(Processes(work, jobs), chain(first, left))) as results:
        yield from results


def _map_on_cluster(
    work: Annotation, pieces: Iterable[list[Passage]], size: int
) -> Generator[Annotated, None, None]:
    assert not isinstance(work.file, bytes)
    sent = replace(
        work, file=work.file.read_bytes()
    )  # nodes need not see the files of this machine
    with closing(map_in_order(Actors(sent, size), pieces)) as results:
        yield from results


class _Process(NamedTuple):
    process: BaseProcess
    pipe: Connection


class Processes:
    """Processes, each with one pipe and one piece at a time, so that the two ends of a pipe never
    write to each other at the same time, which could deadlock. A worker ends when its pipe is
    closed: even if this process is killed, none remains. A forked one inherits ``work``; a spawned
    one gets a pickle of it.
    """

    def __init__(self, work: Callable[[Any], Any], size: int, *, forks: bool = FORKS) -> None:
        self.size = size
        self._work, self._forks = work, forks
        self._all: list[_Process] = []
        self._free: list[_Process] = []
        self._busy: dict[Any, tuple[_Process, int]] = {}

    def has_room(self) -> bool:
        return bool(self._free) or len(self._all) < self.size

    def submit(self, place: int, piece: Any) -> None:
        if not self._free:
            self._all.append(_start(self._work, self._all, self._forks))
            self._free.append(self._all[-1])
        worker = self._free.pop()
        try:
            worker.pipe.send(piece)
        except OSError:
            raise _death(worker) from None
        self._busy[worker.pipe] = worker, place

    def done(self) -> dict[int, Callable[[], Answer]]:
        answers: dict[int, Callable[[], Answer]] = {}
        for pipe in wait(list(self._busy)):
            worker, place = self._busy.pop(pipe)
            try:
                answer = worker.pipe.recv()
            except (EOFError, OSError):
                raise _death(worker) from None
            answers[place] = partial(_same, answer)
            self._free.append(worker)
        return answers

    def close(self) -> None:
        for worker in self._all:
            worker.pipe.close()
        for worker in self._all:
            worker.process.join(_TIMEOUT)

    def kill(self) -> None:
        for worker in self._all:
            worker.process.kill()  # SIGTERM would wait until a stopped process continues
        self.close()


class Actors:
    """Actors of Ray on the nodes of the cluster that is connected. Each unpickles ``work`` once,
    and again where Ray has restarted it; a piece that was lost with its worker is worked on again.
    """

    def __init__(self, work: Callable[[Any], Any], size: int) -> None:
        import ray

        self.size = size
        self._kind = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Actor)
        self._work = [ray.put(work)]
        self._all: list[Any] = []
        self._free: list[int] = []  # a worker for each piece that it could take
        self._busy: dict[Any, tuple[int, int]] = {}

    def has_room(self) -> bool:
        return bool(self._free) or len(self._all) < self.size

    def submit(self, place: int, piece: Any) -> None:
        if len(self._all) < self.size:
            self._free += [len(self._all)] * _AT_ONCE
            self._all.append(self._kind.remote())
        worker = self._free.pop()
        self._busy[self._all[worker].answer.remote(piece, self._work)] = worker, place

    def done(self) -> dict[int, Callable[[], Answer]]:
        from egparse.learners.shards.cluster import first_of, result_of

        answers: dict[int, Callable[[], Answer]] = {}
        for call in first_of(list(self._busy), len(self._all)):
            worker, place = self._busy.pop(call)
            answers[place] = partial(result_of, call)
            self._free.insert(0, worker)
        return answers

    def close(self) -> None:
        import ray

        for worker in self._all:
            ray.kill(worker)

    kill = close


class _Actor:
    """Does the work on pieces. It has no state: one that Ray starts anew takes over as it is."""

    def __init__(self) -> None:
        self._work: Callable[[Any], Any] | None = None

    def answer(self, piece: Any, work: list[Any]) -> Answer:
        import ray

        if self._work is None:
            self._work = ray.get(work[0])
        return _answer_of(self._work, piece)


def _same(answer: Answer) -> Answer:
    return answer


def _start(work: Callable[[Any], Any], others: Sequence[_Process], forks: bool) -> _Process:
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
    return _Process(process, here)


def _serve(work: Callable[[Any], Any], pipe: Connection, inherited: Sequence[Connection]) -> None:
    """Answer until the pipe is closed. Ctrl-C is ignored: the parent process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in inherited:
        other.close()
    with suppress(EOFError, OSError):
        while True:
            piece = pipe.recv()
            pipe.send(_answer_of(work, piece))


def _answer_of(work: Callable[[Any], Any], piece: Any) -> Answer:
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


def _opened(answer: Answer) -> Any:
    if answer.fault is not None:
        raise EgparseError(answer.fault)
    if answer.no_memory:
        raise MemoryError
    for text, category in answer.warnings:
        warnings.warn(text, category, stacklevel=3)
    return answer.result


def _death(worker: _Process) -> EgparseError:
    worker.process.join(_TIMEOUT)
    code = worker.process.exitcode
    if code is None or code >= 0:
        return EgparseError(f"a worker process ended before its work, with exit code {code}")
    hint = (
        ": perhaps there is not enough memory for so many jobs" if code == -signal.SIGKILL else ""
    )
    return EgparseError(f"a worker process was ended by {signal.Signals(-code).name}{hint}")
