"""Training that is killed at random moments and resumed: whether the model is that of a run which
was not, and what checkpoints cost.

Usage: python benchmarks/resuming.py TRAIN.conllu DEV.conllu [--sentences N] [--kills K]
[--signals NAME ...] [--within SHARE] [--pairs P] [--minutes M] [--seed S] [--set KEY=VALUE ...]

A run over the first N sentences, with N / 5 for development, is made as it is, then runs that write
a checkpoint after every pass and get a signal, one of those named at random (SIGKILL), after a
random time of up to half of that of the whole run (SHARE), and are resumed until they end, until
there were K kills. Models and histories are compared but for CPU times. The cost is the ratio of
CPU seconds with --checkpoint M and without, in P alternating pairs. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from egparse.storage.model_file import read_model

NAMES = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")


class Run(NamedTuple):
    """A process: whether it ended by itself, its CPU seconds, and the seconds that it took."""

    ended: bool
    cpu: float
    wall: float


class Training:
    """A training whose model and history go to ``folder``."""

    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self.folder, self.arguments = folder, arguments

    def run(
        self,
        name: str,
        *options: str,
        kill_after: float | None = None,
        number: int = signal.SIGKILL,
    ) -> Run:
        """One process, which gets a signal after some seconds if it lives so long.

        Raises:
            RuntimeError: it failed.
        """
        output = ["--output", str(self.folder / f"{name}.msgpack"), "--quiet"]
        command = [sys.executable, "-m", "egparse", "train", *self.arguments, *output, *options]
        one = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        before, begun = cpu_seconds(), time.monotonic()
        expected, said = {0}, self.folder / "said"
        with (
            said.open("wb") as errors,
            subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=os.environ | one,
                preexec_fn=take_signals,
            ) as process,
        ):
            try:
                status = process.wait(kill_after)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
                status = process.wait()
                expected |= {-number, 128 + number}
        text = said.read_text(encoding="utf-8", errors="replace")
        if status == 1 and "KeyboardInterrupt" in text and "egparse/" not in text:
            return Run(
                False, cpu_seconds() - before, time.monotonic() - begun
            )  # Python's own start
        if status not in expected:
            raise RuntimeError(f"expected exit status {sorted(expected)}, got {status}: {text}")
        return Run(status == 0, cpu_seconds() - before, time.monotonic() - begun)

    def result(self, name: str) -> tuple[Any, bytes, Any]:
        """Header and payload of a model, and its history, without times."""
        path = self.folder / f"{name}.msgpack"
        header, _ = read_model(path)
        lines = (self.folder / f"{name}.history.jsonl").read_text(encoding="utf-8").splitlines()
        payload = path.read_bytes()[-header["payload_length"] :]
        return without_times(header), payload, without_times([json.loads(one) for one in lines])

    def checkpoint(self, name: str) -> tuple[str, int]:
        """The file of a checkpoint that was written last, and the bytes of all of them."""
        found = list((self.folder / f"{name}.checkpoint").glob("*.zip"))
        last = max(found, default=Path("nothing"), key=lambda path: path.stat().st_mtime_ns)
        return last.stem, sum(path.stat().st_size for path in found)


def first_sentences(source: Path, count: int, target: Path) -> Path:
    """A file with the first sentences of a corpus."""
    blocks = source.read_text(encoding="utf-8").split("\n\n")[:count]
    target.write_text("\n\n".join(blocks).rstrip() + "\n\n", encoding="utf-8")
    return target


def without_times(value: Any) -> Any:
    """The same values but for CPU times."""
    if isinstance(value, dict):
        times = ("seconds", "cpu_seconds")
        return {key: without_times(one) for key, one in value.items() if key not in times}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def cpu_seconds() -> float:
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def take_signals() -> None:
    """Let signals do what they usually do, also below a shell that ignores some."""
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        signal.signal(signal.Signals[name], signal.SIG_DFL)


def kill_again_and_again(
    training: Training, plain: Run, kills: int, signals: Sequence[str], within: float, seed: int
) -> dict[str, Any]:
    """What became of runs that were killed so often."""
    rng, wanted = random.Random(seed), training.result("plain")
    killed, number, equal, largest = Counter[str](), 0, [], 0
    sent = Counter[str]()
    while killed.total() < kills:
        number += 1
        name = f"killed{number}"
        options = ["--checkpoint", "0", "--resume"]
        while True:
            moment, chosen = rng.uniform(0, plain.wall * within), rng.choice(signals)
            signalled = signal.Signals[chosen]
            if training.run(name, *options, kill_after=moment, number=signalled).ended:
                break
            last, size = training.checkpoint(name)
            killed[last] += 1
            sent[chosen] += 1
            largest = max(largest, size)
        equal.append(training.result(name) == wanted)
    return {
        "kills": killed.total(),
        "killed_by": dict(sorted(sent.items())),
        "killed_after": dict(sorted(killed.items())),
        "runs": len(equal),
        "equal_runs": sum(equal),
        "largest_checkpoint_bytes": largest,
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\nUsage")[0])
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--signals", nargs="+", choices=NAMES, default=NAMES[:1])
    parser.add_argument("--within", type=float, default=0.5, help="share of the whole run's time")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = first_sentences(options.train, options.sentences, folder / "train.conllu")
        dev = first_sentences(options.dev, options.sentences // 5, folder / "dev.conllu")
        settings = [part for one in options.settings for part in ("--set", one)]
        training = Training(folder, [str(corpus), "--dev", str(dev), *settings])
        training.run("warm")  # compiles kernels that are new
        plain = training.run("plain")
        killed = kill_again_and_again(
            training, plain, options.kills, options.signals, options.within, options.seed
        )
        ratios = []
        for number in range(options.pairs):
            without = training.run(f"without{number}").cpu
            minutes = str(options.minutes)
            ratios.append(training.run(f"with{number}", "--checkpoint", minutes).cpu / without)
    report = {
        "machine": platform.machine(),
        "sentences": options.sentences,
        "settings": options.settings,
        "plain_cpu_seconds": round(plain.cpu, 1),
        **killed,
        "minutes": options.minutes,
        "cpu_ratios": [round(ratio, 4) for ratio in ratios],
        "median_cpu_ratio": round(statistics.median(ratios), 4) if ratios else None,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
