"""Learning a tagger, of one layer or of several at once: its examples, its development score and
its calibration.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from egparse.config.sections import MorphologyConfig, TaggerConfig, with_classes
from egparse.errors import EgparseError
from egparse.evaluation.scores import tag_accuracy
from egparse.evaluation.spans import score_spans
from egparse.features.index import Attributes
from egparse.features.tag_dictionary import TagDictionary
from egparse.features.templates import Templates, compile_templates
from egparse.features.word_table import Columns
from egparse.fitting.task import Outcomes, Part
from egparse.sequences.combinations import MUCH_OPEN, Combinations, bits_open
from egparse.sequences.fit import (
    SequenceExamples,
    equal_readings,
    lacks_spans,
    partial_tags,
    some_completion,
)
from egparse.sequences.model import build_index, keys_of
from egparse.sequences.tagger import Tagger, candidates_of, iob2_kinds
from egparse.sequences.task import Lesson, SequenceTask
from egparse.sequences.warm_start import with_seen
from egparse.types import Ints, Mask

MANY_BUNDLES = 0.01
"""Bundles of features a word of the training part above which single features have weights
(docs/decisions/joint-tags.md).
"""


class KnownWords(NamedTuple):
    """The correct label numbers of the training words, (words,), and their attributes."""

    gold: Ints
    attributes: Attributes


@dataclass(frozen=True)
class TaggerTask(SequenceTask[Tagger, TaggerConfig]):
    """The task of a layer of tags, over the columns and label sets of a model, or of the
    ``combinations`` of tags of several layers; supertags are a layer too.

    Taggers of spans predict only valid sequences of the tagging scheme. What is ``known`` of the
    training words is not computed again.
    """

    section: str
    columns: Columns
    train: Part
    dev: Part
    combinations: Combinations | None = None
    known: KnownWords | None = None

    of_learner = ("search", "prioritise_below_gain")

    @property
    def name(self) -> str:
        """The layer, or ``morphology``."""
        return self.section

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that are learned."""
        return (self.section,) if self.combinations is None else self.combinations.layers

    @property
    def labels(self) -> tuple[str, ...]:
        """The tags, or the combinations as text."""
        if self.combinations is not None:
            return self.combinations.as_text(self.columns.labels)
        return self.columns.labels[self.section].strings

    @property
    def gold(self) -> Ints:
        """The correct label numbers of the training part, -1 for words that are not annotated."""
        if self.combinations is not None:
            return self._found(self.train)
        return np.where(self.train.lacks(self.section), np.int32(-1), self._found(self.train))

    def _found(self, part: Part) -> Ints:
        """The numbers of the correct labels, -1 for none and for unknown ones."""
        if self.combinations is None:
            return self.columns.label_numbers(part.sentences, self.section)
        return self.combinations.find(_labels_of(self.columns, part, self.layers))

    def lesson(self, config: TaggerConfig) -> Lesson[Tagger]:
        """Words with their tags; candidates from a tag dictionary, if there are many."""
        words, base, known, size = self.train.words, self.base, self.known, len(self.labels)
        gold = self.gold if known is None else known.gold
        if len(gold) and not (gold >= 0).any():
            raise EgparseError(f"{self.name}: expected a word with a tag, got none")
        dictionary = self._dictionary(gold)
        candidates = candidates_of(words, dictionary, size)
        whole = some_completion(gold, candidates) if (gold < 0).any() else gold
        if dictionary is not None:
            candidates = dictionary.with_correct(candidates, whole)
        partial = division = None
        if whole is not gold:
            partial = partial_tags(words.form_ids, gold, self._readings(), candidates, size)
        if self.combinations is not None:
            full_from = self.config.full_row_min_count
            division = self.combinations.division(self.columns.labels, full_from)
        examples = SequenceExamples(
            words.values,
            words.starts,
            whole,
            candidates,
            size,
            division,
            partial,
            attributes=None if known is None else known.attributes,
        )
        return Lesson(
            examples,
            self._templates(config),
            lambda model: Tagger(model, dictionary, self.layers, self.combinations),
            None if base is None else base.model,
        )

    def as_stored(self, predictor: Tagger) -> Tagger:
        """The tagger as a model file holds it."""
        return predictor.reduced(self.config, self.columns)

    def _readings(self) -> Mask | None:
        """Which labels agree with each label where words next to it are not annotated."""
        if self.name != "spans" or not lacks_spans(self.train.sentences):
            return None
        return equal_readings(iob2_kinds(self.labels))

    def _templates(self, settings: TaggerConfig) -> Templates:
        if self.base is not None:
            return self.base.model.templates
        texts = with_classes(settings, self.columns.n_class_tables)
        return compile_templates(texts, self.columns.names, settings.pads)

    def with_known_words(self) -> Self:
        """The task with all that is needed of its words to learn from some of them. A task with a
        base stays as it is: its attributes are the base's too.
        """
        if self.base is not None:
            return self
        words, templates = self.train.words, self._templates(self.config)
        keys = keys_of(templates, words.values, words.starts)
        index = build_index(keys, self.config.min_count)
        return replace(self, known=KnownWords(self.gold, Attributes(index, index.numbers(keys))))

    def on_sentences(self, chosen: Mask) -> Self:
        """The task of some sentences of the training part: as if no others had been there. From
        what is ``known`` of all words what is known of theirs is selected.
        """
        part, rows = self.train.select(chosen)
        if self.known is None:
            return replace(self, train=part)
        attributes = self.known.attributes.select(rows, self.config.min_count)
        return replace(self, train=part, known=KnownWords(self.known.gold[rows], attributes))

    def _dictionary(self, gold: Ints) -> TagDictionary | None:
        """The tag dictionary, for large tag sets and if the base has one."""
        config, base, words = self.config, self.base, self.train.words
        if base is None and len(self.labels) <= config.dictionary_above:
            return None
        known = gold >= 0
        ids, gold = words.form_ids[known], gold[known]
        forms, size = [words.distinct[number] for number in ids], config.dictionary_size
        if base is not None:
            of_base = base.dictionary
            return of_base and with_seen(of_base, forms, gold.tolist(), size)
        return TagDictionary.build(forms, gold.tolist(), frequent=config.frequent, size=size)

    def score(self) -> Callable[[Tagger], float] | None:
        """The share of words with all tags right, in per cent, or F1 of spans; None without
        annotated development sentences.
        """
        sentences, words = self.dev
        if not any(all(getattr(one, layer) for layer in self.layers) for one in sentences):
            return None
        if self.name == "spans":
            return self._span_score()
        counted = self._counted()
        if self.combinations is not None and not counted.any():
            return None
        # a tag that is not in the label set counts, and is always wrong; a missing one does not
        gold = self._found(self.dev)
        gold = np.where(gold < 0, len(self.labels), gold)
        gold = np.where(counted, gold, -1)
        return lambda tagger: tag_accuracy(gold, tagger.choose(words))

    def _counted(self) -> Mask:
        """The words of the development part with a tag in every layer."""
        every: Mask = np.logical_and.reduce([self.dev.annotated(layer) for layer in self.layers])
        return every

    def _span_score(self) -> Callable[[Tagger], float]:
        correct = [list(sentence.spans) for sentence in self.dev.sentences]
        words = self.dev.words

        def f1(tagger: Tagger) -> float:
            tags = [self.labels[number] for number in tagger.choose(words).tolist()]
            bounds = itertools.pairwise(words.starts.tolist())
            return float(score_spans(correct, [tags[first:end] for first, end in bounds]).micro.f1)

        return f1

    def scores(self, tagger: Tagger) -> dict[str, float | None]:
        """The development score of each layer alone, in per cent of its annotated words; None
        without any in the development part.
        """
        found = tagger.predict(self.dev.words)
        scores: dict[str, float | None] = {}
        for layer, gold in _labels_of(self.columns, self.dev, self.layers).items():
            annotated = self.dev.annotated(layer)
            known = np.where(gold < 0, len(self.columns.labels[layer]), gold)
            right = tag_accuracy(np.where(annotated, known, -1), found[layer])
            scores[layer] = right if annotated.any() else None
        return scores

    def facts(self, predictor: Tagger) -> dict[str, Any]:
        """Of several layers the score of each, and the number of combinations."""
        if self.combinations is None:
            return {}
        return {"scores": self.scores(predictor), "combinations": len(self.labels)}

    def outcomes(self, predictor: Tagger) -> Outcomes[Tagger]:
        """Right are tags that mean the same as the gold ones; words without one do not count."""
        words, gold = self.dev.words, self._found(self.dev)
        kinds = np.arange(len(self.labels), dtype=np.int32)
        if self.name == "spans":
            kinds = iob2_kinds(self.labels)
        predicted = predictor.choose(words)
        right = (gold >= 0) & (kinds[gold] == kinds[predicted])
        return Outcomes(
            right,
            self._counted(),
            lambda tagger: tagger.probabilities(words, predicted, kinds=kinds),
        )


def combinations_of(
    columns: Columns,
    part: Part,
    layers: Sequence[str],
    config: MorphologyConfig,
    base: Tagger | None = None,
) -> Combinations:
    """The combinations of tags in a part, after those of a base."""
    labels = _labels_of(columns, part, layers)
    if base is not None and base.combinations is not None:
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


def _labels_of(columns: Columns, part: Part, layers: Sequence[str]) -> Mapping[str, Ints]:
    return {layer: columns.label_numbers(part.sentences, layer) for layer in layers}
