"""Other users of numba in the same process, which share its functions with kernels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.compiled_only

PROGRAM = """
import sys
import numba
import numpy as np
from egparse.compilation import njit

def in_the_middle(array):
    return np.median(array)

def of_a_row(array):
    table = array.copy().reshape(2, -1)
    table[0] = table[1]
    return table.sum()

array = np.array([4.0, 1.0, 3.0, 2.0])
for function in (in_the_middle, of_a_row):
    ways = {"kernel": njit(function), "numba": numba.njit(function)}
    found = [ways[name](array) for name in sys.argv[1:]]
    assert np.allclose(found, function(array)), (function, found)
print("equal")
"""


@pytest.mark.nightly
@pytest.mark.parametrize("order", [("kernel", "numba"), ("numba", "kernel")])
def test_either_may_come_first(order: tuple[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *order],
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "EGPARSE_KERNELS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stderr
