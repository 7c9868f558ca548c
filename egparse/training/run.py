"""Training a model: every task of the table in turn, later ones on jackknifed (predicted) tags
instead of gold ones.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from egparse.config.reading import config_of_model
from egparse.config.sections import TrainConfig
from egparse.features.word_table import Columns
from egparse.fitting import interruption
from egparse.fitting.choose_learner import is_probabilistic
from egparse.fitting.jobs import Jobs, beside_others, in_threads, present_jobs, working_with
from egparse.fitting.journal import Journal
from egparse.fitting.prepared import INTERRUPTED, Best, naming
from egparse.fitting.progress import Iteration, Listener, Step, silent
from egparse.fitting.task import Calibrated, Task, calibrated, fit
from egparse.parsing.training import check_second_order
from egparse.pipeline.components import COMPONENTS, PARSER, Components
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.sequences.tagger import Tagger
from egparse.sequences.training import TaggerTask
from egparse.storage import scratch
from egparse.text.exceptions.table import Exceptions, read_exceptions
from egparse.training.checks import check_for_corpus, check_settings, with_language
from egparse.training.columns import (
    CountForms,
    build_columns,
    counter_of_forms,
    hidden_labels,
    part_of,
    record_of_classes,
)
from egparse.training.corpus import Corpus, divide
from egparse.training.tasks import PRUNER, TASKS, TEXT, Scene
from egparse.types import Ints, Longs

Predictor = TypeVar("Predictor", bound=Calibrated)

_STATISTICS_FOLDS = 5
_DOCUMENTS_PER_FOLD = 10
_BLOCK = 50  # sentences that count as a document if the corpus does not mark documents


class Trained(NamedTuple):
    """The model; whether the user stopped its training; how many sentences were held out of the
    corpus; the development part.
    """

    model: Model
    interrupted: bool
    held_out: int
    dev: Sequence[Sentence]


class Method(Protocol):
    """What a run does with each task; training fits it, tuning follows a path over C."""

    def __call__(self, task: Task[Predictor]) -> Best[Predictor] | None:
        """The predictor of a task, None if no later task needs it.

        Raises:
            KeyboardInterrupt: the user stopped it before there was a predictor.
        """


def train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] | None,
    config: TrainConfig,
    listener: Listener = silent,
    journal: Journal | None = None,
) -> Trained:
    """Train every task that the corpus supports.

    Without ``dev`` a share of the sentences is held out. With a ``journal`` the run can be
    continued after it was stopped. Ctrl-C ends training with what has been trained so far; before
    the first task has a predictor, KeyboardInterrupt is passed on.

    Raises:
        EgparseError: no sentence, no annotated layer, or a requested layer that is not annotated.
        ConfigError: a learner that does not fit its task; raised before anything is trained.
    """
    config = with_language(check_settings(config), sentences)
    corpus = divide(sentences, dev, config)
    # a journal has one task after the other, and limited memory is for one at a time
    turns = journal is not None or scratch.active() is not None
    run = prepared_run(corpus, config, listener, journal, turns=turns)
    interrupted = run.fit()
    return Trained(run.model(interrupted), interrupted, corpus.held_out, corpus.dev)


def prepared_run(
    corpus: Corpus,
    config: TrainConfig,
    listener: Listener,
    journal: Journal | None = None,
    *,
    turns: bool = True,
) -> Run:
    """A run without a base over a corpus.

    Raises:
        EgparseError: settings that do not fit the corpus or the layers, faulty exceptions.
    """
    check_for_corpus(config, corpus)
    sentences, layers = corpus.train, corpus.layers
    hidden = hidden_labels(sentences, layers, config)
    columns = build_columns(sentences, layers, config, corpus.joint, hidden)
    return Run(
        corpus=corpus,
        config=config,
        columns=columns,
        train=part_of(sentences, columns, layers),
        dev=part_of(corpus.dev, columns, layers),
        count=counter_of_forms(sentences),
        background=Background(listener, turns=turns),
        journal=journal,
        exceptions=read_exceptions(config.exceptions, config.language),
    )


@dataclass(kw_only=True)
class Run(Scene):
    """One run over the tasks, in an order in which each can use the predictions of earlier ones.

    Words get the tags that later tasks read as the run proceeds. ``records`` are by layer. Tasks
    that no later one reads are learned in the ``background``.
    """

    count: CountForms
    background: Background
    journal: Journal | None = None
    exceptions: Exceptions | None = None
    records: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        before = 0.0 if self.journal is None else self.journal.seconds_before
        self._begun = time.process_time() - before
        self._fold_of = deal(self.corpus.train, max(1, self.config.jackknife.folds))
        if self.columns.statistics is not None:
            self._count_in_other_folds()

    def _count_in_other_folds(self) -> None:
        """Count the statistics of each fold's forms in the other folds, so that they are as
        uninformative about its words as about new text.
        """
        folds = max(_STATISTICS_FOLDS, self.config.jackknife.folds)
        words = self.train.words
        fold_of = np.repeat(deal(self.corpus.train, folds), np.diff(words.starts))
        for fold in range(folds):
            others = self.count(fold_of != fold)
            words = self.columns.with_statistics(words, others, fold_of == fold)
        self.train = self.train._replace(words=words)

    def fit(self) -> bool:
        """Train all tasks, and return whether the user stopped it; see ``until_interrupted``."""
        notify, journal = self.background.notify, self.journal
        return self.until_interrupted(lambda task: fit(task, notify, journal))

    def until_interrupted(self, method: Method) -> bool:
        """Run, and return whether the user stopped it; predictors that were finished are kept.

        Raises:
            KeyboardInterrupt: the user stopped it before anything had been trained.
        """
        jobs = replace(present_jobs(), count=self.config.jobs)
        try:
            with working_with(jobs), interruption.deferred():
                try:
                    self.run(method)
                finally:
                    self.background.wait()
        except KeyboardInterrupt:
            if PRUNER in self.learned and PARSER not in self.learned:  # it is a parser too
                self.learned[PARSER] = self.before(PARSER) or self.learned[PRUNER]
                self.records["heads"]["stopped"] = INTERRUPTED
            if not any(TASKS[name].suffices for name in self.learned):
                raise
            return True
        return False

    def run(self, method: Method) -> None:
        """Learn every task of the table that there is something for."""
        if self.heads is not None and self.before(PARSER) is None and self.config.parser.order == 2:
            check_second_order(self.config.parser, self.trees, self.columns)
        for name, row in TASKS.items():
            if row.awaits:
                self.background.wait()
            task, before = row.make(self), self.before(name)
            if not self.is_read(name, self.wanted):
                if task is not None:
                    beside = row.of != "trees" and self._is_followed(name)
                    self.background.start(partial(self._learn, task, method), beside=beside)
            elif task is None:
                if before is not None:
                    self._show(before, before.choose(self.train.words))
            else:
                predictor = self._learn(task, method)
                if predictor is not None and isinstance(task, TaggerTask):
                    self._show(predictor, self._jackknifed(task))

    def _is_followed(self, name: str) -> bool:
        """Whether a task that is waited for comes after one that is not."""
        return self.heads is not None or (bool(self.corpus.joint) and name in TEXT)

    def _learn(self, task: Task[Predictor], method: Method) -> Predictor | None:
        """Learn one task; the predictor is returned without its temperature.

        Raises:
            KeyboardInterrupt: the user stopped its training.
        """
        if (ready := task.without_model()) is not None:
            self.learned[task.name] = ready
            return ready
        if (best := method(task)) is None:
            return None
        self.learned[task.name] = best.predictor
        facts = task.facts(best.predictor)
        record = {**best.record._asdict(), **facts, "stopped": best.reason}
        self.records[task.layer] = record
        if best.interrupted:
            raise KeyboardInterrupt
        if TASKS[task.name].is_put_out:
            predictor = calibrated(task, best.predictor)
            self.learned[task.name] = predictor
            if is_probabilistic(task.config):
                record["temperature"] = predictor.temperature
        return best.predictor

    def _show(self, tagger: Tagger, labels: Ints) -> None:
        """Give later tasks the tags of ``labels`` (words,) in training, and those that the tagger
        predicts in development.
        """
        of_train = tagger.in_layers(labels)
        of_dev = tagger.in_layers(tagger.choose(self.dev.words))
        for layer in tagger.layers:
            self.train, self.dev = (
                part._replace(words=self.columns.with_tags(part.words, layer, tags[layer]))
                for part, tags in ((self.train, of_train), (self.dev, of_dev))
            )

    def _jackknifed(self, task: TaggerTask) -> Ints:
        """The label numbers of the training words, (words,), that taggers trained on the other
        folds predict, with the errors that they will have in new text; the gold ones for fewer
        than two folds, and in a fold without which no word has a tag.

        The taggers make few passes, with a regularisation constant that few passes can optimise.
        """
        config, part, gold = self.config.jackknife, task.train, task.gold
        folds = config.folds
        if folds < 2 or part.words.n_sentences < folds:
            return gold
        predicted, name = gold.copy(), f"{task.name} jackknife"
        entry = None if self.journal is None else self.journal.folds(name)
        done = 0 if entry is None else entry.restore(predicted)
        notify = self.background.notify
        notify(Step(name, folds, done))
        if done == folds:
            return predicted
        known, c = task.with_known_words(), max(task.config.c, config.c)
        settings = replace(task.config, c=c, anneal_from=3 * c)

        def of_fold(fold: int) -> tuple[Longs, Ints]:
            outside = part.select(self._fold_of == fold)
            if not (np.delete(gold, outside.rows) >= 0).any():
                return outside.rows, gold[outside.rows]
            with naming(name):
                others = known.on_sentences(self._fold_of != fold)
                tagger = others.prepare(settings).after(config.passes)
            return outside.rows, tagger.choose(outside.part.words)

        # in a thread a fold is learned by one job: the tags do not depend on how many there are
        for fold, (rows, tags) in enumerate(in_threads(of_fold, range(done, folds)), done):
            predicted[rows] = tags
            notify(Step(name, folds, fold + 1))
            if entry is not None:
                entry.after_fold(fold + 1, predicted, last=fold + 1 == folds)
            interruption.check()
        return predicted

    def model(self, interrupted: bool) -> Model:
        """The model of all predictors that have been trained, with its record."""
        found = (self.learned[name] for name in COMPONENTS if name in self.learned)
        components = Components.of(self.columns, found)
        record = {
            "sentences": len(self.corpus.train),
            "words": self.train.words.n_words,
            "development_sentences": len(self.corpus.dev),
            "seed": self.config.seed,
            **_record_of_treebanks(self.corpus.train, self.columns),
            **({"jobs": self.config.jobs} if self.config.jobs > 1 else {}),
            "cpu_seconds": round(time.process_time() - self._begun, 1),
            "stopped": INTERRUPTED if interrupted else "finished",
            "tasks": {
                name: self.records[name]
                for name in (*TASKS, "heads", "deprels")
                if name in self.records
            },
            **record_of_classes(self.columns),
        }
        return Model(
            components,
            self.config.language,
            record,
            config_of_model(self.config),
            tuple(
                layer
                for layer in components.layers
                if is_probabilistic(getattr(self.config, self.corpus.section_of(layer)))
            ),
            exceptions=self.exceptions,
        )


def _record_of_treebanks(sentences: Sequence[Sentence], columns: Columns) -> dict[str, Any]:
    """What the record of a model says of its treebanks: the words of each; nothing of one."""
    words = dict.fromkeys(columns.treebanks, 0)
    for sentence in sentences if words else ():
        is_known = sentence.treebank in words  # others are learned like the first
        words[sentence.treebank if is_known else columns.treebank] += len(sentence)
    return {"treebanks": words} if words else {}


def deal(sentences: Sequence[Sentence], folds: int) -> Longs:
    """The fold of each sentence, 0 to ``folds`` - 1.

    The documents of the corpus are assigned to the folds in turn. A fold of neighbouring documents
    would often be a separate genre, on which a tagger of the other folds does worse than on new
    text like the corpus; a fold that shares documents with others would be too easy. Where a
    treebank marks too few documents, every ``_BLOCK`` consecutive sentences count as one.
    """
    found, next_document = [np.empty(0, dtype=np.int64)], 0
    for _, own in groupby(sentences, key=attrgetter("treebank")):
        opens = np.array([sentence.opens_document for sentence in own], dtype=np.int64)
        documents = np.cumsum(opens)
        if int(opens.sum()) < folds * _DOCUMENTS_PER_FOLD:
            block = max(1, min(_BLOCK, len(opens) // (folds * _DOCUMENTS_PER_FOLD)))
            documents = np.arange(len(opens)) // block
        if next_document:  # numbers go on, so that the next treebank starts in the next fold
            documents += next_document - documents[0]
        found.append(documents)
        next_document = int(documents[-1]) + 1
    return np.concatenate(found) % folds


class Background:
    """Work for one job where a run has several in this process: in a thread beside the main one,
    one after the other; or immediately in the calling thread, if tasks take ``turns``. Models do
    not depend on it, to the last digit of their records.

    ``notify`` is a listener that passes events on; events of the thread are passed on by ``wait``,
    so that their order is always the same.
    """

    def __init__(self, listener: Listener, *, turns: bool) -> None:
        self._listener, self._turns = listener, turns
        self._last: threading.Thread | None = None
        self._error: BaseException | None = None
        self._events: list[Iteration | Step] = []
        self._main = threading.get_ident()

    def notify(self, event: Iteration | Step) -> None:
        """Pass an event on, or keep it until ``wait``."""
        if threading.get_ident() == self._main:
            self._listener(event)
        else:
            self._events.append(event)

    def start(self, work: Callable[[], object], *, beside: bool) -> None:
        """Do work in the thread or at once; ``beside`` says whether there is anything else to do
        meanwhile, without which all jobs do it.
        """
        jobs = present_jobs()
        if not (beside and jobs.count > 1 and jobs.connect is None):
            work()
        elif self._turns:
            with working_with(Jobs()):
                work()
        else:  # a daemon: it does not keep a process alive that ends otherwise
            arguments, name = (self._last, work), "egparse-background"
            self._last = threading.Thread(target=self._do, args=arguments, name=name, daemon=True)
            self._last.start()

    def _do(self, before: threading.Thread | None, work: Callable[[], object]) -> None:
        """Do work when what came before it has ended, and not if that failed."""
        try:
            if before is not None:
                before.join()
            if self._error is None:
                with beside_others():
                    work()
        except BaseException as error:  # KeyboardInterrupt too: it is raised again by ``wait``
            self._error = error

    def wait(self) -> None:
        """Wait for all work, and pass its events on.

        Raises:
            BaseException: what some work has raised; what came after it was not begun.
        """
        last, self._last = self._last, None
        if last is None:
            return
        last.join()
        events, self._events = self._events, []
        for event in events:
            self._listener(event)
        error, self._error = self._error, None
        if error is not None:
            raise error
