"""Ctrl-C, SIGTERM and SIGHUP end the program at once, and nothing temporary is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli.program import ENVIRONMENT

PROGRAM = """
import sys, time
from egparse.cli import process as signals
from egparse.storage.files import open_atomically
signals.end_on_signals()
signals.PATIENCE = 0.2
with open_atomically(sys.argv[1]) as stream:
    stream.write("half")
    stream.flush()
    print("ready", flush=True)
    {body}
"""

SLEEP = "print('written', end=''); time.sleep(60)"
COMPUTE = "import hashlib; hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)"
"""Takes minutes in one instruction of Python, as a kernel may."""

SAID = {signal.SIGINT: b"egparse: interrupted\n", signal.SIGTERM: b"", signal.SIGHUP: b""}


def heed_signals() -> None:
    """A shell's background jobs ignore SIGINT, and so would what they start."""
    for number in SAID:
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def running(body: str, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """A program that has begun to write a file."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(body=body), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # what follows the first line is left to the test
        env=ENVIRONMENT,
        preexec_fn=heed_signals,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("before")
    return path


@pytest.mark.parametrize("number", SAID, ids=lambda number: number.name)
def test_a_signal_ends_the_program_and_removes_what_it_was_writing(
    file: Path, number: signal.Signals
) -> None:
    with running(SLEEP, file) as process:
        time.sleep(0.05)  # what is printed before the sleep
        process.send_signal(number)
        written, said = process.communicate(timeout=20)
    assert (process.returncode, written, said) == (128 + number, b"written", SAID[number])
    assert list(file.parent.iterdir()) == [file]
    assert file.read_text() == "before"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_long_computation_does_not_delay_a_signal(file: Path, number: signal.Signals) -> None:
    with running(COMPUTE, file) as process:
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (128 + number, SAID[number])
    assert list(file.parent.iterdir()) == [file]


def test_two_interrupts_are_as_one(file: Path) -> None:
    with running(SLEEP, file) as process:
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, SAID[signal.SIGINT])


def test_a_second_interrupt_while_the_first_is_handled_ends_the_program(file: Path) -> None:
    body = """
    remove, again = signals.remove_unfinished, [__import__("signal").raise_signal]
    def remove_interrupted():
        while again:
            again.pop()(2)
        remove()
    signals.remove_unfinished = remove_interrupted
    time.sleep(60)
"""
    with running(body, file) as process:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, SAID[signal.SIGINT])
    assert list(file.parent.iterdir()) == [file]


def test_an_interrupt_waits_for_the_end_of_what_must_not_be_interrupted(file: Path) -> None:
    body = """
    with signals.uninterrupted():
        signal = __import__("signal")
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.5)
        print("saved", flush=True)
    time.sleep(60)
"""
    with running(body, file) as process:
        written, said = process.communicate(timeout=20)
    assert (process.returncode, written, said) == (130, b"saved\n", SAID[signal.SIGINT])


def test_training_gets_an_exception_that_it_can_handle(file: Path) -> None:
    body = """
    try:
        with signals.interruptible():
            signal = __import__("signal")
            signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        print("handled", flush=True)
    stream.write(" and whole")
"""
    with running(body, file) as process:
        written, said = process.communicate(timeout=20)
    assert (process.returncode, written, said) == (0, b"handled\n", b"")
    assert file.read_text() == "half and whole"


def test_processes_end_with_the_program_even_if_they_are_stopped(file: Path) -> None:
    body = """
    import multiprocessing
    worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    worker.start()
    print(worker.pid, flush=True)
    time.sleep(60)
"""
    with running(body, file) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        os.kill(worker, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        deadline = time.monotonic() + 20
        while is_alive(worker):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert process.returncode == 130


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # a zombie, where nobody waits for it


def test_what_is_ignored_stays_ignored(file: Path) -> None:
    program = f"import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n{PROGRAM}"
    body = "__import__('os').kill(__import__('os').getpid(), signal.SIGHUP)"
    command = [sys.executable, "-c", program.format(body=body), str(file)]
    done = subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT)
    assert done.stdout == b"ready\n"
    assert file.read_text() == "half"


@pytest.mark.parametrize("module", ["egparse.__main__", "egparse.cli.app"])
def test_an_interrupt_while_the_program_is_imported_is_no_traceback(module: str) -> None:
    program = f"""
import importlib.abc, os, signal, sys
class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *rest):
        if name == "egparse.cli.commands.visualize":
            os.kill(os.getpid(), signal.SIGINT)
if "{module}" == "egparse.__main__":
    sys.meta_path.insert(0, Interrupt())
from {module} import main
sys.argv = ["egparse", "--version"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        env=ENVIRONMENT,
        check=False,
        preexec_fn=heed_signals,
    )
    expected = (130, SAID[signal.SIGINT]) if module == "egparse.__main__" else (0, b"")
    assert (done.returncode, done.stderr) == expected
