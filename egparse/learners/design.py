"""Problems of choices laid open: which attributes each choice has, and which pairs of attribute and
label have a weight.

Most learners need only scores, inference and ``add`` (``egparse.learners.problem``). Those that
count, and those that solve for one weight at a time, must see the weights behind the scores. A
problem whose examples are choices among labels, one by one or along sequences whose label bigrams
have weights too, offers them as a ``Design`` and takes weights back. Others do not, and such
learners refuse them by name.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from egparse.errors import ConfigError
from egparse.learners.learner import VectorProblem
from egparse.types import Floats, Longs, Mask


class Design(NamedTuple):
    """N choices among L labels, with A attributes.

    Choice k has the attributes ``attributes[row_starts[k]:row_starts[k + 1]]`` with their
    ``values``, the correct label ``labels[k]``, and chooses among the labels where
    ``candidates[k]`` (N, L) is true (None: all). Attribute a has weights for the labels
    ``pair_labels[pair_starts[a]:pair_starts[a + 1]]``, ascending; a score is the sum of values
    times weights.

    ``groups`` (A,): the attributes of a group exclude each other, and have the value 1 (None: any
    number of attributes, any values). ``sequence_starts`` (S + 1): sequence s is the choices
    ``sequence_starts[s]:sequence_starts[s + 1]``. ``bigrams[previous, next]`` (L, L) says which
    label bigrams inside sequences have a weight, None: none, so that every choice is made alone;
    with an ``order`` above 1 longer label n-grams have weights too, which the design does not show.
    """

    row_starts: Longs
    attributes: Longs
    values: Floats
    groups: Longs | None
    labels: Longs
    label_count: int
    candidates: Mask | None
    pair_starts: Longs
    pair_labels: Longs
    sequence_starts: Longs
    bigrams: Mask | None
    order: int

    @property
    def attribute_count(self) -> int:
        """A."""
        return len(self.pair_starts) - 1

    def pair_attributes(self) -> Longs:
        """(pairs,): the attribute of every weight."""
        return np.repeat(np.arange(self.attribute_count), np.diff(self.pair_starts))


@runtime_checkable
class OpenProblem(VectorProblem, Protocol):
    """A problem that shows its design and takes weights back."""

    def design(self) -> Design:
        """The design; the order of its pairs never changes."""

    def set_weights(self, pairs: Floats, bigrams: Floats | None = None) -> None:
        """Set v: ``pairs`` in the order of the design, and ``bigrams`` (L, L) where the design has
        any (None: 0); others stay 0.
        """


def opened(learner: str, problem: VectorProblem, *, sequences: bool) -> tuple[OpenProblem, Design]:
    """The problem and its design, for a learner of sequences or of single choices.

    Raises:
        ConfigError: a problem of another structure, saying by name what does not fit.
    """
    fits = "sequences of labels" if sequences else "choices made one by one (multiclass problems)"
    if not isinstance(problem, OpenProblem):
        raise ConfigError(
            f"{learner} fits {fits}; it needs to know the weights of every attribute and label, "
            f"and {type(problem).__name__} does not lay them open"
        )
    design = problem.design()
    if not sequences and design.bigrams is not None:
        raise ConfigError(
            f"{learner} fits {fits}; this one has weights of label bigrams (set bigrams = false "
            "to do without)"
        )
    if design.order > 1:
        raise ConfigError(
            f"{learner} fits {fits} with label bigrams alone; this one has longer label n-grams "
            "(set order = 1)"
        )
    if sequences and design.bigrams is None:
        raise ConfigError(
            f"{learner} fits {fits}; this one has no weights of label bigrams (a tagger has with "
            "bigrams = true; "
            f"naive-bayes counts without)"
        )
    return problem, design
