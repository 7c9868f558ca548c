"""The table of a comparison: how each run ended, and what it took to come near the optimum."""

from __future__ import annotations

import math

from egparse.experiments.report.outcome import Table
from egparse.experiments.report.record import Comparison, Curve

NOTHING = "-"


def summary_table(title: str, comparison: Comparison) -> Table:
    """The end of each run, and the passes (effective iterations) after which the primal was within
    1 % and 0.1 % of the best lower bound; means over the seeds, and the standard deviation of the
    last score.
    """
    task = comparison.task
    seeds = {curve.seed for curve in comparison.curves}
    headings = (
        *("C", "learner", "primal", "gap %", "above bound %", "to 1 %", "to 0.1 %"),
        *("s to 1 %", "s to 0.1 %", "passes", "CPU s", "last"),
        *(("sd",) if len(seeds) > 1 else ()),
        "best",
        *(("test",) if task.has_test else ()),
    )
    rows = []
    for c in comparison.constants:
        for label in comparison.labels:
            runs = [run for run in comparison.runs(label, c) if run.points]
            if not comparison.runs(label, c):
                continue
            if not runs:
                name = _with_options(comparison.runs(label, c)[0])
                rows.append((f"{c:g}", name, *[NOTHING] * (len(headings) - 2)))
                continue
            last = [run.points[-1] for run in runs]
            rows.append(
                (
                    f"{c:g}",
                    _with_options(runs[0]),
                    number(sum(point.primal for point in last) / len(last)),
                    number(comparison.last_gap(label, c)),
                    number(comparison.last_excess(label, c)),
                    number(comparison.effort(label, c, 1.0)),
                    number(comparison.effort(label, c, 0.1)),
                    number(comparison.effort(label, c, 1.0, seconds=True)),
                    number(comparison.effort(label, c, 0.1, seconds=True)),
                    f"{sum(point.effective_iterations for point in last) / len(last):.1f}",
                    f"{sum(point.cpu_seconds for point in last) / len(last):.2f}",
                    score(comparison.score(label, c)),
                    *((score(comparison.spread(label, c)),) if len(seeds) > 1 else ()),
                    score(comparison.best_score(label, c)),
                    *((score(comparison.test(label, c)),) if task.has_test else ()),
                )
            )
    return Table(
        f"{title}: {task.score_name}, last and best",
        headings,
        "rl" + "r" * (len(headings) - 2),
        rows,
    )


def number(value: float) -> str:
    """Four significant digits, or all digits before the point; ``NOTHING`` if not finite."""
    if not math.isfinite(value):
        return NOTHING
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    decimals = 3 - math.floor(math.log10(size)) if size > 0 else 0
    return f"{value:.{min(6, max(0, decimals))}f}"


def score(value: float) -> str:
    """A score in per cent, to a hundredth; ``NOTHING`` where there is none."""
    return NOTHING if not math.isfinite(value) else f"{value:.2f}"


def _with_options(curve: Curve) -> str:
    """The label of the contender, with the tuned learning rate."""
    return f"{curve.label} ({curve.options['eta0']:g})" if "eta0" in curve.options else curve.label
