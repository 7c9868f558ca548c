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
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from egparse.config.reading import check_config, config_of_model
from egparse.config.sections import TrainConfig, WordLabelConfig, section_of
from egparse.errors import EgparseError
from egparse.features.tag_dictionary import fixed_labels
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns
from egparse.fitting.choose_learner import is_probabilistic, loss_of
from egparse.fitting.progress import silent
from egparse.fitting.task import Part, fit
from egparse.layers import MORPHOLOGY, SPLITTER
from egparse.learners.dca import DCAState
from egparse.parsing.training import check_second_order
from egparse.pipeline.components import LABELLER, PARSER, Components
from egparse.pipeline.model import Model
from egparse.sentences import HIDDEN, MISSING, Sentence
from egparse.sequences.tagger import Tagger
from egparse.sequences.task import SequenceTask
from egparse.sequences.training import TaggerTask
from egparse.text.exceptions.table import read_exceptions
from egparse.training.columns import (
    build_columns,
    extend_columns,
    in_lower_case,
    is_complete,
    part_of,
    record_of_classes,
)
from egparse.training.corpus import Corpus, splitter_parts
from egparse.training.tasks import PRUNER, TASKS, TEXT, TREES, Scene

SAMPLE = 1000
"""Sentences that an empty parser's columns and candidates are chosen from; steps extend both."""

STRENGTH = 3.0
"""The strength for a model that was trained to its end (docs/decisions/learning-in-steps.md)."""


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
        self.components = model.components
        self.steps = self.sentences = 0
        self._model: Model | None = model

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of the model."""
        return self.components.layers

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
        scene, losses = self._scene(batch), dict[str, float]()
        learns_trees = not TREES.isdisjoint(map(section_of, chosen))
        for name in TASKS:
            before = self._before(name)
            if before is None or (name in HIDDEN and not learns_trees):
                continue
            # what later tasks read is predicted before the tagger learns
            tags = {}
            if isinstance(before, Tagger):
                tags = before.in_layers(before.choose(scene.train.words))
            wanted = [layer for layer in before.layers if layer in chosen]
            loss = self._step(name, scene, chosen) if wanted else None
            if loss is not None and name != PRUNER:
                losses[wanted[0]] = loss
            for layer, labels in tags.items():
                words = scene.columns.with_tags(scene.train.words, layer, labels)
                scene.train = scene.train._replace(words=words)
        learned = (one for name, one in scene.learned.items() if name != PRUNER)
        self.components = self.components.with_components(*learned)
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
        columns = self.components.columns
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
            self.components = self.components.over(
                Columns(
                    columns.lexicon,
                    {**columns.labels, layer: Vocabulary((*known.strings, *new))},
                    columns.scheme,
                    columns.statistics,
                    columns.fine_tags,
                    columns.treebanks,
                )
            )
            self._model = None
        return len(new) if layer != "spans" else len({label[2:] for label in new})

    def _extend(self, batch: Sequence[Sentence], layers: Sequence[str]) -> None:
        """Make room for the words and labels of a batch."""
        before = self.components.columns
        columns = extend_columns(before, self.layers, batch, layers, self.config)
        if before.statistics is not None:  # those of its own words would give their entities away
            forms = in_lower_case(columns.lexicon.forms)
            columns.statistics = before.statistics.extended(None, forms)
        self.components = self.components.over(columns)

    def _before(self, name: str) -> Any:
        """What a task goes on from; None if it has nothing to do with words, or is not there."""
        if name == PRUNER:
            return getattr(self.components.get(PARSER), "pruner", None)
        return None if name in TEXT else self.components.get(name)

    def _scene(self, batch: Sequence[Sentence]) -> Scene:
        """What the tasks of a batch are made of; the order of its sentences is another at each
        step.
        """
        columns, joint = self.components.columns, self.components.get(MORPHOLOGY)
        layers_together = () if joint is None else joint.layers
        parser = self.components.get(PARSER)
        config = in_steps(self.config, self.layers, layers_together, self.strength)
        return Scene(
            corpus=Corpus(batch, [], self.layers, layers_together),
            config=replace(config, seed=self.config.seed + self.steps),
            columns=columns,
            train=part_of(batch, columns, self.layers),
            dev=part_of([], columns, self.layers),
            base=self.components,
            in_full=True,
            learned={} if parser is None else {PARSER: parser},
        )

    def _step(self, name: str, scene: Scene, chosen: Sequence[str]) -> float | None:
        """One pass of a task over the sentences of a batch that it can learn from; returns their
        loss, None if there are none. Probabilities keep their temperature.
        """
        if name == MORPHOLOGY:
            part = self._completed(scene.train, chosen)
        elif name in TREES:
            part = _annotated(scene.train, ["heads", *({"deprels"} & set(chosen))])
        else:
            part = _annotated(scene.train, [name])
        if not part.sentences:
            return None
        task = TASKS[name].make(replace(scene, train=part))
        assert task is not None
        prepared = task.prepare()
        prepared.learner.iterate(prepared.state)
        temperature = self._before(name).temperature
        scene.learned[name] = prepared.current().with_temperature(temperature)
        return float(cast(DCAState, prepared.state).tally.loss)

    def _completed(self, part: Part, chosen: Sequence[str]) -> Part:
        """The sentences with values of some chosen layers of the joint tagger. Where a sentence
        lacks others of its layers, or they are not to be learned, it gets the best tags beside
        those that it has.
        """
        tagger, columns = self.components[MORPHOLOGY], self.components.columns
        has = {
            layer: np.array([layer in chosen and is_complete(one, layer) for one in part.sentences])
            for layer in tagger.layers
        }
        some = np.logical_or.reduce(list(has.values()))
        part, lengths = part.select(some).part, np.diff(part.words.starts)[some]
        if all(own[some].all() for own in has.values()):
            return part
        fixed = {}
        for layer, own in has.items():
            labels = columns.label_numbers(part.sentences, layer)
            labels = np.where(np.repeat(own[some], lengths), labels, -1)
            fixed[layer] = fixed_labels(labels, len(columns.labels[layer]))
        found = tagger.predict(part.words, fixed)
        known, bounds = columns.labels, list(itertools.pairwise(part.words.starts.tolist()))
        strings = {
            layer: [known[layer].strings[tag] if tag >= 0 else MISSING for tag in tags.tolist()]
            for layer, tags in found.items()
        }
        sentences = [
            sentence.with_layers(**{layer: tuple(own[a:b]) for layer, own in strings.items()})
            for sentence, (a, b) in zip(part.sentences, bounds, strict=True)
        ]
        return part._replace(sentences=sentences)

    def _as_stored(self) -> Model:
        """The model with weights as a model file holds them."""
        columns, before = self.components.columns, self.origin.components
        changed = [
            one.reduced(getattr(self.config, one.name), columns)
            for one in self.components
            if one.name in (PARSER, LABELLER) or one is not before.get(one.name)
        ]
        earlier = self.origin.record.get("steps") or {}
        steps = {
            "batches": int(earlier.get("batches", 0)) + self.steps,
            "sentences": int(earlier.get("sentences", 0)) + self.sentences,
        }
        return replace(
            self.origin,
            components=self.components.with_components(*changed),
            record={**self.origin.record, "steps": steps},
        )


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
    paragraphs = splitter_parts(batch, None, config)
    corpus = Corpus(batch, [], tuple(layers), paragraphs=paragraphs)
    steps = in_steps(config, layers)
    scene = Scene(
        corpus=corpus,
        config=steps,
        columns=columns,
        train=part_of(batch, columns, corpus.layers),
        dev=part_of([], columns, corpus.layers),
        in_full=True,
    )
    if scene.heads is not None and config.parser.order == 2:
        check_second_order(config.parser, scene.trees, columns)
    for name, row in TASKS.items():
        if name == PRUNER:  # steps extend the columns and candidates of parsers
            sample = scene.train.select(np.arange(len(batch)) < SAMPLE).part
            trees = scene.trees if scene.heads is not None else None
            scene = replace(scene, train=sample, kind_of_trees=trees)
        task = row.make(scene)
        if name == SPLITTER and task is not None:
            scene.learned[name] = fit(task, silent).predictor
        elif task is not None:
            predictor = task.prepare().current()
            if isinstance(task, SequenceTask):
                predictor = task.as_stored(predictor)
            scene.learned[name] = predictor
            if isinstance(task, TaggerTask):
                words = columns.with_tags(scene.train.words, name, task.gold)
                scene.train = scene.train._replace(words=words)
    probabilistic = (one for one in layers if is_probabilistic(getattr(steps, section_of(one))))
    alone = replace(config.morphology, joint="never")
    config = replace(config, layers=tuple(layers), morphology=alone)
    record = {"sentences": 0, "words": 0, "seed": config.seed, "tasks": {}}
    return Model(
        Components.of(columns, (one for name, one in scene.learned.items() if name != PRUNER)),
        config.language,
        record | record_of_classes(columns),
        config_of_model(config),
        tuple(probabilistic),
        exceptions=read_exceptions(config.exceptions, config.language),
    )


def in_steps(
    config: TrainConfig, layers: Sequence[str], joint: Sequence[str] = (), strength: float = 1.0
) -> TrainConfig:
    """The settings for a step of the tasks of some layers, ``joint`` ones together: the same loss,
    minimised by dual coordinate ascent without averaging, over all attributes of the batch, however
    rare.

    The loss of the perceptron, which has no minimum to approach, becomes that of the max-margin
    Markov network.
    """
    sections = {section_of(layer, joint) for layer in layers}
    changed = {}
    for section in sections | ({PRUNER} if PARSER in sections else set()):
        learning = getattr(config, section)
        beta, gamma = loss_of(learning)
        if math.isinf(beta) and not gamma:
            gamma = 1.0
        changed[section] = replace(
            learning,
            learner="dca",
            c=strength * learning.c,
            options={"averaged": False},
            loss="auto",
            beta=beta,
            gamma=gamma,
            **({"min_count": 1} if isinstance(learning, WordLabelConfig) else {}),
        )
    return replace(config, **changed)


def _annotated(part: Part, layers: Sequence[str]) -> Part:
    """The sentences of a part with a value of some layers for every word."""
    chosen = np.array(
        [all(is_complete(one, layer) for layer in layers) for one in part.sentences], bool
    )
    return part if chosen.all() else part.select(chosen).part
