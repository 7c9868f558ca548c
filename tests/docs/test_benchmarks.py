"""Benchmarks start: what they import exists, and they explain their options."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from house.package import ROOT

NEEDS = {"chunking": "pycrfsuite"}
SCRIPTS = sorted(
    path
    for path in (ROOT / "benchmarks").rglob("*.py")
    if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
)


PROGRAM = """
import io, json, os, runpy, sys
from contextlib import redirect_stdout

said = {}
modules, path = set(sys.modules), list(sys.path)
for script in sys.argv[1:]:
    beside = os.path.dirname(script)
    sys.argv, sys.path = [script, "--help"], [beside, *path]
    with redirect_stdout(io.StringIO()) as out:
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as left:
            status = left.code
    said[script] = (status, out.getvalue())
    for name in set(sys.modules) - modules:  # modules beside a script may be named alike elsewhere
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(beside):
            del sys.modules[name]
print(json.dumps(said))
"""
"""All in one process: most of the time goes to what they import."""


def test_benchmarks_explain_themselves() -> None:
    scripts = {
        str(path): path.read_text(encoding="utf-8").removeprefix('"""').split()[:4]
        for path in SCRIPTS
        if path.stem not in NEEDS or find_spec(NEEDS[path.stem])
    }
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    command = [sys.executable, "-c", PROGRAM, *scripts]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    said = json.loads(done.stdout)
    assert said.keys() == scripts.keys()
    assert [
        (script, status, text)
        for script, (status, text) in said.items()
        if status
        or not text.startswith(f"usage: {Path(script).name} [-h]")
        or " ".join(scripts[script]) not in " ".join(text.split())
    ] == []
