"""Training a model from a corpus: what it annotates decides what is trained, and tasks learn from
tags as they will see them.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from egparse.errors import EgparseError
from egparse.evaluation.calibration import fit_temperature
from egparse.evaluation.quick import attachment, tag_accuracy
from egparse.evaluation.spans import score_spans
from egparse.features.form_statistics import FormStatistics
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns
from egparse.fitting import interruption
from egparse.fitting.choose_learner import check_learners, is_probabilistic, loss_of, section_of
from egparse.fitting.config import LearningConfig, TrainConfig, config_as_table
from egparse.fitting.optimise import INTERRUPTED, Best
from egparse.fitting.progress import Listener, silent
from egparse.layers import TAG_LAYERS
from egparse.parsing.arc_parser import Parser, choose_trees, train_parser
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.parsing.second_order.training import check_second_order, train_second_order
from egparse.pipeline.model import Model
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.splitting.splitter import SPLITTER, Splitter
from egparse.splitting.training import (
    SplitterParts,
    calibrated,
    is_running_text,
    paragraphs_of,
    pieces_of,
    train_splitter,
)
from egparse.tagging.labeller import Labeller, train_labeller
from egparse.tagging.tagger import Tagger, TaggerTask, iob2_kinds, train_tagger
from egparse.training.columns import annotated_layers, build_columns, count_forms, named_columns
from egparse.training.folds import deal
from egparse.training.jackknife import jackknife
from egparse.types import Floats, Ints, Mask

Item = TypeVar("Item")

_STATISTICS_FOLDS = 5
_PIECES = 40


class Trained(NamedTuple):
    """The model; whether the user stopped its training; how many sentences were held out of the
    corpus; the development part.
    """

    model: Model
    interrupted: bool
    held_out: int
    dev: list[Sentence]


def train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] | None,
    config: TrainConfig,
    listener: Listener = silent,
) -> Trained:
    """Train every task that the corpus supports.

    Without ``dev`` a share of the sentences is held out. Ctrl-C ends training with what has been
    trained so far; before the first task has a model, KeyboardInterrupt is passed on.

    Raises:
        EgparseError: no sentence, no annotated layer, or an asked-for layer that is not annotated.
        ConfigError: a learner that does not fit what it is to train; said before anything is
            trained.
    """
    sentences = [sentence for sentence in sentences if len(sentence)]
    layers = layers_to_train(sentences, config)
    check_learners(config, layers)
    paragraphs = splitter_parts(sentences, dev, config)
    held_out = 0
    if dev is None:
        sentences, dev = hold_out(sentences, config.hold_out, config.seed)
        held_out = len(dev)
    training = Training(sentences, list(dev), layers, config, listener)
    training.paragraphs = paragraphs
    return run(training, held_out)


def run(training: Training, held_out: int) -> Trained:
    """Train what there is to train, until the user stops it; KeyboardInterrupt where nothing has
    been trained before.
    """
    interrupted = False
    try:
        with interruption.deferred():
            training.run()
    except KeyboardInterrupt:
        if not training.taggers and training.parser is None:
            raise
        interrupted = True
    return Trained(training.model(interrupted), interrupted, held_out, training.dev)


def splitter_parts(
    sentences: Sequence[Sentence], dev: Sequence[Sentence] | None, config: TrainConfig
) -> SplitterParts | None:
    """What a splitter learns from and is scored on, whole paragraphs; None where there is nothing
    to learn from, or nothing is to be.

    Without ``dev`` paragraphs are held out, and not sentences, whose neighbours would be others.
    """
    if not config.splitter.train or not is_running_text(sentences):
        return None
    paragraphs = paragraphs_of(sentences)
    if dev is not None:
        return SplitterParts(
            paragraphs, paragraphs_of([sentence for sentence in dev if len(sentence)])
        )
    enough = 1 + len(sentences) // _PIECES  # sentences: pieces so short that some can be held out
    pieces = pieces_of(paragraphs, min(config.splitter.longest or enough, enough))
    return SplitterParts(*hold_out(pieces, config.hold_out, config.seed))


def hold_out(sentences: Sequence[Item], share: float, seed: int) -> tuple[list[Item], list[Item]]:
    """Split off a random development part of the given share, both parts in corpus order; empty for
    very small corpora.
    """
    count = int(len(sentences) * share)
    if count == 0 or len(sentences) < 20:
        return list(sentences), []
    chosen = set(np.random.default_rng(seed).permutation(len(sentences))[:count].tolist())
    return (
        [sentence for number, sentence in enumerate(sentences) if number not in chosen],
        [sentence for number, sentence in enumerate(sentences) if number in chosen],
    )


def layers_to_train(sentences: Sequence[Sentence], config: TrainConfig) -> tuple[str, ...]:
    """The layers that the sentences annotate and the configuration asks for."""
    if not sentences:
        raise EgparseError("expected at least one sentence to train on, got none")
    found = annotated_layers(sentences)
    missing = [layer for layer in config.layers if layer not in found]
    if missing:
        raise EgparseError(
            f"expected layers that the corpus annotates ({', '.join(found) or 'none'}), got "
            f"{missing[0]!r}"
        )
    if not found:
        raise EgparseError("expected a corpus with tags, entities or trees, got words alone")
    return tuple(layer for layer in found if not config.layers or layer in config.layers)


class Training:
    """One run: the words of both parts, and the tasks as they are finished.

    What there is of ``base_taggers``, ``base_parser`` and ``base_labeller``, over the same columns,
    training goes on from (``egparse.training.continuation``). A splitter is trained where there are
    ``paragraphs``.
    """

    paragraphs: SplitterParts | None = None

    base_taggers: Mapping[str, Tagger] = MappingProxyType({})
    base_parser: Parser | SecondOrderParser | None = None
    base_labeller: Labeller | None = None

    def __init__(
        self,
        sentences: list[Sentence],
        dev: list[Sentence],
        layers: tuple[str, ...],
        config: TrainConfig,
        listener: Listener,
    ) -> None:
        self.sentences, self.dev, self.layers = sentences, dev, layers
        self.config, self.listener = config, listener
        self.columns = self._build_columns()
        self.words = self.columns.words([sentence.forms for sentence in sentences])
        self.dev_words = self.columns.words([sentence.forms for sentence in dev])
        for layer in self.columns.given(layers):
            self.columns.fill(self.words, layer, self.columns.label_numbers(sentences, layer))
            self.columns.fill(self.dev_words, layer, self.columns.label_numbers(dev, layer))
        self._fold_of = deal(sentences, max(1, config.jackknife.folds))
        if self.columns.statistics is not None:
            self._count_elsewhere()
        self.taggers: dict[str, Tagger] = {}
        self.parser: Parser | SecondOrderParser | None = None
        self.labeller: Labeller | None = None
        self.splitter: Splitter | None = None
        self.records: dict[str, dict[str, Any]] = {}
        self._begun = time.process_time()

    def _build_columns(self) -> Columns:
        return build_columns(self.sentences, self.layers, self.config)

    def _statistics(self, counted: Mask) -> FormStatistics:
        """What the counted words say of all forms."""
        return count_forms(self.sentences, counted)

    def _count_elsewhere(self) -> None:
        """Statistics of the forms of each fold from the other folds, so that they say as little of
        its words as of new text.
        """
        folds = max(_STATISTICS_FOLDS, self.config.jackknife.folds)
        fold_of = np.repeat(deal(self.sentences, folds), np.diff(self.words.starts))
        for fold in range(folds):
            self.columns.fill_statistics(
                self.words, self._statistics(fold_of != fold), fold_of == fold
            )

    def run(self) -> None:
        """The splitter; taggers in order, each feeding those after it with jackknifed tags; then
        the parser and the labeller.
        """
        if "heads" in self.layers and self.config.parser.order == 2 and self.base_parser is None:
            check_second_order(
                self.config.second_order, choose_trees(self._heads(), self.config.parser)
            )
        if self.paragraphs is not None:
            self._split(self.paragraphs)
        for layer in TAG_LAYERS:
            if layer in self.layers:
                self._tag(layer)
            elif layer in self.base_taggers:
                for words in (self.words, self.dev_words):
                    self.columns.fill(words, layer, self.base_taggers[layer].predict(words))
        if "heads" in self.layers:
            self._parse()

    def _split(self, paragraphs: SplitterParts) -> None:
        config = self.config.splitter
        best = train_splitter(paragraphs, config, seed=self.config.seed, listener=self.listener)
        self.splitter = self._finish(SPLITTER, best)
        if is_probabilistic(config):
            self.splitter = calibrated(best.model, paragraphs.dev, 1.0 / loss_of(config)[0])
            self.records[SPLITTER]["temperature"] = self.splitter.model.temperature

    def _tag(self, layer: str) -> None:
        task = TaggerTask(
            layer,
            self.columns.labels[layer],
            self.columns.names,
            getattr(self.config, layer),
            self.config.seed,
            self.base_taggers.get(layer),
        )
        gold = self.columns.label_numbers(self.sentences, layer)
        best = train_tagger(task, self.words, gold, self.listener, self._tag_score(layer))
        self.taggers[layer] = self._finish(layer, best)
        self.taggers[layer] = self._calibrated_tagger(layer, best.model)
        if self._feeds_later(layer):
            predicted = jackknife(
                task, self.words, gold, self._fold_of, self.config.jackknife, self.listener
            )
            self.columns.fill(self.words, layer, predicted)
            self.columns.fill(self.dev_words, layer, best.model.predict(self.dev_words))

    def _calibrated_tagger(self, layer: str, tagger: Tagger) -> Tagger:
        strings = self.columns.labels[layer].strings
        kinds = iob2_kinds(strings) if layer == "spans" else np.arange(len(strings), dtype=np.int32)
        gold = self.columns.label_numbers(self.dev, layer)
        labels = tagger.predict(self.dev_words)
        right = (gold >= 0) & (kinds[gold] == kinds[labels])

        def at(temperature: float) -> Tagger:
            return replace(tagger, model=replace(tagger.model, temperature=temperature))

        def probabilities(temperature: float) -> Floats:
            return (
                at(temperature)
                .predict_with_probabilities(self.dev_words, None, kinds)
                .probabilities
            )

        return at(self._temperature(layer, probabilities, right, _annotated(layer, self.dev)))

    def _temperature(
        self, layer: str, probabilities: Callable[[float], Floats], right: Mask, counted: Mask
    ) -> float:
        """Fitted on the words of the development part that count; without any, that at which the
        scores were learned.
        """
        config: LearningConfig = getattr(self.config, section_of(layer, self.config.parser.order))
        if not is_probabilistic(config):
            return 1.0
        base = self._base_of(layer)
        learned = 1.0 / loss_of(config)[0] if base is None else base

        def known(t: float) -> Floats:
            # a probability that cannot be told is one half at any temperature, and says nothing
            # about it
            return np.nan_to_num(probabilities(t)[counted], nan=0.5)

        temperature = fit_temperature(known, right[counted], learned)
        self.records[layer]["temperature"] = temperature
        return temperature

    def _base_of(self, layer: str) -> float | None:
        """The temperature of the base's own model of a layer, None without one."""
        if layer == "heads":
            return None if self.base_parser is None else self.base_parser.temperature
        own = self.base_labeller if layer == "deprels" else self.base_taggers.get(layer)
        return None if own is None else own.model.temperature

    def _feeds_later(self, layer: str) -> bool:
        predicted = (*self.layers, *self.base_taggers)
        later = [other for other in TAG_LAYERS[TAG_LAYERS.index(layer) + 1 :] if other in predicted]
        return (layer != "spans" and "heads" in self.layers) or layer in named_columns(
            later, self.config
        )

    def _tag_score(self, layer: str) -> Callable[[Tagger], float] | None:
        if not self.dev or not any(getattr(sentence, layer) for sentence in self.dev):
            return None
        gold = self.columns.label_numbers(self.dev, layer)
        if layer != "spans":
            # an unknown tag is a word like any other, and always wrong
            gold = np.where(gold < 0, len(self.columns.labels[layer]), gold)
            return lambda tagger: tag_accuracy(gold, tagger.predict(self.dev_words))
        correct = [list(sentence.spans) for sentence in self.dev]
        names = self.columns.labels[layer].strings

        def f1(tagger: Tagger) -> float:
            tags = [names[number] for number in tagger.predict(self.dev_words).tolist()]
            starts = self.dev_words.starts.tolist()
            found = [tags[first:end] for first, end in itertools.pairwise(starts)]
            return float(score_spans(correct, found).micro.f1)

        return f1

    def _heads(self) -> list[Ints]:
        if any(not sentence.heads or MISSING_HEAD in sentence.heads for sentence in self.sentences):
            raise EgparseError(
                "expected a head for every word of every training sentence; see --skip-bad"
            )
        return [np.array(sentence.heads, dtype=np.int32) for sentence in self.sentences]

    def _parse(self) -> None:
        config, heads = self.config, self._heads()
        flat = np.concatenate(heads)
        dev_heads = np.array(
            [head for sentence in self.dev for head in sentence.heads], dtype=np.int32
        )
        usable = len(dev_heads) == len(self.dev_words.form_ids) and len(dev_heads) > 0
        base = self.base_parser
        trees = choose_trees(heads, config.parser) if base is None else base.trees
        score_heads = (
            (lambda parser: attachment(dev_heads, parser.predict(self.dev_words)))
            if usable
            else None
        )
        if config.parser.order == 1:
            best: Best[Any] = train_parser(
                self.words,
                heads,
                self.columns,
                config.parser,
                trees=trees,
                seed=config.seed,
                listener=self.listener,
                score=score_heads,
                base=base if isinstance(base, Parser) else None,
            )
        else:
            labels = [sentence.deprels for sentence in self.sentences]
            best = train_second_order(
                self.words,
                heads,
                labels,
                self.columns,
                config.second_order,
                config.parser,
                trees=trees,
                seed=config.seed,
                listener=self.listener,
                score=score_heads,
                base=base if isinstance(base, SecondOrderParser) else None,
            )
        self.parser = self._finish("heads", best, trees=trees)
        known_heads = dev_heads if usable else np.full(len(self.dev_words.form_ids), MISSING_HEAD)
        self.parser = self._calibrated_parser(best.model, known_heads)
        if "deprels" not in self.layers:
            return
        score = self._label_score(dev_heads) if usable else None
        labelled = train_labeller(
            self.words,
            flat,
            self.columns.label_numbers(self.sentences, "deprels"),
            self.columns.labels["deprels"],
            self.columns,
            config.labeller,
            seed=config.seed,
            listener=self.listener,
            score=score,
            base=self.base_labeller,
        )
        self.labeller = self._finish("deprels", labelled)
        self.labeller = self._calibrated_labeller(self.parser, labelled.model, known_heads)

    def _calibrated_parser(
        self, parser: Parser | SecondOrderParser, dev_heads: Ints
    ) -> Parser | SecondOrderParser:
        right = parser.predict(self.dev_words) == dev_heads

        def probabilities(temperature: float) -> Floats:
            return replace(parser, temperature=temperature).predict_with_probabilities(
                self.dev_words
            )[1]

        temperature = self._temperature("heads", probabilities, right, dev_heads != MISSING_HEAD)
        return replace(parser, temperature=temperature)

    def _calibrated_labeller(
        self, parser: Parser | SecondOrderParser, labeller: Labeller, dev_heads: Ints
    ) -> Labeller:
        """What the labeller says of an arc is right or wrong only where there is such an arc."""
        heads = parser.predict(self.dev_words)
        gold = self.columns.label_numbers(self.dev, "deprels")
        right = gold == labeller.predict(self.dev_words, heads, self.columns)

        def at(temperature: float) -> Labeller:
            return replace(labeller, model=replace(labeller.model, temperature=temperature))

        def probabilities(temperature: float) -> Floats:
            own = at(temperature).predict_with_probabilities(self.dev_words, heads, self.columns)
            return own.probabilities

        counted = (heads == dev_heads) & _annotated("deprels", self.dev)
        return at(self._temperature("deprels", probabilities, right, counted))

    def _label_score(self, dev_heads: Ints) -> Callable[[Labeller], float]:
        """LAS with the parser's trees, on labels without their subtypes (as CoNLL 2018 counts)."""
        assert self.parser is not None
        heads = self.parser.predict(self.dev_words)
        plain = Vocabulary.of(
            label.split(":")[0] for label in self.columns.labels["deprels"].strings
        )
        numbers = np.array(
            [plain.values[label.split(":")[0]] for label in self.columns.labels["deprels"].strings]
        )
        gold = np.array(
            [plain.values.get(label.split(":")[0], 0) for s in self.dev for label in s.deprels]
        )

        def score(labeller: Labeller) -> float:
            labels = numbers[labeller.predict(self.dev_words, heads, self.columns)]
            return 100.0 * float(np.mean((labels == gold) & (heads == dev_heads)))

        return score

    def _finish(self, layer: str, best: Best[Any], **facts: Any) -> Any:
        record = best.record._asdict()
        self.records[layer] = {**record, **facts, "stopped": best.reason}
        if best.interrupted:
            self._keep(layer, best.model)
            raise KeyboardInterrupt
        return best.model

    def _keep(self, layer: str, model: Any) -> None:
        if layer == "heads":
            self.parser = model
        elif layer == "deprels":
            self.labeller = model
        elif layer == SPLITTER:
            self.splitter = model
        else:
            self.taggers[layer] = model

    def model(self, interrupted: bool) -> Model:
        """What has been trained, with its record."""
        record = {
            "sentences": len(self.sentences),
            "words": len(self.words.form_ids),
            "development_sentences": len(self.dev),
            "seed": self.config.seed,
            "cpu_seconds": round(time.process_time() - self._begun, 1),
            "stopped": INTERRUPTED if interrupted else "finished",
            "tasks": self.records,
        }
        return Model(
            self.columns,
            self.taggers,
            self.parser,
            self.labeller,
            self.config.language,
            record,
            config_as_table(self.config),
            self.splitter,
        )


def _annotated(layer: str, sentences: Sequence[Sentence]) -> Mask:
    """The words that have a value in a layer; ``_`` is one in FEATS, if any word has another."""
    tags = [tag for own in sentences for tag in getattr(own, layer) or (MISSING,) * len(own)]
    present = np.array([tag != MISSING for tag in tags], dtype=np.bool_)
    return present | (layer == "feats" and bool(present.any()))
