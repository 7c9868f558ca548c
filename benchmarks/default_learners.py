"""Learners as candidates for the default of a treebank, all with the same loss and each with its
own C: development score, CPU seconds of learning, and duality gap.

Usage: python benchmarks/default_learners.py TRAIN.conllu [--dev DEV.conllu] --output RUNS.jsonl
           [--task NAME ...] [--contender NAME ...]

Without DEV every tenth sentence is held out. With seed 1 every contender makes its passes with each
C, with two more seeds with the C that scored best after the last pass; all from the same features,
and for the second order over the arcs of the same pruner. A run that RUNS.jsonl has is not made
again. The tables have means over seeds, and how many per cent more words a model gets right than
that of the first contender: with a paired bootstrap interval, and p by approximate randomisation.

A model is the last weights or the ``average``: of DCA over its visits, of learners
that keep dual variables that of v after each 1,000 visits, weighted by their number. The mean of
dual variables is feasible, and its entropy at least the mean of the entropies: so the mean of the
values less |v|^2 / (2C) at the mean v is below the optimum, and gives the gap of the average. Below
each table is the score of the last weights without the smallest 60 and 90 % of them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from egparse.config.reading import load_config
from egparse.evaluation.significance import paired_differences
from egparse.fitting.task import fit
from egparse.io.corpus import read_whole
from egparse.learners.learner import sum_of_losses
from egparse.learners.problem import squared_norm
from egparse.learners.sgd import copies, restore
from egparse.training import run as training
from egparse.types import Longs

BARE = [f"{part}.train=false" for part in ("tokeniser", "splitter", "expander", "supertags")]
Run = dict[str, Any]


class Contender(NamedTuple):
    """A learner, gamma of its softmax-margin loss (0: log-linear), the C that it is tried with, and
    of EG how many times C it begins with and how that decays.
    """

    name: str
    learner: str
    gamma: float
    constants: tuple[float, ...]
    start: float = 0.0
    decay: float = 0.3


TAGGERS = (
    Contender("EG", "eg-online", 0.0, (0.125, 0.25, 0.5), start=8.0, decay=0.6),
    Contender("SDCA", "sdca", 0.0, (0.125, 0.25, 0.5)),
)
ARCS = (
    Contender("EG, log-linear", "eg-online", 0.0, (12.5, 25.0), start=3.0),
    Contender("DCA, log-linear", "dca", 0.0, (25.0, 50.0)),
    Contender("EG", "eg-online", 4.0, (12.5, 25.0), start=3.0),
    Contender("SDCA", "sdca", 4.0, (12.5, 25.0)),
    Contender("DCA", "dca", 4.0, (50.0, 100.0)),
)
SECOND_ORDER = (
    Contender("DCA, C = 50", "dca", 4.0, (50.0,)),
    Contender("EG, C = 28", "eg-online", 4.0, (28.0,), start=3.0, decay=0.4),
    Contender("DCA", "dca", 4.0, (25.0, 100.0, 200.0)),
    Contender("EG", "eg-online", 4.0, (20.0,), start=3.0, decay=0.4),
    Contender("SDCA", "sdca", 4.0, (10.0, 20.0, 28.0, 40.0)),
)
# name -> section of what is trained, settings of the whole training, contenders; tags are given
TASKS: dict[str, tuple[str, list[str], tuple[Contender, ...]]] = {
    "upos": ("upos", ['layers=["upos"]'], TAGGERS),
    "tags": ("morphology", ['layers=["upos", "xpos", "feats"]'], TAGGERS),
    "arcs": ("parser", ['layers=["heads"]', "parser.order=1"], ARCS),
    "second order": ("parser", ['layers=["heads"]'], SECOND_ORDER),
}


def run_of(task: Any, one: Contender, c: float) -> Run:
    """The scores of each pass; of each model at the end the relative gap, and how many words it
    gets right in each development sentence.
    """
    chosen = replace(task.config, learner=one.learner, gamma=one.gamma, c=c)
    prepared = task.prepare(replace(chosen, anneal_from=one.start * c, anneal_decay=one.decay))
    score, learner, state = task.score(), prepared.learner, prepared.state
    has_duals, steps = hasattr(state, "value"), learner.run_steps
    mean, value, points, aside = [0.0 * v for v in copies(learner.problem)], 0.0, 0, 0.0

    def with_mean(state: Any, order: Longs) -> None:
        nonlocal value, points, aside
        for begin in range(0, len(order), 1000):
            steps(state, order[begin : begin + 1000])
            begun, points = time.process_time(), points + 1
            share = 2.0 / (points + 1)  # k / (1 + ... + k)
            for v, of_v in zip(learner.problem.vectors(), mean, strict=True):
                of_v += (v - of_v) * share
            value += (float(state.value.sum()) - value) * share
            aside += time.process_time() - begun

    learner.run_steps = with_mean if has_duals else steps
    rows, models, gaps, spent = [], {}, {}, 0.0
    for _ in range(8):
        begun = time.process_time()
        learner.iterate(state)
        spent += time.process_time() - begun
        models = {} if has_duals else {"average": prepared.current()}
        models["last"] = prepared.snapshot(state)
        scores = {kind: round(score(model), 3) for kind, model in models.items()}
        rows.append({"cpu": round(spent - aside, 2), **scores})
    weights, without = copies(learner.problem), dict[str, float]()
    for share in (0.6, 0.9):
        least = [np.quantile(np.abs(v[v != 0]), share) for v in weights]
        kept = [np.where(np.abs(v) < at, 0, v) for v, at in zip(weights, least, strict=True)]
        restore(learner.problem, kept)
        without[f"{share:.0%}"] = round(score(prepared.snapshot(prepared.state)), 3)
    restore(learner.problem, weights)
    if has_duals:
        gaps["last"] = learner.certificate(state).relative_gap
        restore(learner.problem, mean)
        half = squared_norm(learner.problem) / (2 * c)
        loss = sum_of_losses(learner.problem, learner.loss, 1 / c)
        gaps["average"] = (loss + 2 * half - value) / abs(value - half)
        models["average"] = prepared.snapshot(prepared.state)
        rows[-1]["average"] = round(score(models["average"]), 3)
    starts, right = task.dev.words.starts, dict[str, list[int]]()
    for kind, model in models.items():
        right[kind] = np.add.reduceat(task.outcomes(model).right, starts[:-1], dtype=int).tolist()
    words = np.diff(starts).tolist()
    return {"passes": rows, "gaps": gaps, "without": without, "right": right, "words": words}


def prepared_task(section: str, settings: Sequence[str], parts: Sequence[Any], seed: int) -> Any:
    """A task, when all that it needs is learned."""
    config, found = load_config(None, [*settings, *BARE, f"seed={seed}"]), []

    def call(task: Any, *others: Any) -> Any:
        if task.name != section:
            return fit(task, *others)
        found.append(task)
        raise InterruptedError

    with mock.patch.object(training, "fit", call), suppress(InterruptedError):
        training.train(parts[0], parts[1], config)
    return found[0]


def best(runs: Sequence[Run], name: str) -> list[Run]:
    """The runs, by seed, with the C whose first model scored best after the last pass of seed 1."""
    own = [run for run in runs if run["contender"] == name]
    first = [run for run in own if run["seed"] == 1]
    c = max(first, key=lambda run: run["passes"][-1][next(iter(run["right"]))])["c"]
    return sorted((run for run in own if run["c"] == c), key=lambda run: run["seed"])


def table(runs: Sequence[Run], contenders: Sequence[Contender]) -> Iterator[str]:
    """The lines of the table of a task."""
    yield "| learner | C | model | last pass | seeds | gap | CPU s | more right (95 %; p) |"
    yield "|---|---|---|---|---|---|---|---|"
    rivals = best(runs, contenders[0].name)
    for name, own in ((one.name, best(runs, one.name)) for one in contenders):
        words = len(own) * np.array(own[0]["words"])
        against = sum(np.array(next(iter(run["right"].values()))) for run in rivals[: len(own)])
        for model in own[0]["right"]:
            right = sum(np.array(run["right"][model]) for run in own)
            sides = ({"": np.stack([side, words, words], 1)} for side in (right, against))
            pair = paired_differences(*sides)[""]
            low, high = pair.interval or (0, 0)
            last = [run["passes"][-1][model] for run in own]
            gap = 100 * np.mean([run["gaps"].get(model, np.nan) for run in own])
            yield (
                f"| {name} | {own[0]['c']:g} | {model} | {np.mean(last):.2f} "
                f"| {', '.join(f'{score:.2f}' for score in last)} | {gap:.2g} % "
                f"| {np.mean([run['passes'][-1]['cpu'] for run in own]):.0f} "
                f"| {pair.difference:+.2f} ({low:+.2f} to {high:+.2f}; {pair.p_value:.3f}) |"
            )
    for run in runs:
        less = ", ".join(f"{score:.2f} without {share}" for share, score in run["without"].items())
        yield f"{run['contender']}, C = {run['c']:g}, seed {run['seed']}: {less} of the weights"


def main() -> None:
    """Make the runs that are missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path)
    parser.add_argument("--dev", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--task", action="append", choices=list(TASKS))
    parser.add_argument("--contender", action="append")
    options = parser.parse_args()
    options.output.touch()
    train = read_whole(options.train, None).sentences
    if options.dev:
        dev = read_whole(options.dev, None).sentences
    else:
        train, dev = [one for k, one in enumerate(train) if k % 10], train[::10]
    corpus = options.train.name.partition(".")[0]

    def runs_of(name: str) -> list[Run]:
        runs = map(json.loads, options.output.read_text("utf-8").splitlines())
        return [run for run in runs if (run["corpus"], run["task"]) == (corpus, name)]

    def wanted(name: str) -> list[Contender]:
        chosen = TASKS[name][2]
        return [one for one in chosen if one.name in (options.contender or [one.name])]

    for name, seed in itertools.product(options.task or TASKS, (1, 2, 3)):
        section, settings, _ = TASKS[name]
        done, task = runs_of(name), None
        for one in wanted(name):
            for c in one.constants if seed == 1 else (best(done, one.name)[0]["c"],):
                key = {"corpus": corpus, "task": name, "contender": one.name, "c": c, "seed": seed}
                if any(key.items() <= run.items() for run in done):
                    continue
                task = task or prepared_task(section, settings, (train, dev), seed)
                with options.output.open("a", encoding="utf-8") as file:
                    print(json.dumps({**key, **run_of(task, one, c)}), file=file)
    for name in options.task or TASKS:
        print(f"\n{name}\n", *table(runs_of(name), wanted(name)), sep="\n")


if __name__ == "__main__":
    main()
