"""The certificate of a learner: a bound on its distance from the optimum, and the work so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Certificate(NamedTuple):
    """Objective values are summed over examples, in nats (log-linear) or cost units (max-margin).

    ``primal`` = sum_i L_i(w) + C/2 |w|^2 (Collins et al. 2008, eq. 4); ``dual`` is the value of a
    feasible dual point, a lower bound of the optimum, or -inf where the learner has none.
    ``effective_iterations`` is evaluations / n (ibid., section 7). ``c`` is the constant C of the
    last pass, which is greater than the configured one while C is annealed. ``details`` are further
    figures of the learner, by name.
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
