"""What training on a cluster sends: bytes of the examples of a shard, of the changes of v that
shards send and of the news of v that they get, a round each; and of a snapshot of the dual
variables, with the CPU seconds that it costs. The messages are those of Ray, pickled, but the
shards work in this process, one after the other: the figures do not depend on what else runs.

Usage: python benchmarks/cluster_bytes.py TRAIN.conllu [--sentences 2000] [--shards 2 8]
       [--passes 6] [--tasks upos parser]
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from egparse.config.sections import JackknifeConfig, ParserConfig, SplitterConfig, TrainConfig
from egparse.fitting.jobs import Jobs, working_with
from egparse.fitting.prepared import Best
from egparse.fitting.progress import Iteration
from egparse.io.corpus import read_whole
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.problem import Problem
from egparse.learners.shards.cocoa import Shard, ShardsConfig, sharded
from egparse.training.corpus import divide
from egparse.training.run import prepared_run


class Pickling:
    """A transport within this process that counts what a network would carry."""

    def __init__(
        self,
        problem: Problem,
        examples: Sequence[slice],
        kind: type[Learner],
        config: LearnerConfig,
    ) -> None:
        made = [pickle.dumps(problem.shard(own.start, own.stop), 5) for own in examples]
        self.of_examples = [len(one) for one in made]
        self.shards = [Shard(pickle.loads(one), kind, config, k) for k, one in enumerate(made)]
        self.news: list[int] = []
        self.changes: list[int] = []

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """See ``cocoa.Transport``."""
        found = [
            getattr(shard, method)(*own) for shard, own in zip(self.shards, arguments, strict=True)
        ]
        if method == "work":
            self.news.append(len(pickle.dumps(arguments[0], 5)))
            self.changes += [len(pickle.dumps(one, 5)) for one in found]
        return found


class Measuring:
    """The method of a run that measures its tasks."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options

    def __call__(self, task: Any) -> Best[Any]:
        """Train the task with each number of shards, if it is asked for."""
        counts = self.options.shards if task.name in self.options.tasks else [1]
        for count in counts:
            made: list[Pickling] = []

            def connect(*arguments: Any, made: list[Pickling] = made) -> Pickling:
                made.append(Pickling(*arguments))
                return made[-1]

            def learner(
                problem: Problem, kind: type[Learner], config: LearnerConfig, shards: int
            ) -> Learner:
                return sharded(problem, kind, config, ShardsConfig(shards=shards), connect)

            with working_with(Jobs(count, learner)):
                prepared = task.prepare()
            gaps = []
            for _ in range(self.options.passes if task.name in self.options.tasks else 1):
                prepared.learner.iterate(prepared.state)
                gaps.append(prepared.learner.certificate(prepared.state).relative_gap)
            if task.name in self.options.tasks:
                _print(task.name, count, prepared, made[-1], gaps)
        found = prepared.learner.certificate(prepared.state)
        record = Iteration(
            "", 1, found.effective_iterations, found.c, found.primal,
            found.dual, found.gap, found.relative_gap, None, True, 0.0,
        )  # fmt: skip
        return Best(prepared.current(), record, "measured")


def _print(name: str, count: int, prepared: Any, sent: Pickling, gaps: Sequence[float]) -> None:
    problem = prepared.learner.problem
    width = sum(array.nbytes for array in problem.vectors())
    begun = time.process_time()
    snapshot = [pickle.dumps(shard.state(), 5) for shard in sent.shards]
    seconds = time.process_time() - begun
    rounds = len(sent.news)
    first, last = slice(0, rounds // len(gaps)), slice(-(rounds // len(gaps)), None)
    of_rounds = np.array(sent.changes, dtype=np.float64).reshape(rounds, -1)
    print(
        f"{name}: {count} shards, {len(problem.part_starts) - 1} sentences, v {width / 1e6:.1f} MB"
        f"\n  examples of a shard {np.mean(sent.of_examples) / 1e6:.2f} MB"
        f"\n  changes of v from a shard, a round: first pass {of_rounds[first].mean() / 1e6:.3f} "
        f"MB, last pass {of_rounds[last].mean() / 1e6:.3f} MB"
        f"\n  news of v to a shard, a round: first pass {np.mean(sent.news[first]) / 1e6:.3f} MB, "
        f"last pass {np.mean(sent.news[last]) / 1e6:.3f} MB"
        f"\n  snapshot of a shard {np.mean([len(one) for one in snapshot]) / 1e6:.2f} MB, "
        f"{seconds / count:.3f} CPU s"
        f"\n  relative gap after each pass {' '.join(f'{gap:.3g}' for gap in gaps)}",
        flush=True,
    )


def main() -> None:
    """Print the bytes of each task and number of shards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--shards", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--passes", type=int, default=6)
    parser.add_argument("--tasks", nargs="+", default=["upos", "parser"])
    options = parser.parse_args()
    sentences = read_whole(options.corpus, None).sentences[: options.sentences]
    config = TrainConfig(
        layers=("upos", "heads"),
        jackknife=JackknifeConfig(folds=0),
        parser=ParserConfig(order=1, learner="eg-online"),
        splitter=SplitterConfig(train=False),
    )
    corpus = divide(sentences, [], config)
    run = prepared_run(corpus, config, lambda event: None)
    run.until_interrupted(Measuring(options))


if __name__ == "__main__":
    main()
