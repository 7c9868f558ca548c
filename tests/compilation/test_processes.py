"""Processes that share compiled kernels, whose sources change, or that have no place for them."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import egparse

pytestmark = pytest.mark.compiled_only

INNER = """
from egparse.compilation import njit

FACTOR = 2.0

@njit
def times(number):
    return FACTOR * number

@njit(separate=True)
def add_times(number, sums):
    sums[0] += times(number)
"""

OUTER = """
from egparse.compilation import njit
from egparse.inner import add_times

@njit
def total(array, sums):
    for r in range(array.shape[0]):
        add_times(array[r], sums)
    return sums[0]

@njit
def difference(pair):
    return pair.left - pair.right
"""

PAIRS = """
from typing import NamedTuple

class Pair(NamedTuple):
    left: float
    right: float
"""

PROGRAM = """
import sys
import numpy as np
from egparse import outer, pairs
from egparse.compilation import variants

compiled = []
variants.listeners.append(compiled.append)
{before_the_call}
print(outer.total(np.arange(4.0), np.zeros(1)), outer.difference(pairs.Pair(left=5.0, right=2.0)))
print(len(compiled), "numba" in sys.modules)
"""

RESULTS = "12.0 3.0"
COMPILED, FOUND = f"{RESULTS}\n3 True\n", f"{RESULTS}\n0 False\n"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, with kernels of which one calls another."""
    folder = tmp_path_factory.mktemp("copy") / "egparse"
    ignored = shutil.ignore_patterns("__pycache__", "compiled", "models_data")
    shutil.copytree(Path(egparse.__file__).parent, folder, ignore=ignored)
    (folder / "outer.py").write_text(OUTER, encoding="utf-8")
    (folder / "inner.py").write_text(INNER, encoding="utf-8")
    (folder / "pairs.py").write_text(PAIRS, encoding="utf-8")
    return folder


class Trial:
    """Runs processes that call the kernels."""

    def __init__(self, package: Path, kernels: Path) -> None:
        self.package = package
        self.kernels = kernels
        self.environment = os.environ | {
            "PYTHONPATH": str(package.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
            "EGPARSE_KERNELS": str(kernels),
            "NUMBA_DISABLE_JIT": "0",
            "EGPARSE_JIT": "0",
        }

    def start(
        self, before_the_call: str = "", prepare: Callable[[], None] | None = None
    ) -> subprocess.Popen[str]:
        """A process that calls them."""
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(before_the_call=before_the_call)],
            env=self.environment,
            cwd=self.package.parent,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=prepare,
        )

    def run(self, before_the_call: str = "", prepare: Callable[[], None] | None = None) -> str:
        """Results, the number of compiled kernels, and whether numba was imported."""
        return output_of(self.start(before_the_call, prepare))

    def rewrite(self, file: str, old: str, new: str) -> None:
        """Change a source."""
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def trial(package: Path, tmp_path: Path) -> Trial:
    return Trial(package, tmp_path / "kernels")


def output_of(process: subprocess.Popen[str]) -> str:
    """What a process printed; it ends well."""
    printed, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return printed


def test_what_one_process_compiles_the_next_one_finds(trial: Trial) -> None:
    assert [trial.run(), trial.run()] == [COMPILED, FOUND]


def test_changed_sources_are_compiled_anew(trial: Trial) -> None:
    trial.run()
    trial.rewrite("inner.py", "FACTOR = 2.0", "FACTOR = 3.0")
    changed = trial.run()
    trial.rewrite("inner.py", "FACTOR = 3.0", "FACTOR = 2.0")
    assert changed == "18.0 3.0\n3 True\n"


@pytest.mark.nightly
def test_kernels_that_are_called_are_compiled_anew_if_they_are_gone(trial: Trial) -> None:
    """``add_times`` has a file of its own."""
    trial.run()
    files = sorted(trial.kernels.rglob("*.kernel"))
    assert len(files) == 3
    compiled = []
    for file in files:
        file.unlink()
        results, count = trial.run().splitlines()
        assert results == RESULTS
        compiled.append(count)
    assert sorted(compiled) == ["1 True", "1 True", "2 True"]
    assert trial.run() == FOUND


@pytest.mark.nightly
def test_a_changed_class_of_arguments_is_compiled_anew(trial: Trial) -> None:
    """The module of the kernel does not import it, and the types are what they were."""
    trial.run()
    fields = "    left: float\n    right: float"
    turned = "    right: float\n    left: float"
    trial.rewrite("pairs.py", fields, turned)
    changed = trial.run()
    trial.rewrite("pairs.py", turned, fields)
    assert changed == f"{RESULTS}\n1 True\n"


@pytest.mark.nightly
def test_sources_that_change_after_they_were_imported_are_not_taken_for_those(trial: Trial) -> None:
    """A process that runs while its package is edited or upgraded."""
    edit = "import pathlib; path = pathlib.Path(outer.__file__).with_name('inner.py'); "
    edit += "path.write_text(path.read_text().replace('= 2.0', '= 3.0'))"
    assert trial.run(edit) == COMPILED
    changed = trial.run()
    trial.rewrite("inner.py", "FACTOR = 3.0", "FACTOR = 2.0")
    assert changed == "18.0 3.0\n3 True\n"


@pytest.mark.nightly
def test_modules_that_are_loaded_anew_have_new_code(trial: Trial) -> None:
    """As by those who edit the package while an interpreter runs."""
    trial.run()
    load_anew = (
        "outer.total(np.arange(4.0), np.zeros(1)); import importlib, pathlib, egparse.inner; "
        "path = pathlib.Path(egparse.inner.__file__); "
        "path.write_text(path.read_text().replace('= 2.0', '= 3.0')); "
        "importlib.reload(egparse.inner); importlib.reload(outer)"
    )
    changed = trial.run(load_anew)
    trial.rewrite("inner.py", "FACTOR = 3.0", "FACTOR = 2.0")
    assert changed == "18.0 3.0\n3 True\n"
    assert trial.run() == FOUND


def test_processes_that_compile_the_same_at_once_do_no_harm(trial: Trial) -> None:
    processes = [trial.start() for _ in range(2)]
    assert {output_of(process).splitlines()[0] for process in processes} == {RESULTS}
    assert trial.run() == FOUND


def write_no_files() -> None:
    """What a full disk does, done by the system: each write to a file is an OSError."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_kernels_that_cannot_be_written_are_used_all_the_same(trial: Trial) -> None:
    assert trial.run(prepare=write_no_files) == COMPILED
    assert not [path for path in trial.kernels.rglob("*") if path.is_file() and path.stat().st_size]
    assert [trial.run(), trial.run()] == [COMPILED, FOUND]


@pytest.mark.parametrize("kind", [pytest.param("no folder", marks=pytest.mark.nightly), "a file"])
def test_without_a_place_for_kernels_each_process_compiles(trial: Trial, kind: str) -> None:
    """As in a container with a read-only installation and no home."""
    place = Path("/proc/none") if kind == "no folder" else trial.kernels
    if kind == "a file":
        place.touch()
    before = sorted(trial.package.rglob("*"))
    trial.environment |= {"HOME": str(place)}
    if kind == "a file":
        trial.environment |= {"EGPARSE_KERNELS": str(place)}
    else:
        trial.environment |= {"EGPARSE_KERNELS": "", "XDG_CACHE_HOME": ""}
    assert [trial.run(), trial.run()] == [COMPILED, COMPILED]
    assert sorted(trial.package.rglob("*")) == before


FREED = """
import ctypes
import numpy as np
from egparse.compilation import variants
from egparse.outer import total
total(np.ones(3), np.zeros(1))
variants._kept[:] = [one for one in variants._kept if not isinstance(one, tuple)]
filler = [(ctypes.c_char * 32).from_buffer_copy(b"\\xff" * 32) for _ in range(10_000)]
total._variants = ()
print("freed")
"""


def test_functions_outlive_what_links_them(trial: Trial) -> None:
    """An interpreter that ends frees modules in an order that nobody knows."""
    process = subprocess.Popen(
        [sys.executable, "-c", FREED],
        cwd=trial.package.parent,
        env=trial.environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert output_of(process) == "freed\n"
