"""CoNLL-2000 chunking, the whole experiment in one run: L-BFGS (python-crfsuite) to its optimum,
then online EG to within 0.1 %.

Usage: python benchmarks/chunking.py CONLL2000 [--every-example]

The folder holds train.txt and test.txt. Same attributes, same weights (observed pairs only), same
objective: -log-likelihood + C/2 |w|^2 with C = 0.1, which CRFsuite calls c2 = 0.05. Times are CPU
seconds of the training loops; kernels are compiled before, and EG's objective is looked at (a pass
of inference that training does not need) outside the clock.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pycrfsuite  # type: ignore[import-untyped]

from egparse.evaluation.spans import score_spans
from egparse.features.sequence import supported_rows
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.sequences.problem import SequenceProblem
from egparse.structures.chains import chain

C = 0.1
WITHIN = 1e-3
CONFIG = EGConfig(c=C, anneal_from=2.0, anneal_decay=0.6)
Rows = list[list[str]]


class Sentence(NamedTuple):
    """Attributes of each word, and its tags."""

    attributes: Rows
    tags: list[str]


class Encoded(NamedTuple):
    """Sentences as numbers: attributes (words, templates), -1 where unseen in training."""

    attributes: np.ndarray
    starts: np.ndarray
    gold: np.ndarray


def read(path: Path) -> list[Sentence]:
    """Sentences of lines ``word tag chunk``."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    tables = [[line.split() for line in block.splitlines()] for block in blocks]
    return [Sentence(attributes_of(table), [row[2] for row in table]) for table in tables]


def attributes_of(table: Rows) -> Rows:
    """The classic templates: 5 words, 2 word bigrams, 5 tags, 4 tag bigrams, 3 tag trigrams,
    sentence ends.
    """
    spans: list[tuple[int, ...]] = [(0, k) for k in range(-2, 3)] + [(0, -1, 0), (0, 0, 1)]
    spans += [(1, k) for k in range(-2, 3)] + [(1, k, k + 1) for k in range(-2, 2)]
    spans += [(1, k, k + 1, k + 2) for k in range(-2, 1)]
    rows = []
    for place in range(len(table)):
        row = [""] * (len(spans) + 2)
        for number, (column, *offsets) in enumerate(spans):
            places = [place + offset for offset in offsets]
            if min(places) >= 0 and max(places) < len(table):
                row[number] = f"{number}=" + "|".join(table[at][column] for at in places)
        row[-2] = "first" if place == 0 else ""
        row[-1] = "last" if place == len(table) - 1 else ""
        rows.append(row)
    return rows


def encode(sentences: Sequence[Sentence], numbers: dict[str, int], tags: list[str]) -> Encoded:
    """Look attributes and tags up."""
    flat = [[numbers.get(name, -1) for name in row] for own in sentences for row in own.attributes]
    starts = np.cumsum([0] + [len(own.tags) for own in sentences])
    gold = [tags.index(tag) if tag in tags else 0 for own in sentences for tag in own.tags]
    return Encoded(np.array(flat, dtype=np.int32), starts, np.array(gold, dtype=np.int32))


def lbfgs(train: Sequence[Sentence], model: Path) -> tuple[float, int, float]:
    """Train with CRFsuite until it is satisfied: (objective, iterations, CPU seconds)."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(
        {"c1": 0.0, "c2": C / 2, "max_iterations": 2000, "epsilon": 1e-6, "delta": 1e-7}
    )
    for own in train:
        trainer.append([[name for name in row if name] for row in own.attributes], own.tags)
    begun = time.process_time()
    trainer.train(str(model))
    last = trainer.logparser.last_iteration
    return last["loss"], last["num"], time.process_time() - begun


def problem_of(train: Encoded, n_attributes: int, n_labels: int) -> SequenceProblem:
    """All labels at each word; weights for observed pairs and bigrams."""
    words = len(train.gold)
    support = np.zeros((n_labels, n_labels), dtype=bool)
    inside = np.setdiff1d(np.arange(words), train.starts[:-1])
    support[train.gold[inside - 1], train.gold[inside]] = True
    return SequenceProblem(
        attributes=train.attributes,
        word_starts=train.starts,
        gold=train.gold,
        candidates=np.tile(np.arange(n_labels, dtype=np.uint16), words),
        candidate_starts=np.arange(words + 1, dtype=np.int64) * n_labels,
        rows=supported_rows(train.attributes, train.gold, n_attributes, n_labels),
        n_labels=n_labels,
        support=support,
    )


def eg(problem: SequenceProblem, config: EGConfig, goal: float, most: int = 80) -> float:
    """Run online EG until the primal is at most ``goal``; returns CPU seconds and prints the way
    there.
    """
    learner = OnlineEG(problem, config)
    height = 3.0 + np.log(problem.transitions.shape[0])
    learner.run_steps(learner.initialise(height), np.arange(2))  # compiles
    begun = time.process_time()
    state = learner.initialise(height)
    seconds = time.process_time() - begun
    for iteration in range(1, most + 1):
        begun = time.process_time()
        learner.iterate(state)
        seconds += time.process_time() - begun
        if iteration % 6 and iteration < 24:
            continue
        now = learner.certificate(state)
        print(
            f"  {iteration:3d} passes, {now.effective_iterations:5.1f} effective, {seconds:6.2f} "
            "s CPU: "
            f"primal {now.primal:.3f} dual {now.dual:.3f} gap {100 * now.relative_gap:.3f} %",
            flush=True,
        )
        if now.primal <= goal:
            break
    return seconds


def eg_tags(problem: SequenceProblem, test: Encoded, tags: list[str]) -> list[list[str]]:
    """Viterbi under w = v / C."""
    rows, transitions = problem.rows, problem.transitions.astype(np.float64) / C
    table = np.zeros(
        (len(rows.starts), len(tags))
    )  # the last row, of unseen attributes (-1), stays zero
    table[np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts)), rows.labels] = (
        rows.weights / C
    )
    found = []
    for begin, end in zip(test.starts[:-1], test.starts[1:], strict=True):
        unary = table[test.attributes[begin:end]].sum(axis=1)
        starts = np.arange(0, unary.size + 1, len(tags), dtype=np.int32)
        labels = np.tile(np.arange(len(tags), dtype=np.int32), end - begin)
        parts = np.concatenate([unary.ravel(), transitions.ravel()])
        found.append(
            [tags[label] for label in chain.argmax(parts, starts, labels, len(tags)).choice]
        )
    return found


def crfsuite_tags(model: Path, test: Sequence[Sentence]) -> list[list[str]]:
    """What the trained CRFsuite model says."""
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    return [tagger.tag([[name for name in row if name] for row in own.attributes]) for own in test]


def main() -> None:
    """Both learners on the same data, and the F1 of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every-example", action="store_true", help="EG without its sampling too")
    options = parser.parse_args()
    folder: Path = options.folder
    train, test = read(folder / "train.txt"), read(folder / "test.txt")
    numbers: dict[str, int] = {}
    for name in (name for own in train for row in own.attributes for name in row if name):
        numbers.setdefault(name, len(numbers))
    tags = sorted({tag for own in train for tag in own.tags})
    problem = problem_of(encode(train, numbers, tags), len(numbers), len(tags))
    gold = [own.tags for own in test]
    print(f"{len(train)} sentences, {len(numbers)} attributes")
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch) / "model"
        optimum, iterations, reference = lbfgs(train, model)
        f1 = score_spans(gold, crfsuite_tags(model, test)).micro.f1
    print(
        f"L-BFGS: {optimum:.3f} after {iterations} iterations, {reference:.1f} s CPU, F1 {f1:.2f}"
    )
    configs = {"EG": CONFIG}
    if options.every_example:
        configs["EG, every example in every pass"] = replace(CONFIG, round_fraction=1.0)
    for name, config in configs.items():
        seconds = eg(problem, config, (1 + WITHIN) * optimum)
        f1 = score_spans(gold, eg_tags(problem, encode(test, numbers, tags), tags)).micro.f1
        print(f"{name}: {seconds:.1f} s CPU, 1/{reference / seconds:.1f} of L-BFGS, F1 {f1:.2f}")


if __name__ == "__main__":
    main()
