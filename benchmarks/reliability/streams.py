"""Runs every command with closed, full and broken standard streams, and interrupts it once or twice
at random moments, from the start of its process on: it ends with a known exit code, in time, and
says at most one line about it, never a traceback.

Usage: python benchmarks/reliability/streams.py [--interrupts 6] [--seed 0] [--json FILE]
[--command parse ...]
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from findings import ROOT, finish, parser_for
from small_model import first_sentences, train_small_model

PROGRAM = f"{sys.executable} -m egparse"
PATIENCE = 120
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
BAD = ("Traceback", "Exception ignored", "Fatal Python error", "Segmentation", "terminate called")


class Command(NamedTuple):
    """``text`` for a shell, with its input; ``writes``: it prints to standard output."""

    text: str
    writes: bool = True
    reads: bool = False


class Case(NamedTuple):
    """What a command is run with: redirections of a shell, and the exit codes that are right."""

    name: str
    redirection: str
    codes: tuple[int, ...]


def commands(folder: Path) -> dict[str, Command]:
    """Short runs of all commands."""
    model, corpus = train_small_model(folder), first_sentences(10, folder / "ten.conllu")
    quick = f"--config {ROOT}/configs/quick.toml --set 'layers=[\"upos\"]' --quiet"
    return {
        "help": Command("--help"),
        "models": Command("models"),
        "settings": Command("settings"),
        "inspect": Command(f"inspect {model}"),
        "parse": Command(f"parse {model} {corpus}"),
        "parse -": Command(f"parse {model} -", reads=True),
        "parse --jobs": Command(f"parse {model} {corpus} --jobs 2"),
        "parse --output": Command(f"parse {model} {corpus} -o {folder}/out.conllu -q", False),
        "visualize": Command(f"visualize {model} {corpus}"),
        "evaluate": Command(f"evaluate {model} {corpus} --json"),
        "train": Command(f"train {corpus} -f -o {folder}/m.msgpack {quick}"),
        "tune": Command(f"tune {corpus} --task upos {quick} --c-from 10 --c-to 1 --decay 0.2"),
        "package": Command(f"package {model} -f -o {folder} --no-wheel -q"),
        "experiment": Command(f"experiment losses --quick -q -o {folder}/experiments"),
        "download": Command(f"download UD_French-Sequoia -o {folder}/corpora"),
    }


def cases(command: Command) -> Iterator[Case]:
    """Closed, full and broken streams."""
    told = 2 if command.writes else 0
    reads = 2 if command.reads else 0
    for closed in (chosen for n in (1, 2, 3) for chosen in itertools.combinations(range(3), n)):
        codes = (max(reads * (0 in closed), told * (1 in closed)),)
        name = "closed " + ", ".join(("in", "out", "error")[k] for k in closed)
        yield Case(name, " ".join(f"{descriptor}>&-" for descriptor in closed), codes)
    yield Case("full output", "> /dev/full", (told,))
    yield Case("full error", "2> /dev/full", (0,))
    yield Case("no reader", "| true; exit ${PIPESTATUS[0]}", (0, 1, 141))


def main() -> None:
    """Run all, and report."""
    parser = parser_for(__doc__)
    parser.add_argument("--interrupts", type=int, default=6, help="of each command")
    parser.add_argument("--command", nargs="*", help="only these")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    figures: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        known = commands(Path(scratch))
        for name in options.command or known:
            command = known[name]
            for case in cases(command):
                figures["runs with unsuitable streams"] += 1
                status, said, _ = shell(f"{command.text} {case.redirection}")
                codes = (*case.codes, 2) if name == "download" else case.codes
                failures += judged(f"{name}, {case.name}", status, said, codes)
            _, _, seconds = shell(command.text)
            for k in range(options.interrupts):
                number = list(SIGNALS)[k % len(SIGNALS)]
                moments = sorted(draw.random() * seconds for _ in range(1 + k % 2))
                figures["runs with signals"] += 1
                status, said = interrupted(command.text, number, moments)
                if "Fatal Python error: init" in said or (status == 1 and "/egparse" not in said):
                    figures["interrupted while Python itself started"] += 1
                    continue
                codes = (0, 2, SIGNALS[number], -number)  # before the program handles it, it kills
                where = f"{name}, {number.name} after {moments}"
                failures += judged(where, status, said, codes)
    finish(figures, failures, options.json)


def judged(where: str, status: int, said: str, codes: Sequence[int]) -> list[str]:
    """The failures of a run."""
    last = said.strip().splitlines()[-1:]
    wrong = [f"{where}: exit code {status}, expected one of {codes}: {last}"]
    bad = [f"{where}: {word}: {last}" for word in BAD if word in said]
    return [*(wrong if status not in codes else []), *bad]


def shell(text: str) -> tuple[int, str, float]:
    """Run a command in a shell; returns exit code, standard error, and seconds."""
    begun = time.perf_counter()
    try:
        done = subprocess.run(
            ["bash", "-c", f"{PROGRAM} {text}"],
            input="A cat sat.\n",
            capture_output=True,
            text=True,
            errors="replace",
            env=environment(),
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, "it did not end", PATIENCE
    return done.returncode, done.stderr, time.perf_counter() - begun


def interrupted(text: str, number: int, moments: Sequence[float]) -> tuple[int, str]:
    """Send a signal to a command, and to its processes as a terminal does, at these seconds."""
    process = subprocess.Popen(
        ["bash", "-c", f"exec {PROGRAM} {text}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment(),
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    begun = time.perf_counter()
    for moment in moments:
        time.sleep(max(0.0, begun + moment - time.perf_counter()))
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
    try:
        _, said = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return -1, "it did not end"
    return process.returncode, said


def environment() -> dict[str, str]:
    """Without a network."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "EGPARSE_MIRROR": "http://127.0.0.1:9"}


if __name__ == "__main__":
    main()
