"""The labeller: a log-linear classifier of the arcs of a tree, the second stage after the
parser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from egparse.features.tag_dictionary import Candidates, Limits, lay_out, restrict
from egparse.features.templates import compile_templates
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns, Words
from egparse.fitting.choose_learner import build_learner
from egparse.fitting.config import LabellerConfig
from egparse.fitting.optimise import Best
from egparse.fitting.progress import Listener
from egparse.tagging.fit_sequence import SequenceExamples, SequenceSettings, fit
from egparse.tagging.sequence_model import SequenceModel, without_small_weights
from egparse.tagging.tagger import LabelsWithProbabilities
from egparse.tagging.tree_columns import tree_column_names, tree_values
from egparse.types import Ints

LABEL_TEMPLATES = (
    "bias", "upos[0]|head_upos[0]|side[0]", "xpos[0]|head_xpos[0]|side[0]",
    "xpos[0]|head_xpos[0]|distance[0]", "lower[0]|side[0]", "lower[0]|head_upos[0]|side[0]",
    "lower[0]|head_xpos[0]|xpos[0]", "head_lower[0]|upos[0]|side[0]",
    "head_lower[0]|xpos[0]|side[0]", "lower[0]|head_lower[0]", "stem[0]|head_stem[0]",
    "suffix3[0]|head_xpos[0]|side[0]", "head_suffix3[0]|xpos[0]|side[0]",
    "shape[0]|head_upos[0]|side[0]", "feats[0]|head_feats[0]|side[0]",
    "feats[0]|head_upos[0]|side[0]", "head_feats[0]|upos[0]|side[0]", "xpos[-1]|xpos[0]|side[0]",
    "xpos[0]|xpos[1]|side[0]", "lower[-1]|xpos[0]|side[0]", "lower[1]|xpos[0]|side[0]",
    "first_lower[0]|upos[0]|head_upos[0]", "first_lower[0]|lower[0]",
    "first_lower[0]|head_lower[0]", "first_lower[0]|xpos[0]|side[0]",
    "first_xpos[0]|xpos[0]|head_xpos[0]", "first_upos[0]|head_lower[0]|side[0]",
    "first_upos[0]|lower[0]|side[0]", "last_xpos[0]|xpos[0]|head_xpos[0]",
    "last_lower[0]|upos[0]|side[0]", "first_upos[0]|last_upos[0]|xpos[0]",
    "lefts[0]|rights[0]|xpos[0]", "lefts[0]|head_upos[0]|xpos[0]",
    "inner_upos[0]|upos[0]|head_upos[0]", "inner_xpos[0]|xpos[0]|side[0]",
    "inner_lower[0]|upos[0]|side[0]", "inner_upos[0]|head_lower[0]|upos[0]",
    "outer_upos[0]|upos[0]|head_upos[0]", "outer_xpos[0]|xpos[0]|side[0]",
    "outer_lower[0]|upos[0]|side[0]", "outer_upos[0]|head_lower[0]|upos[0]", "lower[0]|distance[0]",
    "lower[0]|lower[1]|side[0]", "lower[-1]|lower[0]|side[0]", "upos[-1]|upos[0]|upos[1]",
    "shape[0]|xpos[0]|head_xpos[0]", "first_lower[0]|shape[0]", "inner_lower[0]|lower[0]",
    "outer_lower[0]|lower[0]", "inner_upos[0]|outer_upos[0]|upos[0]",
    "grand_upos[0]|head_upos[0]|upos[0]", "grand_upos[0]|head_xpos[0]|xpos[0]",
)  # fmt: skip
"""Both ends of the arc, their side and distance, and the dependent's children, siblings and
grandparent.
"""


@dataclass(frozen=True)
class Labeller:
    """A sequence model without label bigrams; ``of_root`` and ``of_words`` are the labels seen
    below the root and below words.
    """

    model: SequenceModel
    of_root: tuple[int, ...]
    of_words: tuple[int, ...]

    def predict(
        self, words: Words, heads: Ints, columns: Columns, limits: Limits | None = None
    ) -> Ints:
        """The label number of each word's arc; limits may allow a label that has not been seen
        where the arc is.
        """
        values = tree_values(words, heads, columns)
        return self.model.choose(values, words.starts, self._candidates(heads, limits))

    def predict_with_probabilities(
        self, words: Words, heads: Ints, columns: Columns, limits: Limits | None = None
    ) -> LabelsWithProbabilities:
        """What ``predict`` gives, and how probable each label is, given the tree, among the labels
        that may be where its arc is.
        """
        values, candidates = tree_values(words, heads, columns), self._candidates(heads, limits)
        labels = self.model.choose(values, words.starts, candidates)
        found = self.model.probabilities(values, words.starts, candidates, labels)
        return LabelsWithProbabilities(labels, found)

    def _candidates(self, heads: Ints, limits: Limits | None) -> Candidates:
        candidates = lay_out([self.of_words, self.of_root], (heads == 0).astype(np.int32))
        return candidates if limits is None else restrict(candidates, limits)

    def to_payload(self) -> dict[str, Any]:
        """What the model file holds of it."""
        return {
            "model": self.model.to_payload(),
            "of_root": list(self.of_root),
            "of_words": list(self.of_words),
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], columns: Columns) -> Labeller:
        """The labeller over the columns of its model."""
        model = SequenceModel.from_payload(payload["model"], tree_column_names(columns))
        return cls(model, tuple(payload["of_root"]), tuple(payload["of_words"]))


def train_labeller(
    words: Words,
    heads: Ints,
    gold: Ints,
    labels: Vocabulary,
    columns: Columns,
    config: LabellerConfig,
    *,
    seed: int,
    listener: Listener,
    score: Callable[[Labeller], float] | None = None,
    base: Labeller | None = None,
) -> Best[Labeller]:
    """Train on trees ``heads`` (positions in the sentence) whose correct label numbers are
    ``gold``.

    With a ``base``, over the same columns and labels, training goes on from it.
    """
    of_base: tuple[tuple[int, ...], ...] = (base.of_root, base.of_words) if base else ((), ())
    seen = [
        sorted({*gold[below].tolist(), *own})
        for below, own in zip((heads == 0, heads != 0), of_base, strict=True)
    ]
    of_root, of_words = (tuple(found) or tuple(range(len(labels))) for found in seen)
    candidates = lay_out([of_words, of_root], (heads == 0).astype(np.int32))
    settings = SequenceSettings(
        templates=base.model.templates
        if base
        else compile_templates(config.templates or LABEL_TEMPLATES, tree_column_names(columns)),
        min_count=config.min_count,
        all_labels_from=config.all_labels_from,
        bigrams=False,
        learner=lambda problem, offsets: build_learner(problem, config, seed, offsets),
        stop=config.stop,
        base=None if base is None else base.model,
    )

    def finished(model: SequenceModel) -> Labeller:
        return Labeller(without_small_weights(model, config.drop_below), of_root, of_words)

    best = fit(
        SequenceExamples(
            tree_values(words, heads, columns), words.starts, gold, candidates, len(labels)
        ),
        settings,
        (lambda model: score(finished(model))) if score else None,
        "labels",
        listener,
    )
    return Best(finished(best.model), best.record, best.reason)
