"""Memory and counts of references: what calls leave behind, and what happens without memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compilation import small_kernels
from compilation.small_kernels import Nested, Pair

from egparse.compilation import njit

pytestmark = pytest.mark.compiled_only

CALLS = 100_000
ALLOWED = 64 << 20
"""Bytes. A leak of one array of a call is more than ten times as much."""


def most_memory() -> int:
    """The most memory that this process has had, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def test_arrays_that_are_returned_are_freed() -> None:
    pair = Pair(np.zeros(1000), np.zeros(1000, dtype=np.int64), 0.5)
    small_kernels.twice(1000), small_kernels.scaled(pair)
    before = most_memory()
    for _ in range(CALLS):
        small_kernels.twice(1000)
        small_kernels.scaled(pair)
    assert most_memory() - before < ALLOWED


def test_arrays_within_a_kernel_are_freed() -> None:
    array, pair = np.zeros(1000), Pair(np.zeros(1), np.zeros(1000, dtype=np.int64), 0.5)
    small_kernels.rearranged(array, 4), small_kernels.fill_both(array, pair)
    before = most_memory()
    for _ in range(CALLS):
        small_kernels.rearranged(array, 4)
        small_kernels.fill_both(array, pair)
    assert most_memory() - before < ALLOWED


def objects_in(value: Any) -> list[Any]:
    """A value, its items and their items."""
    items = value if isinstance(value, tuple) else ()
    return [value, *(inner for item in items for inner in objects_in(item))]


@pytest.mark.parametrize("is_taken", [True, False])
def test_references_to_arguments_are_as_before(is_taken: bool) -> None:
    numbers = np.arange(1000.0)
    pair = Pair(numbers, np.arange(1000), 12345.5)
    arguments = (numbers, pair, Nested(pair, (123456, True), None), 1234567, 0.12345, (pair, None))
    watched = [*objects_in(arguments), NotImplemented, Pair, Nested, np.dtype(float)]
    function: Any = njit(small_kernels.echo.py_func)  # type: ignore[attr-defined]
    for argument in arguments:
        function(argument)
    # each variant takes one of the arguments; "none" is met last, so that it stands in front
    function(None)
    calls = 1000
    before = [sys.getrefcount(object_) for object_ in watched]
    for _ in range(calls):
        for argument in arguments:
            if is_taken:
                function(argument)
            else:
                assert function._variants[0](argument) is NotImplemented
    after = [sys.getrefcount(object_) for object_ in watched]
    for object_, one, other in zip(watched, before, after, strict=True):
        assert abs(other - one) < calls / 10, repr(object_)


def test_references_to_results_are_those_of_the_caller() -> None:
    array, again, _ = small_kernels.twice(10)
    assert array is not again
    fresh = np.zeros(10)
    assert sys.getrefcount(array) == sys.getrefcount(fresh)
    assert array.base is None
    assert array.flags.owndata


@pytest.mark.parametrize("size", [1 << 50, (1 << 60) - 1, 1 << 60, (1 << 63) - 1, -1])
def test_arrays_of_impossible_sizes_are_an_error(size: int) -> None:
    for kernel in (small_kernels.empty, small_kernels.empty_twice):
        with pytest.raises((RuntimeError, MemoryError)):
            kernel(size)


WITHOUT_MEMORY = """
import os, re, resource
from compilation.small_kernels import empty, empty_twice

SIZE = 32 << 20

def outcome(kernel, room):
    child = os.fork()
    if not child:
        used = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
        resource.setrlimit(resource.RLIMIT_AS, (used + int(room * SIZE * 8),) * 2)
        try:
            kernel(SIZE)
        except (RuntimeError, MemoryError) as error:
            os._exit(1 if isinstance(error, RuntimeError) else 2)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

for kernel in (empty, empty_twice):
    kernel(1)
    print(*[outcome(kernel, room + 0.5) for room in range(5)])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does")
def test_without_memory_there_is_an_error(tmp_path: Path) -> None:
    """From a kernel that cannot make its array: 1; from numpy that cannot make its copy: 2. An
    array is freed once it is copied, so that two arrays and their copies need room for three.
    """
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_MEMORY],
        env={"PYTHONPATH": f"{root}:{root / 'tests'}", "EGPARSE_KERNELS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "1 2 0 0 0\n1 1 2 0 0\n"), done.stderr
