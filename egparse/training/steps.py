"""Learning step by step from batches of sentences that come one after the other.

A step on a batch B moves the weights w_t of the model so that the loss of the batch falls and the
weights stay close::

    w_{t+1}  ~  argmin over w of  sum over i in B of L_i(w) + C/2 |w - w_t|^2

(implicit online learning, Kulis & Bartlett 2010). It is approximated by one pass of dual coordinate
ascent over the batch (Martins et al. 2010, Alg. 1; ``egparse.learners.dca``), in which every
sentence moves the weights once by at most 1/C times its gradient. As in the paper every visit has a
dual variable of its own, so nothing needs to be remembered about sentences: the weights are all the
state, and a sentence that comes again is learned again, each time less.

Losses, templates and C are those of the settings in the model; words, tags and labels may be new.
Later tasks see the tags that the taggers predict before they learn from the batch, with the errors
that they make in new text; training in passes needs jackknifing for that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from egparse.config.joint_tags import section_of
from egparse.config.reading import check_config, config_of_model
from egparse.config.sections import LearningConfig, TrainConfig, WordLabelConfig
from egparse.errors import EgparseError
from egparse.features.tag_dictionary import fixed_labels
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns
from egparse.fitting.choose_learner import is_probabilistic, loss_of
from egparse.fitting.optimise import Prepared
from egparse.fitting.task import Part, fit
from egparse.layers import LEMMAS, MORPHOLOGY, SUPERTAGS, TAG_LAYERS
from egparse.learners.dca import DCAState
from egparse.parsing.arc_parser import Parser
from egparse.parsing.arc_training import ArcParserTask, GoldHeads, choose_trees
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.parsing.second_order.training import SecondOrderTask, check_second_order
from egparse.pipeline.components import LABELLER, PARSER, Components
from egparse.pipeline.model import Model
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.sequences.labeller import Labeller
from egparse.sequences.labelling import DevelopmentTrees, LabellerTask
from egparse.sequences.lemmatiser import Lemmatiser
from egparse.sequences.lemmatising import LemmaTask
from egparse.sequences.tagger import Tagger
from egparse.sequences.tagging import TaggerTask
from egparse.storage.quantised_weights import quantise
from egparse.text.exceptions.table import read_exceptions
from egparse.text.splitting.splitter import Splitter
from egparse.text.splitting.training import SplitterTask
from egparse.training.columns import build_columns, record_of_classes
from egparse.training.columns_with_base import extend_columns, in_lower_case
from egparse.training.text import splitter_parts
from egparse.types import Ints, Mask

Predictor = TypeVar("Predictor", bound=Tagger | Lemmatiser | Parser | SecondOrderParser | Labeller)
Learning = TypeVar("Learning", bound=LearningConfig)

SAMPLE = 1000
"""Sentences that an empty parser's columns and candidates are chosen from; steps extend both."""

STRENGTH = 3.0
"""The strength for a model that was trained to its end (docs/decisions/learning-in-steps.md)."""

_NO_HEADS = np.empty(0, dtype=np.int32)


class Learned(NamedTuple):
    """A predictor after a step, and the loss of the sentences in nats, each at its visit."""

    predictor: Any
    loss: float


class StepLearner:
    """A model that learns from batches.

    It keeps the weights in full; ``model`` is what a model file of them would hold. ``strength``
    multiplies each C: the greater it is, the closer the weights stay. None: 1 for a model that has
    only learned in steps, ``STRENGTH`` for one that was trained to its end. A learner is not made
    for several threads at once.
    """

    def __init__(self, model: Model, *, strength: float | None = None) -> None:
        if strength is None:
            strength = STRENGTH if model.record.get("tasks") else 1.0
        self.origin, self.strength = model, strength
        self.config = check_config(model.config_table, "the model")
        self.predictors = model.components
        self.steps = self.sentences = 0
        self._model: Model | None = model

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of the model."""
        return self.predictors.layers

    @property
    def model(self) -> Model:
        """The model as it is after the steps so far."""
        if self._model is None:
            self._model = self._as_stored()
        return self._model

    def update(self, sentences: Sequence[Sentence], layers: Collection[str]) -> dict[str, float]:
        """Make one step for some layers of the model; returns the loss of each layer that has
        learned, in nats, summed over the sentences, each at its visit.

        A sentence that lacks a value of a layer for some word is not used for that layer; labels of
        arcs need heads.

        Raises:
            EgparseError: weights that are no longer finite.
        """
        batch = [sentence for sentence in sentences if len(sentence)]
        chosen = [layer for layer in self.layers if layer in layers]
        if not batch or not chosen:
            return {}
        self._extend(batch, chosen)
        columns = self.predictors.columns
        words = columns.words([sentence.forms for sentence in batch])
        part = Part(batch, columns.with_input(words, batch, self.layers))
        losses: dict[str, float] = {}
        morphology = self.predictors.get(MORPHOLOGY)
        if morphology is not None:
            found = morphology.predict(part.words)
            if set(morphology.layers) & set(chosen):
                losses |= self._tag_together(morphology, part, chosen)
            for layer, tags in found.items():
                part = part._replace(words=columns.with_tags(part.words, layer, tags))
        for layer in TAG_LAYERS:
            if layer in self.predictors:
                tagger = self.predictors[layer]
                tags = tagger.choose(part.words)
                if layer in chosen:
                    losses |= self._tag(layer, tagger, part)
                part = part._replace(words=columns.with_tags(part.words, layer, tags))
        if LEMMAS in chosen:
            losses |= self._lemmatise(part)
        if "heads" in chosen or "deprels" in chosen:
            supertagger = self.predictors.get(SUPERTAGS)
            if supertagger is not None:  # it stays as it was trained
                tags = supertagger.choose(part.words)
                part = part._replace(words=columns.with_tags(part.words, SUPERTAGS, tags))
            losses |= self._parse(part, chosen)
        self.steps += 1
        self.sentences += len(batch)
        self._model = None
        return losses

    def add_labels(self, layer: str, labels: Sequence[str]) -> int:
        """Let the model have more labels in a layer, which score 0 until they are learned; returns
        how many are new. Labels of entities are types.

        Raises:
            EgparseError: a layer without labels in the model.
        """
        columns = self.predictors.columns
        if layer not in columns.labels or layer not in self.layers:
            raise EgparseError(
                f"expected a layer with labels of the model ({', '.join(self.layers)}), got "
                f"{layer!r}"
            )
        known = columns.labels[layer]
        wanted = labels
        if layer == "spans":
            kinds = "BI" if columns.scheme == "iob2" else "BIES"
            wanted = [f"{kind}-{label}" for label in labels for kind in kinds]
        new = [label for label in dict.fromkeys(wanted) if label not in known.values]
        if new:
            extended = Vocabulary((*known.strings, *new))
            labels_of = {**columns.labels, layer: extended}
            self._set_columns(
                Columns(
                    columns.lexicon,
                    labels_of,
                    columns.scheme,
                    columns.statistics,
                    columns.fine_tags,
                )
            )
            self._model = None
        return len(new) if layer != "spans" else len({label[2:] for label in new})

    def _set_columns(self, columns: Columns) -> None:
        self.predictors = self.predictors.over(columns)

    def _extend(self, batch: Sequence[Sentence], layers: Sequence[str]) -> None:
        """Make room for the words and labels of a batch."""
        before = self.predictors.columns
        columns = extend_columns(before, self.layers, batch, layers, self.config)
        if before.statistics is not None:  # those of its own words would give their entities away
            forms = in_lower_case(columns.lexicon.forms)
            columns.statistics = before.statistics.extended(None, forms)
        self._set_columns(columns)

    def _tag(self, layer: str, tagger: Tagger, part: Part) -> dict[str, float]:
        part = _annotated(part, (layer,))
        if not part.sentences:
            return {}
        settings = in_steps(getattr(self.config, layer), self.strength)
        task = TaggerTask(
            layer,
            self.predictors.columns,
            part,
            _nothing(self.predictors.columns),
            config=settings,
            seed=self._seed,
            base=tagger,
            in_full=True,
        )
        learned = _step(task.prepare(), tagger)
        self.predictors = self.predictors.with_components(learned.predictor)
        return {layer: learned.loss}

    def _lemmatise(self, part: Part) -> dict[str, float]:
        part, columns = _annotated(part, (LEMMAS,)), self.predictors.columns
        if not part.sentences:
            return {}
        base = self.predictors[LEMMAS]
        settings = in_steps(self.config.lemmas, self.strength)
        nothing = _nothing(columns)
        task = LemmaTask(
            columns, part, nothing, config=settings, seed=self._seed, base=base, in_full=True
        )
        learned = _step(task.prepare(), base)
        self.predictors = self.predictors.with_components(learned.predictor)
        return {LEMMAS: learned.loss}

    def _tag_together(self, tagger: Tagger, part: Part, chosen: Sequence[str]) -> dict[str, float]:
        """Learn the layers of one tagger, and return their loss under the first chosen one.

        Where a sentence lacks some of them, or they are not to be learned, it gets the best tags
        beside those that it has.
        """
        chosen = [layer for layer in tagger.layers if layer in chosen]
        has = {
            layer: np.array([layer in chosen and _has(one, layer) for one in part.sentences])
            for layer in tagger.layers
        }
        some = np.logical_or.reduce(list(has.values()))
        if not some.any():
            return {}
        part, columns = part.select(some).part, self.predictors.columns
        lengths = np.diff(part.words.starts)
        labels = {
            layer: np.where(
                np.repeat(own[some], lengths), columns.label_numbers(part.sentences, layer), -1
            )
            for layer, own in has.items()
        }
        if not all(own[some].all() for own in has.values()):
            fixed = {
                layer: fixed_labels(own, len(columns.labels[layer]))
                for layer, own in labels.items()
            }
            part = part._replace(sentences=self._completed(part, tagger.predict(part.words, fixed)))
            labels = {one: columns.label_numbers(part.sentences, one) for one in tagger.layers}
        assert tagger.combinations is not None
        combinations = tagger.combinations.extended(labels)
        base = tagger.over(columns, combinations)
        task = TaggerTask(
            MORPHOLOGY,
            columns,
            part,
            _nothing(columns),
            combinations,
            config=in_steps(self.config.morphology, self.strength),
            seed=self._seed,
            base=base,
            in_full=True,
        )
        learned = _step(task.prepare(), base)
        self.predictors = self.predictors.with_components(learned.predictor)
        return {chosen[0]: learned.loss}

    def _completed(self, part: Part, labels: Mapping[str, Ints]) -> list[Sentence]:
        """The sentences with the labels of some layers of tags."""
        known = self.predictors.columns.labels
        bounds = list(itertools.pairwise(part.words.starts.tolist()))
        strings = {
            layer: [known[layer].strings[tag] if tag >= 0 else MISSING for tag in tags.tolist()]
            for layer, tags in labels.items()
        }
        return [
            sentence.with_layers(**{layer: tuple(own[a:b]) for layer, own in strings.items()})
            for sentence, (a, b) in zip(part.sentences, bounds, strict=True)
        ]

    def _parse(self, part: Part, layers: Sequence[str]) -> dict[str, float]:
        parser = self.predictors[PARSER]
        part = _annotated(part, ["heads", "deprels"] if "deprels" in layers else ["heads"])
        if not part.sentences:
            return {}
        losses = {}
        heads = _gold_heads(part)
        if "heads" in layers:
            learned = self._attach(parser, part, heads)
            self.predictors = self.predictors.with_components(learned.predictor)
            losses["heads"] = learned.loss
        labeller = self.predictors.get(LABELLER)
        if "deprels" in layers and labeller is not None:
            settings = in_steps(self.config.labeller, self.strength)
            task = _labeller_task(
                self.predictors.columns, part, heads, settings, self._seed, labeller
            )
            learned = _step(task.prepare(), labeller)
            self.predictors = self.predictors.with_components(learned.predictor)
            losses["deprels"] = learned.loss
        return losses

    def _attach(self, parser: Parser | SecondOrderParser, part: Part, heads: GoldHeads) -> Learned:
        if isinstance(parser, Parser):
            arcs = self._arc_task(part, heads, parser)
            return _step(arcs.prepare(), parser)
        pruning = self._arc_task(part, heads, parser.pruner)
        pruning = replace(pruning, pruner=in_steps(self.config.pruner, self.strength))
        pruner = _step(pruning.prepare(), parser.pruner).predictor
        task = SecondOrderTask(
            part,
            _nothing(self.predictors.columns),
            heads,
            pruner,
            self.config.pruner,
            in_steps(self.config.parser, self.strength),
            self._seed,
            parser,
            in_full=True,
        )
        return _step(task.prepare(), parser)

    def _arc_task(self, part: Part, heads: GoldHeads, base: Parser) -> ArcParserTask:
        return ArcParserTask(
            self.predictors.columns,
            part,
            _nothing(self.predictors.columns),
            heads,
            in_steps(self.config.parser, self.strength),
            base.trees,
            self._seed,
            base=base,
            in_full=True,
        )

    @property
    def _seed(self) -> int:
        """Another order of the sentences at each step."""
        return self.config.seed + self.steps

    def _as_stored(self) -> Model:
        """The model with weights as a model file holds them."""
        present, before, config = self.predictors, self.origin.components, self.config
        columns, parser, labeller = present.columns, present.get(PARSER), present.get(LABELLER)
        stored = [
            present[name].reduced(getattr(config, name), columns)
            for name in (MORPHOLOGY, *TAG_LAYERS, LEMMAS)
            if present.get(name) is not before.get(name)
        ]
        if labeller is not None:
            labeller = labeller.reduced(config.labeller)
        if isinstance(parser, SecondOrderParser):
            pruner = replace(parser.pruner, weights=quantise(parser.pruner.weights))
            parser = replace(parser, pruner=pruner, weights=quantise(parser.weights))
        elif parser is not None:
            parser = replace(parser, weights=quantise(parser.weights))
        record = {**self.origin.record}
        earlier = record.get("steps") or {}
        record["steps"] = {
            "batches": int(earlier.get("batches", 0)) + self.steps,
            "sentences": int(earlier.get("sentences", 0)) + self.sentences,
        }
        changed = [one for one in (parser, labeller) if one is not None]
        components = present.with_components(*stored, *changed)
        return replace(self.origin, components=components, record=record)


def untrained_model(
    sentences: Sequence[Sentence], layers: Sequence[str], config: TrainConfig
) -> Model:
    """A model of some layers with weights of 0, for the words and labels of the sentences; its
    splitter is trained, if their paragraphs and the settings allow one. Each layer of tags has a
    tagger of its own: steps from nothing meet new combinations of tags all the time.

    The sentences have a value of each layer for every word.
    """
    batch = [sentence for sentence in sentences if len(sentence)]
    columns = build_columns(batch, layers, config)
    words = columns.words([sentence.forms for sentence in batch])
    part = Part(batch, columns.with_input(words, batch, layers))
    nothing = _nothing(columns)
    taggers: dict[str, Tagger] = {}
    for layer in TAG_LAYERS:
        if layer in layers:
            settings = in_steps(getattr(config, layer))
            task = TaggerTask(
                layer, columns, part, nothing, config=settings, seed=config.seed, in_full=True
            )
            taggers[layer] = task.as_stored(task.prepare().current())
            part = part._replace(words=columns.with_tags(part.words, layer, task.gold))
    lemmatiser: Lemmatiser | None = None
    if LEMMAS in layers:
        lemmas = in_steps(config.lemmas)
        of_lemmas = LemmaTask(columns, part, nothing, config=lemmas, seed=config.seed, in_full=True)
        lemmatiser = of_lemmas.as_stored(of_lemmas.prepare().current())
    parser: Parser | SecondOrderParser | None = None
    labeller: Labeller | None = None
    if "heads" in layers:
        sample = part.select(np.arange(len(batch)) < SAMPLE).part
        parser = _untrained_parser(columns, sample, _gold_heads(part), config)
        if "deprels" in layers:
            labels = _labeller_task(
                columns,
                sample,
                _gold_heads(sample),
                in_steps(config.labeller),
                config.seed,
                None,
            )
            labeller = labels.as_stored(labels.prepare().current())
    probabilistic = [
        layer for layer in layers if is_probabilistic(in_steps(getattr(config, section_of(layer))))
    ]
    alone = replace(config.morphology, joint="never")
    config = replace(config, layers=tuple(layers), morphology=alone)
    record = {"sentences": 0, "words": 0, "seed": config.seed, "tasks": {}}
    record |= record_of_classes(columns)
    splitter = _splitter(batch, config, columns)
    components = (*taggers.values(), lemmatiser, parser, labeller, splitter)
    return Model(
        Components.of(columns, components),
        config.language,
        record,
        config_of_model(config),
        tuple(probabilistic),
        exceptions=read_exceptions(config.exceptions, config.language),
    )


def _untrained_parser(
    columns: Columns, sample: Part, heads: GoldHeads, config: TrainConfig
) -> Parser | SecondOrderParser:
    trees = choose_trees(heads.train, config.parser)
    of_sample, nothing = _gold_heads(sample), _nothing(columns)
    settings = in_steps(config.parser)
    arcs = ArcParserTask(
        columns, sample, nothing, of_sample, settings, trees, config.seed, in_full=True
    )
    if config.parser.order == 1:
        return arcs.prepare().current()
    check_second_order(config.parser, trees, columns)
    pruner = replace(arcs, pruner=in_steps(config.pruner)).prepare().current()
    task = SecondOrderTask(
        sample, nothing, of_sample, pruner, config.pruner, settings, config.seed, in_full=True
    )
    return task.prepare().current()


def _splitter(
    sentences: Sequence[Sentence], config: TrainConfig, columns: Columns
) -> Splitter | None:
    parts = splitter_parts(sentences, None, config)
    if parts is None:
        return None
    task = SplitterTask(parts, columns.class_tables, config=config.splitter, seed=config.seed)
    return fit(task, lambda event: None).predictor


def in_steps(config: Learning, strength: float = 1.0) -> Learning:
    """The settings of a task for a step: the same loss, minimised by dual coordinate ascent without
    averaging, over all attributes of the batch, however rare.

    The loss of the perceptron, which has no minimum to approach, becomes that of the max-margin
    Markov network.
    """
    beta, gamma = loss_of(config)
    if math.isinf(beta) and not gamma:
        gamma = 1.0
    changes: dict[str, Any] = {
        "learner": "dca",
        "c": strength * config.c,
        "options": {"averaged": False},
        "loss": "auto",
        "beta": beta,
        "gamma": gamma,
    }
    if isinstance(config, WordLabelConfig):
        changes["min_count"] = 1
    return replace(config, **changes)


def _labeller_task(
    columns: Columns,
    part: Part,
    heads: GoldHeads,
    settings: Any,
    seed: int,
    base: Labeller | None,
) -> LabellerTask:
    return LabellerTask(
        columns,
        part,
        np.concatenate([*heads.train, _NO_HEADS]),
        _nothing(columns),
        DevelopmentTrees(_NO_HEADS, _NO_HEADS),
        False,
        config=settings,
        seed=seed,
        base=base,
        in_full=True,
    )


def _step(prepared: Prepared[Predictor], before: Predictor) -> Learned:
    """One pass over the batch; probabilities keep their temperature."""
    prepared.learner.iterate(prepared.state)
    loss = cast(DCAState, prepared.state).tally.loss
    after = prepared.current().with_temperature(before.temperature)
    return Learned(after, float(loss))


def _nothing(columns: Columns) -> Part:
    """A part without sentences."""
    return Part([], columns.words([]))


def _gold_heads(part: Part) -> GoldHeads:
    heads = [np.array(sentence.heads, dtype=np.int32) for sentence in part.sentences]
    return GoldHeads(heads, _NO_HEADS, False)


def _annotated(part: Part, layers: Sequence[str]) -> Part:
    """The sentences of a part with a value of some layers for every word."""
    chosen: Mask = np.array(
        [all(_has(sentence, layer) for layer in layers) for sentence in part.sentences], dtype=bool
    )
    return part if chosen.all() else part.select(chosen).part


def _has(sentence: Sentence, layer: str) -> bool:
    values: Sequence[Any] = getattr(sentence, layer)
    if len(values) != len(sentence):
        return False
    if layer == "heads":
        return MISSING_HEAD not in values
    return layer == "feats" or MISSING not in values
