"""How well models learn in steps, from nothing and from a model
(docs/decisions/learning-in-steps.md).

    python benchmarks/learning_in_steps.py nothing TRAIN DEV [--passes N] [--batch N]
    python benchmarks/learning_in_steps.py model MODEL NEW-TRAIN NEW-DEV OLD-DEV [--rehearse OLD]

The first compares passes over a corpus in steps with training to the end on the same sentences; the
second lets a model learn a new corpus once, and shows what it has learned and what it has
forgotten.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence

import egparse
from egparse.config.sections import TrainConfig
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.training.corpus import annotated_layers
from egparse.training.run import train
from egparse.training.steps import StepLearner, untrained_model

METRICS = ("UPOS", "XPOS", "UFeats", "UAS", "LAS", "NE")


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("nothing", "model"))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--batch", type=int, default=10, help="sentences in a step")
    parser.add_argument("--sentences", type=int, default=None, help="only the first ones")
    parser.add_argument("--strength", type=float, nargs="+", default=[1.0])
    parser.add_argument("--rehearse", default=None, help="a corpus whose words are rehearsed")
    arguments = parser.parse_args()
    (from_nothing if arguments.kind == "nothing" else from_model)(arguments)


def from_nothing(arguments: argparse.Namespace) -> None:
    """Steps from a model without weights, beside training to the end."""
    sentences, dev = map(read, arguments.paths)
    sentences = sentences[: arguments.sentences]
    config = TrainConfig()
    layers = annotated_layers(sentences)
    begun = time.process_time()
    learner = StepLearner(untrained_model(sentences, layers, config))
    order = random.Random(1)
    for number in range(arguments.passes):
        order.shuffle(sentences)
        losses = step_through(learner, sentences, arguments.batch)
        show(f"steps, pass {number + 1}", learner.model, dev, begun, f"loss {losses:,.0f}")
    begun = time.process_time()
    show("to the end", train(sentences, dev, config).model, dev, begun)


def from_model(arguments: argparse.Namespace) -> None:
    """One pass over a new corpus in steps, scored on it and on an old one."""
    name, *paths = arguments.paths
    new, new_dev, old_dev = map(read, paths)
    new = new[: arguments.sentences]
    base = egparse.load(name)
    begun = time.process_time()
    show("new, base", base, new_dev, begun)
    show("old, base", base, old_dev, begun)
    raw = [] if arguments.rehearse is None else read(arguments.rehearse)
    for strength in arguments.strength:
        learner, begun = StepLearner(base, strength=strength), time.process_time()
        for _ in range(arguments.passes):
            step_through(learner, new, arguments.batch, base, raw)
        show(f"new, strength {strength:g}", learner.model, new_dev, begun)
        show(f"old, strength {strength:g}", learner.model, old_dev, begun)


def step_through(
    learner: StepLearner,
    sentences: Sequence[Sentence],
    size: int,
    base: Model | None = None,
    raw: Sequence[Sentence] = (),
) -> float:
    """One pass; the summed losses. After each step as many sentences of ``raw`` are rehearsed."""
    total = 0.0
    for first in range(0, len(sentences), size):
        total += sum(learner.update(sentences[first : first + size], learner.layers).values())
        if raw and base is not None:
            place = first % len(raw)
            plain = [Sentence(forms=one.forms) for one in raw[place : place + size]]
            learner.update(list(base.annotate(plain)), learner.layers)
    return total


def read(path: str) -> list[Sentence]:
    """All sentences of a corpus."""
    return list(egparse.read_corpus(path))


def show(name: str, model: Model, dev: Sequence[Sentence], begun: float, more: str = "") -> None:
    """One row: scores in per cent, CPU seconds since ``begun``."""
    seconds = time.process_time() - begun
    scores = model.evaluate(dev).scores
    cells = "  ".join(f"{metric} {scores[metric]:5.2f}" for metric in METRICS if metric in scores)
    print(f"{name:22}  {cells}  {seconds:6.0f} s  {more}", flush=True)


if __name__ == "__main__":
    main()
