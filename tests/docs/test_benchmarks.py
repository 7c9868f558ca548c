"""Benchmarks start: what they import exists, and they explain their options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from house.package import ROOT

NEEDS = {"chunking": "pycrfsuite"}
SCRIPTS = sorted(
    path
    for path in (ROOT / "benchmarks").rglob("*.py")
    if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_explains_itself(path: Path) -> None:
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    command = [sys.executable, str(path), "--help"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: {path.name} [-h]")
    first_words = path.read_text(encoding="utf-8").removeprefix('"""').split()[:4]
    assert " ".join(first_words) in " ".join(done.stdout.split())
