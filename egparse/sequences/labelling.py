"""Learning the labeller of arcs: its examples, its development score and its calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from egparse.config.sections import LabellerConfig, with_classes
from egparse.errors import EgparseError
from egparse.evaluation.scores import universal_deprel
from egparse.features.default_templates import LABEL_SUPERTAG_TEMPLATES, LABEL_TEMPLATES
from egparse.features.request import Request, Values
from egparse.features.tag_dictionary import lay_out
from egparse.features.templates import Templates, compile_templates
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns
from egparse.fitting.task import Outcomes, Part
from egparse.sentences import MISSING, MISSING_HEAD
from egparse.sequences.fit import SequenceExamples
from egparse.sequences.labeller import Labeller, tree_column_names, tree_values
from egparse.sequences.task import Lesson, SequenceTask
from egparse.types import Floats, Ints, Mask


class DevelopmentTrees(NamedTuple):
    """The predicted and the gold trees of the development part, flat."""

    predicted: Ints
    gold: Ints


@dataclass(frozen=True)
class LabellerTask(SequenceTask[Labeller, LabellerConfig]):
    """The task of the labels of arcs: learned on gold trees, ``heads`` (words,), and scored on the
    trees that the parser predicts.

    Where ``known`` (words,) is given, the heads of all other words are predicted: they are parts of
    trees, and not learned from. ``is_scored``: whether the development part has trees.
    """

    columns: Columns
    train: Part
    heads: Ints
    dev: Part
    dev_trees: DevelopmentTrees
    is_scored: bool
    known: Mask | None = None

    name = "labeller"
    layer = "deprels"

    @property
    def labels(self) -> tuple[str, ...]:
        """The label set."""
        return self.columns.labels[self.layer].strings

    def lesson(self, config: LabellerConfig) -> Lesson[Labeller]:
        """Arcs with the labels below the root and below words as candidates."""
        words, heads, base = self.train.words, self.heads, self.base
        every = self.columns.label_numbers(self.train.sentences, self.layer)
        chosen = self._learned(every)
        below_root, gold = (heads == 0)[chosen], every[chosen]
        of_base: tuple[tuple[int, ...], ...] = (base.of_root, base.of_words) if base else ((), ())
        seen = [
            sorted({*gold[below].tolist(), *known})
            for below, known in zip((below_root, ~below_root), of_base, strict=True)
        ]
        of_root, of_words = (tuple(of_place) or tuple(range(len(self.labels))) for of_place in seen)
        examples = SequenceExamples(
            tree_values(words, heads, self.columns),
            words.starts,
            gold,
            lay_out([of_words, of_root], below_root.astype(np.int32)),
            len(self.labels),
            chosen=None if chosen.all() else chosen,
        )
        return Lesson(
            examples,
            self._templates(config),
            lambda model: Labeller(model, of_root, of_words),
            None if base is None else base.model,
        )

    def _templates(self, config: LabellerConfig) -> Templates:
        if self.base is not None:
            return self.base.model.templates
        texts = with_classes(config, self.columns.n_class_tables, LABEL_TEMPLATES)
        if self.columns.has_supertags:
            texts = (*texts, *LABEL_SUPERTAG_TEMPLATES)
        return compile_templates(texts, tree_column_names(self.columns))

    def _learned(self, labels: Ints) -> Mask:
        """The words that are learned from: those whose head and label are annotated."""
        chosen: Mask = labels >= 0
        if self.known is not None:
            chosen = chosen & self.known
        if len(chosen) and not chosen.any():
            raise EgparseError("deprels: expected a word with a head and a label, got none")
        return chosen

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

        request = Request(words, self.columns, {"heads": Values(heads)}, asked=(self.layer,))

        def probabilities(labeller: Labeller) -> Floats:
            return cast(Floats, labeller.annotate(request)[self.layer].probabilities)

        counted = (heads == self.dev_trees.gold) & self.dev.annotated(self.layer)
        return Outcomes(right, counted, probabilities)
