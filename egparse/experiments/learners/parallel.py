"""Learning on shards of the examples at once, in local processes (McDonald 2009, "Issues in
Parallelization").

``ParallelGradient`` sums the exact gradient over the shards; ``ParameterMixing`` trains on each
shard alone and mixes the weights. Example i is in shard i mod P. Each shard is worked on by a
process that is forked for the one call and gone after it, so a problem need not be sent anywhere:
the process finds it in the memory that it shares with its parent. Where processes cannot be forked
(Windows; macOS, whose libraries do not survive it; inside of a process that may have none itself),
or with ``processes=False``, the shards are worked on one after another here. The results are the
same bits either way: the work on a shard starts from a given v and depends on nothing else.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from mmap import mmap
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from egparse.errors import ConfigError, EgparseError
from egparse.learners.certificate import Certificate
from egparse.learners.learner import Learner, LearnerConfig, VectorProblem
from egparse.learners.perceptron import Perceptron, PerceptronConfig
from egparse.learners.registry import Options, loss_of_family, perceptron_config, sgd_config
from egparse.learners.sgd import SGD, Arrays, SGDConfig, copies, restore
from egparse.learners.vectors import read, squared_norm, write
from egparse.losses import LOG_LINEAR, PERCEPTRON, Loss
from egparse.types import Floats, Longs

Result = TypeVar("Result")


def on_shards(work: Callable[[int], Result], count: int, processes: bool = True) -> list[Result]:
    """``[work(0), ..., work(count - 1)]``, each in a process of its own where possible; results
    come back through a pipe.

    In a process, what ``work`` changes in memory is lost but for ``shared_like`` arrays: what is
    large goes there, not through the pipe. No process outlives the call, however it ends.

    Raises:
        EgparseError: raised by ``work``, or a process died.
        RuntimeError: anything else that ``work`` raised in a process, with its traceback.
    """
    if not (processes and count > 1 and can_fork()):
        return [work(p) for p in range(count)]
    children: list[tuple[Any, Connection]] = []
    try:
        _launch(work, count, children)
        results = [_result_of(p, *child) for p, child in enumerate(children)]
        for process, _ in children:
            process.join()
        return results
    finally:
        for process, _ in children:
            process.kill()  # of no effect on those that are done
        for process, receiver in children:
            receiver.close()
            process.join()


def shared_like(problem: VectorProblem) -> Arrays:
    """Arrays like those of v, all 0, in memory that is shared with the processes forked later."""
    return [
        np.frombuffer(mmap(-1, max(1, array.nbytes)), array.dtype, array.size).reshape(array.shape)
        for array in problem.vectors()
    ]


def can_fork() -> bool:
    """Whether this process may have children that share its memory."""
    return (
        "fork" in multiprocessing.get_all_start_methods()
        and sys.platform != "darwin"
        and not multiprocessing.current_process().daemon
    )


def _launch(work: Callable[[int], Any], count: int, children: list[tuple[Any, Connection]]) -> None:
    """Start the processes; Ctrl-C waits until all of them are in the list of those to be ended."""
    context = multiprocessing.get_context("fork")
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for p in range(count):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_answer, args=(work, p, sender), daemon=True)
            with warnings.catch_warnings():
                # Python 3.12 on: threads are not forked. Those of BLAS know, and the work needs no
                # others.
                warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
                process.start()
            sender.close()  # here: so that the death of the process ends the pipe
            children.append((process, receiver))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _answer(work: Callable[[int], Any], p: int, sender: Connection) -> None:
    """What a process does. Ctrl-C reaches it too, and is for its parent to act on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        answer = ("result", work(p))
    except EgparseError as error:
        answer = ("error", str(error))
    except Exception:
        answer = ("fault", traceback.format_exc())
    sender.send(answer)


def _result_of(p: int, process: Any, receiver: Connection) -> Any:
    try:
        kind, answer = receiver.recv()
    except EOFError:
        process.join()
        raise EgparseError(
            f"shard {p}: expected a result, got the end of its process with exit code "
            f"{process.exitcode}"
        ) from None
    if kind == "error":
        raise EgparseError(answer)
    if kind == "fault":
        raise RuntimeError(f"shard {p}:\n{answer}")
    return answer


class Shard:
    """Some examples of a problem, as a problem: example j is ``examples[j]`` of all. It shares v
    and the scratch arrays.
    """

    def __init__(self, problem: VectorProblem, examples: Longs) -> None:
        self._problem, self._examples = problem, examples.tolist()
        sizes = np.diff(problem.part_starts)[examples]
        self.part_starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def gold(self, i: int) -> Floats:
        """The part vector of the correct structure."""
        return self._problem.gold(self._examples[i])

    def cost(self, i: int) -> Floats:
        """The cost of each part."""
        return self._problem.cost(self._examples[i])

    def cost_constant(self, i: int) -> float:
        """The constant of the cost."""
        return self._problem.cost_constant(self._examples[i])

    def scores(self, i: int) -> Floats:
        """The score of each part."""
        return self._problem.scores(self._examples[i])

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Write the part marginals; return log Z."""
        return self._problem.marginals(self._examples[i], potentials, out)

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """Write the best structure; return its score."""
        return self._problem.argmax(self._examples[i], potentials, out)

    def add(self, i: int, changes: Floats) -> float:
        """v += F_i' changes; return the change of |v|^2."""
        return self._problem.add(self._examples[i], changes)

    def reset(self) -> None:
        """v = 0."""
        self._problem.reset()

    def vectors(self) -> tuple[npt.NDArray[np.floating[Any]], ...]:
        """The arrays that hold v of all examples."""
        return self._problem.vectors()

    def with_own_weights(self) -> VectorProblem:
        """The same examples with a v of their own."""
        other = Shard.__new__(Shard)
        other._problem, other._examples = self._problem.with_own_weights(), self._examples
        other.part_starts = self.part_starts
        return other


def deal(n: int, shards: int) -> list[Longs]:
    """The examples of each shard.

    Raises:
        ConfigError: fewer than one shard, or more than there are examples.
    """
    if not 1 <= shards <= max(1, n):
        raise ConfigError(
            f"expected between 1 and {max(1, n)} shards for {n} examples, got {shards}"
        )
    return [np.arange(p, n, shards, dtype=np.int64) for p in range(shards)]


def loss_of(problem: VectorProblem, loss: Loss, examples: Longs, scale: float = 1.0) -> float:
    """sum_i L_i(w) over some examples, at w = scale v."""
    expected = np.empty(int(np.diff(problem.part_starts).max(initial=1)))
    total = 0.0
    for i in examples.tolist():
        scores = scale * problem.scores(i)
        total += loss.value(problem, i, scores, expected[: len(scores)])
    return total


def gather_gradient(
    problem: VectorProblem, loss: Loss, examples: Longs, room: VectorProblem
) -> float:
    """sum_i L_i(w) over some examples, at w = v. The v of ``room``, a twin, becomes the gradient
    sum_i F_i' (zbar_i - z_i).
    """
    room.reset()
    expected = np.empty(int(np.diff(problem.part_starts).max(initial=1)))
    total = 0.0
    for i in examples.tolist():
        scores = problem.scores(i)
        own = expected[: len(scores)]
        total += loss.value(problem, i, scores, own)
        own -= problem.gold(i)
        room.add(i, own)
    return total


def _compile(problem: VectorProblem, loss: Loss) -> None:
    """Use every kernel once, so that they are compiled here and not in each process again; v stays
    as it is.
    """
    if len(problem.part_starts) > 1:
        scores = problem.scores(0)
        loss.value(problem, 0, scores, np.empty(len(scores)))
        problem.add(0, np.zeros(len(scores)))


@dataclass(frozen=True, kw_only=True)
class GradientConfig:
    """``processes`` False: the shards one after another, in this process."""

    loss: Loss = LOG_LINEAR
    c: float = 10.0
    shards: int = 2
    processes: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.c < math.inf:
            raise ConfigError(f"parallel-gradient: expected c > 0, got {self.c}")
        if not self.loss.differentiable:
            raise ConfigError(
                "parallel-gradient: expected a differentiable loss (beta < inf), got beta = "
                f"{self.loss.beta:g}"
            )


@dataclass
class GradientState:
    """The primal and its gradient at v, flat; ``rate`` of the next step; ``history``: the last
    primals.

    ``settled``: no step goes further.
    """

    primal: float
    gradient: Floats
    rate: float
    history: list[float]
    passes: int
    settled: bool = False

    @property
    def scale(self) -> float:
        """w = v."""
        return 1.0


_ATTEMPTS = 30  # halvings of a step
_MEMORY = 10  # primals of which a step must beat the worst (Raydan 1997)
_SUFFICIENT = 1e-4  # of the decrease that the slope promises
_PRECISE = (
    1e-3  # relative duality gap below which a step that gains nothing is a matter of rounding
)


class ParallelGradient:
    """Gradient descent on sum_i L_i(w) + C/2 |w|^2, the gradient summed over shards (McDonald 2009,
    "Parallel Gradient Ascent").

    The step rule is the spectral one: the rate of a step w <- w - rate g is s's / s'y of the step
    before, with s the move of w and y that of g (Barzilai and Borwein 1988), halved until the
    primal is sufficiently below the worst of the last ten (Raydan 1997, "The Barzilai and Borwein
    gradient method for the large scale unconstrained minimization problem", section 2). It needs no
    more memory than two gradients. The primal may rise for a while.
    """

    def __init__(self, problem: VectorProblem, config: GradientConfig) -> None:
        self.problem, self.config = problem, config
        self.shards = deal(len(problem.part_starts) - 1, config.shards)
        self._room = problem.with_own_weights()
        self._gradients = [shared_like(problem) for _ in self.shards]

    def initialise(self, gold_theta: float | Floats = 3.0) -> GradientState:
        """w = 0, and the gradient there; there are no duals for ``gold_theta`` to set."""
        self.problem.reset()
        _compile(self.problem, self.config.loss)
        primal, gradient = self.evaluate()
        if not math.isfinite(primal):
            raise EgparseError(
                f"parallel-gradient: expected a finite primal at w = 0, got {primal}"
            )
        length = math.sqrt(float(gradient @ gradient))
        return GradientState(primal, gradient, 1.0 / length if length else 1.0, [primal], 1)

    def evaluate(self) -> tuple[float, Floats]:
        """The primal and its gradient at v, flat: one pass over all examples, the shards at
        once.
        """
        losses = on_shards(self._evaluate_shard, len(self.shards), self.config.processes)
        v = read(self.problem)
        gradient = self.config.c * v
        for own in self._gradients:
            gradient += np.concatenate([array.reshape(-1) for array in own])
        return sum(losses) + self.config.c / 2 * float(v @ v), gradient

    def iterate(self, state: GradientState) -> None:
        """One step, which mostly takes one pass over the examples.

        Raises:
            EgparseError: no step lowers the primal, though the optimum is far.
        """
        if state.settled:
            return
        v, gradient = read(self.problem), state.gradient
        worst = max(state.history[-_MEMORY:])
        rate = state.rate
        for _ in range(_ATTEMPTS):
            write(self.problem, v - rate * gradient)
            moved = read(self.problem) - v  # as rounded
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # too long a step shows in the primal
                primal, new = self.evaluate()
            state.passes += 1
            if primal <= worst + _SUFFICIENT * float(moved @ gradient):
                self._accept(state, primal, new, moved, rate)
                return
            rate /= 2
        write(self.problem, v)
        state.settled = True
        if self.certificate(state).relative_gap > _PRECISE:
            raise EgparseError(
                f"parallel-gradient: expected a step that lowers the primal {state.primal:g}, got "
                f"none of {_ATTEMPTS}"
            )

    def certificate(self, state: GradientState) -> Certificate:
        """Without further inference: the dual of the point alpha_i = p(. | x_i; w) is the primal
        minus |g|^2 / 2C.

        (v of that point is Cw - g, so the gap, C/2 |w|^2 + |v|^2 / 2C - w.v, is |Cw - v|^2 / 2C. It
        holds for all losses of the family.)
        """
        gap = float(state.gradient @ state.gradient) / (2 * self.config.c)
        details = {"rate": state.rate, "settled": float(state.settled)}
        return Certificate(state.primal, state.primal - gap, state.passes, self.config.c, details)

    def model_weights(self, state: GradientState) -> AbstractContextManager[None]:
        """v is the model's as it stands."""
        return nullcontext()

    def _evaluate_shard(self, p: int) -> float:
        loss = gather_gradient(self.problem, self.config.loss, self.shards[p], self._room)
        keep(self._room, self._gradients[p])
        return loss

    def _accept(
        self, state: GradientState, primal: float, gradient: Floats, moved: Floats, rate: float
    ) -> None:
        bend = float(moved @ (gradient - state.gradient))
        state.rate = float(moved @ moved) / bend if bend > 0 else rate
        state.primal, state.gradient = primal, gradient
        state.history = [*state.history[1 - _MEMORY :], primal]


@dataclass(frozen=True, kw_only=True)
class MixingConfig:
    """``iterated``: each pass starts from the mixed weights on all shards; else each shard goes on
    from its own, and the mix is only looked at. ``processes`` False: the shards one after another,
    in this process.
    """

    shards: int = 2
    iterated: bool = True
    processes: bool = True


class ShardOutcome(NamedTuple):
    """Of the passes over a shard so far: what the next one has to know. ``evaluations`` and
    ``mistakes`` are of the last.
    """

    updates: int = 0
    eta0: float | None = None
    evaluations: int = 0
    mistakes: int = 0


@dataclass
class MixingState:
    """One a shard: ``outcomes``, the ``weights`` after the last pass and, for learners that
    average, the ``averages`` over it.

    ``mixed`` is the mean of the weights; ``average`` the mean of the averages, over all passes.
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


class ParameterMixing:
    """Train the perceptron or SGD on each shard, mix the weights uniformly (Mann et al. 2009;
    McDonald 2009, "Parallelization through Averaging"), once at the end or after each pass
    (McDonald et al. 2010, "Distributed training strategies for the structured perceptron").

    The problem holds the mix. SGD regularises n_p examples by C n_p / n, the same for each example
    as on all of them, and each shard chooses its own eta0. The averaged perceptron's model is the
    mean over all visits of all passes, each shard counting alike.
    """

    def __init__(
        self, problem: VectorProblem, inner: PerceptronConfig | SGDConfig, config: MixingConfig
    ) -> None:
        self.problem, self.inner, self.config = problem, inner, config
        self.shards = deal(self.n, config.shards)

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.problem.part_starts) - 1

    @property
    def loss(self) -> Loss:
        """What the inner learner minimises."""
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
        """w = 0; there are no duals for ``gold_theta`` to set."""
        self.problem.reset()
        _compile(self.problem, self.loss)
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
        """One pass over the examples, the shards at once.

        Raises:
            EgparseError: of the inner learner.
        """
        work = partial(self._train, state)
        try:
            outcomes = on_shards(work, len(self.shards), self.config.processes)
        except BaseException:
            restore(self.problem, state.mixed)
            raise
        state.outcomes = outcomes
        state.mixed = mix(state.weights)
        restore(self.problem, state.mixed)
        state.passes += 1
        state.evaluations += sum(outcome.evaluations for outcome in outcomes)
        if self.averaged:
            # every pass has as many visits: the mean over passes is that over visits
            state.average = mix([mix(state.averages)], into=state.average, before=state.passes - 1)

    def certificate(self, state: MixingState) -> Certificate:
        """The primal of the inner learner at the model kept, over all examples. Details:
        ``mistakes`` of the last pass, ``shards``.
        """
        with self.model_weights(state):
            losses = on_shards(self._loss_of_shard, len(self.shards), self.config.processes)
            primal = sum(losses) + self.c / 2 * squared_norm(self.problem)
        if not math.isfinite(primal):
            raise EgparseError(f"parameter-mixing: expected a finite primal, got {primal}")
        details = {"shards": float(len(self.shards))}
        if isinstance(self.inner, PerceptronConfig):
            details["mistakes"] = float(sum(outcome.mistakes for outcome in state.outcomes))
        return Certificate(primal, -math.inf, state.evaluations / max(1, self.n), self.c, details)

    @contextmanager
    def model_weights(self, state: MixingState) -> Iterator[None]:
        """While it is open, v is the average, for the averaged perceptron. Opened a second time it
        changes nothing.
        """
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
        goes_on = not self.config.iterated and state.passes > 0
        restore(self.problem, state.weights[p] if goes_on else state.mixed)
        shard = Shard(self.problem, self.shards[p])
        generator = np.random.default_rng([self.inner.seed, p, state.passes])
        if isinstance(self.inner, PerceptronConfig):
            average = state.averages[p] if self.averaged else None
            outcome = _perceptron_pass(shard, self.inner, generator, average)
        else:
            inner = replace(self.inner, c=self.inner.c * len(self.shards[p]) / self.n)
            outcome = _sgd_pass(shard, inner, generator, state.outcomes[p])
        keep(self.problem, state.weights[p])
        return outcome


def _perceptron_pass(
    shard: Shard, config: PerceptronConfig, generator: np.random.Generator, average: Arrays | None
) -> ShardOutcome:
    learner = Perceptron(shard, config)
    state = learner.resume(generator)
    learner.iterate(state)
    if average is not None:
        learner.average(state, average)
    return ShardOutcome(evaluations=state.visits, mistakes=state.mistakes)


def _sgd_pass(
    shard: Shard, config: SGDConfig, generator: np.random.Generator, before: ShardOutcome
) -> ShardOutcome:
    learner = SGD(shard, config)
    state = learner.resume(generator, before.updates, before.eta0)
    learner.iterate(state)
    learner.fold(state)
    return ShardOutcome(updates=state.updates, eta0=state.eta0, evaluations=state.evaluations)


def keep(problem: VectorProblem, out: Arrays) -> None:
    """Copy v out, array by array."""
    for array, own in zip(out, problem.vectors(), strict=True):
        array[...] = own


def mix(vectors: list[Arrays], into: Arrays | None = None, before: int = 0) -> Arrays:
    """The mean of the vectors, array by array in float64, and of ``before`` others whose mean is
    ``into``.
    """
    mixed: Arrays = []
    for k, arrays in enumerate(zip(*vectors, strict=True)):
        total = np.zeros(arrays[0].shape) if into is None else before * into[k].astype(np.float64)
        for array in arrays:
            total += array
        total /= len(vectors) + (0 if into is None else before)
        mixed.append(total)
    return mixed


def build_parallel_gradient(
    problem: VectorProblem,
    config: LearnerConfig,
    options: Options,
) -> Learner:
    """Distributed gradient descent, for the registry of learners."""
    settings = GradientConfig(loss=loss_of_family(config), c=config.c, **options)
    return ParallelGradient(problem, settings)


def build_parameter_mixing(
    problem: VectorProblem,
    config: LearnerConfig,
    options: Options,
) -> Learner:
    """Parameter mixing, for the registry of learners. The option ``inner`` is perceptron or sgd;
    options that ``MixingConfig`` does not have are settings of that learner.

    Raises:
        ConfigError: another inner learner, or a setting that it does not accept.
    """
    inner_options = dict(options)
    inner = inner_options.pop("inner", "perceptron")
    mixing = {
        key: inner_options.pop(key)
        for key in ("shards", "iterated", "processes")
        if key in inner_options
    }
    if inner not in ("perceptron", "sgd"):
        raise ConfigError(
            f"parameter-mixing: expected inner to be perceptron or sgd, got {inner!r}"
        )
    make = sgd_config if inner == "sgd" else perceptron_config
    return ParameterMixing(problem, make(config, inner_options), MixingConfig(**mixing))
