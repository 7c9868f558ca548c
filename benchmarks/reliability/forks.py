"""The program in forks of this process: it does what it would do as a process of its own, without
the seconds that imports and kernels take at each start, so that all of a kill's moments are in its
work.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)


class Ended(NamedTuple):
    """How a run ended: exit status, negative for a signal; what it wrote; seconds."""

    status: int
    output: str
    said: str
    seconds: float


class Running:
    """The program at work in a group of processes of its own."""

    def __init__(self, process: int, folder: Path, begun: float) -> None:
        self.process, self._folder, self.begun = process, folder, begun

    def wait(self, seconds: float = 600.0) -> Ended:
        """Wait for its end. Raises TimeoutError; the process is killed then."""
        while True:
            ended, status = os.waitpid(self.process, os.WNOHANG)
            if ended:
                break
            if time.perf_counter() - self.begun > seconds:
                os.killpg(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
                raise TimeoutError(f"it did not end in {seconds:.0f} s")
            time.sleep(0.002)
        spent = time.perf_counter() - self.begun
        output = (self._folder / "output").read_text(encoding="utf-8", errors="replace")
        said = (self._folder / "said").read_text(encoding="utf-8", errors="replace")
        return Ended(os.waitstatus_to_exitcode(status), output, said, spent)

    def signal(self, number: int) -> bool:
        """Send a signal to the process alone; False if it has ended."""
        try:
            os.kill(self.process, number)
        except ProcessLookupError:
            return False
        return True


def adopt_orphans() -> None:
    """Become the parent of processes whose parent is killed, so that they can be waited for."""
    ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0)


def left_of(group: int, seconds: float) -> list[int]:
    """Processes of a group that are there after so many seconds; returns when none is."""
    end = time.perf_counter() + seconds
    while True:
        _reap(group)
        left = [process for process in _processes() if _group(process) == group]
        if not left or time.perf_counter() > end:
            return left
        time.sleep(0.02)


def run(arguments: Sequence[str], folder: Path, prepare: Callable[[], object] = list) -> Ended:
    """Run the program to its end."""
    return start(arguments, folder, prepare).wait()


def start(arguments: Sequence[str], folder: Path, prepare: Callable[[], object] = list) -> Running:
    """Run the program with these arguments; ``prepare`` is called in its process before."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        _become(arguments, folder, prepare)
    return Running(process, folder, time.perf_counter())


def build_commands_once() -> None:
    """Let Typer build its tree of commands once for all forks."""
    import typer.main

    typer.main.get_command = functools.cache(typer.main.get_command)


def _become(arguments: Sequence[str], folder: Path, prepare: Callable[[], object]) -> None:
    status = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        for stream, name in ((1, "output"), (2, "said")):
            opened = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(opened, stream)
            os.close(opened)
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
        status = _status_of(arguments, prepare)
    finally:
        os._exit(status)


def _status_of(arguments: Sequence[str], prepare: Callable[[], object]) -> int:
    from egparse.cli.app import main

    sys.argv = ["egparse", *arguments]
    try:
        prepare()
        main()  # with its own standard streams and handlers of signals, as in a process of its own
        status = 0
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = status or 120  # as Python at its end
    return status


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _group(process: int) -> int:
    """The group of a process, 0 if it is gone or only waits to be waited for."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[2])


def _reap(group: int) -> None:
    try:
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
