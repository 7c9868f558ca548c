"""Parameter mixing as the lectures state it: "let w_p be the weight vector if we just trained on
T_p", and w is the mean of these (McDonald 2009, "Parallelization through Averaging"; Mann et al.
2009).

Each shard is trained to the end, in a local process, by a learner with a certificate: until its
relative duality gap is at most ``gap``, so that w_p is the optimum of the shard to that precision
and the result depends on the objective, not on the learner. The weights are mixed once, uniformly.
The n_p examples of a shard are regularised by C n_p / n: the same for each example as on all of
them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Interval

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.processes import on_shards
from egparse.experiments.learners.shards import (
    Shard,
    compile_kernels,
    copy_weights,
    deal,
    shared_like,
)
from egparse.learners.learner import Certificate, Learner, LearnerConfig
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem, squared_norm
from egparse.learners.registry import build, check_settings
from egparse.learners.sgd import Arrays, restore
from egparse.types import Floats, Longs

TO_THE_END = ("eg-online", "eg-batch", "lbfgs", "parallel-gradient", "cutting-plane")
"""The learners that can say when a shard is done: those with a dual."""


@dataclass(frozen=True, kw_only=True)
class MixingOnceConfig(LearnerConfig):
    """``inner`` trains each shard until its relative duality gap is at most ``gap``, or for
    ``passes`` passes; ``inner_options`` are its settings. With ``processes`` False, the shards are
    worked on one after another in this process.

    Raises:
        ConfigError: a value out of range.
    """

    inner: Annotated[
        Literal[
            "perceptron",
            "sgd",
            "eg-online",
            "eg-batch",
            "lbfgs",
            "parallel-gradient",
            "cutting-plane",
        ],
        "the learner of a shard",
    ]
    gap: Annotated[float, Interval(ge=1e-9, le=0.5), "the relative gap to end at"] = 1e-6
    passes: Annotated[int, Interval(ge=1, le=1_000_000_000), "most passes of a shard"] = 1000
    shards: Annotated[int, Interval(ge=1, le=256), "of the examples"] = 2
    processes: Annotated[bool, "a process for each shard"] = True
    inner_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.gap < 1 or self.passes < 1:
            raise ConfigError(
                f"parameter-mixing: expected 0 < gap < 1 and passes >= 1, got {self.gap} and "
                f"{self.passes}"
            )


@dataclass
class MixingOnceState:
    """``weights`` are those of each shard, once trained. ``ends`` (shards, 2): its inference calls,
    an example each, and its relative gap at the end; without rows before.
    """

    weights: list[Arrays]
    ends: Floats

    @property
    def scale(self) -> float:
        """w = v."""
        return 1.0


class MixingOnce(Learner):
    """The mean of the optima of the shards. The problem holds it."""

    def __init__(self, problem: Problem, config: MixingOnceConfig) -> None:
        super().__init__(problem)
        self.config = config
        self.shards = deal(self.n, config.shards)
        self._loss: Loss = config.loss

    def initialise(self, gold_theta: float | Floats = 3.0) -> MixingOnceState:
        """w = 0; every shard starts from ``gold_theta``."""
        self.problem.reset()
        compile_kernels(self.problem, self._loss)
        self._gold_theta = np.broadcast_to(np.asarray(gold_theta, dtype=np.float64), (self.n,))
        return MixingOnceState([shared_like(self.problem) for _ in self.shards], np.empty((0, 2)))

    def iterate(self, state: MixingOnceState) -> None:
        """Train every shard to the end, in parallel, and mix; a second call changes nothing.

        Raises:
            EgparseError: the inner learner failed.
        """
        if len(state.ends):
            return

        def work(p: int) -> tuple[float, float]:
            return self._train(state, p)

        try:
            state.ends = np.array(on_shards(work, len(self.shards), self.config.processes))
        except BaseException:
            self.problem.reset()
            raise
        restore(self.problem, mix(state.weights))

    def certificate(self, state: MixingOnceState) -> Certificate:
        """The primal of all examples at the mix, which has no dual. Details: ``shards``, and the
        greatest relative ``gap`` of a shard.

        Raises:
            EgparseError: the primal is not finite.
        """

        def loss_of_shard(p: int) -> float:
            return loss_of(self.problem, self._loss, self.shards[p])

        c = self.config.c
        losses = on_shards(loss_of_shard, len(self.shards), self.config.processes)
        primal = sum(losses) + c / 2 * squared_norm(self.problem)
        if not math.isfinite(primal):
            raise EgparseError(f"parameter-mixing: expected a finite primal, got {primal}")
        details = {
            "shards": float(len(self.shards)),
            "gap": max(state.ends[:, 1].tolist(), default=math.inf),
        }
        passes = float(sum(state.ends[:, 0])) / max(1, self.n)
        return Certificate(primal, -math.inf, passes, c, details)

    def model_weights(self, state: MixingOnceState) -> AbstractContextManager[None]:
        """Nothing to do: v is the model."""
        return nullcontext()

    def _train(self, state: MixingOnceState, p: int) -> tuple[float, float]:
        """Train a shard from the start and write its w into the arrays of the state."""
        config, examples = self.config, self.shards[p]
        shard = Shard(self.problem, examples)
        shard.reset()
        c = config.c * len(examples) / self.n
        own = LearnerConfig(beta=config.beta, gamma=config.gamma, c=c, seed=config.seed)
        learner = build(config.inner, shard, own, **config.inner_options)
        inner = learner.initialise(self._gold_theta[examples])
        for _ in range(config.passes):
            learner.iterate(inner)
            certificate = learner.certificate(inner)
            if certificate.relative_gap <= config.gap:
                break
        with learner.model_weights(inner):
            copy_weights(self.problem, state.weights[p])
        for array in state.weights[p]:
            array *= inner.scale
        return certificate.effective_iterations * len(examples), certificate.relative_gap


def loss_of(problem: Problem, loss: Loss, examples: Longs, scale: float = 1.0) -> float:
    """sum_i L_i(w) over some examples, at w = scale v."""
    expected = np.empty(int(np.diff(problem.part_starts).max(initial=1)))
    total = 0.0
    for i in examples.tolist():
        scores = scale * problem.scores(i)
        total += loss.value(problem, i, scores, expected[: len(scores)])
    return total


def mix(vectors: list[Arrays], into: Arrays | None = None, before: int = 0) -> Arrays:
    """The mean of ``vectors``, array by array in float64; if ``into`` is given, the mean of these
    and of ``before`` others whose mean is ``into``.
    """
    mixed: Arrays = []
    for k, arrays in enumerate(zip(*vectors, strict=True)):
        total = np.zeros(arrays[0].shape) if into is None else before * into[k].astype(np.float64)
        for array in arrays:
            total += array
        total /= len(vectors) + (0 if into is None else before)
        mixed.append(total)
    return mixed


def mixing_once_config(config: LearnerConfig, options: Mapping[str, Any]) -> MixingOnceConfig:
    """The settings; options that ``MixingOnceConfig`` does not have are those of the inner learner,
    which must accept them.

    Raises:
        ConfigError: a setting that one of them does not accept, ``iterated`` among them: what is
            trained to the end has nothing to start from again.
    """
    rest = dict(options)
    inner = str(rest.pop("inner"))
    if rest.pop("iterated", False):
        raise ConfigError(
            f"parameter-mixing: {inner} trains each shard to the end, and the weights are mixed "
            "once: leave out iterated, or take perceptron or sgd as inner"
        )
    mixing = {key: rest.pop(key) for key in ("gap", "passes", "shards", "processes") if key in rest}
    inner_processes = {"processes": False} if inner == "parallel-gradient" else {}
    rest |= inner_processes
    check_settings(inner, config, rest)
    common = MixingOnceConfig._of_common(config)
    return MixingOnceConfig(inner=inner, inner_options=rest, **common, **mixing)  # type: ignore[arg-type]
