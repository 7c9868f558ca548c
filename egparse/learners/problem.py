"""What a learner sees of a training problem: examples made of parts, and nothing of chains, trees
or features.

Example ``i`` has parts; a structure is a set of parts (more generally a vector of part counts). Its
score is linear in the weights: the part scores are ``F_i v`` for the sparse part features ``F_i``.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from egparse.learners.eg.step import Duals, Rule
from egparse.types import Floats, Longs, Shorts


class Problem(Protocol):
    """The contract between learners and tasks. Arrays that a method returns are its own scratch,
    valid until the next call.

    ``part_starts`` (int64, n + 1): example i owns the places ``part_starts[i]:part_starts[i + 1]``
    of any flat array over all parts.
    """

    part_starts: Longs

    def gold(self, i: int) -> Floats:
        """The part vector z_i of the correct structure."""

    def cost(self, i: int) -> Floats:
        """The cost of each part: l(y, y_i) = cost . y + constant; the constant makes the cost of
        y_i 0.
        """

    def cost_constant(self, i: int) -> float:
        """The constant q of the cost (Martins et al. 2010, section 2)."""

    def scores(self, i: int) -> Floats:
        """F_i v: the score of each part under the weight vector as it stands."""

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Write the part marginals of the Gibbs distribution of the potentials; return log Z in
        nats.
        """

    def maximum(self, i: int, potentials: Floats, out: Floats) -> float:
        """Write the part vector of the best structure; return its score."""

    def add(self, i: int, changes: Floats) -> float:
        """v += F_i' changes; return the change of |v|^2, exact for v as stored."""

    def reset(self) -> None:
        """v = 0."""


@runtime_checkable
class SweepingProblem(Problem, Protocol):
    """A problem that can make many EG steps in one call, by the same kernels: short examples cannot
    afford Python's calls.
    """

    def sweep(self, order: Longs, rule: Rule, duals: Duals) -> tuple[int, float]:
        """One step on each example of ``order``; returns the evaluations made and the change of
        |v|^2.
        """


@runtime_checkable
class GroupedProblem(Problem, Protocol):
    """A problem with groups of parts of which every structure has just one, such as the possible
    heads of a word.
    """

    def groups(self, i: int) -> Shorts:
        """The group of each part of example i, a number below that of the parts plus two."""
