"""The maximum-entropy learners by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from egparse.errors import ConfigError
from egparse.experiments.maxent.cd import CoordinateDescent
from egparse.experiments.maxent.gis import GIS
from egparse.experiments.maxent.iis import IIS
from egparse.experiments.maxent.lbfgs import run_lbfgs
from egparse.experiments.maxent.learner import MaxentLearner
from egparse.experiments.maxent.problem import MaxentProblem
from egparse.experiments.maxent.run import MaxentRun, MaxentStop, run_learner
from egparse.experiments.maxent.scgis import SCGIS


class MaxentEntry(NamedTuple):
    """``run(problem, stop, sigma2=..., **options)`` from w = 0; ``summary`` is a line for people,
    with the source.
    """

    run: Callable[..., MaxentRun]
    summary: str


def train_maxent(
    name: str, problem: MaxentProblem, stop: MaxentStop, *, sigma2: float = 10.0, **options: Any
) -> MaxentRun:
    """Run a learner from w = 0. ``options`` are its own settings: ``gamma`` and ``beta`` of cd,
    ``memory`` of lbfgs.

    Raises:
        ConfigError: an unknown learner or option.
        EgparseError: it did not make progress.
    """
    entry = MAXENT_LEARNERS.get(name)
    if entry is None:
        raise ConfigError(
            f"expected a maxent learner among {', '.join(MAXENT_LEARNERS)}, got {name!r}"
        )
    try:
        return entry.run(problem, stop, sigma2=sigma2, **options)
    except TypeError as error:
        raise ConfigError(f"maxent learner {name}: {error}") from error


ALGORITHMS: dict[str, type[MaxentLearner]] = {
    own.name: own for own in (GIS, IIS, SCGIS, CoordinateDescent)
}
"""Those that go pass by pass, by name."""


def _entry(learner: type[MaxentLearner], summary: str) -> MaxentEntry:
    def run(problem: MaxentProblem, stop: MaxentStop, **options: Any) -> MaxentRun:
        return run_learner(learner(problem, **options), stop)

    return MaxentEntry(run, summary)


MAXENT_LEARNERS: dict[str, MaxentEntry] = {
    "gis": _entry(
        GIS,
        "generalised iterative scaling (Darroch & Ratcliff 1972; Huang et al. 2009, section 2.2)",
    ),
    "iis": _entry(
        IIS, "improved iterative scaling (Della Pietra et al. 1997; Huang et al. 2009, section 2.2)"
    ),
    "scgis": _entry(
        SCGIS,
        "sequential conditional generalised iterative scaling (Goodman 2002; Huang et al. 2009, "
        "section 2.2)",
    ),
    "cd": _entry(
        CoordinateDescent,
        "coordinate descent, one Newton step and a line search (Huang et al. 2009, section 3.2)",
    ),
    "lbfgs": MaxentEntry(
        run_lbfgs, "limited-memory BFGS by SciPy (the reference of Huang et al. 2009, section 4)"
    ),
}
"""Name -> how to run it."""
