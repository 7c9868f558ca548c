"""Kernels that numba compiles, links and calls by itself, where this package cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compilation import small_kernels
from compilation.small_kernels import Nested, Pair

from egparse.compilation import interpreter, njit, stored, variants
from egparse.structures import logsumexp

pytestmark = pytest.mark.compiled_only


def test_compiled_kernels_know_this_interpreter() -> None:
    assert interpreter.is_known()


@pytest.mark.parametrize("reason", ["asked for", "unknown interpreter"])
def test_it_gives_the_same(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("neither read nor written")

    pair = Pair(np.arange(3.0), np.arange(2), 0.5)
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (small_kernels.add, (1, 0.5)),
        (small_kernels.add, (1, 2)),
        (small_kernels.total, (np.arange(6.0)[::2],)),
        (small_kernels.scaled, (pair,)),
        (small_kernels.size_of, (Nested(pair, (1, True), None),)),
        (small_kernels.rearranged, (np.linspace(-1, 1, 6), 3)),
        (logsumexp.log_sum, (np.log([1.0, 2.0, 3.0]),)),
    ]
    expected = [kernel(*arguments) for kernel, arguments in calls]
    announced: list[str] = []
    monkeypatch.setattr(variants, "listeners", [announced.append])
    monkeypatch.setattr(stored, "read", refuse)
    monkeypatch.setattr(stored, "write", refuse)
    if reason == "asked for":
        monkeypatch.setattr(variants, "JUST_IN_TIME", True)
    else:
        monkeypatch.setattr(interpreter, "is_known", lambda: False)
    found = [njit(kernel.py_func)(*arguments) for kernel, arguments in calls]
    for one, other in zip(found, expected, strict=True):
        assert repr(one) == repr(other)
    assert len(announced) == len(calls)
