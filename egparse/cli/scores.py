"""Scores as tables: each with its convention, its value, how sure it is, and the counts behind
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING

from egparse.cli.tables import NOTHING, count, per_cent, section, table

if TYPE_CHECKING:
    from egparse.evaluation.bootstrap import Interval
    from egparse.evaluation.calibration import Calibration
    from egparse.evaluation.details import Details, Row
    from egparse.evaluation.report import Report
    from egparse.evaluation.scores import Score

_HEADINGS = ("score", "convention", "value", "95 % interval", "correct", "gold", "system")
_ALIGN = "llrrrrr"
_TAG_SCORES = frozenset(["UPOS", "XPOS", "UFeats"])
_CONVENTIONS = {"conllx06": "CoNLL-X 2006", "conll07": "CoNLL 2007", "spacy": "spaCy"}
"""The conventions that are not those of the metrics already (``ud18``), by their names in the
report.
"""

LEGEND = """\
CoNLL 2018    all words; relations up to the colon; CLAS and MLAS: F1 over content words
conlleval     F1 over spans whose type and both ends are right
CoNLL-X 2006  without words that are punctuation only; whole relations
CoNLL 2007    all words; whole relations
spaCy         F1 without words labelled punct; whole relations, lower-cased"""


def score_table(report: Report, *, gold_tags: bool = False) -> str:
    """One row for each score and convention; with ``gold_tags`` those of tags are marked as
    given.
    """
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


def _score_rows(report: Report, given: Set[str]) -> Iterator[tuple[str, ...]]:
    for name, score in (report.segmentation or {}).items():
        yield _row(name, "CoNLL 2018", score)
    for name, score in report.metrics.items():
        between = "given" if name in given else _between(report.intervals.get(name))
        yield _row(name, "CoNLL 2018", score, between)
    if report.spans is not None:
        yield _row("NE F1", "conlleval", report.spans.micro, _between(report.intervals.get("NE")))
    for key, name in _CONVENTIONS.items():
        if key in report.conventions:
            scores = report.conventions[key]
            yield _row("UAS", name, scores.uas)
            if "LAS" in report.metrics:
                yield _row("LAS", name, scores.las)


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
        ("Unlabelled attachment by length of arc", "length", details.arc_lengths),
    )
    for title, heading, scores in tables:
        if scores:
            yield section(title, _prf_table(heading, scores))
    yield section("By length of sentence", _row_table("words", details.sentence_lengths))
    if details.vocabulary is not None:
        yield section(
            "By whether the form was seen in training", _row_table("form", details.vocabulary)
        )


def _row_table(heading: str, groups: Mapping[str, Row]) -> str:
    rows = [(name, count(row.words), *map(per_cent, row[1:])) for name, row in groups.items()]
    return table((heading, "in all", "UPOS", "UAS", "LAS"), rows, "lrrrr")


def _calibration(measured: Mapping[str, Calibration]) -> Iterator[str]:
    """Probabilities are from 0 to 1 here, as parse --marginals writes them; ECE is the expected
    calibration error.
    """
    rows = [
        (
            name,
            count(own.words),
            *map(_decimal, (own.confidence, own.accuracy, own.ece, own.nll, own.brier)),
        )
        for name, own in measured.items()
    ]
    headings = ("probability of", "words", "confidence", "accuracy", "ECE", "NLL", "Brier")
    yield section("Calibration of probabilities", table(headings, rows, "lrrrrrr"))
    if "heads" in measured:
        bins = [
            (
                f"{own.low:.1f} - {own.high:.1f}",
                count(own.words),
                _decimal(own.confidence),
                _decimal(own.accuracy),
            )
            for own in measured["heads"].bins
        ]
        yield section(
            "Reliability of heads",
            table(("probability", "words", "confidence", "accuracy"), bins, "lrrr"),
        )


def _decimal(value: float) -> str:
    return f"{value:.3f}"
