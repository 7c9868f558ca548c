"""Fit a sequence model: index the attributes, choose the support, and minimise the regularised loss
by EG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from egparse.features.index import Attributes
from egparse.features.sequence import (
    NEVER,
    Division,
    WeightRows,
    supported_part_rows,
    supported_rows,
)
from egparse.features.tag_dictionary import Candidates
from egparse.features.templates import Templates
from egparse.fitting.prepared import Prepared, require_finite
from egparse.learners.completion import set_completion
from egparse.learners.learner import Learner, State
from egparse.sentences import MISSING, Sentence
from egparse.sequences.model import SequenceModel, as_stored, build_index, keys_of
from egparse.sequences.sequence_problem import SequenceProblem
from egparse.sequences.warm_start import keys_with_base, warm_start_of
from egparse.types import Floats, Ints, Longs, Mask, Singles

GOLD_THETA = 7.0
"""Initial theta of correct labels, above the logarithm of the number of candidates: correct with
probability 0.999.

Where labels are rare, a lower start puts more mass on them than the data has, and takes long to
undo (docs/decisions/tag-models.md).
"""


_SMOOTHING = 0.5  # pseudo-count of every label in the frequencies that forms back off to


class PartialTags(NamedTuple):
    """``annotated`` (words,) marks the words that have a tag; of the candidates, flat over all
    words, ``allowed`` marks those that agree with the annotation, and ``prior`` has their scores in
    nats before there is a model: a word without a tag may have any of them, weighed by the tags
    that its form has where it is annotated, backed off to the frequencies of tags.
    """

    annotated: Mask
    allowed: Mask
    prior: Floats


class SequenceExamples(NamedTuple):
    """Words with columns ``values``, sentences ``starts``, correct labels ``gold`` and their
    ``candidates`` (gold among them); what the labels are made of, if they are divided.

    With ``attributes``, these were found before, and ``values`` are not looked at.
    With ``partial``, ``gold`` is some completion of what is annotated; its labels are not divided.
    With ``chosen`` (words,), for words that choose alone, only the chosen words are learned from,
    and ``gold`` and ``candidates`` are theirs. With ``chains`` too, chosen words need not choose
    alone: sequences of them start there, (sequences + 1,), counted among the chosen words.
    """

    values: Ints
    starts: Longs
    gold: Ints
    candidates: Candidates
    n_labels: int
    division: Division | None = None
    partial: PartialTags | None = None
    chosen: Mask | None = None
    chains: Longs | None = None
    attributes: Attributes | None = None


class SequenceSettings(NamedTuple):
    """The settings that TaggerConfig and LabellerConfig share, with compiled templates.

    With ``bigrams`` a label depends on the label before it. ``learner`` takes the problem and the
    scores of its parts by the ``base``, a model over the same columns, labels and templates (None
    without a base). With ``in_full`` the weights are not rounded as in a model file.
    """

    templates: Templates
    min_count: int
    full_row_min_count: int
    bigrams: bool
    learner: Callable[[SequenceProblem, Singles | None], Learner]
    base: SequenceModel | None = None
    in_full: bool = False


def prepare_sequence(
    examples: SequenceExamples, settings: SequenceSettings
) -> Prepared[SequenceModel]:
    """Index attributes, lay out weights and duals."""
    division = examples.division
    n_classes = examples.n_labels if division is None else division.n_classes
    index, attributes = examples.attributes or _attributes_of(examples, settings)
    if examples.chosen is not None:
        starts = np.concatenate([[0], np.cumsum(examples.chosen)])[examples.starts]
        chains = np.unique(starts).astype(np.int64) if examples.chains is None else examples.chains
        examples = examples._replace(starts=chains)
    support = _support(examples, settings, n_classes)
    partial = examples.partial
    rows = _supported_rows(attributes, len(index), examples, settings)
    warm_start = None
    if settings.base is not None:
        warm_start = warm_start_of(settings.base, index, rows)
        rows = warm_start.rows
        support = warm_start.with_support(support)
    problem = SequenceProblem(
        attributes=attributes,
        word_starts=examples.starts,
        gold=examples.gold,
        candidates=examples.candidates.labels,
        candidate_starts=examples.candidates.starts,
        rows=rows,
        n_labels=examples.n_labels,
        support=support,
        allowed=None if partial is None else partial.allowed,
        **({} if division is None else _divided(division)),
    )
    if partial is not None:
        _start_partial(problem, examples, partial)
    learner = settings.learner(problem, None if warm_start is None else warm_start.offsets(problem))
    per_word = len(examples.candidates.labels) / max(1, len(examples.gold))

    def rounded(weights: Singles) -> Singles:
        return weights if settings.in_full else as_stored(weights)

    def snapshot(state: State) -> SequenceModel:
        with np.errstate(over="ignore", invalid="ignore"):
            model = model_of(state)
        require_finite(model.rows.weights, model.transitions)
        return model

    def model_of(state: State) -> SequenceModel:
        scale = np.float32(state.scale)
        transitions = problem.transitions * scale
        if warm_start is not None:
            whole = warm_start.with_learned(problem.rows.weights * scale, transitions)
            return replace(whole, rows=whole.rows._replace(weights=rounded(whole.rows.weights)))
        if not settings.bigrams:
            transitions = np.zeros((n_classes, n_classes), dtype=np.float32)
        weights = WeightRows(rows.starts, rows.labels, rounded(problem.rows.weights * scale))
        opening = np.zeros(len(transitions), dtype=np.float32)
        model = SequenceModel(settings.templates, index, weights, transitions, opening)
        if division is None:
            return model
        return replace(model, divided=division.parts, classes=division.classes)

    return Prepared(learner, learner.initialise(GOLD_THETA + float(np.log(per_word))), snapshot)


def _attributes_of(examples: SequenceExamples, settings: SequenceSettings) -> Attributes:
    """The attributes of the words that are learned from, by a new index."""
    keys = keys_of(settings.templates, examples.values, examples.starts)
    if examples.chosen is not None:
        keys = np.ascontiguousarray(keys[examples.chosen])
    index = build_index(keys, settings.min_count)
    if settings.base is not None:
        index = keys_with_base(index, keys, settings.base)
    return Attributes(index, index.numbers(keys))


def _supported_rows(
    attributes: Ints, n_attributes: int, examples: SequenceExamples, settings: SequenceSettings
) -> WeightRows:
    """Rows of zero weights for the pairs of the examples that are annotated."""
    division, partial = examples.division, examples.partial
    if division is None:
        seen = slice(None) if partial is None else partial.annotated
        return supported_rows(
            attributes[seen],
            examples.gold[seen],
            n_attributes,
            examples.n_labels,
            settings.full_row_min_count,
        )
    return supported_part_rows(
        attributes, examples.gold, n_attributes, division.parts, division.full_from
    )


def _divided(division: Division) -> dict[str, Any]:
    """The arguments of a problem whose labels are divided."""
    return {
        "divided": division.parts,
        "n_parts": len(division.full_from),
        "classes": division.classes,
    }


def _start_partial(
    problem: SequenceProblem, examples: SequenceExamples, partial: PartialTags
) -> None:
    """Complete the sentences that are annotated in part as forms are tagged elsewhere."""
    starts = examples.candidates.starts[examples.starts]
    for i in problem.partial.tolist():
        potentials = np.zeros(int(problem.part_starts[i + 1] - problem.part_starts[i]))
        prior = partial.prior[starts[i] : starts[i + 1]]
        potentials[: len(prior)] = prior
        set_completion(problem, i, potentials)


def _support(examples: SequenceExamples, settings: SequenceSettings, n_classes: int) -> Mask | None:
    """Which label bigrams have a weight (None: there are none): those seen inside sentences."""
    if not settings.bigrams:
        return None
    # If some attributes have a weight for every label, every bigram has a weight.
    if settings.full_row_min_count != NEVER or examples.division is not None:
        return np.ones((n_classes, n_classes), dtype=np.bool_)
    gold = examples.gold
    if examples.partial is not None:
        gold = np.where(examples.partial.annotated, gold, -1)
    return observed_bigrams(gold, examples.starts, n_classes)


def observed_bigrams(gold: Ints, word_starts: Longs, n_labels: int) -> Mask:
    """Which label bigrams are seen inside sentences, [previous, next]; not those with a word
    without a label (-1).
    """
    begins = np.zeros(len(gold) + 1, dtype=np.bool_)
    begins[word_starts] = True
    inside = ~begins[1:-1] & (gold[:-1] >= 0) & (gold[1:] >= 0)
    seen = np.zeros((n_labels, n_labels), dtype=np.bool_)
    seen[gold[:-1][inside], gold[1:][inside]] = True
    return seen


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


def equal_readings(kinds: Ints) -> Mask:
    """Which labels have the same ``kinds`` (labels,), (labels, labels)."""
    same: Mask = kinds[:, None] == kinds[None, :]
    return same


def lacks_spans(sentences: Sequence[Sentence]) -> bool:
    """Whether some word of a sentence with spans has none, so that a tag next to it may mean
    several tags of a scheme with ends.
    """
    return any(MISSING in sentence.spans for sentence in sentences)


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
