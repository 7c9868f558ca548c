"""Learning taggers, of one layer or of several at once, the labeller of arcs and the lemmatiser:
examples, development scores and calibration.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from egparse.config.sections import (
    LabellerConfig,
    LemmasConfig,
    MorphologyConfig,
    TaggerConfig,
    with_classes,
)
from egparse.errors import EgparseError
from egparse.evaluation.scores import tag_accuracy, universal_deprel
from egparse.evaluation.spans import score_spans
from egparse.features.default_templates import (
    FURTHER_LABEL_TEMPLATES,
    FURTHER_LEMMA_TEMPLATES,
    FURTHER_TAG_TEMPLATES,
    LABEL_TEMPLATES,
    over_further,
)
from egparse.features.index import Attributes
from egparse.features.request import Request, Values
from egparse.features.tag_dictionary import Candidates, TagDictionary, lay_out
from egparse.features.templates import Templates, compile_templates
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns
from egparse.fitting.task import Outcomes, Part, not_annotated
from egparse.layers import LEMMAS
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.sequences.combinations import MUCH_OPEN, Combinations, bits_open
from egparse.sequences.edit_scripts import script_of
from egparse.sequences.labeller import Labeller, tree_column_names, tree_values
from egparse.sequences.lemmatiser import (
    LONGEST_SCRIPT,
    NO_TAG,
    LemmaLexicon,
    Lemmatiser,
    Options,
    Seen,
    division_of,
    label_of,
    options_of,
)
from egparse.sequences.model import build_index, keys_of
from egparse.sequences.tagger import Tagger, candidates_of, iob2_kinds
from egparse.sequences.task import Lesson, PartialTags, SequenceExamples, SequenceTask
from egparse.sequences.warm_start import with_seen
from egparse.types import Floats, Ints, Longs, Mask

MANY_BUNDLES = 0.01
"""Bundles of features a word of the training part above which single features have weights
(docs/decisions/joint-tags.md).
"""

_SMOOTHING = 0.5  # pseudo-count of every label in the frequencies that forms back off to


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
        if len(gold):
            annotated = np.logical_or.reduceat(gold >= 0, words.starts[:-1])
            if not annotated.all():  # nothing can be learned from the other sentences
                return self.on_sentences(annotated).lesson(config)
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
        if self.name != "spans":
            return None
        # next to a word without a tag, a tag may mean several tags of a scheme with ends
        if not any(MISSING in sentence.spans for sentence in self.train.sentences):
            return None
        kinds = iob2_kinds(self.labels)
        agree: Mask = kinds[:, None] == kinds[None, :]
        return agree

    def _templates(self, settings: TaggerConfig) -> Templates:
        if self.base is not None:
            return self.base.model.templates
        texts = with_classes(settings, self.columns.n_class_tables)
        texts = (*texts, *over_further(self.columns.further, FURTHER_TAG_TEMPLATES))
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

    def outcomes(self, predictor: Tagger) -> Outcomes:
        """Right are tags that mean the same as the gold ones; words without one do not count."""
        words, gold = self.dev.words, self._found(self.dev)
        kinds = np.arange(len(self.labels), dtype=np.int32)
        if self.name == "spans":
            kinds = iob2_kinds(self.labels)
        model, (candidates, scores) = predictor.model, predictor.scored(words)
        predicted = model.choose(scores, words.starts, candidates)
        right = (gold >= 0) & (kinds[gold] == kinds[predicted])
        return Outcomes(
            right,
            self._counted(),
            lambda temperature: model.at(temperature).probabilities(
                scores, words.starts, candidates, predicted, kinds
            ),
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


def some_completion(gold: Ints, candidates: Candidates) -> Ints:
    """The gold label numbers, with the first candidate of each word that has none (-1)."""
    first = candidates.labels[candidates.starts[:-1]].astype(np.int32)
    return np.where(gold >= 0, gold, first)


def partial_tags(
    form_ids: Ints, gold: Ints, readings: Mask | None, candidates: Candidates, n_labels: int
) -> PartialTags:
    """What is annotated of words with label numbers ``gold``, -1 for none.

    ``readings`` (labels, labels), if given, says which labels agree with a gold label; else only
    the label itself does.
    """
    annotated = gold >= 0
    word: Longs = np.repeat(np.arange(len(gold)), np.diff(candidates.starts))
    labels = candidates.labels.astype(np.int64)
    agrees = labels == gold[word] if readings is None else readings[gold[word], labels]
    prior = _log_frequencies(form_ids, gold, annotated, word, labels, n_labels)
    return PartialTags(annotated, agrees | ~annotated[word], prior)


def _log_frequencies(
    form_ids: Ints, gold: Ints, annotated: Mask, word: Longs, labels: Longs, n_labels: int
) -> Floats:
    """log (n(form, label) + p(label)) / (n(form) + 1) of each candidate, from the annotated
    words.
    """
    counts = np.bincount(gold[annotated], minlength=n_labels) + _SMOOTHING
    shares = counts / counts.sum()
    of_form = np.bincount(form_ids[annotated], minlength=int(form_ids.max(initial=0)) + 1)
    pairs = form_ids[annotated].astype(np.int64) * n_labels + gold[annotated]
    keys, times = np.unique(pairs, return_counts=True)
    wanted = form_ids[word].astype(np.int64) * n_labels + labels
    places = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    seen = np.where(keys[places] == wanted, times[places], 0) if len(keys) else 0
    scores: Floats = np.log((seen + shares[labels]) / (of_form[form_ids[word]] + 1.0))
    return scores


# --- labels of arcs -------------------------------------------------------------------------------


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
        texts = (*texts, *over_further(self.columns.further, FURTHER_LABEL_TEMPLATES))
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

    def outcomes(self, predictor: Labeller) -> Outcomes:
        """Only the labels of correct arcs count: a wrong arc has no correct label."""
        heads, words, model = self.dev_trees.predicted, self.dev.words, predictor.model
        gold = self.columns.label_numbers(self.dev.sentences, self.layer)
        request = Request(words, self.columns, {"heads": Values(heads)})
        candidates, scores = predictor.scored(request)
        labels = model.choose(scores, words.starts, candidates)
        counted = (heads == self.dev_trees.gold) & self.dev.annotated(self.layer)
        return Outcomes(
            gold == labels,
            counted,
            lambda temperature: model.at(temperature).probabilities(
                scores, words.starts, candidates, labels
            ),
        )


# --- lemmas ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LemmaTask(SequenceTask[Lemmatiser, LemmasConfig]):
    """The task of lemmas, over the columns of a model; words have the tags that earlier tasks
    predict.
    """

    columns: Columns
    train: Part
    dev: Part

    name = LEMMAS
    learns = "label sequences"

    @cached_property
    def lexicon(self) -> LemmaLexicon:
        """The scripts of the training part by form and correct UPOS, beside those of the base."""
        before = None if self.base is None else self.base.lexicon
        return _learned_lexicon(self.columns, self.train.sentences, self.config, before)

    def lesson(self, config: LemmasConfig) -> Lesson[Lemmatiser]:
        """Words with several candidates.

        Raises:
            EgparseError: no word has a lemma.
        """
        lexicon, columns, tags = self.lexicon, self.columns, self.columns.number("upos")
        if not lexicon.scripts:
            raise EgparseError("lemmas: expected a word with a lemma, got none")
        found = _examples(lexicon, self.train, tags, config.rare)
        base = None if self.base is None else self.base.over(columns, lexicon).model
        examples = SequenceExamples(
            self.train.words.values,
            self.train.words.starts,
            found.gold,
            found.candidates,
            2 * len(lexicon.scripts),
            division_of(len(lexicon.scripts), config.full_row_min_count),
            chosen=found.chosen,
        )
        texts = with_classes(config, columns.n_class_tables)
        texts = (*texts, *over_further(columns.further, FURTHER_LEMMA_TEMPLATES))
        return Lesson(
            examples,
            compile_templates(texts, columns.names) if base is None else base.templates,
            lambda model: Lemmatiser(model, lexicon, tags),
            base,
        )

    def score(self) -> Callable[[Lemmatiser], float] | None:
        """The accuracy in per cent; None without development words that have lemmas."""
        counted = self.dev.annotated(LEMMAS)
        if not counted.any():
            return None
        return lambda lemmatiser: 100.0 * float(self._right(lemmatiser)[counted].mean())

    def outcomes(self, predictor: Lemmatiser) -> Outcomes:
        """Right is the correct lemma; words without one do not count."""
        words, model = self.dev.words, predictor.model
        candidates, scores = predictor.scored(words, predictor.options(words))
        labels = model.choose(scores, words.starts, candidates)
        return Outcomes(
            self._right(predictor),
            self.dev.annotated(LEMMAS),
            lambda temperature: model.at(temperature).probabilities(
                scores, words.starts, candidates, labels
            ),
        )

    def _right(self, lemmatiser: Lemmatiser) -> Mask:
        found = lemmatiser.predict(self.dev.words, self.columns)
        gold = [
            lemma
            for sentence in self.dev.sentences
            for lemma in sentence.lemmas or (MISSING,) * len(sentence)
        ]
        return np.array([a == b for a, b in zip(found, gold, strict=True)], dtype=np.bool_)


def _learned_lexicon(
    columns: Columns,
    sentences: Sequence[Sentence],
    config: LemmasConfig,
    before: LemmaLexicon | None,
) -> LemmaLexicon:
    """The lexicon of the sentences whose words have lemmas, added to that of ``before``."""
    values = columns.labels["upos"].values if "upos" in columns.labels else {}
    missing = not_annotated(sentences, LEMMAS).tolist()
    words = [
        (form, values.get(tag, NO_TAG), lemma)
        for one in sentences
        for form, tag, lemma in zip(
            one.forms,
            one.upos or (MISSING,) * len(one),
            one.lemmas or (MISSING,) * len(one),
            strict=True,
        )
    ]
    counts = Counter(word for word, lacks in zip(words, missing, strict=True) if not lacks)
    seen: Counter[Seen] = Counter()
    for (form, tag, lemma), count in counts.items():
        script = script_of(form, lemma)
        if len(script) <= LONGEST_SCRIPT:
            seen[Seen(form, tag, script)] += count
    if before is not None:
        return LemmaLexicon.build(seen, before.size, before.longest, config.frequent, before)
    return LemmaLexicon.build(seen, config.candidates, config.longest_suffix, config.frequent)


class _Examples(NamedTuple):
    """The chosen words among all words of a part, (words,); their correct labels and candidates."""

    chosen: Mask
    gold: Ints
    candidates: Candidates


def _examples(lexicon: LemmaLexicon, part: Part, column: int, rare: int) -> _Examples:
    """The words from which the classifier learns: those with several candidates, of which one gives
    the correct lemma; where there are none, any word, for a problem needs an example.

    A word seen fewer than ``rare`` times with its form and tag has the candidates of an unseen one,
    so that the classifier learns to choose among these.
    """
    words = part.words
    lemmas = [one for each in part.sentences for one in each.lemmas or (MISSING,) * len(each)]
    lacking = not_annotated(part.sentences, LEMMAS).tolist()
    pairs = list(zip(words.form_ids.tolist(), words.values[:, column].tolist(), strict=True))
    counts = Counter(
        (words.distinct[form].lower(), tag)
        for (form, tag), lacks in zip(pairs, lacking, strict=True)
        if not lacks
    )
    options: dict[tuple[int, int], Options] = {}
    with_gold: dict[tuple[int, int, str], tuple[int, tuple[int, ...]] | None] = {}
    numbers = {script: number for number, script in enumerate(lexicon.scripts)}
    chosen = np.zeros(words.n_words, dtype=np.bool_)
    gold: list[int] = []
    labels: list[int] = []
    starts = [0]
    last = next((k for k in reversed(range(len(lacking))) if not lacking[k]), -1)
    for word, (pair, lemma, lacks) in enumerate(zip(pairs, lemmas, lacking, strict=True)):
        if lacks:
            continue
        key = (*pair, lemma)
        if key not in with_gold:
            form, tag = words.distinct[pair[0]], pair[1]
            if pair not in options:
                scripts: Sequence[int] = lexicon.of_word(form, tag)
                if counts[form.lower(), tag] < rare:
                    scripts = lexicon.by_suffixes(form, tag)
                options[pair] = options_of(lexicon, form, scripts)
            with_gold[key] = _with_correct(lexicon, options[pair], form, lemma, numbers)
        found = with_gold[key]
        if found is not None and (len(found[1]) > 1 or (word == last and not gold)):
            chosen[word] = True
            gold.append(found[0])
            labels.extend(found[1])
            starts.append(len(labels))
    return _Examples(
        chosen,
        np.array(gold, dtype=np.int32),
        Candidates(np.array(labels, dtype=np.uint16), np.array(starts, dtype=np.int64)),
    )


def _with_correct(
    lexicon: LemmaLexicon,
    options: Options,
    form: str,
    lemma: str,
    numbers: dict[str, int],
) -> tuple[int, tuple[int, ...]] | None:
    """The label that gives the correct lemma, and the candidates with it; None if no script of the
    lexicon gives it.
    """
    if lemma in options.lemmas:
        return options.labels[options.lemmas.index(lemma)], options.labels
    script = numbers.get(script_of(form, lemma))
    if script is None:
        return None
    label = label_of(script, lexicon.is_known(lemma, form))
    return label, tuple(sorted({label, *options.labels}))
