"""What ``egparse parse --jobs`` gains over one process: one file, many small files, a compressed
file and standard input; corpora and text.

Runs with one job and with several take turns. For each kind of input there are wall-clock seconds,
the ratio of each pair (its median, and the range of all), without start-up too, and CPU seconds. Of
those of the run with several jobs the program's first process, which cuts the input and writes, is
told apart, as a share of its workers' and for a million words: that is what limits the number of
jobs. Outputs of all runs are compared.

Usage: python benchmarks/parse_jobs.py MODEL CORPUS.conllu [--pairs 5] [--copies 20] [--jobs 2]
       [--files 2000] [--kinds one,files,gz,stdin,text,text-files]
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

PROGRAM = """
import atexit, os, sys, time
from egparse.__main__ import main
def tell():
    here, below = time.process_time(), os.times()
    with open(os.environ["EGPARSE_TIMES"], "w") as stream:
        print(here, below.children_user + below.children_system, file=stream)
atexit.register(tell)
main()
"""


class Cost(NamedTuple):
    """Seconds of a run: by the clock, of the first process, and of its workers."""

    wall: float
    main: float
    workers: float


class Input(NamedTuple):
    """Arguments that name an input, and what standard input is."""

    arguments: list[str]
    stdin: Path | None = None


def cost_of(model: str, given: Input, output: list[str], jobs: int, folder: Path) -> Cost:
    """Run the program once."""
    command = [sys.executable, "-c", PROGRAM, "parse", model, *given.arguments]
    command += [*output, "--quiet", "--jobs", str(jobs)]
    times = folder / "times"
    environment = {**os.environ, "EGPARSE_TIMES": str(times)}
    with open(given.stdin or os.devnull, "rb") as stdin:
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdin=stdin, env=environment)
        wall = time.perf_counter() - begun
    main, workers = map(float, times.read_text().split())
    return Cost(wall, main, workers)


def content(path: Path) -> dict[str, bytes]:
    """What a run has written."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(one.relative_to(path)): one.read_bytes() for one in path.rglob("*.conllu")}


def texts_of(corpus: bytes) -> bytes:
    """The text of a corpus, ten sentences a paragraph."""
    lines = [line[9:] for line in corpus.splitlines() if line.startswith(b"# text = ")]
    return b"\n\n".join(b" ".join(lines[k : k + 10]) for k in range(0, len(lines), 10)) + b"\n"


def inputs_of(corpus: bytes, copies: int, files: int, folder: Path) -> dict[str, Input]:
    """An input of each kind, all of the same sentences."""
    text = texts_of(corpus) + b"\n"
    large, large_text = folder / "large.conllu", folder / "large.txt"
    large.write_bytes(corpus * copies)
    large_text.write_bytes(text * copies)
    packed = folder / "packed.conllu.gz"
    packed.write_bytes(gzip.compress(corpus * copies))
    sentences = (corpus * copies).rstrip(b"\n").split(b"\n\n")
    paragraphs = (text * copies).rstrip(b"\n").split(b"\n\n")
    for name, ending, parts in (("files", "conllu", sentences), ("texts", "txt", paragraphs)):
        (folder / name).mkdir()
        number = min(files, len(parts))
        for k in range(number):
            part = parts[k * len(parts) // number : (k + 1) * len(parts) // number]
            (folder / name / f"{k:07d}.{ending}").write_bytes(b"\n\n".join(part) + b"\n\n")
    return {
        "one": Input([str(large)]),
        "files": Input([str(folder / "files")]),
        "gz": Input([str(packed)]),
        "stdin": Input(["-"], large),
        "text": Input([str(large_text)]),
        "text-files": Input([str(folder / "texts")]),
    }


def measure(
    kind: str, run: Callable[[int], Cost], jobs: int, pairs: int, start: float, words: int
) -> None:
    """Run pairs and print a line."""
    ones, several = [], []
    for _ in range(pairs):
        ones.append(run(1))
        several.append(run(jobs))
    ratios = [a.wall / b.wall for a, b in zip(ones, several, strict=True)]
    net = [(a.wall - start) / (b.wall - start) for a, b in zip(ones, several, strict=True)]
    cpu = statistics.median(one.main + one.workers for one in ones)
    main = statistics.median(one.main for one in several)
    workers = statistics.median(one.workers for one in several)
    print(
        f"{kind:10}  {statistics.median(one.wall for one in ones):7.2f} s  "
        f"{statistics.median(one.wall for one in several):7.2f} s  "
        f"{statistics.median(ratios):5.2f} ({min(ratios):.2f}-{max(ratios):.2f})  "
        f"{statistics.median(net):5.2f}  {cpu:7.2f}  {workers:7.2f}  {main:6.2f}  "
        f"{100 * max(0.0, main - START_CPU[0]) / workers:5.1f} %  "
        f"{1e6 * max(0.0, main - START_CPU[0]) / words:6.2f}",
        flush=True,
    )


START_CPU = [0.0]
"""CPU seconds of the start of a process, for one sentence."""


def main() -> None:
    """Print a line for each kind of input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pairs", type=int, default=5, help="runs of each kind, in turn")
    parser.add_argument("--copies", type=int, default=20, help="copies of the corpus in an input")
    parser.add_argument("--files", type=int, default=2000, help="files of a folder")
    parser.add_argument("--jobs", type=int, default=2, help="compared with one process")
    parser.add_argument("--kinds", default="one,files,gz,stdin,text,text-files")
    options = parser.parse_args()
    corpus = options.corpus.read_bytes().rstrip(b"\n") + b"\n\n"
    words = options.copies * sum(line.split(b"\t")[0].isdigit() for line in corpus.splitlines())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = inputs_of(corpus, options.copies, options.files, folder)
        small = folder / "small.conllu"
        small.write_bytes(corpus.partition(b"\n\n")[0] + b"\n\n")
        output = ["--output", str(folder / "small.out")]
        starts = [cost_of(options.model, Input([str(small)]), output, 1, folder) for _ in range(3)]
        start = statistics.median(one.wall for one in starts)
        START_CPU[0] = statistics.median(one.main for one in starts)
        print(f"{words:,} words; load average {os.getloadavg()[0]:.1f}; start-up {start:.2f} s")
        print(
            f"{'input':10}  {'1 job':>9}  {options.jobs:>3} jobs   times faster        net"
            "      CPU s  workers    main   share  s a million words"
        )
        for kind in options.kinds.split(","):

            def run(jobs: int, kind: str = kind) -> Cost:
                target = folder / f"out{jobs}"
                if target.is_dir():
                    shutil.rmtree(target)
                else:
                    target.unlink(missing_ok=True)
                option = "--output-dir" if kind.endswith("files") else "--output"
                given = [option, str(target), "--force"]
                return cost_of(options.model, inputs[kind], given, jobs, folder)

            measure(kind, run, options.jobs, options.pairs, start, words)
            if content(folder / "out1") != content(folder / f"out{options.jobs}"):
                sys.exit(f"{kind}: the outputs differ")


if __name__ == "__main__":
    main()
