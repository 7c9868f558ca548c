"""A soak of bulk annotation: ``egparse parse --jobs 2 --resume`` of a stream without an end, whose
processes should need no more memory after an hour than after a minute.

Sentences of a corpus are resampled, and a word in fifty is replaced by one that was never seen
before, so that whatever remembers words grows. Resident memory of all processes is recorded every
few seconds (``Pss`` where the system has it, which counts shared pages once), and so is the number
of bytes written. The slope of memory is that of least squares, from a tenth of the time after the
first shard was written, when every process has begun its work, with an interval of 95 % from blocks
of a minute (or a tenth of the run), because neighbouring readings are alike: slopes of resampled
blocks.

Usage: python benchmarks/soak.py MODEL CORPUS.conllu [--minutes 60] [--every 5] [--jobs 2]
       [--text] [--readings readings.tsv]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

_NEW_WORDS = 0.02
_MEGABYTE = 1 << 20


def feed(stream: IO[bytes], corpus: Path, as_text: bool, seed: int) -> None:
    """Write sentences until nobody reads."""
    random = np.random.default_rng(seed)
    blocks = corpus.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    sentences = [
        [line.split("\t")[1] for line in block.split("\n") if line.split("\t")[0].isdigit()]
        for block in blocks
    ]
    serial = 0
    try:
        while True:
            lines = []
            for k in random.integers(0, len(sentences), 200).tolist():
                words = list(sentences[k])
                for place in np.flatnonzero(random.random(len(words)) < _NEW_WORDS).tolist():
                    serial += 1
                    words[place] = f"{words[place]}{serial:x}"
                if as_text:
                    lines.append(" ".join(words) + "\n\n")
                else:
                    rows = (f"{n}\t{word}" + "\t_" * 8 for n, word in enumerate(words, 1))
                    lines.append("\n".join(rows) + "\n\n")
            stream.write("".join(lines).encode())
    except OSError:  # the program has been ended
        pass


def processes_below(process: int) -> list[int]:
    """A process and those that it has started."""
    found = [process]
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            found += processes_below(int(child))
    return found


def memory_of(process: int) -> int:
    """Resident bytes of a process; pages that several share are divided among them."""
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def slope_of(
    hours: npt.NDArray[np.float64], megabytes: npt.NDArray[np.float64], n_blocks: int
) -> tuple[float, float, float]:
    """The slope in MB an hour, and its interval by resampling deviations of blocks."""
    slope, level = np.polyfit(hours, megabytes, 1)
    deviations = megabytes - (slope * hours + level)
    size = max(1, len(hours) // n_blocks)
    random = np.random.default_rng(0)
    slopes = []
    for _ in range(2000):
        starts = random.integers(0, len(hours) - size + 1, -(-len(hours) // size))
        drawn = np.concatenate([deviations[start : start + size] for start in starts])
        slopes.append(np.polyfit(hours, slope * hours + level + drawn[: len(hours)], 1)[0])
    low, high = np.quantile(slopes, [0.025, 0.975])
    return float(slope), float(low), float(high)


def main() -> None:
    """Run the soak and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two readings")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--text", action="store_true", help="plain text instead of CoNLL-U")
    parser.add_argument("--readings", type=Path, help="where readings go, a line each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        output = Path(name) / "out.conllu.gz"
        command = [sys.executable, "-m", "egparse", "parse", options.model, "-", "--quiet"]
        command += ["--format", "text" if options.text else "conllu", "--resume"]
        command += ["--jobs", str(options.jobs), "--output", str(output)]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as program:
            assert program.stdin is not None
            feeder = threading.Thread(
                target=feed, args=(program.stdin, options.corpus, options.text, 1), daemon=True
            )
            feeder.start()
            begun, readings = time.monotonic(), list[tuple[float, list[int], int]]()
            while time.monotonic() - begun < 60 * options.minutes and program.poll() is None:
                time.sleep(options.every)
                each = [memory_of(one) for one in processes_below(program.pid)]
                partial = Path(f"{output}.partial")
                written = partial.stat().st_size if partial.exists() else 0
                readings.append((time.monotonic() - begun, each, written))
            if program.poll() is not None:
                sys.exit(f"the program ended with exit code {program.returncode}")
            program.send_signal(signal.SIGTERM)
            program.wait()
            records = Path(f"{output}.journal").read_text().splitlines()
    if options.readings is not None:
        rows = (f"{t:.1f}\t{sum(each)}\t{len(each)}\t{size}\n" for t, each, size in readings)
        options.readings.write_text("seconds\tbytes\tprocesses\twritten\n" + "".join(rows))
    begins = [seconds for seconds, _, size in readings if size]
    if not begins or begins[0] > 30 * options.minutes:
        sys.exit("too little was written to say anything: give it more --minutes")
    kept = [reading for reading in readings if reading[0] > begins[0] + 6 * options.minutes]
    hours = np.array([seconds / 3600 for seconds, _, _ in kept])
    megabytes = np.array([sum(each) / _MEGABYTE for _, each, _ in kept])
    n_blocks = max(10, round(0.9 * options.minutes))
    slope, low, high = slope_of(hours, megabytes, n_blocks)
    print(f"{len(records) - 1} shards recorded; load average {os.getloadavg()[0]:.1f}")
    print(
        f"memory of {max(len(each) for _, each, _ in kept)} processes: "
        f"{megabytes[0]:.0f} MB at first, {megabytes[-1]:.0f} MB at last, "
        f"{megabytes.max():.0f} MB at most; slope {slope:+.1f} MB an hour "
        f"(95 %: {low:+.1f} to {high:+.1f}), {100 * slope / megabytes.mean():+.1f} % an hour"
    )


if __name__ == "__main__":
    main()
