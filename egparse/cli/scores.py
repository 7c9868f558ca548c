"""Scores as tables: name, convention, value, interval and counts, or the rates of aligned words;
and the comparison of two systems.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING

from egparse.cli.tables import NOTHING, count, per_cent, section, table

if TYPE_CHECKING:
    from egparse.evaluation.bootstrap import Interval
    from egparse.evaluation.calibration import Calibration
    from egparse.evaluation.report import Details, Report, Row
    from egparse.evaluation.scores import Score
    from egparse.evaluation.significance import PairedDifference

_HEADINGS = ("score", "convention", "value", "95 % interval", "correct", "gold", "system")
_ALIGN = "llrrrrr"
_ALIGNED_HEADINGS = ("score", "precision", "recall", "F1", "aligned", "95 % interval")
_COMPARISON_HEADINGS = ("score", "convention", "A", "B", "A - B", "95 % interval", "p")
_TAG_SCORES = frozenset(["UPOS", "XPOS", "UFeats", "AllTags"])
_ENHANCED = dict.fromkeys(("ELAS", "EULAS"), "IWPT 2021")
_CONVENTIONS = {"conllx06": "CoNLL-X 2006", "conll07": "CoNLL 2007", "spacy": "spaCy"}
"""Conventions by their names in the report, without ``ud18``, which the metrics follow."""

COMPARISON_LEGEND = """\
95 % interval  of A - B, by paired bootstrap over sentences, documents or
               paragraphs
p              probability of a difference at least as large, whatever its
               sign, when the outputs of A and B are exchanged at random in
               each of them (approximate randomisation); not corrected for
               the number of scores compared"""


def score_table(report: Report, *, gold_tags: bool = False) -> str:
    """One row for each score and convention; ``gold_tags`` marks the scores of tags as given."""
    if report.aligned:
        return table(_ALIGNED_HEADINGS, _aligned_rows(report), "lrrrrr")
    given = _TAG_SCORES if gold_tags else frozenset()
    return table(_HEADINGS, _score_rows(report, given), _ALIGN)


def report_text(report: Report, *, gold_tags: bool = False) -> str:
    """Every table of a report."""
    parts = [score_table(report, gold_tags=gold_tags)]
    if report.spans is not None:
        groups = {**report.spans.per_type, "all": report.spans.micro}
        parts.append(section("Spans by type (conlleval)", _prf_table("type", groups)))
    if report.details is not None:
        parts += _details(report.details)
    if report.calibration:
        parts += _calibration(report.calibration)
    return "\n".join(parts)


def comparison_table(compared: Mapping[str, PairedDifference], *, gold_tags: bool = False) -> str:
    """One row for each score of systems A and B; ``gold_tags`` marks those of tags as given."""
    given = _TAG_SCORES if gold_tags else frozenset()
    rows = (
        _comparison_row(name, difference, given=name in given)
        for name, difference in compared.items()
    )
    return table(_COMPARISON_HEADINGS, rows, "llrrrrr")


def _comparison_row(name: str, compared: PairedDifference, *, given: bool) -> tuple[str, ...]:
    shown = ("NE F1", "conlleval") if name == "NE" else (name, _ENHANCED.get(name, "CoNLL 2018"))
    interval, p_value = compared.interval, compared.p_value
    ends = NOTHING if interval is None else f"{interval.low:+.2f} to {interval.high:+.2f}"
    return (
        *shown,
        per_cent(compared.first),
        per_cent(compared.second),
        f"{compared.difference:+.2f}",
        "given" if given else ends,
        NOTHING if given or p_value is None else f"{p_value:.4f}",
    )


def _score_rows(report: Report, given: Set[str]) -> Iterator[tuple[str, ...]]:
    for name, score in (report.segmentation or {}).items():
        yield _row(name, "CoNLL 2018", score)
    for name, score in report.metrics.items():
        between = "given" if name in given else _between(report.interval_bounds.get(name))
        yield _row(name, _ENHANCED.get(name, "CoNLL 2018"), score, between)
    if report.spans is not None:
        yield _row(
            "NE F1", "conlleval", report.spans.micro, _between(report.interval_bounds.get("NE"))
        )
    for key, name in _CONVENTIONS.items():
        if key in report.conventions:
            scores = report.conventions[key]
            yield _row("UAS", name, scores.uas)
            if "LAS" in report.metrics:
                yield _row("LAS", name, scores.las)


def _aligned_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """Precision, recall, F1 and the share of the aligned words, as the official script shows."""
    from egparse.evaluation.report import aligned_accuracy

    named = {**(report.segmentation or {}), **report.metrics}
    if report.spans is not None:
        named["NE"] = report.spans.micro
    for name, score in named.items():
        share = aligned_accuracy(report, name)
        yield (
            name,
            *map(per_cent, (score.precision, score.recall, score.f1)),
            NOTHING if share is None else per_cent(share),
            _between(report.interval_bounds.get(name)),
        )


def _between(interval: Interval | None) -> str:
    return NOTHING if interval is None else f"{interval.low:.2f} - {interval.high:.2f}"


def _row(name: str, convention: str, score: Score, between: str = NOTHING) -> tuple[str, ...]:
    return (name, convention, per_cent(score.f1), between, *map(count, score))


def _prf_table(heading: str, groups: Mapping[str, Score]) -> str:
    rows = [
        (name, per_cent(s.precision), per_cent(s.recall), per_cent(s.f1), *map(count, s))
        for name, s in groups.items()
    ]
    return table(
        (heading, "precision", "recall", "F1", "correct", "gold", "system"), rows, "lrrrrrr"
    )


def _details(details: Details) -> Iterator[str]:
    tables = (
        ("Labelled attachment by relation", "relation", details.labels),
        ("UPOS by tag", "tag", details.tags),
        ("Unlabelled attachment by arc length", "length", details.arc_lengths),
    )
    for title, heading, scores in tables:
        if scores:
            yield section(title, _prf_table(heading, scores))
    yield section("By sentence length", _row_table("length", details.sentence_lengths))
    if details.vocabulary is not None:
        title = "By whether the form is known from the training corpus"
        yield section(title, _row_table("form", details.vocabulary))


def _row_table(heading: str, groups: Mapping[str, Row]) -> str:
    rows = [(name, count(row.words), *map(per_cent, row[1:])) for name, row in groups.items()]
    return table((heading, "words", "UPOS", "UAS", "LAS"), rows, "lrrrr")


def _calibration(measured: Mapping[str, Calibration]) -> Iterator[str]:
    """Tables of calibration, from 0 to 1 as in ``parse --marginals``; ECE is the expected
    calibration error.
    """
    rows = [
        (
            name,
            count(of.words),
            *map(_decimal, (of.confidence, of.accuracy, of.ece, of.nll, of.brier)),
        )
        for name, of in measured.items()
    ]
    headings = ("probability of", "words", "confidence", "accuracy", "ECE", "NLL", "Brier")
    yield section("Calibration of probabilities", table(headings, rows, "lrrrrrr"))
    if "heads" in measured:
        bins = [
            (
                f"{of.low:.1f} - {of.high:.1f}",
                count(of.words),
                *map(_decimal, (of.confidence, of.accuracy)),
            )
            for of in measured["heads"].bins
        ]
        yield section(
            "Reliability of heads",
            table(("probability", "words", "confidence", "accuracy"), bins, "lrrr"),
        )


def _decimal(value: float) -> str:
    return f"{value:.3f}"
