"""What a learner sees of a training problem: examples made of parts, and nothing of chains, trees
or features.

Example ``i`` has parts. A structure is a set of parts, or more generally a vector of part counts.
Its score is linear in the weights: the part scores are ``F_i v`` for the sparse part features
``F_i``.

``Problem`` is the contract with which online exponentiated gradient makes do; ``VectorProblem``,
whose v can be read and written as a whole, is that of all other learners. The remaining contracts
are for what one learner can use (``GroupedProblem``, ``DividedProblem``, ``CompiledStepsProblem``)
or needs (``KBestProblem``, ``ExplicitProblem``, ``ShardableProblem``); learners ask for them by
``isinstance``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from egparse.errors import ConfigError
from egparse.learners.design import DesignMatrix
from egparse.learners.eg.step import DualVariables, StepRule
from egparse.types import Floats, Longs, Mask, Shorts


class Problem(Protocol):
    """The contract between learners and the trainable layers.

    Arrays that a method returns are buffers of the problem, valid until its next call.
    ``part_starts`` (n + 1,): in a flat array over all parts, the parts of example i are
    ``part_starts[i]:part_starts[i + 1]``.
    """

    part_starts: Longs

    def gold(self, i: int) -> Floats:
        """The part vector z_i of the correct structure, (parts,)."""

    def cost(self, i: int) -> Floats:
        """The cost p of each part, (parts,): a structure y costs p'y + q."""

    def cost_constant(self, i: int) -> float:
        """The constant q of the cost, which makes the cost of z_i 0 (Martins et al. 2010, section
        2).
        """

    def scores(self, i: int) -> Floats:
        """F_i v, (parts,): the score of each part under the present weight vector."""

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Write the part marginals of the Gibbs distribution of the potentials into ``out``
        (parts,); return log Z in nats.
        """

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """Write the part vector of the best structure into ``out`` (parts,); return its score."""

    def add(self, i: int, changes: Floats) -> float:
        """v += F_i' changes; return the change of |v|^2, exact for v as stored."""

    def reset(self) -> None:
        """v = 0."""


class VectorProblem(Problem, Protocol):
    """A problem whose v can be read and written as a whole, and whose examples can have a second
    v.
    """

    def vectors(self) -> tuple[npt.NDArray[np.floating[Any]], ...]:
        """The arrays that hold v, not copies, in an order that never changes."""

    def with_own_weights(self) -> VectorProblem:
        """The same examples with another v, 0 at first.

        Both problems share their buffers, so an array that one returned is valid until the next
        call of either.
        """


@runtime_checkable
class ShardableProblem(VectorProblem, Protocol):
    """A problem that can be divided among threads, processes or machines."""

    def shard(self, first: int, end: int) -> VectorProblem:
        """The examples from ``first`` up to ``end`` as a problem, numbered from 0.

        Its v, of the same arrays in the same order, is its own and 0 at first, and so are its
        buffers: it can be used in another thread. Features are shared with this problem, not
        copied; where it is pickled, those of its examples alone go along. Targets are those of
        now. It need not be able to say what the model is.
        """


@runtime_checkable
class ViewedProblem(VectorProblem, Protocol):
    """A problem of which several threads can read some examples each."""

    def view(self, first: int, end: int) -> CompiledSumsProblem:
        """The examples from ``first`` up to ``end``, numbered from 0, with the v of this problem
        and buffers of their own.
        """


@runtime_checkable
class CompiledStepsProblem(Problem, Protocol):
    """A problem that makes many EG steps in one call, by the same kernels as ``OnlineEG.update``:
    for short examples the calls from Python would take most of the time.
    """

    def run_steps(self, order: Longs, rule: StepRule, duals: DualVariables) -> tuple[int, float]:
        """One step on each example of ``order``; returns the number of inference calls and the
        change of |v|^2.
        """


class Visit(NamedTuple):
    """What the step on an example took: calls of inference, the changes of |v|^2 one after the
    other, and whether the groups of parts had rates of their own to the end.
    """

    evaluations: int
    norm_changes: Sequence[float]
    grouped: bool


@runtime_checkable
class CompiledVisitsProblem(Problem, Protocol):
    """A problem that makes a log-linear EG step in fewer calls than ``OnlineEG.update``: threads
    would wait for Python's lock before and after each.
    """

    def visit(self, i: int, rule: StepRule, duals: DualVariables, grouped: bool) -> Visit:
        """One step on example i; ``grouped``, with a rate for each group of parts."""

    def certify(self, i: int, c: float, duals: DualVariables) -> tuple[float, float]:
        """The loss of example i at w = v / c, and the correction of the dual for the rounding of
        its marginals.
        """

    def visit_all(
        self, order: Longs, rule: StepRule, duals: DualVariables, single_rate: Mask
    ) -> tuple[int, float] | None:
        """``visit`` to each example of ``order``; those that ``single_rate`` marks, now or by a
        visit, have one rate. Returns the number of inference calls and the change of |v|^2, or None
        where this cannot be done in one call.
        """

    def certify_all(self, c: float, duals: DualVariables) -> tuple[float, float] | None:
        """The sums of ``certify``; None where this cannot be done in one call."""


@runtime_checkable
class CompiledSumsProblem(Problem, Protocol):
    """A problem that goes over all examples in one call for the log-linear loss, by the same
    kernels as ``OnlineEG.initialise`` and ``OnlineEG.certificate``.
    """

    def start_all(self, height: Floats, duals: DualVariables) -> float | None:
        """Fill the dual variables, with theta ``height[i]`` on the correct parts of example i;
        returns |v|^2, or None where this cannot be done in one call.
        """

    def sum_losses(self, c: float, duals: DualVariables) -> tuple[float, float] | None:
        """The sum of the losses at w = v / c, and that of the corrections of the dual for the
        rounding of marginals; None where this cannot be done in one call.
        """


@runtime_checkable
class GroupedProblem(Problem, Protocol):
    """A problem whose parts fall into groups of which every structure has exactly one part, such as
    the possible heads of a word.
    """

    def groups(self, i: int) -> Shorts:
        """The group of each part of example i, (parts,); less than the number of parts plus two."""


@runtime_checkable
class DividedProblem(Problem, Protocol):
    """A problem with choices among parts that exclude each other."""

    def division(self, i: int) -> tuple[Shorts, bool]:
        """The group of each part of example i, (parts,), -1 for parts in none; a structure has at
        most one part of a group. Then whether the structures are all combinations of one part of
        each group, so that the groups are independent at any potentials. Groups are less than the
        number of parts plus two.
        """


@runtime_checkable
class KBestProblem(Problem, Protocol):
    """A problem that can list its best structures."""

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """Part vectors (k, parts) of the k best structures, best first. There are fewer rows where
        there are fewer structures, but at least one.
        """


@runtime_checkable
class ExplicitProblem(VectorProblem, Protocol):
    """A problem that shows the weights behind its scores as a design matrix, and takes weights
    back.
    """

    def design(self) -> DesignMatrix:
        """The design matrix; the order of its pairs never changes."""

    def set_weights(self, pairs: Floats, bigrams: Floats | None = None) -> None:
        """Set v to ``pairs`` (pairs,), in the order of the design matrix, and ``bigrams`` (L, L)
        where it has any (None: 0). All other weights become 0.
        """


def require_design(
    learner: str, problem: VectorProblem, *, sequences: bool
) -> tuple[ExplicitProblem, DesignMatrix]:
    """The problem and its design matrix, for a learner of sequences or of single choices.

    Raises:
        ConfigError: a problem that has no design matrix, or one of another structure.
    """
    fits = "sequences of labels" if sequences else "choices made one by one (multiclass problems)"
    if not isinstance(problem, ExplicitProblem):
        raise ConfigError(
            f"{learner} fits {fits}; it needs the weight of every attribute and label, and "
            f"{type(problem).__name__} has no design matrix"
        )
    design = problem.design()
    if not sequences and design.bigrams is not None:
        raise ConfigError(
            f"{learner} fits {fits}; this problem has weights of label bigrams (set bigrams = "
            "false to do without)"
        )
    if sequences and design.bigrams is None:
        raise ConfigError(
            f"{learner} fits {fits}; this problem has no weights of label bigrams (set bigrams = "
            "true, or use naive-bayes, which counts without)"
        )
    return problem, design


def shard_of(problem: VectorProblem, first: int, end: int) -> VectorProblem:
    """Some examples of a problem as a problem (``ShardableProblem``).

    Raises:
        ConfigError: a problem that cannot be divided.
    """
    if not isinstance(problem, ShardableProblem):
        raise ConfigError(
            "expected a problem that can be divided among several jobs, got "
            f"{type(problem).__name__}"
        )
    return problem.shard(first, end)
