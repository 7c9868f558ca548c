"""The labeller: a log-linear classifier of the arcs of a tree, the second stage after the
parser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from egparse.features.request import Request, Values
from egparse.features.tag_dictionary import AllowedLabels, Candidates, lay_out, restrict
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns, Words
from egparse.sequences.sequence_model import SequenceModel
from egparse.sequences.tagger import LabelsWithProbabilities
from egparse.sequences.tree_columns import LABELLER_INPUTS, tree_column_names, tree_values
from egparse.storage.schema import Integers, Record, Section, Stored
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


SUPERTAG_TEMPLATES = (
    "supertags[0]", "supertags[0]|head_upos[0]|side[0]", "supertags[0]|xpos[0]|head_xpos[0]",
    "supertags[0]|lower[0]",
)  # fmt: skip
"""Templates over supertags, added where there are any."""

STORED_LABELLER = Record(
    {"model": Section(), "of_root": Integers("labels", 1), "of_words": Integers("labels", 1)}
)
"""A labeller in a model file, with ``labels`` labels."""


@dataclass(frozen=True)
class Labeller:
    """A sequence model without label bigrams; ``of_root`` and ``of_words`` are the labels seen
    below the root and below words.
    """

    model: SequenceModel
    of_root: tuple[int, ...]
    of_words: tuple[int, ...]

    name = "labeller"
    layers = ("deprels",)

    def annotate(self, request: Request) -> dict[str, Values]:
        """See ``pipeline.components.Component``: the labels of the arcs that were found."""
        predict = self.predict_with_probabilities if request.asked else self.predict
        heads = request.found["heads"].values
        found = predict(request.words, heads, request.columns, request.limits.get("deprels"))
        return {"deprels": Values(*found) if request.asked else Values(found)}

    def over(self, columns: Columns) -> Labeller:
        """The same over columns and labels that extend its own; what is new scores 0."""
        from egparse.sequences.warm_start import extend_model

        names, n_labels = tree_column_names(columns), len(columns.labels["deprels"])
        return replace(self, model=extend_model(self.model, names, n_labels))

    def part_labels(self, layer: str, labels: Mapping[str, Vocabulary]) -> Sequence[str | None]:
        """The text of each label."""
        return labels[layer].strings

    def size(self) -> dict[str, int]:
        """The numbers of its labels, attributes and weights, and of bytes in memory."""
        return self.model.size()

    def predict(
        self, words: Words, heads: Ints, columns: Columns, allowed: AllowedLabels | None = None
    ) -> Ints:
        """The label number of each word's arc. ``allowed`` may include, for an arc below the root,
        labels that training saw only below words, and vice versa.
        """
        values = tree_values(words, heads, columns)
        return self.model.choose(values, words.starts, self._candidates(heads, allowed))

    def predict_with_probabilities(
        self, words: Words, heads: Ints, columns: Columns, allowed: AllowedLabels | None = None
    ) -> LabelsWithProbabilities:
        """The labels of ``predict``, and the probability of each given the tree, among the
        candidate labels of its arc.
        """
        values, candidates = tree_values(words, heads, columns), self._candidates(heads, allowed)
        labels = self.model.choose(values, words.starts, candidates)
        probabilities = self.model.probabilities(values, words.starts, candidates, labels)
        return LabelsWithProbabilities(labels, probabilities)

    @property
    def temperature(self) -> float:
        """The temperature of the probabilities."""
        return self.model.temperature

    def with_temperature(self, temperature: float) -> Labeller:
        """The same labeller with probabilities from scores divided by a temperature."""
        return replace(self, model=self.model.with_temperature(temperature))

    def _candidates(self, heads: Ints, allowed: AllowedLabels | None) -> Candidates:
        candidates = lay_out([self.of_words, self.of_root], (heads == 0).astype(np.int32))
        return candidates if allowed is None else restrict(candidates, allowed)

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        return {
            "model": self.model.to_payload(),
            "of_root": list(self.of_root),
            "of_words": list(self.of_words),
        }

    @classmethod
    def from_payload(cls, stored: Stored, columns: Columns, name: str = "") -> Labeller:
        """The labeller over the columns of its model.

        Raises:
            Misfit: content that the declaration does not allow, or columns that it needs are not
                in the model.
        """
        stored.require("deprels" in columns.labels, "", "labels of deprels", "none")
        n_labels = len(columns.labels["deprels"])
        read = stored.read(STORED_LABELLER, labels=n_labels)
        missing = [name for name in LABELLER_INPUTS if name not in columns.names]
        stored.require(not missing, "", f"a model with the columns {', '.join(missing)}", "others")
        model = SequenceModel.from_payload(read["model"], tree_column_names(columns), n_labels)
        return cls(model, tuple(read["of_root"]), tuple(read["of_words"]))
