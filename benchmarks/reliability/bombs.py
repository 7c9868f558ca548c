"""Files that are small and become huge, and files of hardly anything but empty lines, through
``parse``: it ends with status 0, or with status 2 and one line, in bounded memory.

Usage: python benchmarks/reliability/bombs.py [--megabytes 256] [--at-most MINUTES] [--json FILE]
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from findings import ROOT, finish, parser_for
from small_model import train_small_model

from egparse.errors import EgparseError
from egparse.io.compression import compressor_of

MOST_MEMORY = 700
"""Megabytes of a process: a model, its kernels, and a block of the longest kind."""

PATIENCE = 600.0
"""Seconds on the wall."""

ROW = b"%d\tA\ta\tDET\t_\t_\t0\troot\t_\t_\n"
PATTERNS = {
    "empty lines": b"\n" * 1000,
    "blanks": b" " * 1000,
    "one line": b"a" * 1000,
    "NUL": b"\0" * 1000,
    "comments": b"# text = a\n" * 100,
    "rows": (ROW % 1) * 50,
}
SENTENCES = {
    "conllu": ROW % 1,
    "conll2003": b"A DT O O\n",
    "text": b"A\n",
}


class Run(NamedTuple):
    """The end of a process: status, what it wrote, its peak memory in MB, CPU seconds."""

    status: int
    output: bytes
    said: str
    megabytes: float
    seconds: float


def run(*arguments: object) -> Run:
    """Run the program."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "egparse", *map(str, arguments)],
            stdout=output,
            stderr=said,
            env=environment,
        )
        begun = time.monotonic()
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            if time.monotonic() - begun > PATIENCE:
                process.kill()
            time.sleep(0.05)
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (output, said):
            file.seek(0)
        seconds = usage.ru_utime + usage.ru_stime
        texts = output.read(), said.read().decode(errors="replace")
        return Run(process.returncode, *texts, usage.ru_maxrss / 1024, seconds)


def judged(done: Run) -> list[str]:
    """What is wrong with a run."""
    lines = [line for line in done.said.splitlines() if "Compiling" not in line]
    wrong = [f"status {done.status}: {lines[-1:]}"] if done.status not in (0, 2) else []
    if done.status == 2 and not (lines and lines[-1].startswith("egparse: ")):
        wrong.append(f"no message: {lines[-1:]}")
    if "Traceback" in done.said:
        wrong.append(f"a traceback: {lines[-1:]}")
    if done.megabytes > MOST_MEMORY:
        wrong.append(f"{done.megabytes:,.0f} MB of memory")
    return wrong


def bombs(folder: Path, megabytes: int) -> Iterator[Path]:
    """Compressed files of a repeated pattern, after a sentence or not."""
    for name, suffix in itertools.product(PATTERNS, (".gz", ".bz2", ".xz", ".zst")):
        pattern = PATTERNS[name]
        try:
            compressor = compressor_of(f"a{suffix}")
        except EgparseError:  # a compression that this Python lacks
            continue
        assert compressor is not None
        part = compressor()
        piece = pattern * ((1 << 20) // len(pattern))
        path = folder / f"{name}{suffix}"
        with path.open("wb") as file:
            for _ in range(megabytes):
                file.write(part.compress(piece))
            file.write(part.flush())
        yield path
        path.unlink()


def main() -> None:
    """Run all, and report."""
    parser = parser_for(__doc__, seed=False)
    parser.add_argument("--megabytes", type=int, default=256, help="of each, decompressed")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.at_most
    figures: Counter[str] = Counter()
    failures: list[str] = []
    most = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        model = train_small_model(folder)
        for format, sentence in SENTENCES.items():
            figures["files of a million empty lines"] += 1
            path = folder / "empty.in"
            path.write_bytes(sentence + b"\n" * 1_000_000 + sentence)
            done = run("parse", model, path, "--format", format, "--quiet")
            most = max(most, done.megabytes)
            wrong = judged(done)
            words = done.output.count(b"A DT") + done.output.count(b"1\tA\t")
            if done.status or words != 2:
                wrong.append(f"status {done.status}, other output: {done.output[:80]!r}")
            failures += [f"a million empty lines, {format}: {one}" for one in wrong]
        for path in bombs(folder, options.megabytes):
            for format in ("auto", "conllu", "text"):
                if time.monotonic() > end:
                    break
                done = run("parse", model, path, "--format", format, "--quiet", "-o", os.devnull)
                figures["bombs"] += 1
                figures["bombs accepted" if done.status == 0 else "bombs refused"] += 1
                most = max(most, done.megabytes)
                where = f"{path.name}, {format} ({done.seconds:.0f} CPU s)"
                failures += [f"{where}: {one}" for one in judged(done)]
    finish({**figures, "most memory, MB": most}, failures, options.json)


if __name__ == "__main__":
    main()
