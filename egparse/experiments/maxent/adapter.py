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

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar

from annotated_types import Interval
from scipy.sparse import csr_matrix

from egparse.errors import ConfigError
from egparse.experiments.learners.counting import require_design
from egparse.experiments.maxent.cd import CoordinateDescent, ExactCoordinateDescent
from egparse.experiments.maxent.dual_cd import DualCoordinateDescent
from egparse.experiments.maxent.gis import GIS
from egparse.experiments.maxent.iis import IIS
from egparse.experiments.maxent.learner import MaxentLearner, MaxentState
from egparse.experiments.maxent.problem import MaxentProblem, build_maxent
from egparse.experiments.maxent.scgis import SCGIS
from egparse.experiments.maxent.tron import TrustRegionNewton
from egparse.learners.learner import Certificate, Learner, LearnerConfig
from egparse.learners.problem import DesignMatrix, Problem
from egparse.types import Floats

_VARIABLES = ("alpha", "_probabilities", "_random")
_TABLE_BYTES = 8 * 10**9


@dataclass
class AdapterState:
    """The state of the algorithm."""

    inner: MaxentState

    @property
    def scale(self) -> float:
        """w = v."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class MaxentConfig(LearnerConfig):
    """``settings`` are those that only one algorithm has; ``known`` are their annotations.

    Raises:
        ConfigError: another loss than log-linear, or a C that is not positive.
    """

    name: ClassVar[str]
    known: ClassVar[Mapping[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self.name, self)

    @classmethod
    def options(cls) -> dict[str, Any]:
        """Those of the algorithm."""
        return dict(cls.known)

    @classmethod
    def configured(cls, common: LearnerConfig, options: Mapping[str, Any]) -> LearnerConfig:
        """With the options of the algorithm."""
        return cls(**asdict(common), settings=dict(options))


class MaxentAdapter(Learner):
    """An algorithm on a problem that has a design matrix.

    Raises:
        ConfigError: another loss than log-linear, or a problem that is not multiclass or is too
            large for the table of the algorithm.
        EgparseError: attributes with negative values.
    """

    config_type: type[MaxentConfig] = MaxentConfig
    algorithm: ClassVar[type[MaxentLearner]]

    def __init__(self, problem: Problem, config: MaxentConfig) -> None:
        super().__init__(problem)
        design = require_design(config.name, problem, sequences=False)
        self.c = config.c
        found = maxent_problem(design)
        if self.algorithm.tabulates:
            _check_size(config.name, found)
        settings = dict(config.settings)
        if self.algorithm is DualCoordinateDescent:
            settings = {"seed": config.seed, **settings}
        try:
            self.learner = self.algorithm(found, sigma2=1.0 / config.c, **settings)
        except TypeError as error:
            raise ConfigError(f"learner {config.name}: {error}") from error

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

    def saved(self) -> Any:
        """The variables of algorithms that have some beside w."""
        return {name: getattr(self.learner, name, None) for name in _VARIABLES}

    def restore(self, saved: Any) -> None:
        """Continue from what ``saved`` returned."""
        for name in _VARIABLES:
            if hasattr(self.learner, name):
                setattr(self.learner, name, saved[name])

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


def _learner(algorithm: type[MaxentLearner], **known: Any) -> type[MaxentAdapter]:
    """The class of a learner, for the registry."""
    config = type("Config", (MaxentConfig,), {"name": algorithm.name, "known": known})
    kind = type(algorithm.__name__, (MaxentAdapter,), {"algorithm": algorithm})
    kind.config_type = config  # type: ignore[attr-defined]
    return kind


_SEARCH = {
    "gamma": Annotated[float, Interval(ge=1e-9, lt=0.5), "the decrease that is enough"],
    "beta": Annotated[float, Interval(ge=1e-9, lt=1), "the factor of a step that is too long"],
}

GISLearner = _learner(GIS)
IISLearner = _learner(IIS)
SCGISLearner = _learner(SCGIS)
CDLearner = _learner(CoordinateDescent, **_SEARCH)
ExactCDLearner = _learner(ExactCoordinateDescent, **_SEARCH)
TronLearner = _learner(
    TrustRegionNewton, forcing=Annotated[float, Interval(ge=1e-6, lt=1), "of inner steps"]
)
DualCDLearner = _learner(DualCoordinateDescent)
