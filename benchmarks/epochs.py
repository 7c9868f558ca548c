"""CPU seconds of one pass of every online learner over a treebank, beside one of the perceptron and
inference alone.

Usage: python benchmarks/epochs.py CORPUS.conllu [--sentences N] [--repetitions R] [--learners NAME
...]

The problem is that of the projective arc-factored parser with the tags of the corpus. Each learner
makes one pass that is not timed (it compiles kernels, and SGD chooses its rate in it), then R that
are; the figure is their median, child processes included. Certificates are not part of a pass, nor
is the average of the weights, for learners that keep one: ``average_cpu_seconds`` is what it takes
to have it after a pass. Inference is that of a pass at the weights that the perceptron ends with.
Ratios are to a pass of the perceptron, and to that with a pass of the learner's own inference
(inside-outside, or Eisner for losses without probabilities) on top. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import resource
import statistics
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from egparse.config.sections import ORDER_1
from egparse.errors import ConfigError
from egparse.experiments.problems.samples import Sample
from egparse.experiments.problems.setup import Setup
from egparse.experiments.problems.trees import parser
from egparse.io.corpus import read_corpus
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.registry import LEARNERS, build

ALL_AT_ONCE = ("eg-batch", "lbfgs", "cg")
"""Learners that are not online: what they do in a pass says little of their speed."""

CONFIGS = {
    "log-linear": LearnerConfig(c=ORDER_1.c),
    "max-margin": LearnerConfig(beta=math.inf, gamma=1.0, c=ORDER_1.c),
}
"""The losses, in the order in which a learner is offered them."""

INFERENCE = {"log-linear": "scores + inside-outside"}
"""What finds the gradient of a loss; ``BEST`` where it is not named."""

BEST = "scores + Eisner"

OWN_LOSS = ("perceptron",)
"""Learners that fix their loss, and take the defaults for it."""


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in own)


def seconds_of(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    begun = cpu_seconds()
    work()
    return cpu_seconds() - begun


def median_seconds(work: Callable[[], object], repetitions: int) -> float:
    """The median over the repetitions."""
    return statistics.median(seconds_of(work) for _ in range(repetitions))


def built(name: str, setup: Setup) -> tuple[Learner, str]:
    """The learner with the first loss that it takes, and the name of that.

    Raises:
        ConfigError: it takes none; what it says of the first.
    """
    refusals = []
    for loss, config in CONFIGS.items():
        try:
            return build(name, setup.problem, config), "perceptron" if name in OWN_LOSS else loss
        except ConfigError as error:
            refusals.append(error)
    raise refusals[0]


def epoch(name: str, setup: Setup, repetitions: int) -> dict[str, Any]:
    """One pass of a learner, and the average of its weights after it."""
    learner, loss = built(name, setup)
    state = learner.initialise(setup.gold_theta)

    def expose() -> None:
        with learner.model_weights(state):
            pass

    learner.iterate(state)
    expose()
    passes, averages = zip(
        *(
            (seconds_of(lambda: learner.iterate(state)), seconds_of(expose))
            for _ in range(repetitions)
        ),
        strict=True,
    )
    return {
        "loss": loss,
        "cpu_seconds": statistics.median(passes),
        "average_cpu_seconds": round(statistics.median(averages), 4),
    }


def inference(setup: Setup, repetitions: int) -> dict[str, float]:
    """One pass of scores, and of scores with each kind of inference."""
    problem = setup.problem
    out = np.empty(int(np.diff(problem.part_starts).max(initial=1)))

    def with_scores(infer: Callable[[int, Any], object]) -> Callable[[], None]:
        def work() -> None:
            for i in range(setup.n):
                infer(i, problem.scores(i))

        return work

    kinds = {
        "scores": with_scores(lambda i, scores: None),
        "scores + Eisner": with_scores(
            lambda i, scores: problem.argmax(i, scores, out[: len(scores)])
        ),
        "scores + inside-outside": with_scores(
            lambda i, scores: problem.marginals(i, scores, out[: len(scores)])
        ),
    }
    seconds = {}
    for name, work in kinds.items():
        work()
        seconds[name] = median_seconds(work, repetitions)
    return seconds


def figures(
    setup: Setup, names: list[str], repetitions: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Inference, then each learner, with its ratios to the perceptron."""
    perceptron = epoch("perceptron", setup, repetitions)
    seconds = inference(setup, repetitions)
    for name, own_seconds in seconds.items():
        yield name, {"cpu_seconds": round(own_seconds, 4)}
    for name in names:
        try:
            own = perceptron if name == "perceptron" else epoch(name, setup, repetitions)
        except ConfigError as error:
            yield name, {"left_out": str(error)}
            continue
        allowed = perceptron["cpu_seconds"] + seconds[INFERENCE.get(own["loss"], BEST)]
        yield (
            name,
            {
                **own,
                "cpu_seconds": round(own["cpu_seconds"], 4),
                "times_perceptron": round(own["cpu_seconds"] / perceptron["cpu_seconds"], 2),
                "times_perceptron_and_inference": round(own["cpu_seconds"] / allowed, 2),
            },
        )


def main() -> None:
    """Read, build the problem, time."""
    online = [name for name in LEARNERS if name not in ALL_AT_ONCE]
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("corpus", type=Path)
    options.add_argument("--sentences", type=int, default=500, help="the first so many")
    options.add_argument("--repetitions", type=int, default=5)
    options.add_argument("--learners", nargs="+", choices=list(LEARNERS), default=online)
    given = options.parse_args()
    sentences = list(
        islice((own for own in read_corpus(given.corpus) if len(own)), given.sentences)
    )
    setup = parser(
        Sample(given.corpus.name, sentences, sentences[:1]),
        trees="projective",
        bits=ORDER_1.bits,
        arc_share=ORDER_1.arc_share,
    )
    result: dict[str, Any] = {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "repetitions": given.repetitions,
        "corpus": given.corpus.name,
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "arcs": int(setup.problem.part_starts[-1]),
        "pass": dict(figures(setup, given.learners, given.repetitions)),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
