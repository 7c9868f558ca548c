"""The passes of a learner, each with its certificate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from egparse.learners.certificate import Certificate
from egparse.learners.learner import Learner


def passes(learner: Learner, state: Any, count: int) -> Iterator[Certificate]:
    """The certificate after each of ``count`` passes."""
    for _ in range(count):
        learner.iterate(state)
        yield learner.certificate(state)
