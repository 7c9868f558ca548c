"""The kernel perceptron behind the interface of all learners, on problems that can predict by a
kernel machine.

A kernel machine has no weight vector: its w lies in the feature space of the kernel, and is
represented by the examples that were predicted wrongly. So v stays 0, and within ``model_weights``
the problem predicts by the machine instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.kernels.functions import Gaussian, Kernel, Linear, Polynomial
from egparse.experiments.kernels.perceptron import Training, Weighting
from egparse.experiments.kernels.problem import KernelProblem
from egparse.experiments.kernels.strings import Subsequence
from egparse.experiments.kernels.trees import Fragments
from egparse.learners.learner import Certificate, Learner, LearnerConfig
from egparse.learners.perceptron import require_perceptron_loss
from egparse.learners.problem import Problem
from egparse.types import Floats

KERNELS: dict[str, Callable[..., Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "gaussian": Gaussian,
    "subsequences": Subsequence,
    "fragments": Fragments,
}
"""Name -> kernel. Settings: ``degree`` and ``constant`` of polynomial, ``sigma2`` of gaussian,
``length`` and ``decay`` of subsequences, ``decay`` of fragments.
"""

_GRAM_BYTES = 8 * 10**9


@dataclass
class KernelState:
    """The training so far; ``is_installed``: the problem predicts by the machine now."""

    training: Training
    passes: int = 0
    is_installed: bool = False

    @property
    def scale(self) -> float:
        """v is 0 at any scale."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class KernelConfig(LearnerConfig):
    """``rule`` says which weights are the model; ``settings`` are those of the kernel."""

    kernel: Annotated[str, "its name"] = "linear"
    rule: Annotated[Weighting, "which weights are the model"] = "averaged"
    shuffle: Annotated[bool, "a new order in each pass"] = True
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def configured(cls, common: LearnerConfig, options: Mapping[str, Any]) -> LearnerConfig:
        """With options of the kernel too.

        Raises:
            ConfigError: another loss than that of the perceptron.
        """
        require_perceptron_loss("kernel-perceptron", common)
        rest = dict(options)
        own = {name: rest.pop(name) for name in ("kernel", "rule", "shuffle") if name in rest}
        return cls(seed=common.seed, settings=rest, **own)


class KernelLearner(Learner):
    """``rule`` says by which weights the model predicts: the average, the last, or all by vote
    (``KernelModel``).

    Raises:
        ConfigError: a problem that cannot take a kernel machine, too many examples, or an unknown
            kernel or rule.
    """

    config_type = KernelConfig

    def __init__(self, problem: Problem, config: KernelConfig) -> None:
        if not isinstance(problem, KernelProblem):
            raise ConfigError(
                "kernel-perceptron: a kernel machine has no weight vector, only training "
                "examples with coefficients: it fits problems of classes that can predict by "
                f"those, and {type(problem).__name__} cannot"
            )
        kernel, rule = config.kernel, config.rule
        if kernel not in KERNELS or rule not in ("averaged", "last", "voted"):
            raise ConfigError(
                f"kernel-perceptron: expected a kernel among {', '.join(KERNELS)} and a rule "
                f"among averaged, last, voted, got {kernel!r} and {rule!r}"
            )
        super().__init__(problem)
        self.inputs, self.install = problem.inputs, problem.install
        self.rule, self._shuffle, self._seed = rule, config.shuffle, config.seed
        try:
            self.kernel = KERNELS[kernel](**config.settings)
        except TypeError as error:
            raise ConfigError(f"learner kernel-perceptron: {error}") from error
        if self.kernel.kind != problem.inputs().kind:
            raise ConfigError(
                f"kernel-perceptron: expected a kernel of {problem.inputs().kind}, got {kernel}, a "
                f"kernel of {self.kernel.kind}"
            )
        if 8 * self.n**2 > _GRAM_BYTES:
            raise ConfigError(
                "kernel-perceptron keeps the kernel values of all pairs: expected at most "
                f"{math.isqrt(_GRAM_BYTES // 8):,} "
                f"examples ({_GRAM_BYTES:,} bytes), got {self.n:,}"
            )

    def initialise(self, gold_theta: float | Floats = 3.0) -> KernelState:
        """No mistakes yet; ``gold_theta`` is ignored."""
        self.problem.reset()
        x, y, n_classes, _ = self.inputs()
        return KernelState(
            Training(
                self.kernel, x, y, n_classes=n_classes, seed=self._seed if self._shuffle else None
            )
        )

    def iterate(self, state: KernelState) -> None:
        """One pass over the examples."""
        state.training.make_pass()
        state.passes += 1

    def certificate(self, state: KernelState) -> Certificate:
        """The sum of the perceptron losses max_y s(x_i, y) - s(x_i, y_i) of the model (for votes,
        of the averaged model). There is no dual.

        Details: ``mistakes`` of the last pass, and ``supports``, the number of examples with a
        mistake.
        """
        model = state.training.model()
        y = self.inputs().y
        scores = state.training.scores(model, "last" if self.rule == "last" else "averaged")
        loss = float(np.sum(scores.max(axis=1) - scores[np.arange(self.n), y]))
        if not math.isfinite(loss):
            raise EgparseError(f"kernel-perceptron: expected a finite loss, got {loss}")
        last = float(model.mistakes_by_pass[-1]) if model.mistakes_by_pass else 0.0
        details = {"mistakes": last, "supports": float(len(state.training.supports))}
        return Certificate(loss, -math.inf, float(state.passes), 0.0, details)

    @contextmanager
    def model_weights(self, state: KernelState) -> Iterator[None]:
        """Inside, the problem predicts by the machine; a nested call changes nothing."""
        if state.is_installed:
            yield
            return
        model = state.training.model()
        state.is_installed = True
        self.install(lambda x: model.scores(x, self.rule))
        try:
            yield
        finally:
            self.install(None)
            state.is_installed = False
