"""Taggers: one linear-chain CRF for each layer of tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from egparse.features.tag_dictionary import Candidates, Limits, TagDictionary, all_labels, restrict
from egparse.features.templates import compile_templates
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Words
from egparse.fitting.choose_learner import build_learner
from egparse.fitting.config import TaggerConfig
from egparse.fitting.optimise import Best
from egparse.fitting.progress import Listener
from egparse.storage.compressed_arrays import deflate_lists, inflate_lists
from egparse.tagging.fit_sequence import SequenceExamples, SequenceSettings, fit, fit_unwatched
from egparse.tagging.sequence_model import SequenceModel, without_small_weights
from egparse.tagging.warm_start import extend_dictionary
from egparse.types import Floats, Ints, Mask


class LabelsWithProbabilities(NamedTuple):
    """The label number of each word, -1 for none, and its marginal probability, nan for none; both
    of shape (words,).
    """

    labels: Ints
    probabilities: Floats


def without_probabilities(labels: Ints) -> LabelsWithProbabilities:
    """Labels of which nobody has asked how probable they are: nan."""
    return LabelsWithProbabilities(labels, np.full(len(labels), np.nan))


@dataclass(frozen=True)
class Tagger:
    """A sequence model, and a tag dictionary where the tag set is large."""

    model: SequenceModel
    dictionary: TagDictionary | None

    def predict(self, words: Words, limits: Limits | None = None) -> Ints:
        """The label number of each word: the best label sequence of each sentence, within the
        limits if there are any.

        Limits may allow what the dictionary does not. A sentence for which they leave no sequence
        has -1 throughout.
        """
        candidates = candidates_of(words, self.dictionary, self.model.n_labels)
        if limits is None:
            return self.model.choose(words.values, words.starts, candidates)
        labels = self.model.choose(words.values, words.starts, restrict(candidates, limits))
        lost = self._lost(words, labels, limits)
        if self.dictionary is not None and lost.any():
            wider = restrict(all_labels(len(words.form_ids), self.model.n_labels), limits)
            labels = np.where(lost, self.model.choose(words.values, words.starts, wider), labels)
            lost = self._lost(words, labels, limits)
        labels[lost] = -1
        return labels

    def predict_with_probabilities(
        self, words: Words, limits: Limits | None = None, kinds: Ints | None = None
    ) -> LabelsWithProbabilities:
        """What ``predict`` gives, and how probable each of the labels is among those that the
        dictionary and the limits leave.

        Labels of equal ``kinds[label]`` count as one. Where ``predict`` has looked beyond the
        dictionary, so does this.
        """
        labels = self.predict(words, limits)
        candidates = candidates_of(words, self.dictionary, self.model.n_labels)
        if limits is not None:
            candidates = restrict(candidates, limits)
        found = self.model.probabilities(words.values, words.starts, candidates, labels, kinds)
        beyond = np.isnan(found) & (labels >= 0)
        if limits is not None and beyond.any():
            wider = restrict(all_labels(len(words.form_ids), self.model.n_labels), limits)
            others = self.model.probabilities(words.values, words.starts, wider, labels, kinds)
            found = np.where(beyond, others, found)
        return LabelsWithProbabilities(labels, found)

    def _lost(self, words: Words, labels: Ints, limits: Limits) -> Mask:
        """The words of sentences with limits whose labels the model forbids: it has found no
        sequence.
        """
        lost = ~self.model.allows(labels, words.starts)
        limited = np.zeros(words.n_sentences, dtype=bool)
        limited[np.searchsorted(words.starts, limits.words, side="right") - 1] = True
        return np.repeat(lost & limited, np.diff(words.starts))

    def to_payload(self) -> dict[str, Any]:
        """What the model file holds of it."""
        dictionary = self.dictionary and [
            deflate_lists(self.dictionary.by_form),
            deflate_lists(self.dictionary.by_suffix),
        ]
        return {"model": self.model.to_payload(), "dictionary": dictionary}

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], columns: Sequence[str]) -> Tagger:
        """The tagger over the named columns."""
        dictionary = payload["dictionary"]
        return cls(
            SequenceModel.from_payload(payload["model"], columns),
            TagDictionary(*map(inflate_lists, dictionary)) if dictionary else None,
        )


class TaggerTask(NamedTuple):
    """What one tagger is to learn: the label set of its layer, the columns that its templates may
    name, and how.

    ``spans`` keeps to valid sequences of the scheme when predicting. With a ``base``, over the same
    columns and labels, training goes on from it.
    """

    layer: str
    labels: Vocabulary
    columns: Sequence[str]
    config: TaggerConfig
    seed: int
    base: Tagger | None = None

    @property
    def spans(self) -> bool:
        """Whether the tags are those of spans."""
        return self.layer == "spans"


def train_tagger(
    task: TaggerTask,
    words: Words,
    gold: Ints,
    listener: Listener,
    score: Callable[[Tagger], float] | None = None,
) -> Best[Tagger]:
    """Train on words whose correct label numbers are ``gold``; the best tagger by development
    ``score``, or the last.
    """
    examples, dictionary = _examples(task, words, gold)

    def finished(model: SequenceModel) -> Tagger:
        return _finished(task, model, dictionary)

    best = fit(
        examples,
        _settings(task),
        (lambda model: score(finished(model))) if score else None,
        task.layer,
        listener,
    )
    return Best(finished(best.model), best.record, best.reason)


def train_unwatched(task: TaggerTask, words: Words, gold: Ints, passes: int) -> Tagger:
    """A tagger after some passes, without certificates or scores."""
    examples, dictionary = _examples(task, words, gold)
    return _finished(task, fit_unwatched(examples, _settings(task), passes), dictionary)


def _examples(
    task: TaggerTask, words: Words, gold: Ints
) -> tuple[SequenceExamples, TagDictionary | None]:
    n_labels, config = len(task.labels), task.config
    dictionary = None
    if n_labels > config.dictionary_above or (task.base and task.base.dictionary):
        forms = [words.distinct[number] for number in words.form_ids]
        dictionary = TagDictionary.build(
            forms, gold.tolist(), frequent=config.frequent, size=config.dictionary_size
        )
    if task.base is not None:
        dictionary = extend_dictionary(task.base.dictionary, dictionary)
    candidates = candidates_of(words, dictionary, n_labels)
    if dictionary is not None:
        candidates = dictionary.with_correct(candidates, gold)
    return SequenceExamples(words.values, words.starts, gold, candidates, n_labels), dictionary


def _settings(task: TaggerTask) -> SequenceSettings:
    config, base = task.config, None if task.base is None else task.base.model
    return SequenceSettings(
        templates=base.templates
        if base
        else compile_templates(config.templates, task.columns, config.pads),
        min_count=config.min_count,
        all_labels_from=config.all_labels_from,
        bigrams=config.bigrams,
        learner=lambda problem, offsets: build_learner(
            problem, config, task.seed, offsets, search=config.search, settled=config.settled
        ),
        stop=config.stop,
        order=config.order,
        base=base,
    )


def _finished(task: TaggerTask, model: SequenceModel, dictionary: TagDictionary | None) -> Tagger:
    model = without_small_weights(model, task.config.drop_below)
    if task.spans:
        model = forbid_invalid_spans(model, task.labels.strings, task.config.scheme)
    return Tagger(model, dictionary)


def candidates_of(words: Words, dictionary: TagDictionary | None, n_labels: int) -> Candidates:
    """The labels that each word may have."""
    if dictionary is None:
        return all_labels(len(words.form_ids), n_labels)
    return dictionary.candidates(words.distinct, words.form_ids)


def iob2_kinds(tags: Sequence[str]) -> Ints:
    """For each tag in IOB2 or IOBES a number that it shares with those that mean the same in IOB2:
    what begins a span of a type, or is inside of it.
    """
    numbers: dict[str, int] = {}
    plain = [{"S": "B", "E": "I"}.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    return np.array([numbers.setdefault(tag, len(numbers)) for tag in plain], dtype=np.int32)


def forbid_invalid_spans(model: SequenceModel, tags: Sequence[str], scheme: str) -> SequenceModel:
    """Score -inf for what is no sequence of the scheme: a tag inside a span that does not continue
    one of its type; in IOBES also what leaves a span before its end. (A sentence may end inside a
    span: it is read as ended there.)
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
