"""Learners as candidates for the default: development score against CPU time, in real training by
the command line on the first sentences of UD English EWT.

Usage: python benchmarks/default_learners.py DIRECTORY [--sentences N] [--seeds N] [--task NAME ...]

DIRECTORY holds en_ewt-ud-{train,dev}.conllu. Prints one JSON object a run: the task, the learner,
the seed, and after each pass the CPU seconds since its first pass began and the development score.
The CPU seconds are those of learning, certificates and scores.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from egparse.config.sections import TrainConfig

_BARE = (
    "tokeniser.train=false",
    "splitter.train=false",
    "expander.train=false",
    "supertags.train=false",
)


class Task(NamedTuple):
    """``section`` names the settings and the history of what is trained; ``settings`` are those of
    the whole training.
    """

    section: str
    settings: tuple[str, ...]


TASKS = {
    "upos": Task("upos", ('layers=["upos"]', *_BARE)),
    "tags": Task("morphology", ('layers=["upos", "xpos", "feats"]', *_BARE)),
    "entities": Task("spans", ('layers=["spans"]', *_BARE)),
    "arcs": Task("parser", ('layers=["heads"]', "parser.order=1", *_BARE)),
    "second order": Task("parser", ('layers=["heads"]', *_BARE)),
}
"""Name -> what is trained. Tags that a task reads are those of the corpus."""

CANDIDATES = {
    "default": (),
    "default, half the C": ("c=0.5 *",),
    "default, a quarter of the C": ("c=0.25 *",),
    "sag": ("learner=sag",),
    "sdca": ("learner=sdca",),
    "sgd": ("learner=sgd", "options={eta0 = 0.1}"),
    "sgd, averaged": ("learner=sgd", "options={eta0 = 0.1, averaged = true}"),
    "adagrad": ("learner=adagrad", "options={eta = 0.1, batch = 16}"),
    "adagrad, averaged": ("learner=adagrad", "options={eta = 0.1, batch = 16, averaged = true}"),
    "dca": ("learner=dca",),
    "eg, softmax-margin": ("learner=eg-online", "loss=softmax-margin"),
    "sdca, softmax-margin": ("learner=sdca", "loss=softmax-margin"),
    "adagrad, softmax-margin": (
        "learner=adagrad",
        "loss=softmax-margin",
        "options={eta = 0.1, batch = 16}",
    ),
}
"""Name -> settings of the section; all others are the defaults of the task, of which ``c=0.5 *`` is
half of one.
"""


def main() -> None:
    """Train, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--task", action="append", choices=list(TASKS))
    parser.add_argument("--candidate", action="append", choices=list(CANDIDATES))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Path(scratch) / "train.conllu"
        with (options.directory / "en_ewt-ud-train.conllu").open(encoding="utf-8") as lines:
            blocks = itertools.groupby(lines, key=lambda line: not line.strip())
            kept = itertools.islice(
                ("".join(block) for is_blank, block in blocks if not is_blank), options.sentences
            )
            corpus.write_text("\n".join(kept) + "\n", encoding="utf-8")
        dev = options.directory / "en_ewt-ud-dev.conllu"
        for seed, task, candidate in itertools.product(
            range(1, options.seeds + 1), options.task or TASKS, options.candidate or CANDIDATES
        ):
            passes = _trained(TASKS[task], CANDIDATES[candidate], seed, corpus, dev)
            found = {"task": task, "learner": candidate, "seed": seed, "passes": passes}
            print(json.dumps(found), flush=True)


def _resolved(setting: str, default: float) -> str:
    """The setting, with the product where it is a factor of the default."""
    name, _, value = setting.partition("=")
    if not value.endswith("*"):
        return setting
    return f"{name}={float(value.removesuffix('*')) * default}"


def _trained(
    task: Task, candidate: tuple[str, ...], seed: int, corpus: Path, dev: Path
) -> list[tuple[float, float]]:
    """CPU seconds and development score after each pass; none where the learner fails."""
    model = corpus.with_name("model.msgpack")
    default = getattr(TrainConfig(), task.section).c
    own = ("stop.patience=0", *(_resolved(setting, default) for setting in candidate))
    settings = (*task.settings, *(f"{task.section}.{setting}" for setting in own))
    arguments = [option for setting in settings for option in ("--set", setting)]
    command = [sys.executable, "-m", "egparse", "train", str(corpus), "--dev", str(dev), "--force"]
    done = subprocess.run(
        [*command, "--seed", str(seed), "-o", str(model), "--quiet", *arguments],
        check=False,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    if done.returncode:
        return []
    records = map(json.loads, model.with_name("model.history.jsonl").open(encoding="utf-8"))
    passes, spent = [], 0.0
    for record in records:
        if record.get("task") == task.section and record.get("score") is not None:
            spent += record["seconds"]
            passes.append((round(spent, 3), round(record["score"], 3)))
    return passes


if __name__ == "__main__":
    main()
