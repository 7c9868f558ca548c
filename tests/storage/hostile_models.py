"""Crafted model files in a process that loads them and annotates: what they may never do.

As a program (``python -m storage.hostile_models RUNS``, by ``tests/soak --models RUNS``) it tries
mutants of a small model, of one with other parts and of the shipped one.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from storage.mutations import Mutant, copy_of, mutants
from storage.small_model import other_model, small_model

from egparse.storage.model_file import read_model

TESTS = Path(__file__).resolve().parents[1]
SECONDS = 10.0
COMPILING_SECONDS = 300.0
BYTES = 80_000_000
"""A model may take this memory besides ten times the size of its file: ``Allowance.ROOM``."""

SHIPPED = Path(__file__).resolve().parents[2] / "models" / "en_ewt.msgpack"


STEP = 500
"""After so many mutants of a model their outcomes are told."""


class Run(NamedTuple):
    """What became of a mutant; ``outcome`` is ``accepted`` or ``refused``, or else a fault."""

    outcome: str
    text: str
    seconds: float
    bytes: int


class AnnotatingProcess:
    """``annotating_process``, started anew after it has crashed or hung."""

    def __init__(self, sound: Path) -> None:
        self.sound = sound
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> AnnotatingProcess:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def run(self, path: Path, seconds: float | None = None) -> Run:
        """Load and annotate, in so many seconds or ``SECONDS``."""
        if self._process is None:
            self._start()
        seconds = SECONDS if seconds is None else seconds
        line = self._answer(path, seconds)
        if line is None:
            self._stop()
            return Run("hang", f"more than {seconds} s", seconds, 0)
        if not line:
            status = self._stop()
            return Run("crash", f"ended with status {status}", 0.0, 0)
        return Run(**json.loads(line))

    def _answer(self, path: Path, seconds: float | None) -> str | None:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(path, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return ""
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return None
        return self._process.stdout.readline()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "storage.annotating_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": f"{TESTS}:{TESTS.parent}"},
        )
        for _ in range(2):  # the first one loads or compiles kernels, however long that takes
            first = Run(**json.loads(self._answer(self.sound, None) or "{}"))
        assert first.outcome == "accepted", first.text

    def _stop(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        if process.poll() is None:
            process.kill()
        process.communicate()
        return process.returncode


def judged(run: Run, file_bytes: int) -> str:
    """What is wrong with a run, or ``""``."""
    if run.outcome not in ("accepted", "refused"):
        return f"{run.outcome}: {run.text}"
    if run.bytes > 10 * file_bytes + BYTES:
        return f"{run.bytes:,} bytes for a file of {file_bytes:,}"
    return ""


def try_mutants(
    header: dict[str, Any], payload: dict[str, Any], runs: int, seed: int, folder: Path
) -> tuple[collections.Counter[str], list[str], int]:
    """Outcomes by name, the faults, and the most bytes that a run took."""
    counts: collections.Counter[str] = collections.Counter()
    faults, most = [], 0
    sound = Mutant("sound", header, payload).write(folder / "sound.msgpack")
    with AnnotatingProcess(sound) as process:
        process.run(strict(header, payload).write(folder / "strict.msgpack"), COMPILING_SECONDS)
        for number, mutant in zip(range(runs), mutants(header, payload, seed), strict=False):
            path = mutant.write(folder / "mutant.msgpack")
            run = process.run(path)
            counts[run.outcome] += 1
            most = max(most, run.bytes)
            fault = judged(run, path.stat().st_size)
            if fault:
                faults.append(f"run {number}, {mutant.name}: {fault}")
            if number % STEP == STEP - 1:
                tell(f"... {dict(counts)}, {len(faults)} faults")
    return counts, faults, most


def strict(header: dict[str, Any], payload: dict[str, Any]) -> Mutant:
    """A parser that keeps no arc but the most probable one of each word. Its scaled probabilities
    vanish, so that logarithms take over, whose kernels may have to be compiled.
    """
    changed = copy_of(payload)
    if "pruning" in changed["parser"]:
        changed["parser"]["pruning"]["share"] = 1.0
    return Mutant("strict", header, changed)


def tell(*lines: str) -> None:
    """Print lines at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def main() -> int:
    """Try mutants of the models and print what became of them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("runs", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shipped", type=int, default=10, help="per cent of the shipped model")
    options = parser.parse_args()
    of_shipped = options.runs * options.shipped // 100
    of_other = options.runs // 10
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, model, runs in (
            ("small model", small_model(), options.runs - of_other - of_shipped),
            ("another", other_model(), of_other),
            (SHIPPED.name, read_model(SHIPPED), of_shipped),
        ):
            counts, faults, most = try_mutants(*model, runs, options.seed, Path(folder))
            outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
            tell(f"{name}: {runs} mutants: {outcomes}; at most {most / 1e6:.0f} MB each", *faults)
            status = status or bool(faults)
    return status


if __name__ == "__main__":
    sys.exit(main())
