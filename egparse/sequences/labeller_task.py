"""Learning the labeller of arcs: its examples, its development score and its calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from egparse.config.class_templates import with_classes
from egparse.config.sections import LabellerConfig, LearningConfig
from egparse.errors import EgparseError
from egparse.evaluation.universal import universal_deprel
from egparse.features.tag_dictionary import lay_out
from egparse.features.templates import compile_templates
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns
from egparse.fitting.choose_learner import build_learner
from egparse.fitting.optimise import Prepared
from egparse.fitting.task import Outcomes, Part
from egparse.sentences import MISSING, MISSING_HEAD
from egparse.sequences.fit_sequence import SequenceExamples, SequenceSettings, prepare_sequence
from egparse.sequences.labeller import LABEL_TEMPLATES, SUPERTAG_TEMPLATES, Labeller
from egparse.sequences.sequence_model import without_small_weights
from egparse.sequences.tree_columns import tree_column_names, tree_values
from egparse.types import Floats, Ints, Mask


class DevelopmentTrees(NamedTuple):
    """The predicted and the gold trees of the development part, flat."""

    predicted: Ints
    gold: Ints


@dataclass(frozen=True)
class LabellerTask:
    """The task of the labels of arcs: learned on gold trees, ``heads`` (words,), and scored on the
    trees that the parser predicts.

    Where ``known`` (words,) is given, the heads of all other words are predicted: they are seen as
    parts of trees, and not learned from. ``is_scored``: whether the development part has trees.
    With a ``base``, over the same columns
    and labels, training continues from it. With ``in_full`` the labellers are not reduced to what a
    model file holds (see ``as_stored``).
    """

    columns: Columns
    train: Part
    heads: Ints
    dev: Part
    dev_trees: DevelopmentTrees
    is_scored: bool
    config: LabellerConfig
    seed: int
    base: Labeller | None = None
    in_full: bool = False
    known: Mask | None = None

    name = "labeller"
    layer = "deprels"
    keeps_last = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The label set."""
        return self.columns.labels[self.layer].strings

    def prepare(self, config: LearningConfig | None = None) -> Prepared[Labeller]:
        """Collect the labels below the root and below words, index attributes, lay out weights."""
        settings = self.config if config is None else config
        assert isinstance(settings, LabellerConfig)
        words, heads, base = self.train.words, self.heads, self.base
        every = self.columns.label_numbers(self.train.sentences, self.layer)
        chosen = self._learned(every)
        below_root = (heads == 0)[chosen]
        gold = every[chosen]
        of_base: tuple[tuple[int, ...], ...] = (base.of_root, base.of_words) if base else ((), ())
        seen = [
            sorted({*gold[below].tolist(), *known})
            for below, known in zip((below_root, ~below_root), of_base, strict=True)
        ]
        of_root, of_words = (tuple(of_place) or tuple(range(len(self.labels))) for of_place in seen)
        templates = with_classes(settings, self.columns.n_class_tables, LABEL_TEMPLATES)
        if self.columns.has_supertags:
            templates = (*templates, *SUPERTAG_TEMPLATES)
        prepared = prepare_sequence(
            SequenceExamples(
                tree_values(words, heads, self.columns),
                words.starts,
                gold,
                lay_out([of_words, of_root], below_root.astype(np.int32)),
                len(self.labels),
                chosen=None if chosen.all() else chosen,
            ),
            SequenceSettings(
                templates=compile_templates(templates, tree_column_names(self.columns))
                if base is None
                else base.model.templates,
                min_count=settings.min_count,
                full_row_min_count=settings.full_row_min_count,
                bigrams=False,
                learner=lambda problem, offsets: build_learner(
                    problem, settings, self.seed, offsets
                ),
                base=None if base is None else base.model,
                in_full=self.in_full,
            ),
        )
        if self.in_full:
            return prepared.then(lambda model: Labeller(model, of_root, of_words))
        return prepared.then(lambda model: self.as_stored(Labeller(model, of_root, of_words)))

    def _learned(self, labels: Ints) -> Mask:
        """The words that are learned from: those whose head and label are annotated."""
        chosen: Mask = labels >= 0
        if self.known is not None:
            chosen = chosen & self.known
        if len(chosen) and not chosen.any():
            raise EgparseError("deprels: expected a word with a head and a label, got none")
        return chosen

    def as_stored(self, labeller: Labeller) -> Labeller:
        """The labeller as it will be stored, without small weights."""
        return replace(
            labeller, model=without_small_weights(labeller.model, self.config.weight_threshold)
        )

    def score(self) -> Callable[[Labeller], float] | None:
        """LAS in per cent on the parser's trees, labels without subtypes as CoNLL 2018 counts."""
        if not self.is_scored:
            return None
        plain = Vocabulary.of(map(universal_deprel, self.labels))
        numbers = np.array([plain.values[universal_deprel(label)] for label in self.labels])
        gold = np.array(
            [
                plain.values.get(universal_deprel(label), 0)
                for sentence in self.dev.sentences
                for label in sentence.deprels or (MISSING,) * len(sentence)
            ]
        )
        heads, words = self.dev_trees.predicted, self.dev.words
        right_heads = heads == self.dev_trees.gold
        attached = self.dev_trees.gold != MISSING_HEAD
        counted = attached & (self.dev.annotated(self.layer) | attached.all())

        def las(labeller: Labeller) -> float:
            labels = numbers[labeller.predict(words, heads, self.columns)]
            return 100.0 * float(np.mean(((labels == gold) & right_heads)[counted]))

        return las

    def outcomes(self, predictor: Labeller) -> Outcomes[Labeller]:
        """Only the labels of correct arcs count: a wrong arc has no correct label."""
        heads, words = self.dev_trees.predicted, self.dev.words
        gold = self.columns.label_numbers(self.dev.sentences, self.layer)
        right = gold == predictor.predict(words, heads, self.columns)

        def probabilities(labeller: Labeller) -> Floats:
            return labeller.predict_with_probabilities(words, heads, self.columns).probabilities

        counted = (heads == self.dev_trees.gold) & self.dev.annotated(self.layer)
        return Outcomes(right, counted, probabilities)
