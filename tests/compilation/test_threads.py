"""Threads that call kernels at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from compilation import small_kernels

from egparse.compilation import njit, variants

pytestmark = pytest.mark.compiled_only

THREADS = 8


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that are compiled meanwhile."""
    seen: list[str] = []
    monkeypatch.setattr(variants, "listeners", [seen.append])
    return seen


def test_a_first_call_of_many_threads_compiles_once(compiled: list[str]) -> None:
    add: Any = njit(small_kernels.add.py_func)  # type: ignore[attr-defined]
    begin = threading.Barrier(THREADS)

    def call(number: int) -> list[float]:
        begin.wait()
        return [add(number, k) for k in range(100)]

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(call, range(THREADS)))
    assert found == [[n + k for k in range(100)] for n in range(THREADS)]
    assert compiled == ["compilation.small_kernels.add"]


def test_first_calls_with_other_types_lose_no_variant(compiled: list[str]) -> None:
    total: Any = njit(small_kernels.total.py_func)  # type: ignore[attr-defined]
    begin = threading.Barrier(THREADS)
    types = ["f8", "f4", "i8", "i4", "i2", "i1", "u2", "u1"]

    def call(element: str) -> float:
        array = np.arange(5).astype(element)
        begin.wait()
        return sum(float(total(array)) for _ in range(100))

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(call, types)) == [1000.0] * THREADS
    assert len(compiled) == THREADS
    for element in types:
        total(np.arange(5).astype(element))
    assert len(compiled) == THREADS
    assert len(total._variants) == THREADS


def test_kernels_let_other_threads_run() -> None:
    """The kernel ends when another thread says so; otherwise after counting for seconds."""
    flag, beats, limit = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), 10**10
    small_kernels.wait_for(flag, beats, 0)  # compiles
    waiting = threading.Thread(target=small_kernels.wait_for, args=(flag, beats, limit))
    waiting.start()
    while beats[0] == 0:
        pass
    flag[0] = 1
    waiting.join()
    assert 0 < beats[0] < limit
