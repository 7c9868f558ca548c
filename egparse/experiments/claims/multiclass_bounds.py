"""Claims about rates of convergence, proven and measured: Collins et al. 2008, sections 5.1 and 9,
Table 1, Theorem 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean, linear_regression
from typing import NamedTuple

from egparse.experiments.report.claims import Claim, figure, verdict_of
from egparse.experiments.report.outcome import Table
from egparse.experiments.report.record import Comparison, Curve
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import number

MAIN, REPEATS = "digits", "repeats"
"""The names of the comparisons."""

EG, BATCH, PROVEN = "EG", "EG batch", "EG, proven rate"

_S2 = "Collins et al. 2008"
_EPSILON = 0.001  # of the optimum: the accuracy of Table 1 that is measured


class Bound(NamedTuple):
    """Table 1 at one C: |A|, and for the online and the batch algorithm the passes after which the
    dual is proven, and was measured, to be within 0.1 % of the optimum.
    """

    c: float
    greatest: float
    online: float
    measured_online: float
    batch: float
    measured_batch: float


def bounds(results: Results) -> list[Bound]:
    """Table 1, for the values of C whose optimum is known.

    online: (1 + |A|) log(c2 / eps) passes, c2 = (1 + |A|) D + Q(alpha1) - Q(alpha*); batch: (1 + n
    |A|) log(c1 / eps), c1 = (1 + n |A|) D. D is at most n log K from the uniform start, |A| = 2 max
    |x|^2 / C, and eps is 0.1 % of the optimum.
    """
    found, known = results.comparisons[MAIN], results.numbers["bounds"]
    n, rows = known["n"], []
    divergence = n * math.log(known["classes"])
    for c in found.constants:
        runs = found.runs(EG, c)
        if not runs or not runs[0].points or found.last_gap(EG, c) > 1.0:
            continue
        optimum = found.bound(runs[0])
        greatest = 2.0 * known["max_square"] / c
        start = divergence - known["start_square"] / (2.0 * c)
        first = (1.0 + greatest) * divergence + optimum - start
        each = 1.0 + n * greatest
        rows.append(
            Bound(
                c,
                greatest,
                (1.0 + greatest) * math.log(first / (_EPSILON * optimum)),
                dual_effort(found, EG, c),
                each * math.log(each * divergence / (_EPSILON * optimum)),
                dual_effort(found, BATCH, c),
            )
        )
    return rows


def bounds_table(results: Results) -> Table:
    """Table 1 with numbers: bounds and measurements."""
    rows = [
        (
            f"{row.c:g}",
            number(row.greatest),
            number(row.online),
            number(row.measured_online),
            number(row.batch),
            number(row.measured_batch),
            number(row.batch / row.online),
            number(row.measured_batch / row.measured_online),
        )
        for row in bounds(results)
    ]
    headings = (
        *("C", "|A|", "online, bound", "measured", "batch, bound", "measured"),
        *("ratio of bounds", "measured"),
    )
    title = "Passes until the dual is within 0.1 % of the optimum (2008, Table 1), uniform start"
    return Table(title, headings, "r" * 8, rows)


def dual_effort(found: Comparison, label: str, c: float, share: float = _EPSILON) -> float:
    """The effective iterations until the dual is first within a share of the best bound, the mean
    over seeds; inf if a run never is.
    """
    efforts = []
    for run in found.runs(label, c):
        wanted = found.bound(run) * (1.0 - share)
        efforts.append(
            next((own.effective_iterations for own in run.points if own.dual >= wanted), math.inf)
        )
    return fmean(efforts) if efforts else math.inf


def of_theory(results: Results) -> list[Claim]:
    """The claims."""
    found, rows = results.comparisons[MAIN], bounds(results)
    n = found.task.n
    ratios = {
        row.c: row.measured_batch / row.measured_online
        for row in rows
        if math.isfinite(row.measured_batch)
    }
    slopes = {
        c: _dual_slope(found, found.runs(PROVEN, c)[0])
        for c in found.constants
        if found.runs(PROVEN, c)
    }
    rates = {c: found.runs(PROVEN, c)[0].options["eta"] for c in slopes}
    pessimism = {
        row.c: (row.batch / row.measured_batch, row.online / row.measured_online)
        for row in rows
        if math.isfinite(row.measured_batch)
    }
    repeats = results.comparisons[REPEATS]
    each = [_run_effort(repeats, run) for run in repeats.curves]
    return [
        Claim(
            f"{_S2}, Table 1",
            "The passes that each algorithm needs are bounded.",
            verdict_of(row.measured_online <= row.online for row in rows),
            "Until the dual is within 0.1 %, online, bound and measured: "
            + "; ".join(
                f"C = {row.c:g}: {figure(row.online)}, {figure(row.measured_online)}"
                for row in rows
            )
            + ". Measured are adaptive rates; the bounds are for fixed ones.",
        ),
        Claim(
            f"{_S2}, section 5.1",
            "The bounds suggest that online algorithms need a factor of n less computation, and "
            "that they converge much faster.",
            verdict_of(ratio >= least for ratio in ratios.values() for least in (2.0, n / 2)),
            f"Batch takes {_pairs(ratios)} times the passes of online, not n = {n:,} times.",
        ),
        Claim(
            f"{_S2}, section 9",
            "It is possible that the bounds for the batch rate are more conservative.",
            verdict_of(batch > online for batch, online in pessimism.values()),
            "Bounds over measurements, batch and online: "
            + "; ".join(
                f"C = {c:g}: {figure(batch)} and {figure(online)}"
                for c, (batch, online) in pessimism.items()
            )
            + ".",
        ),
        Claim(
            f"{_S2}, Theorem 2",
            "At the rate eta = 1 / (1 + |A|) the dual of the log-linear loss closes in linearly, "
            "by a factor of exp(-eta) a pass or better, in expectation.",
            verdict_of(slopes[c] >= rates[c] for c in slopes),
            "Slope of the log of the distance from the optimum a pass, against eta: "
            + "; ".join(f"C = {c:g}: {figure(slopes[c])}, {figure(rates[c])}" for c in slopes)
            + " (one run each).",
        ),
        Claim(
            f"{_S2}, section 5.1",
            "Repeated trials of the randomised algorithm do not give significantly different "
            "results.",
            verdict_of([max(each, default=math.inf) <= 1.25 * min(each, default=0.0)]),
            f"{len(each)} orders of the same examples at C = {repeats.constants[0]:g}: passes to "
            f"0.1 % {_listed(each)}, errors {_listed(_last_scores(repeats))} %.",
        ),
    ]


def _dual_slope(found: Comparison, run: Curve) -> float:
    """By how many nats the distance of the dual from the best bound shrinks a pass, down to 0.1 %
    of that bound, which stands for the optimum.
    """
    bound = found.bound(run)
    kept = [
        (own.effective_iterations, math.log((bound - own.dual) / bound))
        for own in run.points
        if own.dual < (1.0 - _EPSILON) * bound
    ]
    if len(kept) < 2:
        return math.nan
    return -linear_regression([x for x, _ in kept], [y for _, y in kept]).slope


def _run_effort(found: Comparison, run: Curve) -> float:
    return next(
        (p.effective_iterations for p in run.points if found.excess(run, p) <= 0.1), math.inf
    )


def _last_scores(found: Comparison) -> list[float]:
    return [run.points[-1].score for run in found.curves if run.points]


def _listed(values: Iterable[float]) -> str:
    return ", ".join(figure(value) for value in values) or "none"


def _pairs(values: dict[float, float]) -> str:
    return ", ".join(f"{figure(value)} (C = {c:g})" for c, value in values.items()) or "-"
