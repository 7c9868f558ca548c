"""All results of an evaluation, as one record and as a JSON object.

The keys of the JSON object; all rates are per cent, but those of calibration:

===================  ===============================================================================
``UPOS`` ... BLEX    the CoNLL 2018 metrics (``ud.py``); null where gold does not annotate the
                     layers that a metric needs: AllTags all layers of tags that the system has, two
                     at least
``ELAS``, ``EULAS``  F1 of enhanced dependencies (``enhanced.py``); on request, else absent
``NE``               spans as conlleval scores them: ``p``, ``r``, ``f``, ``accuracy`` of the tags,
                     ``per_type``; or null
``counts``           ``sentences``, ``words``, ``system_words``; and ``correct``, ``gold`` and
                     ``system`` for each metric
``intervals``        ``[low, high]`` for each metric that is not null: the 95 % interval of a
                     bootstrap over sentences, or over what ``unit`` says
``unit``             what was resampled: ``sentence``, ``paragraph`` or ``document``
``conventions``      UAS and LAS under each convention of ``attachment.py``; null where the words
                     of gold and system differ
``segmentation``     F1 of Tokens, Sentences and Words where the words differ; F1 of Sentences where
                     a splitter splits the gold words; else null
``alignment``        where words were aligned, for each metric of ``segmentation`` and on words:
                     ``precision``, ``recall``, ``f1`` and, on words, ``aligned_accuracy`` (the
                     official script's AligndAcc); else absent
``details``          break-downs (``Details``), on request only
``calibration``      for each layer for which the system has probabilities (``calibration.py``):
                     ``words``, ``confidence``, ``accuracy``, ``ece``, ``nll``, ``brier`` and
                     ``bins``, from 0 to 1; absent without probabilities
===================  ===============================================================================

Conventions, details and calibration compare word by word: they are null or absent where system and
gold have different words. Spans are compared by their characters then, and ``accuracy`` is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.errors import EgparseError
from egparse.evaluation import words
from egparse.evaluation.attachment import CONVENTIONS, AttachmentScores, score_attachment
from egparse.evaluation.bootstrap import Interval, Units, intervals, of_units
from egparse.evaluation.calibration import Calibration, calibrations
from egparse.evaluation.enhanced import ENHANCED_METRICS
from egparse.evaluation.scores import Score, scores_by_key, total, universal_deprel
from egparse.evaluation.spans import OUTSIDE, SpanScores, score_spans, score_spans_in_text
from egparse.evaluation.ud import SEGMENTATION_METRICS, score
from egparse.layers import LAYERS, WORD_TAGS
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.types import Longs, Mask

METRICS = ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX")
"""The metrics on words, in the order of a report."""

SPANS = "NE"
"""The name of the score of spans among the metrics."""

_NEEDS = {
    "UPOS": {"upos"},
    "XPOS": {"xpos"},
    "UFeats": {"feats"},
    "Lemmas": {"lemmas"},
    "UAS": {"heads"},
    "LAS": {"heads", "deprels"},
    "CLAS": {"heads", "deprels"},
    "MLAS": {"heads", "deprels", "upos"},
    "BLEX": {"heads", "deprels", "lemmas"},
}


SENTENCE_BINS = ("1-10", "11-20", "21-30", "31-40", "41+")
"""Sentence lengths in words."""

ARC_BINS = ("root", "1", "2", "3-6", "7+")
"""Arc lengths in words; arcs from the root have a separate bin."""

_SENTENCE_LIMITS = np.array([10, 20, 30, 40])
_ARC_LIMITS = np.array([0, 1, 2, 6])


class Row(NamedTuple):
    """The number of words in a group, and their UPOS accuracy, UAS and LAS in per cent.

    A rate is None where no word of the group has gold annotation for it.
    """

    words: int
    upos: float | None
    uas: float | None
    las: float | None


class Details(NamedTuple):
    """Break-downs of sentences with the same words; groups without words are left out. Relations
    are cut at the first colon, as in ``ud.py``. Words without a gold head do not count in
    attachment scores, words without a gold UPOS not in tagging scores. The length of an arc is the
    distance between its word and its head; recall is over the gold arcs of a length, precision over
    the predicted ones (McDonald & Nivre 2007, section 4).

    ``labels``: labelled attachment by relation. ``tags``: UPOS tagging by tag. ``arc_lengths``:
    unlabelled attachment by arc length. ``sentence_lengths``: words by the length of their
    sentence. ``vocabulary``: words by whether their form is ``known`` or ``unknown``; None unless a
    set of known forms was given.
    """

    labels: dict[str, Score]
    tags: dict[str, Score]
    arc_lengths: dict[str, Score]
    sentence_lengths: dict[str, Row]
    vocabulary: dict[str, Row] | None


@dataclass(frozen=True, repr=False)
class Report:
    """The results of one evaluation. ``report["LAS"]`` is an F1 score in per cent.

    ``str(report)`` is a short table; ``report.scores`` has all F1 scores by name, and
    ``report.intervals["LAS"]`` is half the width of the 95 % interval, also in per cent.

    ``metrics`` lacks the metrics whose layers gold does not annotate. ``interval_bounds`` has an
    interval for each metric and for ``NE``; it is empty without resamples. ``conventions`` is empty
    where gold has no trees or the words differ, ``calibration`` where the system has no
    probabilities or the words differ. ``by_sentence[name]``, shape (sentences, 3), has the correct,
    gold and system counts of each name in ``scores``, for the comparison of two systems; where
    ``unit`` is not ``sentence``, it has a row for each unit. ``aligned`` has the number of aligned
    words that each metric on words counts; it is empty where words were not aligned.
    """

    sentences: int
    words: int
    system_words: int
    metrics: Mapping[str, Score]
    spans: SpanScores | None
    interval_bounds: Mapping[str, Interval]
    conventions: Mapping[str, AttachmentScores]
    segmentation: Mapping[str, Score] | None
    details: Details | None
    calibration: Mapping[str, Calibration]
    by_sentence: Mapping[str, Longs] = field(compare=False)
    aligned: Mapping[str, int] = field(default_factory=dict)
    unit: str = "sentence"

    @property
    def scores(self) -> dict[str, float]:
        """The F1 score of each metric in per cent: of segmentation, of words, of spans."""
        return {name: score.f1 for name, score in _named_scores(self).items()}

    @property
    def intervals(self) -> dict[str, float]:
        """Half the width of each metric's 95 % interval, in per cent; empty without resamples."""
        return {name: bounds.half_width for name, bounds in self.interval_bounds.items()}

    def __getitem__(self, name: str) -> float:
        """The F1 score of a metric in per cent. Raises KeyError: a metric that this report does not
        have.
        """
        scores = self.scores
        if name not in scores:
            raise KeyError(f"expected a metric among {', '.join(scores) or 'none'}, got {name!r}")
        return scores[name]

    def __iter__(self) -> Iterator[str]:
        """The names of the metrics."""
        return iter(self.scores)

    def __repr__(self) -> str:
        scores = "".join(f"{name} {value:.2f}, " for name, value in self.scores.items())
        return f"<Report: {scores}{self.sentences:,} sentences, {self.words:,} words>"

    def __str__(self) -> str:
        width = max(map(len, self), default=0)
        half = {name: f" +- {value:.2f}" for name, value in self.intervals.items()}
        lines = [f"{n:<{width}}  {v:6.2f}{half.get(n, '')}" for n, v in self.scores.items()]
        return "\n".join([f"{self.sentences:,} sentences, {self.words:,} words", *lines])


def evaluate(
    gold: Sequence[Sentence],
    system: Sequence[Sentence],
    *,
    layers: AbstractSet[str] | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
    details: bool = False,
    vocabulary: AbstractSet[str] | None = None,
    sentence_counts: Longs | None = None,
    from_text: bool = False,
    units: Units | None = None,
    enhanced: bool = False,
) -> Report:
    """Score the system's sentences against gold.

    ``layers`` restricts what is scored (default: all that gold annotates). ``bootstrap`` is the
    number of resamples for the intervals, 0 for none. ``vocabulary`` holds the forms seen in
    training, for the break-down by known words. ``sentence_counts``, shape (sentences, 3), scores
    the sentences that a splitter finds among the words of gold, where ``system`` keeps to the gold
    sentences (``segmentation.py``). With ``from_text`` the system has found its tokens, words and
    sentences itself: they are scored too, also where all are right. ``units`` are resampled instead
    of sentences. With ``enhanced`` there are scores of enhanced dependencies.

    Raises:
        EgparseError: no gold sentences, an unknown layer, two different texts, or enhanced
            dependencies that are to be scored and missing or faulty.
    """
    if not gold:
        raise EgparseError("expected gold sentences to evaluate against, got none")
    annotated = annotated_layers(gold)
    scored = annotated & _checked(layers)
    ud = score(gold, system, always_align=from_text, enhanced=enhanced)
    needed = {name: {*_needs(name, annotated)} for name in METRICS}
    needed["AllTags"] |= annotated_layers(system).intersection(WORD_TAGS)
    metrics = [name for name in METRICS if needed[name] <= scored]
    metrics += ENHANCED_METRICS if enhanced else ()
    spans = _spans(gold, system, ud.same_words) if "spans" in scored else None
    tables = {name: ud.by_sentence[name] for name in metrics}
    if spans is not None:
        tables[SPANS] = spans.by_sentence
    if sentence_counts is not None:
        segments = {"Sentences": sentence_counts}
    else:
        segments = {k: ud.by_sentence[k] for k in SEGMENTATION_METRICS if not ud.same_words}
    by_unit = {name: of_units(one, units) for name, one in (segments | tables).items()}
    resampled = {k: by_unit[k] for k in (tables if ud.same_words else by_unit)}
    return Report(
        sentences=len(gold),
        words=ud.totals["UPOS"].gold,
        system_words=ud.totals["UPOS"].system,
        metrics={name: ud.totals[name] for name in metrics},
        spans=spans,
        interval_bounds=intervals(resampled, resamples=bootstrap, seed=seed) if bootstrap else {},
        conventions={
            name: score_attachment(gold, system, name)
            for name in CONVENTIONS
            if "heads" in scored and ud.same_words
        },
        segmentation={name: total(counts) for name, counts in segments.items()} or None,
        details=break_down(gold, system, vocabulary) if details and ud.same_words else None,
        calibration=calibrations(gold, system, scored) if ud.same_words else {},
        by_sentence=by_unit,
        aligned={} if ud.same_words else {k: ud.aligned[k] for k in metrics if k in ud.aligned},
        unit="sentence" if units is None else units.name,
    )


def annotated_layers(sentences: Iterable[Sentence]) -> set[str]:
    """The layers in which at least one word has a value; for spans, a tag other than ``O``."""
    empty: dict[str, frozenset[str | int]] = dict.fromkeys(LAYERS, frozenset([MISSING]))
    empty["heads"] = frozenset([MISSING_HEAD])
    empty["spans"] = frozenset([MISSING, OUTSIDE])
    sought, found = set(LAYERS), set[str]()
    for sentence in sentences:
        found |= {one for one in sought if not empty[one].issuperset(getattr(sentence, one))}
        if found and not sought.isdisjoint(found):
            sought -= found
            if not sought:
                break
    return found


def report_as_json(report: Report) -> dict[str, Any]:
    """The report as an object that ``json.dumps`` takes, with the keys described above."""
    named = {k: v for k, v in _named_scores(report).items() if k not in (report.segmentation or {})}
    sizes = {key: getattr(report, key) for key in ("sentences", "words", "system_words")}
    return {
        **dict.fromkeys(METRICS),
        **{name: one.f1 for name, one in report.metrics.items()},
        SPANS: None if report.spans is None else _spans_as_json(report.spans),
        "counts": {**sizes, **{name: score._asdict() for name, score in named.items()}},
        "intervals": {name: list(bounds) for name, bounds in report.interval_bounds.items()},
        "conventions": {name: _convention_as_json(name, report) for name in CONVENTIONS},
        "unit": report.unit,
        "segmentation": report.segmentation
        and {name: one.f1 for name, one in report.segmentation.items()},
        **({"alignment": _alignment_as_json(report)} if report.aligned else {}),
        **({} if report.details is None else {"details": _details_as_json(report.details)}),
        **({"calibration": _calibration_as_json(report.calibration)} if report.calibration else {}),
    }


def _checked(layers: AbstractSet[str] | None) -> AbstractSet[str]:
    unknown = sorted((layers or set()) - set(LAYERS))
    if unknown:
        raise EgparseError(f"expected layers among {', '.join(LAYERS)}, got {', '.join(unknown)}")
    return set(LAYERS) if layers is None else layers


def _needs(metric: str, annotated: AbstractSet[str]) -> AbstractSet[str]:
    """The layers that a metric compares; MLAS compares features only where there are any, AllTags
    all tags that there are, two kinds at least.
    """
    if metric == "AllTags":
        tags = annotated & set(WORD_TAGS)
        return tags if len(tags) > 1 else set(WORD_TAGS)
    return _NEEDS[metric] | ({"feats"} & annotated if metric == "MLAS" else set())


def _spans(gold: Sequence[Sentence], system: Sequence[Sentence], same_words: bool) -> SpanScores:
    if not same_words:
        return score_spans_in_text(gold, system)
    return score_spans([one.spans for one in gold], [one.spans for one in system])


def _named_scores(report: Report) -> dict[str, Score]:
    """All scores that have one name: of segmentation, words and spans."""
    spans = {} if report.spans is None else {SPANS: report.spans.micro}
    return {**(report.segmentation or {}), **report.metrics, **spans}


def _convention_as_json(name: str, report: Report) -> dict[str, float | None] | None:
    scores = report.conventions.get(name)
    if scores is None:
        return None
    return {"UAS": scores.uas.f1, "LAS": scores.las.f1 if "LAS" in report.metrics else None}


def _spans_as_json(spans: SpanScores) -> dict[str, Any]:
    return {
        **_prf(spans.micro),
        "accuracy": None if spans.tags is None else spans.tags.recall,
        "per_type": _counted(spans.per_type),
    }


def _details_as_json(details: Details) -> dict[str, Any]:
    scores = {"labels": details.labels, "tags": details.tags, "arc_lengths": details.arc_lengths}
    rows = {"sentence_lengths": details.sentence_lengths}
    if details.vocabulary is not None:
        rows["vocabulary"] = details.vocabulary
    return {
        **{key: _counted(group) for key, group in scores.items()},
        **{key: {k: v._asdict() for k, v in group.items()} for key, group in rows.items()},
    }


def _calibration_as_json(measured: Mapping[str, Calibration]) -> dict[str, Any]:
    return {
        name: {**measures._asdict(), "bins": [bin_._asdict() for bin_ in measures.bins]}
        for name, measures in measured.items()
    }


def aligned_accuracy(report: Report, name: str) -> float | None:
    """The share of the aligned words that a metric on words counts which are correct, in per cent
    (the official script's AligndAcc); None for other metrics, and where no words were aligned.
    """
    if not report.aligned.get(name):
        return None
    return 100.0 * report.metrics[name].correct / report.aligned[name]


def _alignment_as_json(report: Report) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, one in {**(report.segmentation or {}), **report.metrics}.items():
        found[name] = {"precision": one.precision, "recall": one.recall, "f1": one.f1}
        if name in report.aligned:
            found[name]["aligned_accuracy"] = aligned_accuracy(report, name)
    return found


def _counted(scores: Mapping[str, Score]) -> dict[str, Any]:
    return {name: {**_prf(score), **score._asdict()} for name, score in scores.items()}


def _prf(score: Score) -> dict[str, float]:
    return {"p": score.precision, "r": score.recall, "f": score.f1}


# --- break-downs ----------------------------------------------------------------------------------


def break_down(
    gold: Sequence[Sentence], system: Sequence[Sentence], vocabulary: AbstractSet[str] | None = None
) -> Details:
    """All break-downs of sentences with the same words.

    ``vocabulary`` holds the forms seen in training.

    Raises:
        ValueError: numbers of sentences or words that differ.
    """
    words.require_same_lengths(gold, system)
    tags, system_tags = _cells(gold, "upos"), _cells(system, "upos")
    labels, system_labels = _cells(gold, "deprels"), _cells(system, "deprels")
    heads, tagged = words.heads(gold), tags != MISSING
    attached = heads != MISSING_HEAD
    right_tag = tagged & (tags == system_tags)
    right_head = attached & (heads == words.heads(system))
    labelled = right_head & (labels == system_labels)
    rates = (right_tag, tagged), (right_head, attached), (labelled, attached)

    def rows(bins: Longs, names: Sequence[str]) -> dict[str, Row]:
        found = {}
        for number, name in enumerate(names):
            group = bins == number
            if group.any():
                shares = (_share(part & group, whole & group) for part, whole in rates)
                found[name] = Row(int(group.sum()), *shares)
        return found

    known = None
    if vocabulary is not None:
        is_known = words.accepted(words.cells(gold, "forms"), vocabulary.__contains__)
        known = rows(np.where(is_known, 0, 1), ("known", "unknown"))
    lengths = words.lengths(gold)
    sentence_bins = np.repeat(np.searchsorted(_SENTENCE_LIMITS, lengths), lengths)
    return Details(
        labels=scores_by_key(labels[labelled], labels[attached], system_labels[attached]),
        tags=scores_by_key(tags[right_tag], tags[tagged], system_tags[tagged]),
        arc_lengths=by_arc_length(gold, system),
        sentence_lengths=rows(sentence_bins, SENTENCE_BINS),
        vocabulary=known,
    )


def by_arc_length(gold: Sequence[Sentence], system: Sequence[Sentence]) -> dict[str, Score]:
    """Unlabelled attachment for each bin of arc lengths, in the order of the bins."""
    gold_heads, system_heads = words.heads(gold), words.heads(system)
    attached = gold_heads != MISSING_HEAD
    predicted = attached & (system_heads != MISSING_HEAD)
    gold_bins, system_bins = _arc_bins(gold, gold_heads), _arc_bins(system, system_heads)
    groups = (
        gold_bins[attached & (gold_heads == system_heads)],
        gold_bins[attached],
        system_bins[predicted],
    )
    counts = np.stack([np.bincount(group, minlength=len(ARC_BINS)) for group in groups], axis=1)
    return {
        name: Score(*map(int, row)) for name, row in zip(ARC_BINS, counts, strict=True) if row.any()
    }


def _share(part: Mask, whole: Mask) -> float | None:
    return 100.0 * int(part.sum()) / int(whole.sum()) if whole.any() else None


def _cells(sentences: Sequence[Sentence], column: words.Column) -> npt.NDArray[np.object_]:
    cells = words.cells(sentences, column)
    return np.array([universal_deprel(c) for c in cells] if column == "deprels" else cells, object)


def _arc_bins(sentences: Sequence[Sentence], heads: Longs) -> Longs:
    """The bin of each word's arc; meaningless for a word without a head."""
    lengths = words.lengths(sentences)
    places = np.arange(len(heads)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    distances = np.where(heads > 0, np.abs(heads - places), 0)
    return np.searchsorted(_ARC_LIMITS, distances)
