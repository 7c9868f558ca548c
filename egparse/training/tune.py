"""The choice of the regularisation constant: for each task a path over C, with the development
score at each C.

Tasks, problems, features, tags, scores and settings are the same as in training. Tasks learned by
online exponentiated gradient follow the path of Collins et al. 2008, section 7.1.2: each C starts
from the dual variables of the previous one (``egparse.learners.eg.path``), and is scored at its
solution. (Training keeps the best pass on the way there, which may score a little higher.) Tasks of
other learners, such as the second-order parser's dual coordinate ascent, are trained from zero at
each C, and scored at their best pass, as in training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from egparse.config.sections import TrainConfig
from egparse.errors import ConfigError, EgparseError
from egparse.fitting import interruption
from egparse.fitting.choose_learner import loss_name
from egparse.fitting.optimise import optimise
from egparse.fitting.prepared import Best, Prepared, naming
from egparse.fitting.progress import Iteration, Listener, Step, silent
from egparse.fitting.task import Calibrated, Task, fit
from egparse.layers import (
    MORPHOLOGY,
    WORD_TAGS,
)
from egparse.learners.eg.online import OnlineEG
from egparse.learners.eg.path import PathConfig, PathPoint, follow
from egparse.learners.registry import LEARNERS
from egparse.sentences import HIDDEN, Sentence
from egparse.training.checks import check_settings, with_language
from egparse.training.corpus import divide
from egparse.training.run import Run, prepared_run
from egparse.training.tasks import TASKS as RUN_TASKS
from egparse.training.tasks import TEXT

Predictor = TypeVar("Predictor", bound=Calibrated)

TASKS = (
    *WORD_TAGS,
    MORPHOLOGY,
    *(name for name in RUN_TASKS if name not in {*WORD_TAGS, MORPHOLOGY, *TEXT, *HIDDEN}),
    *TEXT,
)
"""The tasks, which are sections of the configuration."""

_ABOVE, _BELOW = 40.0, 0.1
_DECIMALS = 6
"""Scores that agree to so many decimals are equal: the splitter's differ by less from pass to pass
where it prefers the later one (``egparse.text.training``).
"""


class TunePoint(NamedTuple):
    """A solution of the path; ``score`` is in per cent of words or F1, None without development
    data.
    """

    solution: PathPoint
    score: float | None

    def as_table(self) -> dict[str, Any]:
        """Plain values by name."""
        solution = self.solution
        gaps = {"gap": solution.gap, "relative_gap": solution.relative_gap}
        return {**solution._asdict(), **gaps, "score": self.score}


@dataclass(frozen=True)
class TunedTask:
    """The path of a task, as far as it was followed; ``points`` in order of decreasing C.

    ``warm_start``: whether each C starts from the solution of the previous one.
    """

    task: str
    path: PathConfig
    configured_c: float
    learner: str
    loss: str
    warm_start: bool
    points: list[TunePoint] = field(default_factory=list)

    @property
    def setting(self) -> str:
        """The key of the constant in the configuration."""
        return f"{self.task}.c"

    @property
    def best(self) -> TunePoint | None:
        """The point of highest score, among equal ones the largest C; None without scores."""
        scored = [point for point in self.points if point.score is not None]
        return max(scored, key=lambda point: round(point.score or 0.0, _DECIMALS), default=None)

    def as_table(self) -> dict[str, Any]:
        """Plain values by name."""
        best = self.best
        return {
            "task": self.task,
            "setting": self.setting,
            "learner": self.learner,
            "loss": self.loss,
            "warm_start": self.warm_start,
            "configured_c": self.configured_c,
            "tolerance": self.path.gap,
            "best_c": best and best.solution.c,
            "best_score": best and best.score,
            "points": [point.as_table() for point in self.points],
        }


class Tuned(NamedTuple):
    """The paths, whether the user stopped them, and the numbers of sentences that were held out and
    that gave the scores.
    """

    tasks: tuple[TunedTask, ...]
    interrupted: bool
    held_out: int
    development_sentences: int


def path_around(
    task: str,
    config: TrainConfig,
    *,
    c_from: float | None = None,
    c_to: float | None = None,
    **rest: Any,
) -> PathConfig:
    """A path for a task: by default from 40 times the configured C to a tenth of it.

    Raises:
        ConfigError: an unknown task, or values that make no path.
    """
    if task not in TASKS:
        raise ConfigError(f"expected a task among {', '.join(TASKS)}, got {task!r}")
    configured = getattr(config, task).c
    if c_from is None:
        c_from = max(_ABOVE * configured, c_to or 0.0)
    if c_to is None:
        c_to = min(_BELOW * configured, c_from)
    return PathConfig(c_from=c_from, c_to=c_to, **rest)


def tune(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] | None,
    config: TrainConfig,
    paths: Mapping[str, PathConfig],
    listener: Listener = silent,
) -> Tuned:
    """Follow the path of each task in ``paths``; tasks whose predictions these need are trained as
    configured.

    A path for one of UPOS, XPOS and FEATS means that each of them has its own tagger, unless the
    settings say otherwise: so it has in training, with the C of that path.

    Without ``dev`` a share of the sentences is held out, as in training. The events of each C name
    it as a separate task. Ctrl-C returns what has been measured so far; before the first point,
    KeyboardInterrupt is passed on.

    Raises:
        ConfigError: an unknown task.
        EgparseError: no sentence, no task, or a task that the corpus does not annotate.
    """
    config = with_language(check_settings(config), sentences)
    if config.jobs > 1:
        raise ConfigError(f"expected jobs = 1 for tuning, got jobs = {config.jobs}")
    if (
        config.morphology.joint == "auto"
        and MORPHOLOGY not in paths
        and set(WORD_TAGS) & set(paths)
    ):
        config = replace(config, morphology=replace(config.morphology, joint="never"))
    corpus = divide(sentences, dev, config)
    run = prepared_run(corpus, config, listener)
    _check_tasks(run, paths)
    tuning = _Tuning(run, paths, listener)
    interrupted = False
    try:
        with interruption.deferred():
            run.run(tuning)
    except KeyboardInterrupt:
        if not any(task.points for task in tuning.tuned):
            raise
        interrupted = True
    measured = tuple(task for task in tuning.tuned if task.points)
    return Tuned(measured, interrupted, corpus.held_out, len(corpus.dev))


def _check_tasks(run: Run, paths: Mapping[str, PathConfig]) -> None:
    """Raise ConfigError for unknown tasks, EgparseError for tasks that would not be trained."""
    corpus, config = run.corpus, run.config
    unknown = [task for task in paths if task not in TASKS]
    if unknown or not paths:
        raise ConfigError(
            f"expected tasks among {', '.join(TASKS)}, got {unknown[0] if unknown else 'none'}"
        )
    possible = {corpus.section_of(layer) for layer in corpus.layers}
    if "parser" not in possible:
        possible.discard("labeller")
    elif config.parser.order == 2:
        possible.add("pruner")
    for name in TEXT:
        of_text = RUN_TASKS[name].make(run)
        if of_text is not None and of_text.without_model() is None:
            possible.add(name)
    listed = ", ".join(task for task in TASKS if task in possible) or "none"
    if "pruner" in paths and "parser" in possible and config.parser.order == 1:
        raise EgparseError("pruner: a parser of order 1 has no pruner")
    for task in paths:
        learner = getattr(config, task).algorithm
        if learner in LEARNERS and not LEARNERS[learner].regularised:
            raise ConfigError(f"{task}: the learner {learner} has no regularisation constant")
        if task in run.corpus.joint:
            raise EgparseError(
                f"{task}: {', '.join(run.corpus.joint)} are learned together; expected the task "
                f"{MORPHOLOGY}, or morphology.joint = 'never'"
            )
        if task not in possible:
            raise EgparseError(
                f"expected a task that the corpus annotates ({listed}), got {task!r}"
            )


class _Tuning:
    """The method of a run: requested tasks follow a path, tasks whose predictions they need are
    trained, and all others are left out.
    """

    def __init__(
        self,
        run: Run,
        paths: Mapping[str, PathConfig],
        listener: Listener,
    ) -> None:
        self._paths, self._listener = paths, listener
        self._needed: set[str] = set()  # directly or indirectly by a task with a path
        for name in reversed(list(RUN_TASKS)):
            if run.is_read(name, self._needed.union(paths)):
                self._needed.add(name)
        self.tuned: list[TunedTask] = []

    def __call__(self, task: Task[Predictor]) -> Best[Predictor] | None:
        """Follow the path of a task, and train it where a later task needs its predictions."""
        if task.name in self._paths:
            self._walk(task)
        return fit(task, self._listener) if task.name in self._needed else None

    def _walk(self, task: Task[Predictor]) -> None:
        """Follow the path of one task and score each point."""
        config = task.config
        entry = LEARNERS.get(config.algorithm)
        prepared = task.prepare() if entry is not None and entry.warm_starts else None
        # partial annotation is completed anew at each C: its targets depend on the weights
        warm_start = prepared is not None and isinstance(prepared.learner, OnlineEG)
        tuned = TunedTask(
            task.name,
            self._paths[task.name],
            config.c,
            config.algorithm,
            loss_name(config),
            warm_start,
        )
        self.tuned.append(tuned)
        if prepared is not None and isinstance(prepared.learner, OnlineEG):
            self._follow(task, tuned, prepared, prepared.learner)
        else:
            self._train_at_each(task, tuned)

    def _follow(
        self,
        task: Task[Predictor],
        tuned: TunedTask,
        prepared: Prepared[Predictor],
        learner: OnlineEG,
    ) -> None:
        """Start each C from the dual variables of the previous one; each is reported to the
        listener as a separate task.
        """
        score, seconds = task.score(), 0.0

        def passed(point: PathPoint, value: float | None = None, best: bool = False) -> None:
            nonlocal seconds
            record = Iteration(
                f"{task.name} C={point.c:.4g}",
                point.iterations,
                point.effective_iterations,
                point.c,
                point.primal,
                point.dual,
                point.gap,
                point.relative_gap,
                value,
                best,
                point.cpu_seconds - seconds,
            )
            seconds = point.cpu_seconds
            self._listener(record)

        solutions = follow(learner, prepared.state, tuned.path, passed)
        for c in tuned.path.constants:
            seconds = 0.0
            self._listener(Step(f"{task.name} C={c:.4g}", tuned.path.iterations, 0))
            solution = next(solutions)
            value = None
            if score is not None:
                with learner.model_weights(prepared.state), naming(task.name):
                    value = score(prepared.snapshot(solution))
            point = TunePoint(solution, value)
            tuned.points.append(point)
            passed(solution, value, value is not None and tuned.best is point)

    def _train_at_each(self, task: Task[Predictor], tuned: TunedTask) -> None:
        """Train from zero at each C, for learners that cannot start from another C."""
        evaluations = seconds = 0.0

        def listen(event: Iteration | Step) -> None:
            nonlocal seconds
            seconds += event.seconds if isinstance(event, Iteration) else 0.0
            self._listener(event)

        for c in tuned.path.constants:
            settings, seconds = replace(task.config, c=c), 0.0
            name = f"{task.name} C={c:.4g}"
            best = optimise(task.prepare(settings), settings.stop, task.score(), name, listen)
            if best.interrupted:
                raise KeyboardInterrupt
            record = best.record
            evaluations += record.effective_iterations
            solution = PathPoint(
                c=c,
                primal=record.primal,
                dual=record.dual,
                iterations=record.iteration,
                effective_iterations=record.effective_iterations,
                total_effective_iterations=evaluations,
                cpu_seconds=seconds,
                reached=record.relative_gap <= settings.stop.gap,
            )
            tuned.points.append(TunePoint(solution, record.score))
