"""Learning the tags of words in several layers at once: see ``tagging.joint.morphology``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from egparse.config.sections import MorphologyConfig
from egparse.evaluation.quick import tag_accuracy
from egparse.features.sequence import NEVER, Division
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns
from egparse.fitting.task import Outcomes, Part
from egparse.layers import MORPHOLOGY
from egparse.sequences.joint.agreement import MUCH_OPEN, bits_open
from egparse.sequences.joint.morphology import Combinations, MorphologyTagger
from egparse.sequences.tagger import Tagger
from egparse.sequences.tagger_task import TaggerTask
from egparse.sequences.warm_start import extend_model
from egparse.types import Floats, Ints, Mask

MANY_BUNDLES = 0.01
"""Bundles of features a word of the training part above which single features have weights
(docs/decisions/joint-tags.md).
"""


def combinations_of(
    columns: Columns,
    part: Part,
    layers: Sequence[str],
    config: MorphologyConfig,
    base: MorphologyTagger | None = None,
) -> Combinations:
    """The combinations of tags in a part, after those of a base."""
    labels = _labels_of(columns, part, layers)
    if base is not None:
        return base.combinations.extended(labels)
    single = config.single_features == "always"
    if config.single_features == "auto" and "feats" in layers:
        single = len(columns.labels["feats"]) > MANY_BUNDLES * part.words.n_words
    found = Combinations.of(layers, labels, single)
    if "feats" not in layers or config.agreement == "never":
        return found
    agreeing = found._replace(agreement=True)
    fine = agreeing.classes(columns.labels)[found.find(labels)]
    is_open = bits_open(labels[layers[0]], fine) > MUCH_OPEN
    return agreeing if is_open or config.agreement == "always" else found


def over(base: MorphologyTagger, combinations: Combinations, columns: Columns) -> MorphologyTagger:
    """A tagger over columns that extend its own, and over combinations that extend those that it
    knows; a new one scores what its known parts score.
    """
    division = combinations.division(columns.labels, NEVER)
    tagger = base.tagger
    model = extend_model(tagger.model, columns.names, len(combinations.numbers), division)
    return MorphologyTagger(replace(tagger, model=model), combinations)


def _labels_of(columns: Columns, part: Part, layers: Sequence[str]) -> Mapping[str, Ints]:
    return {layer: columns.label_numbers(part.sentences, layer) for layer in layers}


@dataclass(frozen=True)
class MorphologyTask(TaggerTask):
    """The task of ``combinations`` of tags. Its predictor is the tagger of combinations, by number;
    ``MorphologyTagger`` makes tags of them.
    """

    combinations: Combinations = field(
        default_factory=lambda: Combinations((), np.empty((0, 0), dtype=np.int32), False)
    )

    @property
    def name(self) -> str:
        """The section of the configuration."""
        return MORPHOLOGY

    @property
    def labels(self) -> tuple[str, ...]:
        """The combinations, as text."""
        known = [self.columns.labels[layer].strings for layer in self.combinations.layers]
        return tuple(
            " ".join(
                strings[tag] if tag >= 0 else "_" for strings, tag in zip(known, row, strict=True)
            )
            for row in self.combinations.numbers.tolist()
        )

    @property
    def gold(self) -> Ints:
        """The correct combinations of the training part."""
        return self._found(self.train)

    @property
    def division(self) -> Division:
        """The parts and classes of the combinations."""
        labels: Mapping[str, Vocabulary] = self.columns.labels
        return self.combinations.division(labels, self.config.full_row_min_count)

    def _found(self, part: Part) -> Ints:
        return self.combinations.find(_labels_of(self.columns, part, self.combinations.layers))

    def joined(self, tagger: Tagger) -> MorphologyTagger:
        """The tagger of the layers."""
        return MorphologyTagger(tagger, self.combinations)

    def score(self) -> Callable[[Tagger], float] | None:
        """The share of words with correct tags in all layers among those that are annotated in all
        of them, in per cent; None without such words in the development part.
        """
        annotated, words = self._annotated_in_dev(), self.dev.words
        if not annotated.any():
            return None
        gold = self._found(self.dev)
        # a combination that training has not seen counts, and is always wrong
        gold = np.where(gold < 0, len(self.combinations.numbers), gold)
        gold = np.where(annotated, gold, -1)
        return lambda tagger: tag_accuracy(gold, tagger.predict(words))

    def _annotated_in_dev(self) -> Mask:
        """The words of the development part with a tag in every layer."""
        masks = [self.dev.annotated(layer) for layer in self.combinations.layers]
        every: Mask = np.logical_and.reduce(masks)
        return every

    def scores(self, tagger: Tagger) -> dict[str, float | None]:
        """The development score of each layer alone, in per cent of its annotated words; None
        without any in the development part.
        """
        found = self.combinations.in_layers(tagger.predict(self.dev.words))
        scores: dict[str, float | None] = {}
        for layer, gold in _labels_of(self.columns, self.dev, self.combinations.layers).items():
            annotated = self.dev.annotated(layer)
            known = np.where(gold < 0, len(self.columns.labels[layer]), gold)
            right = tag_accuracy(np.where(annotated, known, -1), found[layer])
            scores[layer] = right if annotated.any() else None
        return scores

    def outcomes(self, predictor: Tagger) -> Outcomes[Tagger]:
        """Right is the correct combination; words without a tag in some layer do not count."""
        words, gold = self.dev.words, self._found(self.dev)
        predicted = predictor.predict(words)
        right = (gold >= 0) & (gold == predicted)
        annotated = self._annotated_in_dev()

        def probabilities(tagger: Tagger) -> Floats:
            return tagger.predict_with_probabilities(words, labels=predicted).probabilities

        return Outcomes(right, annotated, probabilities)
