"""Learning a tagger: its examples, its development score and its calibration."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from egparse.config.class_templates import with_classes
from egparse.config.sections import LearningConfig, TaggerConfig
from egparse.errors import EgparseError
from egparse.evaluation.quick import tag_accuracy
from egparse.evaluation.spans import score_spans
from egparse.features.index import Attributes
from egparse.features.sequence import Division
from egparse.features.tag_dictionary import TagDictionary
from egparse.features.templates import Templates, compile_templates
from egparse.features.word_table import Columns
from egparse.fitting.choose_learner import build_learner
from egparse.fitting.optimise import Prepared
from egparse.fitting.task import Outcomes, Part
from egparse.sequences.fit_sequence import SequenceExamples, SequenceSettings, prepare_sequence
from egparse.sequences.partial_tags import (
    equal_readings,
    lacks_spans,
    partial_tags,
    some_completion,
)
from egparse.sequences.sequence_model import (
    SequenceModel,
    build_index,
    keys_of,
    without_small_weights,
)
from egparse.sequences.tagger import Tagger, candidates_of, iob2_kinds
from egparse.sequences.warm_start import with_seen
from egparse.types import Floats, Ints, Mask


class KnownWords(NamedTuple):
    """The correct label numbers of the training words, (words,), and their attributes."""

    gold: Ints
    attributes: Attributes


@dataclass(frozen=True)
class TaggerTask:
    """The task of one layer of tags, over the columns and label sets of a model.

    Taggers of spans predict only valid sequences of the tagging scheme. With a ``base``, over the
    same columns and labels, training continues from it. With ``in_full`` the taggers are not
    reduced to what a model file holds (see ``as_stored``). What is ``known`` of the training words
    is not computed again.
    """

    layer: str
    columns: Columns
    train: Part
    dev: Part
    config: TaggerConfig
    seed: int
    base: Tagger | None = None
    in_full: bool = False
    known: KnownWords | None = None

    keeps_last = False

    @property
    def name(self) -> str:
        """The layer: the section of each layer of tags has the same name."""
        return self.layer

    @property
    def labels(self) -> tuple[str, ...]:
        """The label set."""
        return self.columns.labels[self.layer].strings

    @property
    def gold(self) -> Ints:
        """The correct label numbers of the training part, -1 for words that are not annotated."""
        numbers = self.columns.label_numbers(self.train.sentences, self.layer)
        return np.where(self.train.lacks(self.layer), np.int32(-1), numbers)

    def _readings(self) -> Mask | None:
        """Which labels agree with each label where words next to it are not annotated."""
        if self.layer != "spans" or not lacks_spans(self.train.sentences):
            return None
        return equal_readings(iob2_kinds(self.labels))

    @property
    def division(self) -> Division | None:
        """What the labels are made of, if they are divided."""
        return None

    def prepare(self, config: LearningConfig | None = None) -> Prepared[Tagger]:
        """Build the tag dictionary, index the attributes, lay out weights and duals.

        Raises:
            ConfigError: a template, a learner or an order that does not fit.
        """
        settings = self.config if config is None else config
        assert isinstance(settings, TaggerConfig)
        words, base, known = self.train.words, self.base, self.known
        gold = self.gold if known is None else known.gold
        if len(gold) and not (gold >= 0).any():
            raise EgparseError(f"{self.layer}: expected a word with a tag, got none")
        dictionary = self._dictionary(gold)
        candidates = candidates_of(words, dictionary, len(self.labels))
        whole = some_completion(gold, candidates) if (gold < 0).any() else gold
        if dictionary is not None:
            candidates = dictionary.with_correct(candidates, whole)
        examples = SequenceExamples(
            words.values,
            words.starts,
            whole,
            candidates,
            len(self.labels),
            self.division,
            attributes=None if known is None else known.attributes,
        )
        if whole is not gold:
            partial = partial_tags(
                words.form_ids, gold, self._readings(), candidates, len(self.labels)
            )
            examples = examples._replace(partial=partial)
        prepared = prepare_sequence(
            examples,
            SequenceSettings(
                templates=self._templates(settings),
                min_count=settings.min_count,
                full_row_min_count=settings.full_row_min_count,
                bigrams=settings.bigrams,
                learner=lambda problem, offsets: build_learner(
                    problem,
                    settings,
                    self.seed,
                    offsets,
                    search=settings.search,
                    prioritise_below_gain=settings.prioritise_below_gain,
                ),
                base=None if base is None else base.model,
                in_full=self.in_full,
            ),
        )
        if self.in_full:
            return prepared.then(lambda model: Tagger(model, dictionary))
        return prepared.then(lambda model: self.as_stored(Tagger(model, dictionary)))

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

    def as_stored(self, tagger: Tagger) -> Tagger:
        """The tagger as it will be stored, without small weights and invalid sequences of span
        tags.
        """
        model = without_small_weights(tagger.model, self.config.weight_threshold)
        if self.layer == "spans":
            model = forbid_invalid_spans(model, self.labels, self.config.scheme)
        return replace(tagger, model=model)

    def score(self) -> Callable[[Tagger], float] | None:
        """Accuracy in per cent, or F1 of spans; None without annotated development sentences."""
        sentences, words = self.dev
        if not any(getattr(sentence, self.layer) for sentence in sentences):
            return None
        if self.layer == "spans":
            return self._span_score()
        gold = self.columns.label_numbers(sentences, self.layer)
        # a tag that is not in the label set counts, and is always wrong; a missing one does not
        gold = np.where(gold < 0, len(self.labels), gold)
        gold = np.where(self.dev.annotated(self.layer), gold, -1)
        return lambda tagger: tag_accuracy(gold, tagger.predict(words))

    def _span_score(self) -> Callable[[Tagger], float]:
        correct = [list(sentence.spans) for sentence in self.dev.sentences]
        words = self.dev.words

        def f1(tagger: Tagger) -> float:
            tags = [self.labels[number] for number in tagger.predict(words).tolist()]
            bounds = itertools.pairwise(words.starts.tolist())
            return float(score_spans(correct, [tags[first:end] for first, end in bounds]).micro.f1)

        return f1

    def outcomes(self, predictor: Tagger) -> Outcomes[Tagger]:
        """Right is a tag that means the same as the gold tag; words without one do not count."""
        words = self.dev.words
        kinds = np.arange(len(self.labels), dtype=np.int32)
        if self.layer == "spans":
            kinds = iob2_kinds(self.labels)
        gold = self.columns.label_numbers(self.dev.sentences, self.layer)
        predicted = predictor.predict(words)
        right = (gold >= 0) & (kinds[gold] == kinds[predicted])

        def probabilities(tagger: Tagger) -> Floats:
            return tagger.predict_with_probabilities(words, None, kinds, predicted).probabilities

        return Outcomes(right, self.dev.annotated(self.layer), probabilities)


def forbid_invalid_spans(model: SequenceModel, tags: Sequence[str], scheme: str) -> SequenceModel:
    """The model with a score of -inf for invalid sequences of the tagging scheme.

    Invalid is an I or E that does not continue a span of its type, and in IOBES also a tag that
    leaves a span before its end. A sentence may end inside a span, which is then read as complete.
    """
    transitions, opening = model.transitions.copy(), model.opening.copy()
    for after, tag in enumerate(tags):
        continues = tag[0] in "IE"
        if continues:
            opening[after] = -np.inf
        for before, previous in enumerate(tags):
            goes_on = previous[0] in "BI"
            allowed = (
                goes_on and previous[2:] == tag[2:]
                if continues
                else scheme == "iob2" or not goes_on
            )
            if not allowed:
                transitions[before, after] = -np.inf
    return replace(model, transitions=transitions, opening=opening)
