"""Training on faulty corpora: each run ends in a model that loads and annotates, or is refused by
exit status 2 and one line.

Sound sentences are followed by some of ``mutations`` in the same format. Each run is a fork of a
process that has everything loaded. A case is made from the seed and its number alone.

Usage: python benchmarks/reliability/broken_training.py [--cases 200] [--seed 0] [--first 0]
[--at-most MINUTES] [--json FILE]
"""

from __future__ import annotations

import os
import random
import resource
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NoReturn

from findings import ROOT, finish, parser_for
from mutations import case, samples_of
from small_model import CORPORA

SECONDS = 120
"""CPU seconds of a case."""

WAITING = 900.0
"""Seconds on the wall."""

MEMORY = 6 << 30
"""Bytes of address space."""

SETTINGS = (
    "jackknife.folds=0", "parser.order=1", "parser.bits=12", "hold_out=0.1",
    *(f"{name}.stop.iterations=2" for name in ("upos", "xpos", "feats", "spans", "lemmas")),
    *(f"{name}.stop.iterations=2" for name in ("parser", "labeller", "splitter", "tokeniser")),
)  # fmt: skip


def train(path: Path, model: Path, options: list[str]) -> NoReturn:
    """Train, load and annotate, in a process of its own; it ends with the exit status."""
    from egparse.cli.app import main
    from egparse.pipeline.model import Model
    from egparse.sentences import Sentence

    with open(f"{model}.said", "wb") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    status = 99
    try:
        settings = [word for one in SETTINGS for word in ("--set", one)]
        main(["train", str(path), "-f", "-o", str(model), "-q", *settings, *options])
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 98
        if status == 0:
            status = 97
            list(Model.load(model).annotate([Sentence(("A", "cat", "sat", "."))]))
            status = 0
    finally:
        import sys
        import traceback

        if sys.exc_info()[0] not in (None, SystemExit):
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(status)


def ended(child: int) -> int:
    """The exit status of a child, negative for a signal; it is killed when it takes too long."""
    end = time.monotonic() + WAITING
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)


def judged(status: int, said: str) -> list[str]:
    """What is wrong with a run."""
    lines = said.strip().splitlines()
    if status not in (0, 2):
        return [f"exit status {status}: {lines[-1:]}"]
    if "Traceback" in said:
        return [f"a traceback: {lines[-1:]}"]
    messages = [line for line in lines if line.startswith("egparse: ")]
    if status == 2 and not messages:
        return [f"no message: {lines[-1:]}"]
    return []


def main() -> None:
    """Train on all, and report."""
    parser = parser_for(__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    options = parser.parse_args()
    samples = samples_of(CORPORA / "en_sample-test.conllu")
    end = time.monotonic() + 60 * options.at_most
    figures: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        path, model = folder / "corpus.in", folder / "model.msgpack"
        for number in range(options.first, options.first + options.cases):
            if time.monotonic() > end:
                break
            draw = random.Random(f"{options.seed}/{number}/training")
            faulty = case(options.seed, number, samples)
            sound = b"".join(draw.choices(samples[faulty.format], k=15))
            path.write_bytes(sound + faulty.content)
            more = ["--skip-bad"] if draw.random() < 0.5 else []
            if faulty.format != "text" and draw.random() < 0.7:
                more += ["--format", faulty.format]
            child = os.fork()
            if child == 0:
                train(path, model, more)
            status = ended(child)
            said = Path(f"{model}.said").read_text(errors="replace")
            figures["cases"] += 1
            figures["trained" if status == 0 else "refused" if status == 2 else "other"] += 1
            again = f"--seed {options.seed} --first {number} --cases 1"
            where = f"{again} ({faulty.format}, {', '.join(faulty.faults)})"
            failures += [f"{where}: {one}" for one in judged(status, said)]
    finish(figures, failures, options.json)


if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(ROOT))
    import egparse.training.run  # noqa: F401  # before the forks

    main()
