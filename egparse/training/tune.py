"""Which regularisation constant is best: each task's path over C, with the development score of
each solution on it.

The method is that of Collins et al. 2008, section 7.1.2 (``egparse.learners.eg.path``); problems,
features, tags and scores are those of training (``egparse.training.run``). The score of a C is that
of its solution, near its optimum, where training keeps the best model on its way there, which may
score a little higher.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from egparse.errors import ConfigError, EgparseError
from egparse.evaluation.quick import attachment
from egparse.features.tag_dictionary import lay_out
from egparse.features.templates import compile_templates
from egparse.fitting.choose_learner import build_learner
from egparse.fitting.config import TrainConfig
from egparse.fitting.progress import Iteration, Listener, Step, silent
from egparse.layers import TAG_LAYERS
from egparse.learners.eg.online import OnlineEG
from egparse.learners.eg.path import PathConfig, PathPoint, follow
from egparse.learners.learner import Learner, State
from egparse.parsing.arc_parser import Parser, choose_trees, prepare_parser, train_parser
from egparse.sentences import MISSING_HEAD, Sentence
from egparse.tagging.fit_sequence import SequenceExamples, SequenceSettings, prepare
from egparse.tagging.labeller import LABEL_TEMPLATES, Labeller
from egparse.tagging.sequence_model import SequenceModel, without_small_weights
from egparse.tagging.tagger import Tagger, TaggerTask, _examples, _finished, _settings
from egparse.tagging.tree_columns import tree_column_names, tree_values
from egparse.training.columns import annotated_layers, named_columns
from egparse.training.run import Training, hold_out
from egparse.types import Ints

Model = TypeVar("Model")

TASKS = (*TAG_LAYERS, "parser", "labels")
"""What has a constant of its own, in the order in which training comes to it."""

_LAYER_OF = {"parser": "heads", "labels": "deprels"}
_SECTION_OF = {"labels": "labeller"}

_ABOVE, _BELOW = 40.0, 0.1


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
    """The path of a task, as far as it came; ``points`` in order of decreasing C."""

    task: str
    path: PathConfig
    configured_c: float
    loss: str
    points: list[TunePoint] = field(default_factory=list)

    @property
    def setting(self) -> str:
        """What the constant is called in the configuration."""
        return f"{section_of(self.task)}.c"

    @property
    def best(self) -> TunePoint | None:
        """The point of highest score, of equal ones that of the largest C; None without scores."""
        scored = [point for point in self.points if point.score is not None]
        return max(scored, key=lambda point: point.score or 0.0, default=None)

    def as_table(self) -> dict[str, Any]:
        """Plain values by name."""
        best = self.best
        return {
            "task": self.task,
            "setting": self.setting,
            "loss": self.loss,
            "configured_c": self.configured_c,
            "tolerance": self.path.gap,
            "best_c": best and best.solution.c,
            "best_score": best and best.score,
            "points": [point.as_table() for point in self.points],
        }


class Tuned(NamedTuple):
    """What was measured; whether the user stopped it; how many sentences were held out, and how
    many gave the scores.
    """

    tasks: tuple[TunedTask, ...]
    interrupted: bool
    held_out: int
    development_sentences: int


def section_of(task: str) -> str:
    """The section of the configuration that is about a task."""
    return _SECTION_OF.get(task, task)


def path_around(
    task: str,
    config: TrainConfig,
    *,
    c_from: float | None = None,
    c_to: float | None = None,
    **rest: Any,
) -> PathConfig:
    """A path for a task: where an end is not given, 40 times, or a tenth of, the C of its
    configuration.

    Raises:
        ConfigError: an unknown task, or no path.
    """
    if task not in TASKS:
        raise ConfigError(f"expected a task among {', '.join(TASKS)}, got {task!r}")
    configured = getattr(config, section_of(task)).c
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
    """Follow the path of each task in ``paths``; what feeds these tasks is trained as configured.

    Without ``dev`` a share of the sentences is held out, as in training. The listener hears of each
    C as of a task of its own. Ctrl-C ends it with what has been measured so far; before the first
    point, KeyboardInterrupt is passed on.

    Raises:
        ConfigError: an unknown task.
        EgparseError: no sentence, no task, or a task that the corpus does not annotate.
    """
    sentences = [sentence for sentence in sentences if len(sentence)]
    layers = _layers(sentences, config, paths)
    held_out = 0
    if dev is None:
        sentences, dev = hold_out(sentences, config.hold_out, config.seed)
        held_out = len(dev)
    tuning = _Tuning(sentences, list(dev), layers, config, paths, listener)
    interrupted = False
    try:
        tuning.run()
    except KeyboardInterrupt:
        if not any(task.points for task in tuning.tuned):
            raise
        interrupted = True
    measured = tuple(task for task in tuning.tuned if task.points)
    return Tuned(measured, interrupted, held_out, len(dev))


def _layers(
    sentences: Sequence[Sentence], config: TrainConfig, paths: Mapping[str, PathConfig]
) -> tuple[str, ...]:
    """The layers that training would train."""
    unknown = [task for task in paths if task not in TASKS]
    if unknown or not paths:
        raise ConfigError(
            f"expected tasks among {', '.join(TASKS)}, got {unknown[0] if unknown else 'none'}"
        )
    if not sentences:
        raise EgparseError("expected at least one sentence to tune on, got none")
    found = annotated_layers(sentences)
    layers = tuple(layer for layer in found if not config.layers or layer in config.layers)
    possible = [task for task in TASKS if _LAYER_OF.get(task, task) in layers]
    if "heads" not in layers and "labels" in possible:
        possible.remove("labels")
    for task in paths:
        if task not in possible:
            raise EgparseError(
                f"expected a task that the corpus annotates ({', '.join(possible) or 'none'}), "
                f"got {task!r}"
            )
    return layers


class _Tuning(Training):
    """One run: training, but for the tasks whose path is asked for, and without those that nothing
    asked for needs.
    """

    def __init__(
        self,
        sentences: list[Sentence],
        dev: list[Sentence],
        layers: tuple[str, ...],
        config: TrainConfig,
        paths: Mapping[str, PathConfig],
        listener: Listener,
    ) -> None:
        super().__init__(sentences, dev, layers, config, listener)
        self.paths = paths
        self.tuned: list[TunedTask] = []

    def run(self) -> None:
        """In the order of training."""
        feeding = self._feeding()
        for layer in TAG_LAYERS:
            if layer in self.paths:
                self._tune_tagger(layer)
            if layer in feeding:
                self._tag(layer)
        if "parser" in self.paths or "labels" in self.paths:
            self._tune_trees()

    def _feeding(self) -> set[str]:
        """The layers of tags that a task asked for sees, and what those see."""
        trees = "parser" in self.paths or "labels" in self.paths
        feeding: set[str] = set()
        for layer in reversed([layer for layer in TAG_LAYERS if layer in self.layers]):
            seeing = [
                other
                for other in TAG_LAYERS[TAG_LAYERS.index(layer) + 1 :]
                if other in self.paths or other in feeding
            ]
            if (trees and layer != "spans") or layer in named_columns(seeing, self.config):
                feeding.add(layer)
        return feeding

    def _tune_tagger(self, layer: str) -> None:
        task = TaggerTask(
            layer,
            self.columns.labels[layer],
            self.columns.names,
            getattr(self.config, layer),
            self.config.seed,
        )
        examples, dictionary = _examples(
            task, self.words, self.columns.label_numbers(self.sentences, layer)
        )
        learner, state, snapshot = prepare(examples, _settings(task))

        def tagger(point: State) -> Tagger:
            return _finished(task, snapshot(point), dictionary)

        self._walk(layer, learner, state, tagger, self._tag_score(layer))

    def _tune_trees(self) -> None:
        if any(not sentence.heads or MISSING_HEAD in sentence.heads for sentence in self.sentences):
            raise EgparseError(
                "expected a head for every word of every training sentence; see --skip-bad"
            )
        config = self.config.parser
        heads = [np.array(sentence.heads, dtype=np.int32) for sentence in self.sentences]
        dev_heads = np.array(
            [head for sentence in self.dev for head in sentence.heads], dtype=np.int32
        )
        usable = len(dev_heads) == len(self.dev_words.form_ids) and len(dev_heads) > 0
        trees = choose_trees(heads, config)

        def score(parser: Parser) -> float:
            return attachment(dev_heads, parser.predict(self.dev_words))

        if "parser" in self.paths:
            prepared = prepare_parser(
                self.words, heads, self.columns, config, trees=trees, seed=self.config.seed
            )
            self._walk("parser", *prepared, score if usable else None)
        if "labels" not in self.paths:
            return
        if usable:  # labels are scored on the parser's trees
            best = train_parser(
                self.words,
                heads,
                self.columns,
                config,
                trees=trees,
                seed=self.config.seed,
                listener=self.listener,
                score=score,
            )
            self.parser = self._finish("heads", best, trees=trees)
        self._tune_labeller(np.concatenate(heads), self._label_score(dev_heads) if usable else None)

    def _tune_labeller(self, heads: Ints, score: Callable[[Labeller], float] | None) -> None:
        config, labels = self.config.labeller, self.columns.labels["deprels"]
        gold = self.columns.label_numbers(self.sentences, "deprels")
        seen = [sorted(set(gold[heads == 0].tolist())), sorted(set(gold[heads != 0].tolist()))]
        of_root, of_words = (tuple(found) or tuple(range(len(labels))) for found in seen)
        settings = SequenceSettings(
            templates=compile_templates(
                config.templates or LABEL_TEMPLATES, tree_column_names(self.columns)
            ),
            min_count=config.min_count,
            all_labels_from=config.all_labels_from,
            bigrams=False,
            learner=lambda problem, offsets: build_learner(
                problem, config, self.config.seed, offsets
            ),
            stop=config.stop,
        )
        values = tree_values(self.words, heads, self.columns)
        candidates = lay_out([of_words, of_root], (heads == 0).astype(np.int32))
        examples = SequenceExamples(values, self.words.starts, gold, candidates, len(labels))
        learner, state, snapshot = prepare(examples, settings)

        def labeller(point: State) -> Labeller:
            model: SequenceModel = without_small_weights(snapshot(point), config.drop_below)
            return Labeller(model, of_root, of_words)

        self._walk("labels", learner, state, labeller, score)

    def _walk(
        self,
        task: str,
        learner: Learner,
        state: Any,
        snapshot: Callable[[State], Model],
        score: Callable[[Model], float] | None,
    ) -> None:
        """The path of one task, each point scored as it comes."""
        if not isinstance(learner, OnlineEG):
            raise ConfigError(
                f"{task}: expected online EG, which starts each C from the duals of the last, got "
                f"{type(learner).__name__}"
            )
        path, config = self.paths[task], getattr(self.config, section_of(task))
        tuned = TunedTask(task, path, config.c, config.loss)
        self.tuned.append(tuned)
        told = _Teller(task, path, self.listener)
        solutions = follow(learner, state, path, told.passed)
        for c in path.constants:
            told.begin(c)
            solution = next(solutions)
            value = None
            if score is not None:
                with learner.exposed(state):
                    value = score(snapshot(solution))
            point = TunePoint(solution, value)
            tuned.points.append(point)
            told.passed(solution, value, value is not None and tuned.best is point)


class _Teller:
    """Tells the listener of each C as of a task of its own, with the passes made for it."""

    def __init__(self, task: str, path: PathConfig, listener: Listener) -> None:
        self._task, self._path, self._listener = task, path, listener
        self._seconds = 0.0

    def begin(self, c: float) -> None:
        """The first pass at this C is to come."""
        self._seconds = 0.0
        self._listener(Step(self._name(c), self._path.iterations, 0))

    def passed(self, point: PathPoint, score: float | None = None, best: bool = False) -> None:
        """A pass is over."""
        record = Iteration(
            self._name(point.c),
            point.iterations,
            point.effective_iterations,
            point.c,
            point.primal,
            point.dual,
            point.gap,
            point.relative_gap,
            score,
            best,
            point.cpu_seconds - self._seconds,
        )
        self._seconds = point.cpu_seconds
        self._listener(record)

    def _name(self, c: float) -> str:
        return f"{self._task} C={c:.4g}"
