"""``egparse warm`` where kernels cannot be compiled."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
from cli.program import complaint

from egparse.compilation import stored, variants
from egparse.compilation.compiler import build

pytestmark = pytest.mark.compiled_only


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
            "egparse warm: {folder}: No space left on device; EGPARSE_KERNELS names another folder",
        ),
        (
            BrokenProcessPool("a process was terminated abruptly"),
            "egparse warm: a process that compiles was killed, perhaps for lack of memory; "
            "--jobs 1 takes less",
        ),
    ],
)
def test_what_ends_the_compilation_is_said_in_one_line(
    fault: Exception, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compile_all(*_: object) -> None:
        raise fault

    monkeypatch.setattr(build, "compile_all", compile_all)
    monkeypatch.setattr(variants, "find", lambda *_: None)
    for name in ("user_folder", "claim_user_folder"):
        monkeypatch.setattr(stored, name, lambda: tmp_path)
    assert complaint("warm", "--quiet") == expected.format(folder=tmp_path)


def test_no_worker_outlives_a_compilation_that_is_killed() -> None:
    program = """
        import os, signal, time
        from egparse.compilation.compiler import build
        if __name__ == "__main__":
            pool = build._pool(1)
            pool.submit(os.getpid).result()
            pool.submit(time.sleep, 600)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    # run() ends when the last process that has the standard output has ended, the worker too
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
