"""Training by shards of the examples: how many rounds of communication, passes over the data and
bytes it takes to come near the optimum, for 1 to 32 shards.

* **CoCoA+** (Ma et al. 2015) with exponentiated gradient or dual coordinate ascent in the shards
  (``egparse.learners.shards.cocoa``): shards send sparse changes of v, once a pass, or with the
  short rounds of training on threads several times.
* **Parallel gradient**: L-BFGS; a round is one evaluation of the primal and its gradient, for which
  each shard sends the gradient of its examples. The rounds do not depend on the shards.
* **Parameter mixing** (Mann et al. 2009): each shard is trained to the end and the weights are
  mixed, in one round; or one pass of stochastic gradient descent on each shard a round, from the
  mixed weights (McDonald et al. 2010).

All shards work in this process, one after the other: seconds are those of all together, without any
transport. Bytes are those that all shards send; they receive as much, or the union of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from egparse.config.sections import TrainConfig
from egparse.experiments.claims.distributed import (
    COCOA_EG,
    COCOA_SDCA,
    GRADIENT,
    ITERATED,
    ONE_SHOT,
    PARSER,
    SHORT_ROUNDS,
    TAGGER,
    Found,
    Reached,
    claims,
    found_of,
)
from egparse.experiments.data.problems import Setup, parser, tagged
from egparse.experiments.data.samples import Corpus, Sample, files_of, sample
from egparse.experiments.learners.sdca import SDCA, SDCAConfig
from egparse.experiments.report.outcome import Line, Outcome, Panel, Table
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import number, score
from egparse.fitting.task import Part
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.problem import Problem
from egparse.learners.registry import build
from egparse.learners.shards.cocoa import ShardedLearner, ShardsConfig, in_turn
from egparse.parsing.training import STEPS
from egparse.sentences import Sentence
from egparse.sequences.task import GOLD_THETA
from egparse.sequences.training import TaggerTask
from egparse.training.columns import build_columns

NAME = "distributed"
_TREEBANK = Corpus("ud/en_ewt-ud-train.conllu", dev="ud/en_ewt-ud-dev.conllu")
NEEDS = files_of(_TREEBANK)
SOURCE = "Mann et al. 2009; McDonald et al. 2010; Jaggi et al. 2014; Ma et al. 2015"

SHARDS = (1, 2, 4, 8, 16, 32)
_OPTIMUM = 1e-4
"""The relative gap of the run that the others are compared with."""
_ENOUGH = 5e-4
"""The relative distance from its bound at which a run ends."""
_MOST_ROUNDS = 1000


_Local = tuple[type[Learner], LearnerConfig]
"""The class and the configuration of the learner of a shard."""


class _Step(NamedTuple):
    """A run after a pass or a round: what it took so far, and where it is."""

    rounds: int
    passes: float
    bytes: int
    seconds: float
    primal: float
    dual: float


def measure(request: Request) -> Results:
    """All methods on both problems."""
    numbers: dict[str, Any] = {"shards": [k for k in SHARDS if not request.quick or k <= 4]}
    facts: dict[str, Any] = {}
    for name, made, c in ((TAGGER, _tagger, 1.0), (PARSER, _parser, 3.0)):
        setup = made(request)
        numbers[name] = _Problem(name, setup, c, request).measure(numbers["shards"])
        facts |= {f"{name}: {key}": value for key, value in setup.facts.items()}
        facts[f"{name}: C"] = c
    notes = (
        "Distances are those of the primal from the greatest dual value of any run, in per cent of "
        "it. Learners in the dual know this distance, up to their own gap, without any other run.",
        "Shards are runs of the corpus for CoCoA+, and dealt out sentence by sentence for mixing.",
        "A shard that sends a gradient or weights sends the entries that its examples touch, with "
        "their numbers.",
    )
    return Results({}, {**numbers, "facts": facts}, notes, request.quick)


class _Problem:
    """The runs on one problem."""

    def __init__(self, name: str, setup: Setup, c: float, request: Request) -> None:
        self.name, self.setup, self.c, self.request = name, setup, c, request
        self.problem: Problem = setup.problem
        self.seconds = request.seconds_of(8.0, 0.1)

    def measure(self, shards: list[int]) -> dict[str, Any]:
        """Runs as plain data, with the score of the optimum."""
        problem, c, seed = self.problem, self.c, self.request.seed
        eg = EGConfig(c=c, seed=seed, **({} if self.name == TAGGER else STEPS))  # type: ignore[arg-type]
        sdca = SDCAConfig(c=c, seed=seed)
        best = self._optimum(eg)
        runs = []
        ways: tuple[tuple[str, _Local, int], ...] = (
            (COCOA_EG, (OnlineEG, eg), 1),
            (SHORT_ROUNDS, (OnlineEG, eg), ShardsConfig.rounds),
            (COCOA_SDCA, (SDCA, sdca), 1),
        )
        for method, local, rounds in ways:
            for k in shards:
                runs.append(self._run(method, k, best.dual, self._dual(local, k, rounds)))
        touched = {k: _touched(problem, k) for k in shards}
        lbfgs = list(self._until(self._lbfgs(touched[shards[0]]), best.dual))
        for k in shards:
            steps = [step._replace(bytes=step.rounds * touched[k]) for step in lbfgs]
            runs.append(self._record(GRADIENT, k, steps, self._score_now(1.0)))
        for k in shards:
            runs.append(self._run(ITERATED, k, best.dual, self._iterated(k, touched[k])))
        for k in shards[1:]:
            runs.append(self._run(ONE_SHOT, k, best.dual, self._one_shot(k, touched[k])))
        return {"optimum": best.primal, "bound": best.dual, "score": best.score, "runs": runs}

    def _optimum(self, config: EGConfig) -> _Best:
        learner = ShardedLearner(self.problem, OnlineEG, config, ShardsConfig(shards=1), in_turn)
        state = learner.initialise(self.setup.gold_theta)
        begun = time.process_time()
        while True:
            learner.iterate(state)
            found = learner.certificate(state)
            spent = time.process_time() - begun
            if found.relative_gap <= _OPTIMUM or spent > 3 * self.seconds:
                break
        self.request.tell(f"{self.name}: the optimum, to a gap of {100 * found.relative_gap:.3g} %")
        return _Best(found.primal, found.dual, self.setup.score(state.scale))

    def _run(self, method: str, k: int, bound: float, steps: Iterator[_Step]) -> dict[str, Any]:
        self._scale = 1.0
        taken = list(self._until(steps, bound))
        return self._record(method, k, taken, self._score_now(self._scale))

    def _until(self, steps: Iterator[_Step], bound: float) -> Iterator[_Step]:
        """The steps until one is near the bound, or too much has been spent."""
        for step in steps:
            yield step
            near = step.primal - bound <= _ENOUGH * abs(bound)
            if near or step.seconds > self.seconds or step.rounds > _MOST_ROUNDS:
                return

    def _score_now(self, scale: float) -> float:
        return self.setup.score(scale)

    def _record(self, method: str, k: int, steps: list[_Step], rate: float) -> dict[str, Any]:
        last = steps[-1]
        self.request.tell(
            f"{self.name}, {method}, {k} shards: {last.rounds} rounds, {last.passes:.1f} passes, "
            f"{last.seconds:.1f} s, score {rate:.2f}"
        )
        columns = zip(*steps, strict=True)
        points = {key: list(values) for key, values in zip(_Step._fields, columns, strict=True)}
        return {"method": method, "shards": k, "score": rate, "points": points}

    def _dual(self, local: _Local, k: int, rounds: int) -> Iterator[_Step]:
        config = ShardsConfig(shards=k, rounds=rounds)
        learner = ShardedLearner(self.problem, *local, config, in_turn)
        clock = _Clock()
        state = clock.time(lambda: learner.initialise(self.setup.gold_theta))
        self._scale = state.scale
        while True:
            clock.time(lambda: learner.iterate(state))
            found = learner.certificate(state)
            effort = found.effective_iterations
            yield _Step(state.rounds, effort, state.bytes, clock.spent, found.primal, found.dual)

    def _lbfgs(self, touched: int) -> Iterator[_Step]:
        learner = build("lbfgs", self.problem, self._common())
        clock = _Clock()
        state = clock.time(learner.initialise)
        while True:
            clock.time(lambda: learner.iterate(state))
            found = learner.certificate(state)
            rounds = round(found.effective_iterations)
            yield _Step(rounds, rounds, rounds * touched, clock.spent, found.primal, found.dual)

    def _iterated(self, k: int, touched: int) -> Iterator[_Step]:
        options = {"inner": "sgd", "shards": k, "iterated": True, "processes": False}
        learner = build("parameter-mixing", self.problem, self._common(), **options)
        clock = _Clock()
        state = clock.time(learner.initialise)
        for rounds in range(1, _MOST_ROUNDS):
            clock.time(lambda: learner.iterate(state))
            found = learner.certificate(state)
            effort = found.effective_iterations
            yield _Step(rounds, effort, rounds * touched, clock.spent, found.primal, found.dual)

    def _one_shot(self, k: int, touched: int) -> Iterator[_Step]:
        options = {"inner": "eg-online", "shards": k, "gap": 1e-3, "passes": 50, "processes": False}
        learner = build("parameter-mixing", self.problem, self._common(), **options)
        clock = _Clock()
        state = clock.time(lambda: learner.initialise(self.setup.gold_theta))
        clock.time(lambda: learner.iterate(state))
        found = learner.certificate(state)
        yield _Step(1, found.effective_iterations, touched, clock.spent, found.primal, found.dual)

    def _common(self) -> LearnerConfig:
        return LearnerConfig(c=self.c, seed=self.request.seed)


class _Best(NamedTuple):
    """The optimum, nearly: its primal, the dual below it, and the score of its model."""

    primal: float
    dual: float
    score: float


class _Clock:
    """CPU seconds of what is timed."""

    def __init__(self) -> None:
        self.spent = 0.0

    def time(self, work: Callable[[], Any]) -> Any:
        """The result of some work, whose time is added."""
        begun = time.process_time()
        result = work()
        self.spent += time.process_time() - begun
        return result


def _touched(problem: Problem, k: int) -> int:
    """The bytes of the entries of v that the examples of each of k shards touch, and of their
    numbers, over all shards.
    """
    room = problem.with_own_weights()
    random = np.random.default_rng(1)
    total = 0
    for p in range(k):
        room.reset()
        for i in range(p, len(problem.part_starts) - 1, k):
            room.add(i, random.random(int(problem.part_starts[i + 1] - problem.part_starts[i])))
        total += sum(
            int(np.count_nonzero(array)) * (4 + array.itemsize) for array in room.vectors()
        )
    return total


def _treebank(request: Request, train: int) -> Sample:
    part = sample(request, _TREEBANK, (60, 40))
    return part._replace(train=part.train[:train], dev=part.dev[:500], test=())


def _tagger(request: Request) -> Setup:
    """Universal tags by a linear chain."""
    part = _treebank(request, 1500)
    config = TrainConfig(layers=("upos",))
    columns = build_columns(part.train, ("upos",), config)

    def words_of(sentences: list[Sentence]) -> Part:
        return Part(sentences, tagged(columns, sentences, ("upos",)))

    train, dev = words_of(list(part.train)), words_of(list(part.dev))
    task = TaggerTask(
        "upos", columns, train, dev, config=config.upos, seed=request.seed, in_full=True
    )
    learner, _, snapshot = task.prepare()
    rate = task.score()
    assert rate is not None
    problem: Any = learner.problem
    facts = {
        "data": part.name,
        "training sentences": len(part.train),
        "validation sentences": len(part.dev),
        "weights": sum(array.size for array in problem.vectors()),
    }
    return Setup(
        TAGGER,
        problem,
        lambda scale: rate(snapshot(_Scaled(scale))),
        "validation accuracy (% of words)",
        1,
        GOLD_THETA + float(np.log(len(columns.labels["upos"]))),
        facts,
    )


def _parser(request: Request) -> Setup:
    """Arc-factored projective trees."""
    part = _treebank(request, 300)
    bits = 14 if request.quick else 20
    return parser(part, trees="projective", bits=bits, arc_share=0.001, in_full=True)


class _Scaled(NamedTuple):
    """The only field of a learner's state that a snapshot reads."""

    scale: float


def report(results: Results) -> Outcome:
    """Tables and figures of rounds, passes and bytes, and the claims of the papers."""
    found = found_of(results)
    return Outcome(
        "Training by shards",
        SOURCE,
        results.numbers["facts"],
        claims(found),
        [_table(name, own) for name, own in found.items()],
        [panel for name, own in found.items() for panel in _panels(name, own)],
        (
            *results.notes,
            "A run ends after 8 CPU seconds of all its shards (a tenth of one in a quick run), so "
            "that - may mean that they were not enough.",
        ),
    )


def _table(name: str, found: Found) -> Table:
    headings = (
        *("method", "shards", "rounds to 1 %", "passes", "MB", "rounds to 0.1 %", "passes", "MB"),
        *("passes at the end", "above bound %", "CPU s a pass", "score"),
    )
    rows = []
    for run in found.runs:
        cells = [cell for per_cent in (1.0, 0.1) for cell in _cells(found.reached(run, per_cent))]
        rows.append(
            (
                run.method,
                str(run.shards),
                *cells,
                f"{run.passes[-1]:.1f}",
                number(found.excess(run)[-1]),
                number(run.seconds[-1] / max(1e-9, run.passes[-1])),
                score(run.score),
            )
        )
    title = f"{name}: to within 1 and 0.1 % of the optimum, whose score is {score(found.score)}"
    return Table(title, headings, "lr" + "r" * (len(headings) - 2), rows)


def _cells(reached: Reached | None) -> tuple[str, str, str]:
    if reached is None:
        return "-", "-", "-"
    return str(reached.rounds), f"{reached.passes:.1f}", number(reached.bytes / 1e6)


def _panels(name: str, found: Found) -> list[Panel]:
    def line(method: str, place: int, y: Callable[[Reached], float]) -> Line:
        ends = [(run.shards, found.reached(run, 0.1)) for run in found.of(method)]
        ended = [(k, y(reached)) for k, reached in ends if reached is not None]
        return Line(
            method, [k for k, _ in ended], [value for _, value in ended], place, False, True
        )

    def panel(title: str, y_label: str, y: Callable[[Reached], float]) -> Panel:
        drawn = [line(method, place, y) for place, method in enumerate(found.methods)]
        drawn = [each for each in drawn if each.x]
        return Panel(f"{name}: {title}", "shards", y_label, drawn, log_x=True, log_y=True)

    scores = [
        Line(
            method,
            [run.shards for run in found.of(method)],
            [run.score for run in found.of(method)],
            place,
            marked=True,
        )
        for place, method in enumerate(found.methods)
        if method in (COCOA_EG, ITERATED, ONE_SHOT)
    ]
    return [
        panel("rounds to 0.1 %", "rounds", lambda reached: reached.rounds),
        panel("work to 0.1 %", "passes over the data", lambda reached: reached.passes),
        panel("bytes to 0.1 %", "MB sent by all shards", lambda reached: reached.bytes / 1e6),
        Panel(f"{name}: score", "shards", "validation accuracy (%)", scores, log_x=True),
    ]
