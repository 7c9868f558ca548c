"""Memory and words a second of training with --memory, beside training in memory on a slice.

Usage: python benchmarks/training_memory.py CORPUS.conllu --dev DEV.conllu [--memory 2G]
[--slice 50000] [--layer upos|heads|both] [--passes 3] [--enforce] [--folder DIR]

Runs `egparse train` in a process of its own: in memory and with --memory on the first sentences
(the slice), whose models must have the same bytes, then with --memory on the whole corpus. Each run
is watched every 0.2 s (RssAnon and VmHWM of /proc/PID/status). Words a second of a pass are those
of the training part by the CPU seconds of the pass and its development score, from the history.
With --enforce the system refuses anonymous memory beyond the limit (RLIMIT_DATA, which counts
reserved pages too). Prints one JSON object; other processes on the machine disturb the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from egparse.io.corpus import read_corpus, write_corpus
from egparse.storage.model_file import read_header
from egparse.storage.scratch import size_of

LAYERS = {"upos": '["upos"]', "heads": '["heads"]', "both": '["upos", "heads"]'}
"""What is learned: tags, arcs of order 1 over the tags of the corpus, or over predicted tags."""

SETTINGS = ("splitter.train=false", "tokeniser.train=false", "expander.train=false")


def train(
    corpus: Path, dev: Path, model: Path, layer: str, passes: int, memory: str | None, enforce: bool
) -> dict[str, Any]:
    """The figures of one run.

    Raises:
        SystemExit: it fails.
    """
    command = [sys.executable, "-m", "egparse", "train", str(corpus), "--dev", str(dev)]
    command += ["--output", str(model), "--force", "--quiet", "--json", "--language", "en"]
    settings = [*SETTINGS, f"layers={LAYERS[layer]}", "parser.order=1"]
    settings += [f"{task}.stop.iterations={passes}" for task in ("upos", "parser")]
    for setting in settings:
        command += ["--set", setting]
    if memory is not None:
        command += ["--memory", memory]
    begun = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, preexec_fn=_limit(memory, enforce))
        most = {"RssAnon": 0, "RssFile": 0, "VmHWM": 0}
        while process.poll() is None:
            for name, size in _status(process.pid).items():
                most[name] = max(most[name], size)
            time.sleep(0.2)
        if process.returncode:
            raise SystemExit(f"egparse train: exit code {process.returncode}")
        said.seek(0)
        words = json.load(said)["words"]
    history = model.with_suffix(".history.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in history]
    return {
        "words": words,
        "wall_seconds": round(time.perf_counter() - begun, 1),
        "MB": {name: round(size / 2**20) for name, size in most.items()},
        "words_per_cpu_second": {
            f"{record['task']} {record['iteration']}": round(words / record["seconds"])
            for record in records
            if record["seconds"] > 0
        },
    }


def _limit(memory: str | None, enforce: bool) -> Callable[[], None] | None:
    if memory is None or not enforce:
        return None
    size = size_of(memory)
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _status(process: int) -> dict[str, int]:
    """Bytes of the memory of a process, by name; nothing once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    parted = (line.split() for line in lines)
    wanted = ("RssAnon:", "RssFile:", "VmHWM:")
    return {part[0][:-1]: int(part[1]) << 10 for part in parted if part and part[0] in wanted}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--slice", type=int, default=50_000)
    parser.add_argument("--layer", choices=LAYERS, default="both")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--enforce", action="store_true")
    parser.add_argument("--folder", type=Path, help="folder of the models (default: temporary)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        part, models = folder / "slice.conllu", [folder / f"{k}.msgpack" for k in range(3)]
        write_corpus(islice(read_corpus(options.corpus), options.slice), part)
        given = (options.dev, options.layer, options.passes)

        def run(corpus: Path, model: Path, memory: str | None) -> dict[str, Any]:
            dev, layer, passes = given
            return train(corpus, dev, model, layer, passes, memory, options.enforce)

        found = {
            "slice, in memory": run(part, models[0], None),
            "slice, --memory": run(part, models[1], options.memory),
            "all, --memory": run(options.corpus, models[2], options.memory),
        }
        same = len({read_header(model)["payload_sha256"] for model in models[:2]}) == 1
    machine = f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors"
    figures = {**vars(options), **found, "same_model": same, "machine": machine}
    print(json.dumps(figures, default=str))


if __name__ == "__main__":
    main()
