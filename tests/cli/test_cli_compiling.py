"""When the program says that it compiles its kernels."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from cli.program import COMMAND, CORPORA, ENVIRONMENT, run_python

from egparse.cli.kernel_cache import NOTICE, cache_has_kernels


@pytest.mark.parametrize(
    ("file", "cache", "found"),
    [
        ("package/features/__pycache__/arcs.visit-1.py311.nbi", None, True),
        ("package/structures/chains/__pycache__/chain.forward-1.py311.nbi", None, True),
        ("package/structures/chains/__pycache__/chain.cpython-311.pyc", None, False),
        ("cache/chains_0123abcd/chain.forward-1.py311.nbi", "cache", True),
        ("cache/another_0123abcd/chain.forward-1.py311.nbi", "cache", False),
        ("package/structures/chains/__pycache__/chain.forward-1.py311.nbi", "cache", False),
    ],
)
def test_where_kernels_are_looked_for(
    tmp_path: Path, file: str, cache: str | None, found: bool
) -> None:
    module = tmp_path / "package" / "structures" / "chains" / "chain.py"
    for path in (module, tmp_path / file):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert cache_has_kernels(tmp_path / "package", tmp_path / cache if cache else None) is found


def test_the_first_run_says_so_before_it_compiles(tmp_path: Path) -> None:
    environment = ENVIRONMENT | {
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "NUMBA_DISABLE_JIT": "0",
    }
    corpus = str(CORPORA / "en_sample-train.conllu")
    command = [*COMMAND, "train", corpus, "--output", str(tmp_path / "m.msgpack")]
    begun = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        said = []
        while NOTICE not in said and time.monotonic() < begun + 60 and process.poll() is None:
            said.append(process.stderr.readline().rstrip("\n"))
        process.kill()  # compiling would take its time
    assert NOTICE in said


def test_interpreted_kernels_need_no_notice() -> None:
    program = (
        "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'\n"
        "from egparse.cli.kernel_cache import kernels_are_compiled; print(kernels_are_compiled())"
    )
    assert run_python(program).stdout == "True\n"
