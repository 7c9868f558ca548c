"""How time and memory grow with the number of sentences, and with their length: CPU seconds and
peak memory of commands on generated corpora, into a JSON file of which scale_page.py makes tables
and figure.

Each point is a process of its own on one core: ``egparse train`` of one task, three passes, or
``egparse parse`` of the whole model. ``start`` is the same on 30 short sentences. Corpora are those
of generated_corpus.py without text and multiword tokens. Against length, each corpus has the same
number of words. Memory is read from /proc every 20 ms (Linux): the most that was resident, and the
most that was anonymous (without files and what is shared).

A point that is in the file already is not measured again, so that large sizes can follow later.

Usage: python benchmarks/growth.py SOURCE.conllu MODEL [--max 10000] [--work NAME ...]
[--lengths 10 2000] [-o docs/scale.json] [--again]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from generated_corpus import Source, generate, read

from egparse.compilation.stored import user_folder

ROOT = Path(__file__).resolve().parents[1]
SIZES = (1_000, 3_162, 10_000, 31_622, 100_000, 316_227, 1_000_000)
LENGTHS = (10, 20, 50, 100, 200, 300, 500, 1_000, 2_000)
SEED = 18
ALONE = ("jackknife.folds=0",)
TRAINING = {
    "UPOS tagger": ('layers=["upos"]', "upos.stop.iterations=3"),
    "arc-factored parser": ('layers=["heads"]', "parser.order=1", "parser.stop.iterations=3"),
    "second-order parser": (
        'layers=["heads"]', "parser.stop.iterations=3", "pruner.stop.iterations=3",
    ),
}  # fmt: skip
"""What is trained, with the settings of it."""
PARSING = "parsing"
WORKS = (*TRAINING, PARSING)


def write_corpus(
    path: Path, source: Sequence[Source], count: int, *, seed: int = SEED, length: int | None = None
) -> int:
    """Write a corpus without comments and multiword tokens; returns the number of its words."""
    n_words = 0
    blocks = generate(source, count, seed=seed, length=length)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for block in blocks:
            lines = block.splitlines(keepends=True)
            rows = [line for line in lines if line.split("\t", 1)[0].isdigit()]
            file.writelines(rows)
            file.write("\n")
            n_words += len(rows)
    return n_words


def cost_of(command: list[str]) -> dict[str, float]:
    """CPU seconds, wall seconds, and megabytes (10^6 bytes) of a command.

    Raises:
        SystemExit: the command failed.
    """
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    begun = time.monotonic()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env=os.environ | dict.fromkeys(names, "1"),
        )
        most = {"VmHWM": 0, "RssAnon": 0}
        status = Path(f"/proc/{child.pid}/status")
        while True:
            ended, code, used = os.wait4(child.pid, os.WNOHANG)
            if ended:
                break
            for line in status.read_text().splitlines():
                name, _, value = line.partition(":")
                if name in most:
                    most[name] = max(most[name], int(value.split()[0]))
            time.sleep(0.02)
        child.returncode = os.waitstatus_to_exitcode(code)
        if child.returncode:
            said.seek(0)
            message = said.read().decode(errors="replace")
            sys.exit(f"{' '.join(command)}: exit code {child.returncode}: {message}")
    return {
        "seconds": round(used.ru_utime + used.ru_stime, 2),
        "wall": round(time.monotonic() - begun, 2),
        "megabytes": round(most["VmHWM"] * 1024 / 1e6, 1),
        "anonymous": round(most["RssAnon"] * 1024 / 1e6, 1),
    }


def settled_cost_of(command: list[str]) -> dict[str, float]:
    """The cost of a command that compiles nothing: it is run again where it did."""
    while True:
        before = list(user_folder().rglob("*"))
        cost = cost_of(command)
        if len(list(user_folder().rglob("*"))) == len(before):
            return cost


def command_of(work: str, corpus: Path, model: Path, folder: Path) -> list[str]:
    """The command of a work on a corpus."""
    program, output = [sys.executable, "-m", "egparse"], str(folder / "output")
    if work == PARSING:
        return [*program, "parse", str(model), str(corpus), "-q", "-f", "-o", output]
    settings = [part for setting in (*ALONE, *TRAINING[work]) for part in ("--set", setting)]
    dev = ["--dev", str(folder / "dev.conllu")]
    return [*program, "train", str(corpus), *dev, *settings, "-q", "-f", "-o", output]


def points_to_measure(
    most: int, lengths: range, words: int
) -> Iterator[tuple[str, int, int, int | None]]:
    """The axis, the value on it, the number of sentences and their length if it is given."""
    for size in SIZES:
        if size <= most:
            yield "sentences", size, size, None
    for length in LENGTHS:
        if length in lengths:
            yield "length", length, max(1, words // length), length


def place_of(output: Path) -> dict[str, Any]:
    """What has been measured so far: machine, commit and curves."""
    if output.exists():
        found: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
        return found
    return {"machine": {}, "curves": {work: {} for work in WORKS}}


def machine() -> dict[str, str]:
    """The processor, its cores, memory, the state of the program, and the date."""
    described = Path("/proc/cpuinfo").read_text()
    names = [line.split(": ")[1] for line in described.splitlines() if line[:10] == "model name"]
    git = ["git", "-C", str(ROOT), "rev-parse", "--short=7", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{pages / 1e9:.0f} GB",
        "python": platform.python_version(),
        "commit": commit,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def main() -> None:
    """Measure what is missing; the file is written after each point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("model", type=Path, help="for parsing")
    parser.add_argument("--max", type=int, default=10_000, help="most sentences")
    parser.add_argument("--work", choices=WORKS, nargs="+", default=WORKS)
    parser.add_argument("--lengths", type=int, nargs=2, default=(LENGTHS[0], LENGTHS[-1]))
    parser.add_argument("--words", type=int, default=20_000, help="of a corpus against length")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "scale.json")
    parser.add_argument("--again", action="store_true", help="measure all anew")
    options = parser.parse_args()
    found = place_of(options.output)
    lengths = range(options.lengths[0], options.lengths[1] + 1)
    with tempfile.TemporaryDirectory() as name:
        folder, source = Path(name), read(options.source)
        write_corpus(folder / "dev.conllu", source, 100, seed=SEED + 1)
        corpus = folder / "corpus.conllu"
        for axis, value, count, length in (
            ("start", 30, 30, None),
            *points_to_measure(options.max, lengths, options.words),
        ):
            missing = [
                work
                for work in options.work
                if options.again or str(value) not in found["curves"][work].get(axis, {})
            ]
            if not missing:
                continue
            n_words = write_corpus(corpus, source, count, length=length)
            for work in missing:
                command = command_of(work, corpus, options.model, folder)
                point = {"sentences": count, "words": n_words, **settled_cost_of(command)}
                found["curves"][work].setdefault(axis, {})[str(value)] = point
                found["machine"] = machine()
                print(f"{work}, {axis} {value:,}: {point}", flush=True)
                text = json.dumps(found, indent=1) + "\n"
                options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
