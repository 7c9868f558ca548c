"""A path of EG over decreasing C, each C started from the dual variables of the last (Collins et
al. 2008, section 7.1.2): its curves and its table.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from egparse.experiments.data.problems import Setup
from egparse.experiments.learners.published_eg import AsPublishedConfig, PublishedEG
from egparse.experiments.report.outcome import Table
from egparse.experiments.report.record import Comparison, Curve, Point
from egparse.experiments.report.request import Request
from egparse.experiments.report.summary import number
from egparse.learners.eg.path import PathConfig, follow

_LABEL = "EG, path over C"


def trace_path(
    experiment: str,
    setup: Setup,
    path: PathConfig,
    request: Request,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Comparison:
    """A curve with one point for each C; its effective iterations are those of this C alone.

    The learner is EG as published, but for ``options``.
    """
    setup.problem.reset()
    learner = PublishedEG(setup.problem, AsPublishedConfig(seed=request.seed, **options))
    found = []
    for solution in follow(learner, learner.initialise(setup.gold_theta), path):
        point = Point(
            solution.iterations,
            solution.effective_iterations,
            solution.cpu_seconds,
            solution.primal,
            solution.dual,
            setup.score(solution.scale),
        )
        found.append(
            Curve(
                experiment,
                setup.name,
                _LABEL,
                "eg-online",
                {"published": True, **options},
                1.0,
                0.0,
                solution.c,
                request.seed,
                (point,),
                f"a relative duality gap of {path.gap:g}"
                if solution.reached
                else f"{path.iterations} passes",
            )
        )
        request.tell(
            f"{setup.name}, {_LABEL}, C = {solution.c:g}: "
            f"{solution.effective_iterations:.1f} effective iterations"
        )
    return Comparison(setup.task, tuple(found))


def path_table(title: str, path: Comparison) -> Table:
    """The columns of the paper's Tables 2 and 3."""
    rows, total = [], 0.0
    for curve in path.curves:
        (point,) = curve.points
        total += point.effective_iterations
        rows.append(
            (
                f"{curve.c:.4g}",
                f"{point.effective_iterations:.2f}",
                f"{total:.2f}",
                number(point.primal),
                number(point.dual),
                f"{point.score:.2f}",
            )
        )
    headings = ("C", "effective iterations", "total", "primal", "dual", path.task.score_name)
    return Table(title, headings, "rrrrrr", rows)
