"""Everything that an evaluation says, in one record and as a JSON object.

The keys of the JSON object, all rates per cent:

==================
  =====================================================================================
``UPOS`` and so on  the CoNLL 2018 metrics (``ud.py``); null where gold does not annotate what they
need ``NE``              spans as conlleval counts them: ``p r f``, ``accuracy`` of the tags,
``per_type``; or null ``counts``          ``sentences``, ``words``, ``system_words``, and correct,
gold, system for each metric ``intervals``       ``[low, high]`` of each metric that is not null:
bootstrap over sentences, 95 % ``conventions``     UAS and LAS under each convention of
``attachment.py``; null where the words differ ``segmentation``    F1 of Tokens, Sentences and
Words; null where the words are the same, but for a splitter's Sentences ``details``
break-downs (``details.py``), only on request ``calibration``     ``words``, ``confidence``,
``accuracy``, ``ece``, ``nll``, ``brier`` and ``bins`` of each layer of which
                    the system tells probabilities (``calibration.py``): from 0 to 1, not per cent;
                    else absent
==================
  =====================================================================================

Spans, conventions, details and calibration compare word by word: they are null where system and
gold have different words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from egparse.errors import EgparseError
from egparse.evaluation.attachment import CONVENTIONS, AttachmentScores, score_attachment
from egparse.evaluation.bootstrap import Interval, intervals
from egparse.evaluation.calibration import Calibration, calibrations
from egparse.evaluation.details import Details, break_down
from egparse.evaluation.scores import Score
from egparse.evaluation.spans import OUTSIDE, SpanScores, score_spans
from egparse.evaluation.ud import SEGMENTATION_METRICS, UDScores, score
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.types import Longs

LAYERS = ("upos", "xpos", "feats", "heads", "deprels", "spans")
"""The layers that can be evaluated, named as the columns of a sentence."""

METRICS = ("UPOS", "XPOS", "UFeats", "UAS", "LAS", "CLAS", "MLAS")
"""The metrics on words in a report, in its order."""

SPANS = "NE"
"""What the score of spans is called beside the metrics."""

_NEEDS = {
    "UPOS": {"upos"},
    "XPOS": {"xpos"},
    "UFeats": {"feats"},
    "UAS": {"heads"},
    "LAS": {"heads", "deprels"},
    "CLAS": {"heads", "deprels"},
    "MLAS": {"heads", "deprels", "upos"},
}


@dataclass(frozen=True)
class Report:
    """The scores of one evaluation; a metric whose layer gold does not annotate is absent from
    ``metrics``.

    ``intervals`` holds one for each metric present, and for ``NE``; it is empty without resamples.
    ``conventions`` is empty where gold has no trees or the words differ, ``calibration`` where the
    system tells no probabilities or the words differ.
    """

    sentences: int
    words: int
    system_words: int
    metrics: Mapping[str, Score]
    spans: SpanScores | None
    intervals: Mapping[str, Interval]
    conventions: Mapping[str, AttachmentScores]
    segmentation: Mapping[str, Score] | None
    details: Details | None
    calibration: Mapping[str, Calibration]


def evaluate(
    gold: Sequence[Sentence],
    system: Sequence[Sentence],
    *,
    layers: AbstractSet[str] | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
    details: bool = False,
    vocabulary: AbstractSet[str] | None = None,
) -> Report:
    """Score the system's sentences against gold.

    ``layers`` restricts what is scored (all that gold annotates by default), ``bootstrap`` is the
    number of resamples for the intervals (0 for none), ``vocabulary`` the forms seen in training,
    for the break-down by known words. Raises EgparseError for an empty corpus, an unknown layer, or
    two different texts.
    """
    if not gold:
        raise EgparseError("expected gold sentences to evaluate against, got none")
    annotated = annotated_layers(gold)
    scored = annotated & _checked(layers)
    ud = score(gold, system)
    metrics = {name: ud.totals[name] for name in METRICS if _needs(name, annotated) <= scored}
    spans = _spans(gold, system) if "spans" in scored and ud.same_words else None
    tables = _tables(metrics, ud, spans)
    return Report(
        sentences=len(gold),
        words=ud.totals["UPOS"].gold,
        system_words=ud.totals["UPOS"].system,
        metrics=metrics,
        spans=spans,
        intervals=intervals(tables, resamples=bootstrap, seed=seed) if bootstrap else {},
        conventions=_conventions(gold, system) if "heads" in scored and ud.same_words else {},
        segmentation=None
        if ud.same_words
        else {name: ud.totals[name] for name in SEGMENTATION_METRICS},
        details=break_down(gold, system, vocabulary) if details and ud.same_words else None,
        calibration=calibrations(gold, system, scored) if ud.same_words else {},
    )


def annotated_layers(sentences: Iterable[Sentence]) -> set[str]:
    """The layers in which at least one word has a value: for spans a tag other than ``O``."""
    corpus = list(sentences)
    silent: dict[str, frozenset[str | int]] = dict.fromkeys(LAYERS, frozenset([MISSING]))
    silent["heads"] = frozenset([MISSING_HEAD])
    silent["spans"] = frozenset([MISSING, OUTSIDE])
    return {
        layer
        for layer in LAYERS
        if any(not silent[layer].issuperset(getattr(s, layer)) for s in corpus)
    }


def report_as_json(report: Report) -> dict[str, Any]:
    """The report as an object that ``json.dumps`` takes; the keys are described above."""
    named = {**report.metrics, **({SPANS: report.spans.micro} if report.spans else {})}
    sizes = {
        "sentences": report.sentences,
        "words": report.words,
        "system_words": report.system_words,
    }
    return {
        **{name: report.metrics[name].f1 if name in report.metrics else None for name in METRICS},
        SPANS: None if report.spans is None else _spans_as_json(report.spans),
        "counts": {**sizes, **{name: score._asdict() for name, score in named.items()}},
        "intervals": {name: list(interval) for name, interval in report.intervals.items()},
        "conventions": {name: _convention_as_json(name, report) for name in CONVENTIONS},
        "segmentation": _rates(report.segmentation),
        **({} if report.details is None else {"details": _details_as_json(report.details)}),
        **({"calibration": _calibration_as_json(report.calibration)} if report.calibration else {}),
    }


def _checked(layers: AbstractSet[str] | None) -> AbstractSet[str]:
    unknown = sorted((layers or set()) - set(LAYERS))
    if unknown:
        raise EgparseError(f"expected layers among {', '.join(LAYERS)}, got {', '.join(unknown)}")
    return set(LAYERS) if layers is None else layers


def _needs(metric: str, annotated: AbstractSet[str]) -> AbstractSet[str]:
    """The layers that a metric compares; MLAS compares features only where there are any."""
    return _NEEDS[metric] | ({"feats"} & annotated if metric == "MLAS" else set())


def _spans(gold: Sequence[Sentence], system: Sequence[Sentence]) -> SpanScores:
    return score_spans(
        [sentence.spans for sentence in gold], [sentence.spans for sentence in system]
    )


def _tables(
    metrics: Mapping[str, Score], ud: UDScores, spans: SpanScores | None
) -> dict[str, Longs]:
    """The counts by sentence of what gets an interval."""
    tables = {name: ud.by_sentence[name] for name in metrics}
    return tables if spans is None else {**tables, SPANS: spans.by_sentence}


def _conventions(
    gold: Sequence[Sentence], system: Sequence[Sentence]
) -> dict[str, AttachmentScores]:
    return {convention: score_attachment(gold, system, convention) for convention in CONVENTIONS}


def _convention_as_json(name: str, report: Report) -> dict[str, float | None] | None:
    scores = report.conventions.get(name)
    if scores is None:
        return None
    return {"UAS": scores.uas.f1, "LAS": scores.las.f1 if "LAS" in report.metrics else None}


def _spans_as_json(spans: SpanScores) -> dict[str, Any]:
    return {
        **_prf(spans.micro),
        "accuracy": spans.tags.recall,
        "per_type": {
            type_: {**_prf(score), **score._asdict()} for type_, score in spans.per_type.items()
        },
    }


def _details_as_json(details: Details) -> dict[str, Any]:
    scores = {"labels": details.labels, "tags": details.tags, "arc_lengths": details.arc_lengths}
    rows = {"sentence_lengths": details.sentence_lengths}
    if details.vocabulary is not None:
        rows["vocabulary"] = details.vocabulary
    return {
        **{
            key: {k: {**_prf(v), **v._asdict()} for k, v in group.items()}
            for key, group in scores.items()
        },
        **{key: {k: v._asdict() for k, v in group.items()} for key, group in rows.items()},
    }


def _calibration_as_json(measured: Mapping[str, Calibration]) -> dict[str, Any]:
    return {
        name: {**own._asdict(), "bins": [bin_._asdict() for bin_ in own.bins]}
        for name, own in measured.items()
    }


def _rates(scores: Mapping[str, Score] | None) -> dict[str, float] | None:
    return None if scores is None else {name: score.f1 for name, score in scores.items()}


def _prf(score: Score) -> dict[str, float]:
    return {"p": score.precision, "r": score.recall, "f": score.f1}
