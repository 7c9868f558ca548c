"""When training stops: by the development score where there is no dual, whatever the primal does,
and by the gap where there is one.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext

import pytest

from egparse.config.sections import StopConfig
from egparse.errors import EgparseError
from egparse.fitting.optimise import optimise
from egparse.fitting.prepared import Best, Prepared
from egparse.fitting.progress import Iteration, Step
from egparse.learners.learner import Certificate

INF = math.inf


class Scripted:
    """A learner whose certificates are written down; the predictor is the number of passes."""

    scale = 1.0

    def __init__(self, primals: list[float], duals: list[float]) -> None:
        self.primals, self.duals, self.passes = primals, duals, 0

    def initialise(self, gold_theta: object = 3.0) -> Scripted:
        return self

    def iterate(self, state: Scripted) -> None:
        self.passes += 1

    def certificate(self, state: Scripted) -> Certificate:
        return Certificate(
            self.primals[self.passes - 1], self.duals[self.passes - 1], self.passes, 1.0
        )

    def standing(self, state: Scripted) -> Certificate | None:
        return None

    def model_weights(self, state: Scripted) -> AbstractContextManager[None]:
        return nullcontext()


def trained(
    primals: list[float],
    scores: list[float] | None,
    duals: list[float] | None = None,
    **stop: float,
) -> tuple[Best[int], list[Iteration]]:
    learner = Scripted(primals, duals or [-INF] * len(primals))
    heard: list[Iteration | Step] = []
    config = StopConfig(**{"iterations": len(primals), "patience": 2, **stop})  # type: ignore[arg-type]
    rate = None if scores is None else lambda passes: scores[passes - 1]
    prepared = Prepared(learner, learner.initialise(), lambda state: learner.passes)
    best = optimise(prepared, config, rate, "heads", heard.append)
    return best, [event for event in heard if isinstance(event, Iteration)]


@pytest.mark.parametrize(
    "primals",
    [
        [9.0, 8.0, 7.0, 6.0, 5.0, 4.0],
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0],  # dca, mira and the perceptron do not minimise it
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [-5.0, 3.0, -5.0, 3.0, -5.0, 3.0],  # approximate inference
    ],
)
def test_without_a_dual_the_development_score_alone_decides(primals: list[float]) -> None:
    best, records = trained(primals, [50.0, 60.0, 59.0, 61.0, 61.0, 60.0])
    assert best.predictor == 4
    assert best.reason == "no better development score for 2 passes"
    assert len(records) == 6
    assert [record.best for record in records] == [True, True, False, True, False, False]
    assert all(record.relative_gap == INF for record in records)


def test_patience_counts_from_the_first_pass_without_a_dual() -> None:
    best, records = trained([5.0, 4.0, 3.0, 2.0], [70.0, 60.0, 65.0, 80.0])
    assert (best.predictor, len(records)) == (1, 3)


def test_far_from_the_optimum_a_stale_score_is_waited_out() -> None:
    primals, scores = [100.0, 90.0, 80.0, 70.0, 60.0], [70.0, 60.0, 65.0, 80.0, 81.0]
    best, records = trained(primals, scores, [10.0] * 5)
    assert (best.predictor, best.reason) == (5, "5 passes")
    best, records = trained(primals, scores, [0.95 * primal for primal in primals])
    assert (best.predictor, len(records)) == (1, 3)


def test_a_small_gap_ends_it() -> None:
    best, records = trained([10.0, 5.0, 5.0], None, [1.0, 4.9999, 5.0])
    assert (best.predictor, best.reason, len(records)) == (2, "duality gap at most 0.1 %", 2)


class Rising(Scripted):
    """A learner whose dual is at hand, and whose gaps are a tenth of it at least."""

    def standing(self, state: Scripted) -> Certificate:
        dual = ([1.0, *self.duals])[self.passes]
        return Certificate(INF, dual, self.passes, 1.0)


def test_the_primal_is_computed_only_where_a_condition_may_be_met() -> None:
    """That is where the dual hardly rises, and after the last pass."""
    duals = [10.0, 20.0, 30.0, 30.5, 30.6, 50.0]
    learner, seen = Rising([1.2 * dual for dual in duals], duals), list[Iteration | Step]()
    prepared = Prepared(learner, learner.initialise(), lambda state: learner.passes)
    best = optimise(prepared, StopConfig(iterations=6), None, "upos", seen.append)
    primals = [event.primal for event in seen if isinstance(event, Iteration)]
    assert primals == pytest.approx([INF, INF, INF, 36.6, 36.72, 60.0])
    assert best.record.relative_gap == pytest.approx(0.2)


def test_without_development_data_the_last_model_is_kept() -> None:
    best, _ = trained([1.0, 2.0, 3.0], None)
    assert (best.predictor, best.reason) == (3, "3 passes")


@pytest.mark.parametrize(("primal", "dual"), [(math.nan, -INF), (INF, -INF), (1.0, math.nan)])
def test_an_objective_that_is_no_number_is_an_error(primal: float, dual: float) -> None:
    with pytest.raises(EgparseError, match="heads: the objective is not finite after pass 2"):
        trained([1.0, primal], None, [0.0, dual])


def test_a_predictor_without_certificates_and_one_that_is_finished() -> None:
    learner = Scripted([1.0] * 5, [0.0] * 5)
    prepared = Prepared(learner, learner.initialise(), lambda state: learner.passes)
    assert prepared.current() == 0
    assert prepared.after(3) == 3
    assert prepared.then(lambda passes: f"after {passes}").current() == "after 3"
