"""What ``egparse train --jobs 2`` gains: wall-clock seconds until the duality gap is small, by one
job and by several in turn, for the tagger of UPOS, XPOS and FEATS, the pruner, which is an
arc-factored parser, and the second-order parser.

Passes and certificates are timed, the layout of the problem is not. Parsers learn from gold tags.
The second-order parser has no gap: for it a number of passes is timed, and its development score
after each is printed (UAS, with gold tags).
The ratio of a pair counts on a quiet machine only; with ``--in-turn`` the shards work one after the
other in one thread, and CPU seconds and passes say what the work costs whatever else runs.

Usage: python benchmarks/training_jobs.py TRAIN.conllu [--sentences 0] [--jobs 2] [--pairs 3]
       [--gaps 0.01 0.001] [--tasks morphology pruner parser] [--in-turn] [--rounds 8 16]
       [--margins 1.2 inf] [--dev DEV.conllu] [--passes 8] [--seed 0]
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from egparse.config.sections import JackknifeConfig, SupertagsConfig, TrainConfig
from egparse.fitting.jobs import Jobs, working_with
from egparse.fitting.optimise import Best, Prepared
from egparse.fitting.progress import Iteration
from egparse.io.whole_corpus import read_whole
from egparse.learners.shards.averaged import visits_in_memory
from egparse.learners.shards.learner import ShardsConfig, rounds_in_memory
from egparse.learners.shards.transport import in_turn, on_threads
from egparse.training.corpus import divide
from egparse.training.run import prepared_run

LAYERS = ("upos", "xpos", "feats", "heads", "deprels")
MOST_PASSES = 60


class Way(NamedTuple):
    """A number of shards, rounds in a pass (0: as many as ``--jobs`` takes), and the margin of
    sigma'; one shard is the learner as it is without ``--jobs``.
    """

    jobs: int
    rounds: int
    margin: float

    @property
    def name(self) -> str:
        """For people."""
        if self.jobs == 1:
            return "1 job"
        rounds = f"{self.rounds} rounds" if self.rounds else "rounds as --jobs has them"
        return f"{self.jobs} jobs, {rounds}, margin {self.margin:g}"


class Cost(NamedTuple):
    """Seconds, and passes over the examples (calls of inference / n), until the gap was reached."""

    wall: float
    cpu: float
    passes: float


@dataclass
class Measuring:
    """The method of a run that measures its tasks."""

    options: argparse.Namespace
    ways: list[Way]

    def __call__(self, task: Any) -> Best[Any]:
        """Train the task in each way, if it is asked for, and pass on the last predictor."""
        begun = time.process_time()
        prepared = task.prepare()
        if task.name not in self.options.tasks:
            for _ in range(3):
                prepared.learner.iterate(prepared.state)
            return _best(prepared)
        n = len(prepared.learner.problem.part_starts) - 1
        parts = int(prepared.learner.problem.part_starts[-1])
        width = sum(array.size for array in prepared.learner.problem.vectors())
        print(
            f"{task.name}: {n} examples, {parts} parts, {width} weights, "
            f"{time.process_time() - begun:.1f} s to prepare",
            flush=True,
        )
        found: dict[Way, list[list[Cost]]] = {way: [] for way in self.ways}
        if task.name == "parser" and task.config.learner == "dca":
            for _, way in itertools.product(range(self.options.pairs), self.ways):
                prepared = self._measure_passes(task, way)
            return _best(prepared)
        for _ in range(self.options.pairs):
            for way in self.ways:
                prepared, costs = self._measure(task, way)
                found[way].append(costs)
        for place, gap in enumerate(self.options.gaps):
            self._print(gap, {way: [run[place] for run in runs] for way, runs in found.items()})
        return _best(prepared)

    def _prepared(self, task: Any, way: Way) -> Prepared[Any]:
        connect = in_turn if self.options.in_turn else on_threads
        jobs = Jobs(way.jobs, connect) if way.jobs > 1 else Jobs()
        with working_with(jobs):
            prepared: Prepared[Any] = task.prepare()
        learner: Any = prepared.learner
        if way.jobs > 1:
            visits = visits_in_memory(learner.local)
            rounds = way.rounds or rounds_in_memory(learner.problem, way.jobs, visits)
            learner.config = replace(learner.config, rounds=rounds, margin=way.margin)
        return prepared

    def _measure_passes(self, task: Any, way: Way) -> Prepared[Any]:
        """Make passes; print the median cost of a pass and of a certificate, and the scores."""
        prepared, score = self._prepared(task, way), task.score()
        learner, state = prepared.learner, prepared.state
        passes, certificates, scores = [], [], []
        for _ in range(self.options.passes):
            begun = time.perf_counter()
            learner.iterate(state)
            passes.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            found = learner.certificate(state)
            certificates.append(time.perf_counter() - begun)
            scores.append("" if score is None else f"{score(prepared.current()):.2f}")
        details = {name: round(value, 3) for name, value in found.details.items()}
        print(
            f"    {way.name}: a pass {statistics.median(passes):.2f} s, a certificate "
            f"{statistics.median(certificates):.2f} s, UAS {' '.join(scores)} {details}",
            flush=True,
        )
        return prepared

    def _measure(self, task: Any, way: Way) -> tuple[Prepared[Any], list[Cost]]:
        """Train until the least gap; the cost of each gap."""
        prepared = self._prepared(task, way)
        learner, state = prepared.learner, prepared.state
        gaps, costs = list(self.options.gaps), []
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(MOST_PASSES):
            learner.iterate(state)
            found = learner.certificate(state)
            cost = Cost(
                time.perf_counter() - wall, time.process_time() - cpu, found.effective_iterations
            )
            while gaps and found.relative_gap <= gaps[0]:
                costs.append(cost)
                gaps.pop(0)
            if not gaps:
                break
        costs += [Cost(math.inf, math.inf, math.inf)] * len(gaps)
        ends = ", ".join(f"{cost.wall:.1f} s, {cost.passes:.2f} passes" for cost in costs)
        details = {name: round(value, 3) for name, value in found.details.items()}
        print(f"    {way.name}: {ends} {details or ''}", flush=True)
        return prepared, costs

    def _print(self, gap: float, found: dict[Way, list[Cost]]) -> None:
        first = found[self.ways[0]]
        for way, costs in found.items():
            ratios = [own.wall / other.wall for own, other in zip(costs, first, strict=True)]
            middle = Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))
            print(
                f"  gap {100 * gap:g} %  {way.name:36} wall {middle.wall:7.2f} s  "
                f"CPU {middle.cpu:7.2f} s  passes {middle.passes:6.2f}  "
                f"ratio of walls {statistics.median(ratios):.3f} "
                f"({min(ratios):.3f} to {max(ratios):.3f})",
                flush=True,
            )


def _best(prepared: Prepared[Any]) -> Best[Any]:
    certificate = prepared.learner.certificate(prepared.state)
    record = Iteration(
        "", 1, certificate.effective_iterations, certificate.c, certificate.primal,
        certificate.dual, certificate.gap, certificate.relative_gap, None, True, 0.0,
    )  # fmt: skip
    return Best(prepared.current(), record, "measured")


def main() -> None:
    """Print the cost of each task in each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sentences", type=int, default=0, help="only the first ones; 0: all")
    parser.add_argument("--jobs", type=int, nargs="+", default=[2])
    parser.add_argument("--pairs", type=int, default=3, help="runs of each kind, in turn")
    parser.add_argument("--gaps", type=float, nargs="+", default=[0.01, 0.001])
    parser.add_argument("--tasks", nargs="+", default=["morphology", "pruner", "parser"])
    parser.add_argument("--in-turn", action="store_true")
    parser.add_argument("--rounds", type=int, nargs="+", default=[0], help="0: as --jobs has them")
    parser.add_argument("--dev", type=Path, help="a corpus to score parsers on")
    parser.add_argument("--passes", type=int, default=8, help="of the second-order parser")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--margins", type=float, nargs="+", default=[ShardsConfig.margin])
    options = parser.parse_args()
    sentences = read_whole(options.corpus, None).sentences
    sentences = sentences[: options.sentences or len(sentences)]
    config = TrainConfig(
        layers=LAYERS,
        seed=options.seed,
        jackknife=JackknifeConfig(folds=0),
        supertags=replace(SupertagsConfig(), train=False),
    )
    ways = [Way(1, 1, 1.0)]
    ways += [Way(*way) for way in itertools.product(options.jobs, options.rounds, options.margins)]
    dev = [] if options.dev is None else read_whole(options.dev, None).sentences
    corpus = divide(sentences, dev, config)
    run = prepared_run(corpus, config, lambda event: None)
    run.until_interrupted(Measuring(options, ways))


if __name__ == "__main__":
    main()
