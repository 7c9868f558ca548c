"""The maximum-entropy algorithms behind the interface of all learners: an ``iterate`` is one pass
over the weights of a multiclass problem.

Their objective (Huang et al. 2009, eq. 3, with counts and sigma^2 = 1 / C) is sum_i L_i(w) + C/2
|w|^2 with the log-linear loss. We differ from the papers where the problem has weights for pairs
that were not seen in training, whose observed count is 0, and where it restricts the labels of a
choice to candidates: other labels have S(x, y) = 0.

The dual value of the certificate is that of dual-cd's own distributions; for the others it is the
lower bound of the optimum that the gradient g proves, as the objective P is C-strongly convex:
P(w*) >= P(w) - |g|^2 / (2C).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from scipy.sparse import csr_matrix

from egparse.errors import ConfigError
from egparse.experiments.maxent.cd import CoordinateDescent, ExactCoordinateDescent
from egparse.experiments.maxent.dual_cd import DualCoordinateDescent
from egparse.experiments.maxent.gis import GIS
from egparse.experiments.maxent.iis import IIS
from egparse.experiments.maxent.learner import MaxentLearner, MaxentState
from egparse.experiments.maxent.problem import MaxentProblem, build_maxent
from egparse.experiments.maxent.scgis import SCGIS
from egparse.experiments.maxent.tron import TrustRegionNewton
from egparse.learners.certificate import Certificate
from egparse.learners.design import DesignMatrix
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.problem import VectorProblem, require_design
from egparse.learners.registry import Options
from egparse.types import Floats

_TABLE_BYTES = 8 * 10**9


@dataclass
class AdapterState:
    """The state of the algorithm."""

    inner: MaxentState

    @property
    def scale(self) -> float:
        """w = v."""
        return 1.0


class MaxentAdapter:
    """``algorithm`` on a problem that has a design matrix; ``options`` are settings that only this
    algorithm has.

    Raises:
        ConfigError: another loss than log-linear, or a problem that is not multiclass or is too
            large for the table of the algorithm.
        EgparseError: attributes with negative values.
    """

    def __init__(
        self,
        algorithm: type[MaxentLearner],
        problem: VectorProblem,
        config: LearnerConfig,
        options: dict[str, Any],
    ) -> None:
        name = algorithm.name
        _check(name, config)
        self.problem, design = require_design(name, problem, sequences=False)
        self.c = config.c
        found = maxent_problem(design)
        if algorithm.tabulates:
            _check_size(name, found)
        self.learner = algorithm(found, sigma2=1.0 / config.c, **options)

    def initialise(self, gold_theta: float | Floats = 3.0) -> AdapterState:
        """w = 0, whatever ``gold_theta``."""
        self.problem.reset()
        return AdapterState(self.learner.initialise())

    def iterate(self, state: AdapterState) -> None:
        """One pass over the weights.

        Raises:
            EgparseError: see ``MaxentLearner.iterate``.
        """
        self.learner.iterate(state.inner)
        self.problem.set_weights(state.inner.w)

    def certificate(self, state: AdapterState) -> Certificate:
        """The primal, a lower bound of the optimum, and the passes made."""
        gradient = self.learner.gradient(state.inner)
        return Certificate(
            state.inner.objective,
            self.learner.dual(state.inner),
            float(state.inner.passes),
            self.c,
            {"gradient_norm": float(gradient @ gradient) ** 0.5},
        )

    def model_weights(self, state: AdapterState) -> AbstractContextManager[None]:
        """Nothing to do: v is the model."""
        return nullcontext()


def maxent_problem(design: DesignMatrix) -> MaxentProblem:
    """The design as a maximum-entropy problem with the same weights in the same order.

    Raises:
        EgparseError: attributes with negative values.
    """
    n = len(design.labels)
    contexts = csr_matrix(
        (design.values, design.attributes, design.row_starts), shape=(n, design.attribute_count)
    )
    return build_maxent(
        contexts,
        design.labels,
        label_count=design.label_count,
        pairs=(design.pair_starts, design.pair_labels),
        candidates=design.candidates,
    )


def build_gis(
    problem: VectorProblem,
    config: LearnerConfig,
    options: Options,
) -> Learner:
    """Generalised iterative scaling, for the registry of learners."""
    return MaxentAdapter(GIS, problem, config, options)


def build_iis(
    problem: VectorProblem,
    config: LearnerConfig,
    options: Options,
) -> Learner:
    """Improved iterative scaling, for the registry of learners."""
    return MaxentAdapter(IIS, problem, config, options)


def build_scgis(
    problem: VectorProblem,
    config: LearnerConfig,
    options: Options,
) -> Learner:
    """Sequential conditional iterative scaling, for the registry of learners."""
    return MaxentAdapter(SCGIS, problem, config, options)


def build_cd(
    problem: VectorProblem,
    config: LearnerConfig,
    options: Options,
) -> Learner:
    """Coordinate descent, for the registry of learners."""
    return MaxentAdapter(CoordinateDescent, problem, config, options)


def build_cd_exact(
    problem: VectorProblem,
    config: LearnerConfig,
    options: Options,
) -> Learner:
    """Coordinate descent with exact sub-problems, for the registry of learners."""
    return MaxentAdapter(ExactCoordinateDescent, problem, config, options)


def build_tron(
    problem: VectorProblem,
    config: LearnerConfig,
    options: Options,
) -> Learner:
    """Trust region Newton, for the registry of learners."""
    return MaxentAdapter(TrustRegionNewton, problem, config, options)


def build_dual_cd(
    problem: VectorProblem,
    config: LearnerConfig,
    options: Options,
) -> Learner:
    """Dual coordinate descent, for the registry of learners."""
    return MaxentAdapter(DualCoordinateDescent, problem, config, {"seed": config.seed, **options})


def check_gis(config: LearnerConfig, options: Options) -> None:
    """Raise ConfigError for a loss or a C that generalised iterative scaling does not have."""
    _check("gis", config)


def check_iis(config: LearnerConfig, options: Options) -> None:
    """Raise ConfigError for a loss or a C that improved iterative scaling does not have."""
    _check("iis", config)


def check_scgis(config: LearnerConfig, options: Options) -> None:
    """Raise ConfigError for a loss or a C that sequential scaling does not have."""
    _check("scgis", config)


def check_cd(config: LearnerConfig, options: Options) -> None:
    """Raise ConfigError for a loss or a C that coordinate descent does not have."""
    _check("cd", config)


def check_cd_exact(config: LearnerConfig, options: Options) -> None:
    """Raise ConfigError for a loss or a C that exact coordinate descent does not have."""
    _check("cd-exact", config)


def check_tron(config: LearnerConfig, options: Options) -> None:
    """Raise ConfigError for a loss or a C that trust region Newton does not have."""
    _check("tron", config)


def check_dual_cd(config: LearnerConfig, options: Options) -> None:
    """Raise ConfigError for a loss or a C that dual coordinate descent does not have."""
    _check("dual-cd", config)


def _check(name: str, config: LearnerConfig) -> None:
    if (config.beta, config.gamma) != (1.0, 0.0):
        raise ConfigError(
            f"{name} expects the log-linear loss (beta = 1, gamma = 0), got beta = "
            f"{config.beta:g}, gamma = {config.gamma:g}"
        )
    if not config.c > 0:
        raise ConfigError(f"{name} expects c > 0, got {config.c}")


def _check_size(learner: str, problem: MaxentProblem) -> None:
    size = 8 * problem.label_count * problem.context_count
    if size > _TABLE_BYTES:
        raise ConfigError(
            f"{learner} keeps a table of labels by contexts: expected at most {_TABLE_BYTES:,} "
            f"bytes, got {size:,} "
            f"({problem.label_count} labels, {problem.context_count:,} contexts)"
        )
