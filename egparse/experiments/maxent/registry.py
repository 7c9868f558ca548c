"""The maximum-entropy algorithms by name, each run from w = 0 to a stopping rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from egparse.errors import ConfigError
from egparse.experiments.maxent.cd import CoordinateDescent, ExactCoordinateDescent
from egparse.experiments.maxent.dual_cd import DualCoordinateDescent
from egparse.experiments.maxent.gis import GIS
from egparse.experiments.maxent.iis import IIS
from egparse.experiments.maxent.lbfgs import run_lbfgs
from egparse.experiments.maxent.learner import MaxentLearner
from egparse.experiments.maxent.problem import MaxentProblem
from egparse.experiments.maxent.run import MaxentRun, MaxentStop, run_learner
from egparse.experiments.maxent.scgis import SCGIS
from egparse.experiments.maxent.tron import TrustRegionNewton


def train_maxent(
    name: str, problem: MaxentProblem, stop: MaxentStop, *, sigma2: float = 10.0, **options: Any
) -> MaxentRun:
    """Run an algorithm from w = 0. ``options`` are settings that only this one has: ``gamma`` and
    ``beta`` of cd and cd-exact, ``forcing`` of tron, ``seed`` of dual-cd, ``memory`` of lbfgs.

    Raises:
        ConfigError: an unknown algorithm or option.
        EgparseError: it made no progress.
    """
    run = RUNS.get(name)
    if run is None:
        raise ConfigError(f"expected a maxent learner among {', '.join(RUNS)}, got {name!r}")
    try:
        return run(problem, stop, sigma2=sigma2, **options)
    except TypeError as error:
        raise ConfigError(f"maxent learner {name}: {error}") from error


def _run_of(learner: type[MaxentLearner]) -> Callable[..., MaxentRun]:
    def run(problem: MaxentProblem, stop: MaxentStop, **options: Any) -> MaxentRun:
        return run_learner(learner(problem, **options), stop)

    return run


ITERATIVE: tuple[type[MaxentLearner], ...] = (
    GIS,
    IIS,
    SCGIS,
    CoordinateDescent,
    ExactCoordinateDescent,
    TrustRegionNewton,
    DualCoordinateDescent,
)
"""Those with a state and ``iterate``."""

RUNS: dict[str, Callable[..., MaxentRun]] = {
    **{learner.name: _run_of(learner) for learner in ITERATIVE},
    "lbfgs": run_lbfgs,
}
"""Name -> ``run(problem, stop, sigma2=..., **options)``."""
