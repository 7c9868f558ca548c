"""Parameter mixing: the perceptron or SGD is trained on each shard of the examples alone, in local
processes, and the weights are mixed (McDonald 2009, "Parallelization through Averaging"). A pass at
a time; ``mixing_once`` trains to the end.

With and without processes the results are the same bits: the work on a shard starts from given
weights and depends on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.mixing_once import (
    TO_THE_END,
    MixingOnce,
    MixingOnceConfig,
    loss_of,
    mix,
    mixing_once_config,
)
from egparse.experiments.learners.processes import on_shards
from egparse.experiments.learners.shards import (
    Shard,
    compile_kernels,
    copy_weights,
    deal,
    shared_like,
)
from egparse.learners.learner import Certificate, Learner, LearnerConfig
from egparse.learners.losses import PERCEPTRON, Loss
from egparse.learners.perceptron import Perceptron, PerceptronConfig
from egparse.learners.problem import Problem, squared_norm
from egparse.learners.sgd import SGD, Arrays, SGDConfig, copies, restore
from egparse.learners.shards.cocoa import Transport
from egparse.types import Floats


@dataclass(frozen=True, kw_only=True)
class MixingConfig:
    """With ``iterated``, each pass starts from the mixed weights on all shards; without, each shard
    continues from its weights, and mixing only makes the model. With ``processes`` False, the
    shards are worked on one after another in this process.
    """

    shards: int = 2
    iterated: bool = True
    processes: bool = True


class ShardOutcome(NamedTuple):
    """The state of a shard that the next pass needs; ``evaluations`` and ``mistakes`` are those of
    the last pass.
    """

    updates: int = 0
    eta0: float | None = None
    evaluations: int = 0
    mistakes: int = 0


@dataclass
class MixingState:
    """For each shard: ``outcomes``, the ``weights`` after the last pass and, for learners that
    average, the ``averages`` over that pass.

    ``mixed`` is the mean of the weights, ``average`` the mean of the averages over all passes.
    """

    passes: int
    evaluations: int
    outcomes: list[ShardOutcome]
    weights: list[Arrays]
    averages: list[Arrays]
    mixed: Arrays
    average: Arrays | None = None
    is_exposed: bool = False

    @property
    def scale(self) -> float:
        """w = v."""
        return 1.0


class ParameterMixing(Learner):
    """Train the perceptron or SGD on each shard, mix the weights uniformly (Mann et al. 2009;
    McDonald 2009, "Parallelization through Averaging"), once at the end or after each pass
    (McDonald et al. 2010, "Distributed training strategies for the structured perceptron").

    The problem holds the mix. SGD regularises n_p examples by C n_p / n, the same for each example
    as on all of them, and each shard chooses its own eta0. The averaged perceptron's model is the
    mean over all visits of all passes, each shard counting alike.
    """

    def __init__(
        self, problem: Problem, inner: PerceptronConfig | SGDConfig, config: MixingConfig
    ) -> None:
        super().__init__(problem)
        self.inner, self.config = inner, config
        self.calls: Transport | None = None
        """Where the shards are elsewhere, how they are reached."""
        self.shards = deal(self.n, config.shards)

    @property
    def loss(self) -> Loss:
        """The loss that the inner learner minimises."""
        return self.inner.loss if isinstance(self.inner, SGDConfig) else PERCEPTRON

    @property
    def c(self) -> float:
        """The regularisation constant for all examples; the perceptron has none."""
        return self.inner.c if isinstance(self.inner, SGDConfig) else 0.0

    @property
    def averaged(self) -> bool:
        """Whether the model is the average over visits."""
        return isinstance(self.inner, PerceptronConfig) and self.inner.averaged

    def initialise(self, gold_theta: float | Floats = 3.0) -> MixingState:
        """w = 0; ``gold_theta`` is ignored."""
        self.problem.reset()
        compile_kernels(self.problem, self.loss)
        weights, averages = [[shared_like(self.problem) for _ in self.shards] for _ in range(2)]
        return MixingState(
            0,
            0,
            [ShardOutcome() for _ in self.shards],
            weights,
            averages if self.averaged else [],
            copies(self.problem),
        )

    def iterate(self, state: MixingState) -> None:
        """One pass over the examples, the shards in parallel.

        Raises:
            EgparseError: the inner learner failed.
        """
        work = partial(self._train, state)
        try:
            if self.calls is None:
                outcomes = on_shards(work, len(self.shards), self.config.processes)
            else:
                outcomes = self._train_elsewhere(state, self.calls)
        except BaseException:
            restore(self.problem, state.mixed)
            raise
        state.outcomes = outcomes
        state.mixed = mix(state.weights)
        restore(self.problem, state.mixed)
        state.passes += 1
        state.evaluations += sum(outcome.evaluations for outcome in outcomes)
        if self.averaged:
            # all passes have the same number of visits: the mean over passes is that over visits
            state.average = mix([mix(state.averages)], into=state.average, before=state.passes - 1)

    def certificate(self, state: MixingState) -> Certificate:
        """The primal of the inner learner at the model, over all examples. Details: ``mistakes`` of
        the last pass, ``shards``.
        """
        with self.model_weights(state):
            if self.calls is None:
                losses = on_shards(self._loss_of_shard, len(self.shards), self.config.processes)
            else:
                losses = self.calls.call("run", (total_loss, copies(self.problem), self.loss))
            primal = sum(losses) + self.c / 2 * squared_norm(self.problem)
        if not math.isfinite(primal):
            raise EgparseError(f"parameter-mixing: expected a finite primal, got {primal}")
        details = {"shards": float(len(self.shards))}
        if isinstance(self.inner, PerceptronConfig):
            details["mistakes"] = float(sum(outcome.mistakes for outcome in state.outcomes))
        return Certificate(primal, -math.inf, state.evaluations / max(1, self.n), self.c, details)

    @contextmanager
    def model_weights(self, state: MixingState) -> Iterator[None]:
        """Inside, v is the average for the averaged perceptron; a nested call changes nothing."""
        if state.average is None or state.is_exposed:
            yield
            return
        state.is_exposed = True
        try:
            restore(self.problem, state.average)
            yield
        finally:
            restore(self.problem, state.mixed)
            state.is_exposed = False

    def _loss_of_shard(self, p: int) -> float:
        return loss_of(self.problem, self.loss, self.shards[p])

    def _train(self, state: MixingState, p: int) -> ShardOutcome:
        """One pass over a shard, from the weights that it starts from."""
        restore(self.problem, self._start(state, p))
        shard = Shard(self.problem, self.shards[p])
        average = state.averages[p] if self.averaged else None
        outcome = _pass(shard, self._order(state, p), average)
        copy_weights(self.problem, state.weights[p])
        return outcome

    def _start(self, state: MixingState, p: int) -> Arrays:
        """The weights from which a shard starts its pass."""
        continues = not self.config.iterated and state.passes > 0
        return state.weights[p] if continues else state.mixed

    def _order(self, state: MixingState, p: int) -> PassOrder:
        return PassOrder(self.inner, self.n, (self.inner.seed, p, state.passes), state.outcomes[p])

    def _train_elsewhere(self, state: MixingState, calls: Transport) -> list[ShardOutcome]:
        """One pass over each shard where it is."""
        count = len(self.shards)
        own = [(pass_elsewhere, self._start(state, p), self._order(state, p)) for p in range(count)]
        found = calls.call("run", own)
        for p, (_, weights, average) in enumerate(found):
            for out, arrays in ((state.weights, weights), (state.averages, average)):
                if arrays is not None:
                    out[p] = [array.copy() for array in arrays]
        return [outcome for outcome, _, _ in found]


class PassOrder(NamedTuple):
    """What is done in a pass over a shard: the learner, the examples of all shards, the seed, and
    what the last pass left.
    """

    inner: PerceptronConfig | SGDConfig
    n: int
    seed: tuple[int, int, int]
    before: ShardOutcome


def pass_elsewhere(
    problem: Problem, order: PassOrder
) -> tuple[ShardOutcome, Arrays, Arrays | None]:
    """A pass over a problem from v; its weights, and their average if the learner averages."""
    average = copies(problem) if getattr(order.inner, "averaged", False) else None
    outcome = _pass(problem, order, average)
    return outcome, copies(problem), average


def total_loss(problem: Problem, loss: Loss) -> float:
    """The sum of the losses of a problem at w = v."""
    return loss_of(problem, loss, np.arange(len(problem.part_starts) - 1, dtype=np.int64))


def _pass(shard: Problem, order: PassOrder, average: Arrays | None) -> ShardOutcome:
    """One pass over the examples of a shard from v, which becomes its weights."""
    inner, generator = order.inner, np.random.default_rng(list(order.seed))
    if isinstance(inner, PerceptronConfig):
        return _perceptron_pass(shard, inner, generator, average)
    n = len(shard.part_starts) - 1
    return _sgd_pass(shard, replace(inner, c=inner.c * n / order.n), generator, order.before)


def _perceptron_pass(
    shard: Problem,
    config: PerceptronConfig,
    generator: np.random.Generator,
    average: Arrays | None,
) -> ShardOutcome:
    learner = Perceptron(shard, config)
    state = learner.resume(generator)
    learner.iterate(state)
    if average is not None:
        with learner.model_weights(state):
            for out, array in zip(average, shard.vectors(), strict=True):
                out[...] = array
    return ShardOutcome(evaluations=state.visits, mistakes=state.mistakes)


def _sgd_pass(
    shard: Problem, config: SGDConfig, generator: np.random.Generator, before: ShardOutcome
) -> ShardOutcome:
    learner = SGD(shard, config)
    state = learner.resume(generator, before.updates, before.eta0)
    learner.iterate(state)
    learner.fold(state)
    return ShardOutcome(updates=state.updates, eta0=state.eta0, evaluations=state.evaluations)


def parameter_mixing_config(
    config: LearnerConfig, options: Mapping[str, Any]
) -> tuple[PerceptronConfig | SGDConfig, MixingConfig] | MixingOnceConfig:
    """The settings of the inner learner and of mixing. The option ``inner`` is perceptron or sgd,
    or a learner that trains each shard to the end (``mixing_once``); options that mixing does not
    have are settings of that learner.

    Raises:
        ConfigError: another inner learner, or a setting that it does not accept.
    """
    if options.get("inner") in TO_THE_END:
        return mixing_once_config(config, options)
    inner_options = dict(options)
    inner = inner_options.pop("inner", "perceptron")
    mixing = {
        key: inner_options.pop(key)
        for key in ("shards", "iterated", "processes")
        if key in inner_options
    }
    if inner not in ("perceptron", "sgd"):
        raise ConfigError(
            "parameter-mixing: expected inner to be one of perceptron, sgd, "
            f"{', '.join(TO_THE_END)}, got {inner!r}"
        )
    if inner == "sgd" and inner_options.get("averaged"):
        raise ConfigError("parameter-mixing: mixes the last weights of sgd, not their average")
    kind = SGDConfig if inner == "sgd" else PerceptronConfig
    return kind.configured(config, inner_options), MixingConfig(**mixing)  # type: ignore[return-value]


class _Options(MixingOnceConfig):
    """The options of both ways to mix, and of the learners inside."""

    @classmethod
    def options(cls) -> dict[str, Any]:
        """The options of mixing, then those of perceptron and sgd."""
        own = MixingOnceConfig.options()
        inner = PerceptronConfig.options() | SGDConfig.options()
        return own | {"iterated": Annotated[bool, "mix after each pass"]} | inner

    @classmethod
    def configured(cls, common: LearnerConfig, options: Mapping[str, Any]) -> Any:
        """See ``parameter_mixing_config``."""
        return parameter_mixing_config(common, options)


class Mixing(Learner):
    """Makes the learner that mixes once, or the one that mixes after each pass."""

    config_type = _Options

    def __new__(cls, problem: Problem, settings: Any) -> Any:
        """See ``parameter_mixing_config``."""
        if isinstance(settings, MixingOnceConfig):
            return MixingOnce(problem, settings)
        return ParameterMixing(problem, *settings)
