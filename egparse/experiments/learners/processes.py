"""Work on shards of the examples in forked processes.

A process is forked for one call and ends with it, so a problem need not be sent anywhere: the
process finds it in the memory that it shares with its parent. Where processes cannot be forked
(Windows; macOS, whose libraries do not survive it; a daemon process, which may have no children),
the work is done here, one shard after another.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from egparse.errors import EgparseError

Result = TypeVar("Result")


def on_shards(work: Callable[[int], Result], count: int, processes: bool = True) -> list[Result]:
    """``[work(0), ..., work(count - 1)]``, each computed in its own process where possible; results
    come back through a pipe.

    Changes that ``work`` makes in memory are lost, except in ``shared_like`` arrays, which large
    results should use. No process outlives the call, however it ends.

    Raises:
        EgparseError: raised by ``work``, or a process died.
        RuntimeError: anything else that ``work`` raised in a process, with its traceback.
    """
    if not (processes and count > 1 and can_fork()):
        return [work(p) for p in range(count)]
    children: list[tuple[Any, Connection]] = []
    try:
        _launch(work, count, children)
        results = [_result_of(p, *child) for p, child in enumerate(children)]
        for process, _ in children:
            process.join()
        return results
    finally:
        for process, _ in children:
            process.kill()  # has no effect on finished processes
        for process, receiver in children:
            receiver.close()
            process.join()


def can_fork() -> bool:
    """Whether this process may fork."""
    return (
        "fork" in multiprocessing.get_all_start_methods()
        and sys.platform != "darwin"
        and not multiprocessing.current_process().daemon
    )


def _launch(work: Callable[[int], Any], count: int, children: list[tuple[Any, Connection]]) -> None:
    """Start the processes; Ctrl-C is blocked until all of them are listed in ``children``."""
    context = multiprocessing.get_context("fork")
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for p in range(count):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_answer, args=(work, p, sender), daemon=True)
            with warnings.catch_warnings():
                # since Python 3.12, because threads are not forked; BLAS can do without its threads
                # after a fork, and the work needs no others
                warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
                process.start()
            sender.close()  # in the parent, so that the pipe ends if the process dies
            children.append((process, receiver))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _answer(work: Callable[[int], Any], p: int, sender: Connection) -> None:
    """The work of a process. It ignores Ctrl-C, which its parent handles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        answer = ("result", work(p))
    except EgparseError as error:
        answer = ("error", str(error))
    except Exception:
        answer = ("fault", traceback.format_exc())
    sender.send(answer)


def _result_of(p: int, process: Any, receiver: Connection) -> Any:
    try:
        kind, answer = receiver.recv()
    except EOFError:
        process.join()
        raise EgparseError(
            f"shard {p}: expected a result, got the end of its process with exit code "
            f"{process.exitcode}"
        ) from None
    if kind == "error":
        raise EgparseError(answer)
    if kind == "fault":
        raise RuntimeError(f"shard {p}:\n{answer}")
    return answer
