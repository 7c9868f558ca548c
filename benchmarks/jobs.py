"""What ``egparse parse --jobs 2`` gains over one process: wall-clock and CPU seconds, medians of
runs that take turns.

CPU seconds are those of all processes of a run, and of the one that splits and writes; where other
programs keep the processors busy, the wall clock says little and they say what the work costs.

Usage: python benchmarks/jobs.py MODEL CORPUS.conllu [--pairs 5] [--copies 4] [--jobs 2]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """Seconds of a run."""

    wall: float
    cpu: float


def cost_of(model: str, corpus: Path, output: Path, jobs: int) -> Cost:
    """Run the program once."""
    command = [
        sys.executable,
        "-m",
        "egparse",
        "parse",
        model,
        str(corpus),
        "-o",
        str(output),
        "-q",
        "-j",
        str(jobs),
    ]
    before, begun = os.times(), time.perf_counter()
    subprocess.run(command, check=True)
    wall, after = time.perf_counter() - begun, os.times()
    used = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return Cost(wall, used)


def main() -> None:
    """Print a line a number of jobs, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pairs", type=int, default=5, help="runs of each kind, in turn")
    parser.add_argument("--copies", type=int, default=4, help="copies of the corpus in the input")
    parser.add_argument("--jobs", type=int, default=2, help="compared with one process")
    options = parser.parse_args()
    model, source, jobs = options.model, options.corpus, options.jobs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, empty = folder / "corpus.conllu", folder / "one.conllu"
        corpus.write_bytes(source.read_bytes() * options.copies)
        empty.write_bytes(source.read_bytes().partition(b"\n\n")[0] + b"\n\n")
        costs: dict[int, list[Cost]] = {1: [], jobs: []}
        start = statistics.median(cost_of(model, empty, folder / "out", 1).wall for _ in range(3))
        for _ in range(options.pairs):
            for number, own in costs.items():
                own.append(cost_of(model, corpus, folder / f"out{number}", number))
        if (folder / "out1").read_bytes() != (folder / f"out{jobs}").read_bytes():
            sys.exit("the outputs differ")
    print(f"load average {os.getloadavg()[0]:.1f}; start-up {start:.2f} s (one sentence)")
    for number, own in costs.items():
        wall, cpu = (statistics.median(values) for values in zip(*own, strict=True))
        print(f"{number} jobs: {wall:7.2f} s, {cpu:7.2f} CPU s")
    ratios = [one.wall / several.wall for one, several in zip(costs[1], costs[jobs], strict=True)]
    net = [
        (one.wall - start) / (several.wall - start)
        for one, several in zip(costs[1], costs[jobs], strict=True)
    ]
    print(
        f"times faster: {statistics.median(ratios):.2f}, without start-up "
        f"{statistics.median(net):.2f}"
    )


if __name__ == "__main__":
    main()
