"""Training a model: every layer that the corpus annotates, later tasks on jackknifed (predicted)
tags instead of gold ones.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from egparse.config.joint_tags import section_of
from egparse.config.reading import config_of_model
from egparse.config.sections import TrainConfig
from egparse.errors import EgparseError
from egparse.features.word_table import Columns
from egparse.fitting import interruption
from egparse.fitting.checkpoints.journal import Journal
from egparse.fitting.choose_learner import is_probabilistic
from egparse.fitting.jobs import present_jobs, working_with
from egparse.fitting.optimise import INTERRUPTED, Best
from egparse.fitting.progress import Listener, silent
from egparse.fitting.task import Calibrated, Part, Task, calibrated, fit
from egparse.layers import EXPANDER, LEMMAS, MORPHOLOGY, SPLITTER, SUPERTAGS, TAG_LAYERS, TOKENISER
from egparse.parsing.arc_parser import Parser
from egparse.parsing.arc_training import (
    ArcParserTask,
    GoldHeads,
    choose_trees,
    gold_heads_of,
    predicted_heads,
)
from egparse.parsing.partial_trees import complete_by_parser, headed_sentences, known_heads
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.parsing.second_order.training import SecondOrderTask, check_second_order
from egparse.pipeline.components import LABELLER, PARSER, Components
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.sequences.labeller import Labeller
from egparse.sequences.labelling import DevelopmentTrees, LabellerTask
from egparse.sequences.lemmatiser import Lemmatiser
from egparse.sequences.lemmatising import LemmaTask
from egparse.sequences.tagger import Tagger
from egparse.sequences.tagging import TaggerTask, combinations_of
from egparse.storage import scratch
from egparse.text.exceptions.table import Exceptions, read_exceptions
from egparse.text.splitting.splitter import Splitter
from egparse.text.splitting.training import SplitterTask
from egparse.text.tokenising.expander import Expander
from egparse.text.tokenising.tokeniser import Tokeniser
from egparse.text.treebank_text import SplitterParts
from egparse.training.aside import Aside
from egparse.training.checks import (
    check_for_corpus,
    check_sequences,
    check_settings,
    with_language,
)
from egparse.training.columns import (
    CountForms,
    build_columns,
    counter_of_forms,
    named_columns,
    record_of_classes,
    supertag_labels,
)
from egparse.training.division import Corpus, divide, layers_to_train
from egparse.training.folds import deal
from egparse.training.jackknife import jackknife
from egparse.training.joint import layers_together
from egparse.training.text import (
    expander_task,
    learns_multiword_tokens,
    learns_tokens,
    tokeniser_task,
)
from egparse.types import Ints

Predictor = TypeVar("Predictor", bound=Calibrated)
_STATISTICS_FOLDS = 5
_FIRST = (TOKENISER, SPLITTER, EXPANDER, MORPHOLOGY)
_RECORDS = (*_FIRST, *TAG_LAYERS, LEMMAS, SUPERTAGS, "heads", "deprels")  # in this order


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
    corpus = divide(sentences, dev, config, layers_to_train)
    # a journal has one task after the other, and limited memory is for one at a time
    turns = journal is not None or scratch.active() is not None
    aside = Aside(listener, turns=turns)
    run = prepared_run(corpus, config, aside.hear, journal)
    run.aside = aside
    with working_with(replace(present_jobs(), count=config.jobs)):
        interrupted = run.until_interrupted(lambda task: fit(task, aside.hear, journal))
    return Trained(run.model(interrupted), interrupted, corpus.held_out, corpus.dev)


def prepared_run(
    corpus: Corpus,
    config: TrainConfig,
    listener: Listener,
    journal: Journal | None = None,
) -> Run:
    """A run without a base over a corpus.

    Raises:
        EgparseError: settings that do not fit the corpus or the layers, faulty exceptions.
    """
    joint = layers_together(config, corpus.train, corpus.layers)
    check_for_corpus(config, corpus.train, corpus.layers, joint)
    if corpus.paragraphs is not None:
        check_sequences(config, SPLITTER)
    if learns_tokens(corpus.train, config):
        check_sequences(config, TOKENISER)
    if learns_multiword_tokens(corpus.train, config):
        check_sequences(config, EXPANDER)
    return Run(
        corpus,
        config,
        build_columns(
            corpus.train,
            corpus.layers,
            config,
            joint,
            supertag_labels(corpus.train, corpus.layers, config),
        ),
        counter_of_forms(corpus.train),
        listener,
        joint=joint,
        journal=journal,
        exceptions=read_exceptions(config.exceptions, config.language),
    )


@dataclass
class Run:
    """One run over the tasks, in an order in which each can use the predictions of earlier ones.

    ``base`` holds the predictors that training continues from, over the same columns; a layer of
    tags that is not trained is predicted by its tagger. One task learns the ``joint`` layers. Words
    get the tags that later tasks see as the run proceeds; others may be learned ``aside``.
    """

    corpus: Corpus
    config: TrainConfig
    columns: Columns
    count: CountForms
    listener: Listener
    base: Components | None = None
    joint: tuple[str, ...] = ()
    journal: Journal | None = None
    exceptions: Exceptions | None = None
    aside: Aside = field(default_factory=Aside)
    taggers: dict[str, Tagger] = field(default_factory=dict)
    morphology: Tagger | None = None
    lemmatiser: Lemmatiser | None = None
    supertagger: Tagger | None = None
    parser: Parser | SecondOrderParser | None = None
    labeller: Labeller | None = None
    splitter: Splitter | None = None
    tokeniser: Tokeniser | None = None
    expander: Expander | None = None
    records: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        before = 0.0 if self.journal is None else self.journal.seconds_before
        self._begun = time.process_time() - before
        self.train, self.dev = self._part(self.corpus.train), self._part(self.corpus.dev)
        self._fold_of = deal(self.corpus.train, max(1, self.config.jackknife.folds))
        if self.columns.statistics is not None:
            self._count_in_other_folds()
        base = self.base or Components(self.columns)
        self.base_taggers = {layer: base[layer] for layer in TAG_LAYERS if layer in base}
        self.base_morphology = base.get(MORPHOLOGY)

    def _part(self, sentences: Sequence[Sentence]) -> Part:
        words = self.columns.words(sentence.forms for sentence in sentences)
        words = self.columns.with_input(words, sentences, self.corpus.layers)
        return Part(sentences, words)

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

    def until_interrupted(self, method: Method) -> bool:
        """Run, and return whether the user stopped it; predictors that were finished are kept.

        Raises:
            KeyboardInterrupt: the user stopped it before anything had been trained.
        """
        try:
            with interruption.deferred():
                try:
                    self.run(method)
                finally:
                    self.aside.wait()
        except KeyboardInterrupt:
            if not self.taggers and self.morphology is None and self.parser is None:
                raise
            return True
        return False

    def run(self, method: Method) -> None:
        """Train tokeniser, splitter, expander, taggers, lemmatiser, parser and labeller."""
        heads = self.gold_heads() if "heads" in self.corpus.layers else None
        if heads is not None and self.config.parser.order == 2 and self._base_parser is None:
            trees = choose_trees(heads.train, self.config.parser)
            check_second_order(self.config.parser, trees, self.columns)
        follows = heads is not None or bool(self.joint)
        self.aside.start(lambda: self._learn_plain_text(method), beside=follows)
        if self.joint:
            self._tag_together(method)
        elif self.base_morphology is not None:
            self._see_together(self.base_morphology.predict(self.train.words), self.base_morphology)
        self.aside.wait()
        for layer in TAG_LAYERS:
            if layer in self.joint:
                continue
            if layer in self.corpus.layers:
                self._tag(layer, method)
            elif layer in self.base_taggers:
                tagger = self.base_taggers[layer]
                self._see_tags(layer, tagger.choose(self.train.words), tagger)
        if LEMMAS in self.corpus.layers:
            task = self.lemma_task()
            self.aside.start(lambda: self._lemmatise(task, method), beside=heads is not None)
        if heads is not None:
            self._parse(heads, method)

    def _learn_plain_text(self, method: Method) -> None:
        """Tokeniser, splitter and expander, which read no tags."""
        new = self.base is None  # a base keeps what it has for plain text
        if new and learns_tokens(self.corpus.train, self.config):
            self._tokenise(method)
        if self.corpus.paragraphs is not None:
            self._split(self.corpus.paragraphs, method)
        if new and learns_multiword_tokens(self.corpus.train, self.config):
            self._expand(method)

    def _tokenise(self, method: Method) -> None:
        task = tokeniser_task(self.corpus.train, self.corpus.dev, self.config)
        self.tokeniser = task.without_model()
        if self.tokeniser is None and (best := method(task)) is not None:
            self.tokeniser = best.predictor
            self.tokeniser = self._finished(task, best, left_out=task.train.left_out)

    def _expand(self, method: Method) -> None:
        task = expander_task(self.corpus.train, self.corpus.dev, self.config)
        self.expander = task.without_model()
        if self.expander is None and (best := method(task)) is not None:
            self.expander = best.predictor
            self.expander = self._finished(task, best)

    def _split(self, paragraphs: SplitterParts, method: Method) -> None:
        tables = self.columns.class_tables
        task = SplitterTask(paragraphs, tables, config=self.config.splitter, seed=self.config.seed)
        best = method(task)
        if best is not None:
            self.splitter = best.predictor
            self.splitter = self._finished(task, best)

    def tagger_task(self, layer: str) -> TaggerTask:
        """The task of a layer of tags, on the words with the tags that they have so far."""
        return TaggerTask(
            layer,
            self.columns,
            self.train,
            self.dev,
            config=getattr(self.config, layer),
            seed=self.config.seed,
            base=self.base_taggers.get(layer),
        )

    def _tag(self, layer: str, method: Method) -> None:
        task = self.tagger_task(layer)
        if not self._is_read_later(layer):
            beside = "heads" in self.corpus.layers
            self.aside.start(lambda: self._learn_tagger(task, method), beside=beside)
        elif (tagger := self._learn_tagger(task, method)) is not None:
            predicted = self._jackknifed(task)
            self._see_tags(layer, predicted, tagger)

    def _learn_tagger(self, task: TaggerTask, method: Method) -> Tagger | None:
        """The tagger as it was learned, without its temperature."""
        best = method(task)
        if best is None:
            return None
        self.taggers[task.layer] = best.predictor
        self.taggers[task.layer] = self._finished(task, best)
        tagger: Tagger = best.predictor
        return tagger

    def lemma_task(self) -> LemmaTask:
        """The task of lemmas, on the words with the tags that they have so far."""
        base, config = None if self.base is None else self.base.get(LEMMAS), self.config
        return LemmaTask(
            self.columns, self.train, self.dev, config=config.lemmas, seed=config.seed, base=base
        )

    def _lemmatise(self, task: LemmaTask, method: Method) -> None:
        best = method(task)
        if best is not None:
            self.lemmatiser = best.predictor
            self.lemmatiser = self._finished(task, best)

    def _tag_together(self, method: Method) -> None:
        """Train the layers of word tags as one task."""
        task = self.morphology_task()
        best = method(task)
        if best is None:
            return
        self.morphology = best.predictor
        facts = {"scores": task.scores(best.predictor), "combinations": len(task.labels)}
        self.morphology = self._finished(task, best, **facts)
        if any(self._is_read_later(layer) for layer in self.joint):
            predicted = self._jackknifed(task)
            self._see_together(self.morphology.in_layers(predicted), self.morphology)

    def morphology_task(self) -> TaggerTask:
        """The task of the layers that are learned together."""
        base, config = self.base_morphology, self.config.morphology
        combinations = combinations_of(self.columns, self.train, self.joint, config, base)
        return TaggerTask(
            MORPHOLOGY,
            self.columns,
            self.train,
            self.dev,
            combinations,
            config=config,
            seed=self.config.seed,
            base=None if base is None else base.over(self.columns, combinations),
        )

    def _jackknifed(self, task: TaggerTask) -> Ints:
        """The tags that taggers of the other folds predict for the training words, (words,)."""
        settings = self.config.jackknife
        return jackknife(task, self._fold_of, settings, self.listener, self.journal)

    def _see_tags(self, layer: str, predicted: Ints, tagger: Tagger) -> None:
        """Give later tasks these tags in training, and the tagger's in development."""
        self._see(layer, predicted, tagger.choose(self.dev.words))

    def _see_together(self, predicted: Mapping[str, Ints], tagger: Tagger) -> None:
        """Give later tasks the tags of several layers, as ``_see_tags`` those of one."""
        labels = tagger.predict(self.dev.words)
        for layer in tagger.layers:
            self._see(layer, predicted[layer], labels[layer])

    def _see(self, layer: str, of_train: Ints, of_dev: Ints) -> None:
        train, dev = self.train.words, self.dev.words
        self.train = self.train._replace(words=self.columns.with_tags(train, layer, of_train))
        self.dev = self.dev._replace(words=self.columns.with_tags(dev, layer, of_dev))

    def _is_read_later(self, layer: str) -> bool:
        """Whether a later task has features of a layer of tags."""
        predicted = (*self.corpus.layers, *self.base_taggers)
        after = TAG_LAYERS if layer in self.joint else TAG_LAYERS[TAG_LAYERS.index(layer) + 1 :]
        later = [one for one in (*after, LEMMAS) if one in predicted and one not in self.joint]
        is_replaced = layer == "xpos" and self.columns.fine_tags is not None
        by_parser = layer != "spans" and not is_replaced and "heads" in self.corpus.layers
        return by_parser or layer in named_columns(later, self.config)

    @property
    def _base_parser(self) -> Parser | SecondOrderParser | None:
        return None if self.base is None else self.base.get(PARSER)

    def gold_heads(self) -> GoldHeads:
        """The gold heads of both parts; of training those of the sentences that have some.

        Raises:
            EgparseError: no training sentence has any that parsers can learn from.
        """
        headed = headed_sentences(self.corpus.train)
        if not headed.heads:
            raise EgparseError("expected a sentence with heads to train the parser on, got none")
        self._headed = headed.chosen
        return gold_heads_of(headed.heads, self.corpus.dev)

    def _parse(self, heads: GoldHeads, method: Method) -> None:
        """Pruner and parser, then the labeller."""
        if self.columns.has_supertags:
            self._tag_super(method)
        self.aside.wait()
        base = self._base_parser
        trees = choose_trees(heads.train, self.config.parser) if base is None else base.trees
        train = self.train if self._headed.all() else self.train.select(self._headed).part
        arcs = ArcParserTask(
            self.columns, train, self.dev, heads, self.config.parser, trees, self.config.seed
        )
        if self.config.parser.order == 1:
            arcs = replace(arcs, base=base if isinstance(base, Parser) else None)
            if (best := method(arcs)) is not None:
                self._keep_parser(arcs, best)
        else:
            self._parse_second_order(arcs, method)
        if "deprels" in self.corpus.layers and self.parser is not None:
            self._label(train, heads, self.parser, method)

    def _tag_super(self, method: Method) -> None:
        """Give words their supertags; those of a base are predicted as they are."""
        if self.base is not None:
            self.supertagger = self.base.get(SUPERTAGS)
            if self.supertagger is not None:
                of_train = self.supertagger.choose(self.train.words)
                self._see_tags(SUPERTAGS, of_train, self.supertagger)
            return
        settings, seed = self.config.supertags, self.config.seed
        task = TaggerTask(SUPERTAGS, self.columns, self.train, self.dev, config=settings, seed=seed)
        if (best := method(task)) is None:
            return
        self.supertagger = best.predictor
        self._record(task, best)
        if best.interrupted:
            raise KeyboardInterrupt
        predicted = self._jackknifed(task)
        self._see_tags(SUPERTAGS, predicted, best.predictor)

    def _parse_second_order(self, arcs: ArcParserTask, method: Method) -> None:
        base = self._base_parser
        base = base if isinstance(base, SecondOrderParser) else None
        pruner_base = None if base is None else base.pruner
        pruner_task = replace(arcs, pruner=self.config.pruner, base=pruner_base)
        pruned = method(pruner_task)
        if pruned is None:
            return
        if pruned.interrupted:
            self.parser = base or pruned.predictor
            self._record(pruner_task, pruned, trees=arcs.trees)
            raise KeyboardInterrupt
        task = SecondOrderTask(
            arcs.train,
            self.dev,
            arcs.heads,
            pruned.predictor,
            self.config.pruner,
            self.config.parser,
            self.config.seed,
            base,
        )
        try:
            if (best := method(task)) is not None:
                self._keep_parser(task, best)
        except KeyboardInterrupt:
            if self.parser is None:  # before the first pass was over
                self.parser = base or pruned.predictor
                self._record(pruner_task, pruned._replace(reason=INTERRUPTED), trees=arcs.trees)
            raise

    def _keep_parser(self, task: ArcParserTask | SecondOrderTask, best: Best[Any]) -> None:
        self.parser = best.predictor
        self.parser = self._finished(task, best, trees=best.predictor.trees)

    def _label(
        self, train: Part, heads: GoldHeads, parser: Parser | SecondOrderParser, method: Method
    ) -> None:
        known = known_heads(heads.train)
        task = LabellerTask(
            self.columns,
            train,
            np.concatenate(complete_by_parser(parser, train, heads.train)),
            self.dev,
            DevelopmentTrees(predicted_heads(parser, self.dev.words), heads.dev),
            heads.is_scored,
            None if known is None else np.concatenate(known),
            config=self.config.labeller,
            seed=self.config.seed,
            base=None if self.base is None else self.base.get(LABELLER),
        )
        best = method(task)
        if best is not None:
            self.labeller = best.predictor
            self.labeller = self._finished(task, best)

    def _finished(self, task: Task[Any], best: Best[Any], **facts: Any) -> Any:
        """The predictor with its temperature; its record is kept.

        Raises:
            KeyboardInterrupt: the user stopped its training.
        """
        self._record(task, best, **facts)
        if best.interrupted:
            raise KeyboardInterrupt
        predictor = calibrated(task, best.predictor)
        if is_probabilistic(task.config):
            self.records[task.layer]["temperature"] = predictor.temperature
        return predictor

    def _record(self, task: Task[Any], best: Best[Any], **facts: Any) -> None:
        self.records[task.layer] = {**best.record._asdict(), **facts, "stopped": best.reason}

    def model(self, interrupted: bool) -> Model:
        """The model of all predictors that have been trained, with its record."""
        record = {
            "sentences": len(self.corpus.train),
            "words": self.train.words.n_words,
            "development_sentences": len(self.corpus.dev),
            "seed": self.config.seed,
            **({"jobs": self.config.jobs} if self.config.jobs > 1 else {}),
            "cpu_seconds": round(time.process_time() - self._begun, 1),
            "stopped": INTERRUPTED if interrupted else "finished",
            "tasks": {name: self.records[name] for name in _RECORDS if name in self.records},
            **record_of_classes(self.columns),
        }
        components = self.components()
        return Model(
            components,
            language=self.config.language,
            record=record,
            config_table=config_of_model(self.config),
            exceptions=self.exceptions,
            probabilistic=tuple(
                layer
                for layer in components.layers
                if is_probabilistic(getattr(self.config, section_of(layer, self.joint)))
            ),
        )

    def components(self) -> Components:
        """What has been learned so far."""
        others = (self.morphology, self.lemmatiser, self.supertagger, self.parser, self.labeller)
        of_text = (self.tokeniser, self.splitter, self.expander)
        return Components.of(self.columns, (*of_text, *self.taggers.values(), *others))
