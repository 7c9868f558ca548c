"""When the program says that it compiles its kernels."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.program import ENVIRONMENT, run_python

from egparse.cli.notices import NOTICE, announce_compilation
from egparse.compilation import variants

PARSE = """
import pathlib, sys
from egparse.compilation import stored
stored.SHIPPED = pathlib.Path(sys.argv[1])
from egparse.cli.app import main
main(["parse", "en_ewt", "-"])
"""


@pytest.mark.compiled_only
def test_the_first_run_says_so_before_it_compiles(tmp_path: Path) -> None:
    environment = ENVIRONMENT | {
        "EGPARSE_KERNELS": str(tmp_path / "kernels"),
        "EGPARSE_JIT": "0",
        "NUMBA_DISABLE_JIT": "0",
    }
    command = [sys.executable, "-c", PARSE, str(tmp_path)]
    begun = time.monotonic()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("She waved.\n")
        process.stdin.close()
        said = []
        while NOTICE not in said and time.monotonic() < begun + 60 and process.poll() is None:
            said.append(process.stderr.readline().rstrip("\n"))
        process.kill()  # compiling would take its time
    assert NOTICE in said


def test_it_is_said_once_by_the_last_command(monkeypatch: pytest.MonkeyPatch) -> None:
    first: list[str] = []
    last: list[str] = []
    others: list[str] = []
    monkeypatch.setattr(variants, "listeners", [others.append])
    announce_compilation(first.append)
    announce_compilation(last.append)
    for kernel in ("one", "another"):
        for listen in variants.listeners:
            listen(kernel)
    assert (first, last, others) == ([], [NOTICE], ["one", "another"])


def test_interpreted_kernels_are_plain_functions() -> None:
    program = (
        "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'\n"
        "import sys; from egparse.structures.logsumexp import log_add\n"
        "print(type(log_add).__name__, round(log_add(0.0, 0.0), 3), 'numba' in sys.modules)"
    )
    assert run_python(program).stdout == "function 0.693 False\n"
