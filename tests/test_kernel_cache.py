"""Compiled kernels in a cache that several processes fill at the same time."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

KERNEL = """
from egparse.compilation import njit

@njit
def double(value):
    return value + value
"""

USE = """
import sys
import numpy as np
from kernel import double

for name in sys.argv[1:]:
    value = np.dtype(name).type(21)
    assert double(value) == 42, name
print(sum(double.stats.cache_hits.values()), sum(double.stats.cache_misses.values()))
"""

TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "float32", "float64")


def started(
    folder: Path, *types: str, prepare: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    """A process that calls the kernel with values of these types."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, "-c", USE, *types]
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=prepare,
    )


@pytest.mark.compiled_only
def test_processes_that_save_versions_of_one_kernel_at_once_lose_none(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL, encoding="utf-8")
    turns = [TYPES[k:] + TYPES[:k] for k in range(0, len(TYPES), 2)]
    processes = [started(tmp_path, *types) for types in turns]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    last = started(tmp_path, *TYPES)
    counts, said = last.communicate(timeout=120)
    assert last.returncode == 0, said
    assert counts.split() == [str(len(TYPES)), "0"]


@pytest.mark.compiled_only
def test_without_locks_kernels_are_cached_as_numba_does(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(
        "import filelock\n"
        "def refuse(self):\n"
        "    raise OSError('no locks here')\n"
        "filelock.FileLock.acquire = refuse\n" + KERNEL,
        encoding="utf-8",
    )
    for expected in ("0 1", "1 0"):
        counts, said = started(tmp_path, "int64").communicate(timeout=120)
        assert counts.split() == expected.split(), said


def write_no_files() -> None:
    """What a full disk does, done by the system: each write to a file is an OSError."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.compiled_only
def test_a_kernel_that_cannot_be_saved_is_used_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL, encoding="utf-8")
    for prepare, expected in ((write_no_files, "0 1"), (None, "0 1"), (None, "1 0")):
        counts, said = started(tmp_path, "int64", prepare=prepare).communicate(timeout=120)
        assert counts.split() == expected.split(), said
