"""What a learner is: a class that trains the weights of a problem, with one frozen configuration
whose fields say their ranges and what they mean. A new one is one file with such a class, and its
row in ``egparse.learners.registry``. The problem holds a vector v; the model is w = ``state.scale``
v::

    learner = build("sgd", problem, LearnerConfig(c=10.0))
    state = learner.initialise(3.0)
    for _ in range(12):
        learner.iterate(state)
        certificate = learner.certificate(state)
        with learner.model_weights(state):
            model = copy_of(problem, state.scale)
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from functools import cache
from types import MappingProxyType, NoneType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from egparse.errors import ConfigError, EgparseError
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem, squared_norm
from egparse.types import Floats, Longs

Result = TypeVar("Result")

_BLOCK = 1 << 12
_WITHOUT_BLOCKS = 1 << 16
"""The most examples that are visited in an order without blocks."""


class Certificate(NamedTuple):
    """A bound on the distance of a learner from the optimum, and the work so far.

    Objective values are summed over examples, in nats (log-linear) or cost units (max-margin).

    ``primal`` = sum_i L_i(w) + C/2 |w|^2 (Collins et al. 2008, eq. 4), or inf where it is not
    computed; ``dual`` is the value of a feasible dual point, a lower bound of the optimum, or -inf
    where the learner has none. ``effective_iterations`` is evaluations / n (ibid., section 7).
    ``c`` is the constant C of the last pass, which is greater than the configured one while C is
    annealed. ``details`` are further figures of the learner, by name.
    """

    primal: float
    dual: float
    effective_iterations: float
    c: float
    details: Mapping[str, float] = MappingProxyType({})

    @property
    def gap(self) -> float:
        """Primal minus dual, an upper bound of the primal's distance from the optimum."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a fraction of the dual value."""
        return self.gap / abs(self.dual) if self.dual and self.dual > -math.inf else math.inf


class State(Protocol):
    """The variables of a training run, other than v."""

    @property
    def scale(self) -> float:
        """The factor of the model, w = scale v."""


class UnscaledState:
    """The state of a learner whose problem holds w itself."""

    @property
    def scale(self) -> float:
        """w = v."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class LearnerConfig:
    """What all learners have in common. ``beta`` and ``gamma`` choose the loss
    (``egparse.learners.losses``); ``c`` is the regularisation constant C of sum_i L_i(w) + C/2
    |w|^2.

    Annotated fields of a subclass are the options of its learner: the values or the range, then the
    meaning. Options without a meaning are for programs.

    Raises:
        ConfigError: settings that exclude each other.
    """

    beta: float = 1.0
    gamma: float = 0.0
    c: float = 10.0
    seed: int = 1

    @property
    def loss(self) -> Loss:
        """The member of the family of losses.

        Raises:
            ConfigError: beta or gamma out of range.
        """
        try:
            return Loss(self.beta, self.gamma)
        except ValueError as error:
            raise ConfigError(str(error)) from None

    @classmethod
    def under(cls, loss: Loss, **settings: Any) -> Self:
        """The configuration for a loss."""
        return cls(beta=loss.beta, gamma=loss.gamma, **settings)

    @classmethod
    def configured(cls, common: LearnerConfig, options: Mapping[str, Any]) -> LearnerConfig:
        """The configuration with these options beside what all learners have in common. Integers
        become floats where these are meant: kernels would be compiled anew for integers.

        Raises:
            ConfigError: an unknown option, a value out of range, or settings that exclude each
                other.
        """
        known, values = cls.options(), dict[str, Any]()
        for option, value in options.items():
            if option not in known:
                shared = option in {one.name for one in fields(LearnerConfig)}
                kind = "no option but a setting:" if shared else "unknown option"
                raise ConfigError(f"{kind} {option!r}")
            _require_in_range(option, value, known[option])
            is_float = float in get_args(known[option]) and type(value) is int
            values[option] = float(value) if is_float else value
        made = cls(**cls._of_common(common), **values)
        made.loss  # noqa: B018  (raises for a beta or gamma out of range)
        return made

    @classmethod
    def options(cls) -> dict[str, Any]:
        """The options of the learner: name -> annotation, in order."""
        return _options_of(cls)  # type: ignore[arg-type]

    @classmethod
    def _of_common(cls, common: LearnerConfig) -> dict[str, Any]:
        return {one.name: getattr(common, one.name) for one in fields(LearnerConfig)}


@cache
def _options_of(config: type[LearnerConfig]) -> dict[str, Any]:
    hints = get_type_hints(config, include_extras=True)
    shared = {one.name for one in fields(LearnerConfig)}
    names = [one.name for one in fields(config) if one.name not in shared]
    found = {name: _without_none(hints[name]) for name in names}
    return {name: hint for name, hint in found.items() if get_origin(hint) is Annotated}


def _without_none(hint: Any) -> Any:
    """The first member of a union with None, in which None is no value that somebody chooses."""
    return get_args(hint)[0] if NoneType in get_args(hint) else hint


def _require_in_range(option: str, value: Any, hint: Any) -> None:
    """Raise ConfigError unless an option may have a value, by its annotation."""
    if get_origin(get_args(hint)[0]) is Literal:
        choices = get_args(get_args(hint)[0])
        if value not in choices:
            raise ConfigError(f"expected {option} among {', '.join(choices)}, got {value!r}")
    for sign, limit in _bounds_of(hint):
        if value is not None and not _COMPARISONS[sign](value, limit):
            raise ConfigError(f"expected {option} {sign} {limit:g}, got {value!r}")


_COMPARISONS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
_SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


def _bounds_of(hint: Any) -> Iterator[tuple[str, float]]:
    """The bounds in the metadata of an annotation, which ``annotated_types`` names."""
    for bound in getattr(hint, "__metadata__", ()):
        for name, sign in _SIGNS.items():
            limit = getattr(bound, name, None)
            if limit is not None:
                yield sign, limit


class Learner:
    """A training algorithm on ``problem``, which holds v; ``longest`` is the number of parts of the
    largest example, and ``n`` the number of examples. ``threads`` may take parts of a certificate.
    """

    config_type: type[LearnerConfig] = LearnerConfig
    """The class of its configuration."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.longest = int(np.diff(problem.part_starts).max(initial=0))
        self.threads = 1

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.problem.part_starts) - 1

    def initialise(self, gold_theta: float | Floats = 3.0) -> Any:
        """The initial state; v is set accordingly. ``gold_theta`` sets the initial dual variables
        of learners in the dual (see ``OnlineEG.initialise``); others ignore it.
        """
        raise NotImplementedError

    def iterate(self, state: Any) -> None:
        """One pass over the examples, or about one step for learners that use all examples in each
        step.
        """
        raise NotImplementedError

    def certificate(self, state: Any) -> Certificate:
        """The objective at the model's weights and the work so far. ``dual`` is -inf for learners
        without a dual.
        """
        raise NotImplementedError

    def standing(self, state: Any) -> Certificate | None:
        """The certificate without the primal, which is inf, where that takes no inference; None
        elsewhere.
        """
        return None

    def model_weights(self, state: Any) -> AbstractContextManager[None]:
        """Context manager: inside it the problem holds the v of the weights to save, which is the
        average for averaging learners and the present v for all others.
        """
        return nullcontext()

    def saved(self) -> Any:
        """What passes change beside v and the state, as values that a checkpoint can hold."""
        return None

    def restore(self, saved: Any) -> None:
        """Continue from what ``saved`` returned, with v and a state that are set already."""

    def retarget(self, state: Any, targets: Mapping[int, Floats]) -> None:
        """Learn the examples of ``targets`` from these part vectors from now on. The state is
        afterwards as if its other variables had been reached with them; here none depends on the
        targets.

        Raises:
            ConfigError: a problem whose targets cannot be replaced.
        """
        for i, target in targets.items():
            self.problem.set_target(i, target)

    def _parts_of(self, i: int) -> slice:
        """The parts of example i in a flat array over all parts."""
        starts = self.problem.part_starts
        return slice(starts[i], starts[i + 1])


class OnlineLearner(Learner):
    """A learner that goes from one example to the next. Its state has the ``generator`` of the
    orders of visits and, if that is the model, the ``average`` of the weights.

    An ``attendant``, if there is one, is called with the state and the number of an example at each
    visit: by learners in the primal before the step, by those in the dual after it.
    """

    loss: Loss

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.attendant: Callable[[Any, int], None] | None = None

    def update(self, state: Any, i: int) -> float:
        """One step on example i."""
        raise NotImplementedError

    def next_visits(self, state: Any, by_gain: bool) -> Longs:
        """The examples to visit next, in order: all, in random order, or ``by_gain``, if the
        learner knows it, those that gain most.
        """
        return visits_of(self.n, state.generator)

    def run_steps(self, state: Any, order: Longs) -> None:
        """One step on each example of ``order``, in this order."""
        for i in order.tolist():
            self.update(state, i)

    def iterate(self, state: Any) -> None:
        """Visit every example once."""
        self.run_steps(state, self.next_visits(state, by_gain=False))

    def primal(self, state: Any, c: float) -> float:
        """sum_i L_i(w) + C/2 |w|^2 at the present weights: one pass of scores and inference."""
        loss = sum_of_losses(self.problem, self.loss, state.scale, self.threads)
        return loss + c / 2 * state.scale**2 * squared_norm(self.problem) if c else loss

    def model_weights(self, state: Any) -> AbstractContextManager[None]:
        """Inside it v is the average of the weights, if that is the model."""
        average = getattr(state, "average", None)
        return nullcontext() if average is None else average.average_weights()

    def _attend(self, state: Any, i: int) -> None:
        if self.attendant is not None:
            self.attendant(state, i)


def divide(problem: Problem, shards: int) -> list[slice]:
    """Runs of the examples with about as many parts each, as neighbours share features. There are
    no more runs than examples, and each has one at least.
    """
    starts = problem.part_starts
    n = len(starts) - 1
    shards = max(1, min(shards, n))
    wanted = starts[-1] * np.arange(1, shards) / shards
    bounds = np.concatenate([[0], np.searchsorted(starts, wanted), [n]])
    for k in range(1, shards):
        bounds[k] = min(max(bounds[k], bounds[k - 1] + 1), n - (shards - k))
    return [slice(first, end) for first, end in itertools.pairwise(bounds.tolist())]


def visits_of(n: int, generator: np.random.Generator) -> Longs:
    """The examples of a pass in random order, each once."""
    return in_blocks(generator.permutation(n), n, generator)


def in_blocks(order: Longs, n: int, generator: np.random.Generator) -> Longs:
    """An order of visits to some of ``n`` examples that goes from one block of neighbours to the
    next, blocks in random order, and within a block as before.

    With more examples than fit into memory, each visit in an order without blocks would wait for
    pages of files, and in memory for the processor's tables of pages. Corpora of up to 65,536
    examples are left as they are.
    """
    if n <= _WITHOUT_BLOCKS:
        return order
    rank = generator.permutation(-(-n // _BLOCK))
    ordered: Longs = order[np.argsort(rank[order // _BLOCK], kind="stable")]
    return ordered


def over_views(
    problem: Problem, threads: int, work: Callable[[Problem, slice], Result]
) -> list[Result]:
    """``work`` on runs of the examples, a thread each where the problem has views, else on all. It
    gets a run as a problem and as numbers of examples, and may only read v.
    """
    if threads == 1 or not problem.offers("view"):
        return [work(problem, slice(0, len(problem.part_starts) - 1))]
    with ThreadPoolExecutor(threads, "egparse-sums") as pool:
        runs = divide(problem, threads)
        return list(pool.map(lambda run: work(problem.view(run.start, run.stop), run), runs))


def sum_of_losses(problem: Problem, loss: Loss, scale: float, threads: int = 1) -> float:
    """sum_i L_i(w) at w = ``scale`` v: one pass of scores and inference."""

    def of(part: Problem, _: slice) -> float:
        total, room = 0.0, np.empty(int(np.diff(part.part_starts).max(initial=0)))
        for i in range(len(part.part_starts) - 1):
            scores = part.scores(i) * scale
            total += loss.value(part, i, scores, room[: len(scores)])
        return total

    return sum(over_views(problem, threads, of))


def require_finite_objective(name: str, value: float) -> None:
    """Raise EgparseError unless the value of an objective is finite."""
    if not math.isfinite(value):
        raise EgparseError(f"{name}: expected a finite objective, got {value}")
