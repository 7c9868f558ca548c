"""The program as a user runs it: its output, its exit code."""

from __future__ import annotations

import io
import os
import pty
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from egparse.cli.app import main
from egparse.cli.notices import NOTICE
from egparse.compilation import variants

ROOT = Path(__file__).resolve().parents[2]
CORPORA = ROOT / "corpora"
CONFIGS = ROOT / "configs"

COMMAND = (sys.executable, "-m", "egparse")


def words_of(command: object = "", *arguments: object) -> list[str]:
    """The words of a command line, whose beginning may be written as in a shell."""
    return [*shlex.split(str(command)), *map(str, arguments)]


ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"}


def run(
    *arguments: object, text: str | None = None, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run ``egparse`` with these arguments in this process, as importing it all for each takes a
    second, and check its exit code.

    The streams are no terminals, and warnings are errors, as in all tests.
    """
    output, said = captured_stream(), captured_stream()
    given = io.TextIOWrapper(io.BytesIO((text or "").encode()), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", given)
        patch.setattr(variants, "listeners", [])  # an earlier command may still announce
        patch.setenv("COLUMNS", ENVIRONMENT["COLUMNS"])
        with redirect_stdout(output), redirect_stderr(said), pytest.raises(SystemExit) as left:
            main(words_of(*arguments))
    written, errors = text_of(output), text_of(said)
    assert (left.value.code or 0) == status, errors
    return subprocess.CompletedProcess(arguments, status, written, errors)


def captured_stream() -> io.TextIOWrapper:
    """A stream for text and bytes, as standard output is."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def text_of(stream: io.TextIOWrapper) -> str:
    """What was written to it."""
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


def run_process(
    *arguments: object, text: str | None = None, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run ``egparse`` in a process of its own and check its exit code; there is never a
    traceback.
    """
    command = [*COMMAND, *words_of(*arguments)]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


def without(*packages: str) -> str:
    """Lines of Python after which these packages cannot be imported, and ``main`` is there."""
    return f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
from egparse.cli.app import main
"""


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    """Run a few lines of Python around the program."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)


def on_terminal(*arguments: object, columns: int = 80, before: str = "") -> str:
    """What a terminal shows of standard error of ``egparse``, in a process of its own after some
    lines of Python.
    """
    controller, terminal = pty.openpty()
    program = f"{before}\nimport sys\nfrom egparse.cli.app import main\nmain(sys.argv[1:])"
    environment = ENVIRONMENT | {"COLUMNS": str(columns), "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-c", program, *words_of(*arguments)],
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        env=environment,
    ) as process:
        os.close(terminal)
        shown = b""
        with suppress(OSError):  # how Linux says that the other end is closed
            while piece := os.read(controller, 65536):
                shown += piece
    os.close(controller)
    assert process.returncode == 0, shown
    return shown.decode()


def complaint(*arguments: object) -> str:
    """What ``egparse`` says when it exits with 2: one line, and nothing on standard output."""
    done = run(*arguments, status=2)
    assert done.stdout == ""
    (line,) = (line for line in done.stderr.splitlines() if line != NOTICE)
    assert line.startswith("egparse: ")
    return line.removeprefix("egparse: ")


def first_sentences(source: Path, count: int, target: Path) -> Path:
    """A file with the first sentences of a corpus."""
    blocks = source.read_text(encoding="utf-8").split("\n\n")[:count]
    target.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    return target
