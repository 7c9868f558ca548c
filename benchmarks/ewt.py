"""UD English EWT from end to end, through the command line: training, scores, speed and memory,
with the CPU time of each.

Usage: python benchmarks/ewt.py DIRECTORY [--model FILE] [--part dev] [--config FILE]
[--set KEY=VALUE ...]

DIRECTORY holds en_ewt-ud-{train,dev,test}.conllu. Options other than --model and --part are those
of egparse train. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def run(*arguments: str) -> tuple[str, float, float]:
    """Run an egparse command; its standard output, CPU seconds, and peak memory in MB of the
    largest command so far.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "egparse", *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "NUMBA_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        },
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, seconds, round(after.ru_maxrss / 1024)


def parsing_speed(model: str, corpus: Path, scratch: Path, repetitions: int = 5) -> dict[str, Any]:
    """Words a second from file to file: the slope between the corpus once and five times, which
    leaves start-up out.
    """
    many = scratch / "many.conllu"
    many.write_text(corpus.read_text(encoding="utf-8") * 5, encoding="utf-8")
    words = sum(line.split("\t", 1)[0].isdigit() for line in corpus.open(encoding="utf-8"))
    out = str(scratch / "out.conllu")
    once, fives, memory = [], [], 0.0
    for _ in range(repetitions):
        once.append(run("parse", model, str(corpus), "--output", out)[1])
        _, seconds, memory = run("parse", model, str(many), "--output", out)
        fives.append(seconds)
    slope = statistics.median(fives) - statistics.median(once)
    return {
        "words_per_second": round(4 * words / slope),
        "start_up_cpu_seconds": round(statistics.median(once) - slope / 4, 2),
        "peak_memory_mb_so_far": memory,
    }


def scores(text: str) -> dict[str, Any]:
    """The headline figures of a JSON report."""
    report = json.loads(text)
    names = ("UPOS", "XPOS", "UFeats", "AllTags", "UAS", "LAS", "CLAS", "MLAS")
    entities = report["NE"] and round(report["NE"]["f"], 2)
    return {**{name: report[name] and round(report[name], 2) for name in names}, "NE": entities}


def main() -> None:
    """Train, evaluate both ways, and time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--model", help="skip training and use this model")
    parser.add_argument(
        "--part", default="dev", choices=["dev", "test"], help="what to evaluate on"
    )
    options, passed_on = parser.parse_known_args()
    part = {
        name: options.directory / f"en_ewt-ud-{name}.conllu" for name in ("train", "dev", "test")
    }
    figures: dict[str, Any] = {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
    }
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        model = options.model or str(scratch / "ewt.msgpack")
        figures["speed"] = None
        if not options.model:
            _, seconds, memory = run(
                "train",
                str(part["train"]),
                "--dev",
                str(part["dev"]),
                "--output",
                model,
                *passed_on,
            )
            figures["training"] = {"cpu_seconds": round(seconds, 1), "peak_memory_mb": memory}
        figures["model_mb"] = round(Path(model).stat().st_size / 1e6, 1)
        gold = str(part[options.part])
        figures["predicted_tags"] = scores(run("evaluate", model, gold, "--json")[0])
        figures["gold_tags"] = scores(run("evaluate", model, gold, "--gold-tags", "--json")[0])
        figures["speed"] = parsing_speed(model, part[options.part], scratch)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
