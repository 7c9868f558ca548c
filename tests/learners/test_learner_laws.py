"""Laws that every registered learner obeys, on small problems of each structure that it fits, and
the settings that learners refuse.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learners.enumerated import random_problem
from learners.small_problems import sequences, trees

from egparse.errors import ConfigError
from egparse.fitting.choose_learner import LOSSES
from egparse.fitting.states import opened, restore_learner, saved_learner, write_record
from egparse.learners.learner import Certificate, Learner, LearnerConfig
from egparse.learners.losses import PERCEPTRON, Loss
from egparse.learners.problem import Problem, squared_norm
from egparse.learners.registry import LEARNERS, build

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "eg-online": [{}, {"published": True}, {"search": "quadratic", "curvature": 2.0}],
    "dca": [{}, {"averaged": False}],
    "mira": [{"k": 1}, {"k": 3}],
    "perceptron": [{}, {"averaged": False}],
    "sgd": [{}, {"averaged": True}],
}
CASES = [
    (name, number, structure)
    for name, entry in LEARNERS.items()
    for number in range(len(OPTIONS.get(name, [{}])))
    for structure in ("sequences", "choices", "trees")
    if structure in entry.fits
]
DUAL_ASCENT = ("eg-online", "eg-cyclic", "eg-2007", "eg-batch", "sdca", "n-slack")
"""Learners none of whose passes lowers the dual."""
DIGITS = {"frank-wolfe": 1e-11, "n-slack": 1e-7}
"""How precise the primal is of learners whose weights are sums that are made anew."""
C = 0.5


def problem_of(structure: str) -> Problem:
    """The problem; one attribute of sequences stands at every word, which some learners need."""
    if structure == "trees":
        return trees()
    return sequences(bigrams=structure == "sequences", constant=True)


def learner_of(name: str, number: int, structure: str) -> Learner:
    margin = LEARNERS[name].loss == "max-margin"
    config = LearnerConfig(beta=math.inf if margin else 1.0, gamma=float(margin), c=C, seed=3)
    return build(name, problem_of(structure), config, **OPTIONS.get(name, [{}])[number])


def shown(learner: Learner, state: Any) -> tuple[Certificate, float, list[bytes]]:
    """All that a learner shows: its objective, its work, the model."""
    certificate = learner.certificate(state)
    with learner.model_weights(state):
        vectors = [array.tobytes() for array in learner.problem.vectors()]
    return certificate, state.scale, vectors


def objective(learner: Learner, state: Any, loss: Loss, c: float) -> float:
    """sum_i L_i(w) + C/2 |w|^2 at the weights of the model, example by example."""
    with learner.model_weights(state):
        total = c / 2 * state.scale**2 * squared_norm(learner.problem)
        for i in range(learner.n):
            scores = learner.problem.scores(i) * state.scale
            total += loss.value(learner.problem, i, scores, np.empty_like(scores))
    return total


@pytest.mark.parametrize(("name", "number", "structure"), CASES)
def test_certificates_are_what_they_say(name: str, number: int, structure: str) -> None:
    """The primal is the objective of the model, and below that of no weights; the dual is a lower
    bound, which only rises; the same seed gives the same bits.
    """
    learner, entry = learner_of(name, number, structure), LEARNERS[name]
    loss = Loss(*LOSSES.get(entry.loss or "", (1.0, 0.0)))
    regularised = entry.regularised
    twin, start = learner_of(name, number, structure), 0.0
    for i in range(learner.n):
        start += loss.value(learner.problem, i, zeros := learner.problem.scores(i) * 0, 0 * zeros)
    state, same, found = learner.initialise(3.0), twin.initialise(3.0), []
    for _ in range(6):
        learner.iterate(state)
        twin.iterate(same)
        found.append(learner.certificate(state))
        wanted = objective(learner, state, loss, C if regularised else 0.0)
        digits = DIGITS.get(name, 1e-12)
        assert found[-1].primal == pytest.approx(wanted, rel=digits, abs=digits)
    assert shown(twin, same) == shown(learner, state)
    if loss != PERCEPTRON:
        assert found[-1].primal < start
    best = min(one.primal for one in found)
    for before, after in itertools.pairwise(found):
        assert after.effective_iterations >= before.effective_iterations
        assert after.dual <= best + 1e-5 * abs(best)
        if name in DUAL_ASCENT:
            assert after.dual >= before.dual - 1e-6 * abs(before.dual)
    if name in DUAL_ASCENT:
        assert 0 <= found[-1].gap + 1e-6 * abs(best) < found[0].gap + 1e-5 * abs(best)


@pytest.mark.parametrize(
    ("name", "number", "structure"), [one for one in CASES if LEARNERS[one[0]].checkpoints]
)
def test_continuing_from_a_saved_state_changes_nothing(
    name: str, number: int, structure: str, tmp_path: Path
) -> None:
    first, second = (learner_of(name, number, structure) for _ in range(2))
    state, fresh = (learner.initialise(3.0) for learner in (first, second))
    for _ in range(2):
        first.iterate(state)
        shown(first, state)
    arrays: list[Any] = []
    saved = saved_learner(first, state, arrays)
    write_record(tmp_path / "state.zip", saved, arrays)
    with opened(tmp_path / "state.zip") as record:
        restore_learner(record, record.values, second, fresh)
    for _ in range(3):
        assert shown(second, fresh) == shown(first, state)
        first.iterate(state)
        second.iterate(fresh)
    assert shown(second, fresh) == shown(first, state)


MARGIN = {"beta": math.inf, "gamma": 1.0}
NO_LOSS = {"beta": math.inf, "gamma": 0.0}
AS_PUBLISHED = {"published": True}
EG_NEEDS = r"optimum is not w = 0: .* got beta = inf, gamma = 0"
REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("eg-online", {}, {"eta": -1.0}, "eta >= 1e-09, got -1"),
    ("eg-online", {}, {"round_fraction": 0.0}, "round_fraction >= 0.001, got 0"),
    ("eg-online", {}, {"relaxation": 2.0}, "relaxation < 2, got 2"),
    ("eg-online", {}, {"anneal_decay": 1.5}, "anneal_decay <= 1, got 1.5"),
    ("eg-online", {}, {"search": "newton"}, "search among halving, quadratic, got 'newton'"),
    ("eg-online", {}, {"order": "drawn"}, "published = true with the options order"),
    ("eg-online", {}, AS_PUBLISHED | {"round_fraction": 0.3}, "round_fraction = 1 as published"),
    ("eg-online", {}, AS_PUBLISHED | {"order": "corpus"}, "order among drawn, cyclic, got 'corp"),
    ("eg-online", {}, AS_PUBLISHED | {"start": "correct"}, "start among gold, uniform, got 'cor"),
    ("eg-online", NO_LOSS, {}, EG_NEEDS),
    ("eg-cyclic", NO_LOSS, {}, EG_NEEDS),
    ("eg-cyclic", {}, {"round_fraction": 0.5}, "round_fraction = 1 as published, got 0.5"),
    ("eg-2007", NO_LOSS, {}, EG_NEEDS),
    ("eg-2007", {}, {"order": "drawn"}, "unknown option 'order'"),
    ("eg-batch", NO_LOSS, {}, EG_NEEDS),
    ("eg-batch", {}, {"start": "gold start"}, "start among gold, uniform, got 'gold start'"),
    ("eg-batch", {}, {"rate": "best"}, "rate among proven, fixed, halving, got 'best'"),
    ("eg-batch", {}, {"growth": 0.9}, "growth >= 1, got 0.9"),
    ("eg-batch", {}, {"speed": 1}, "learner eg-batch: .*speed"),
    ("dca", {"c": 0.0}, {}, "expected c > 0, got c = 0"),
    ("dca", {"beta": 0.0}, {}, "expected beta > 0 and gamma >= 0, got beta = 0"),
    ("dca", {"gamma": -1.0}, {}, "gamma = -1"),
    ("dca", NO_LOSS, {}, "the loss of the perceptron is 0 at w = 0"),
    ("dca", {}, {"speed": 3}, r"learner dca: .*'speed'"),
    ("dca", {}, {"below_zero": "other"}, "expected a?.*below_zero among .*, got 'other'"),
    ("sdca", {"c": 0.0}, {}, "expected c > 0"),
    ("sdca", {"beta": 0.0}, {}, "expected beta > 0"),
    ("mira", {"beta": 1.0}, {}, "MIRA expects a max-margin loss .beta = inf., got beta = 1"),
    ("mira", MARGIN, {"k": 0}, "expected k >= 1, got 0"),
    (
        "mira",
        MARGIN,
        {"k": 2},
        "k = 2 expects a problem that lists its k best structures .* got EnumeratedProblem",
    ),
    ("mira", MARGIN | {"c": -1.0}, {}, "expected c > 0"),
    ("perceptron", {"gamma": 1.0}, {}, r"has a fixed loss .* got beta = 1, gamma = 1"),
    ("perceptron", MARGIN, {}, "got beta = inf, gamma = 1"),
    ("perceptron", {}, {"average": True}, "learner perceptron: .*average"),
    ("sgd", {"c": -1.0}, {}, "sgd: expected c >= 0, got -1"),
    ("sgd", {}, {"eta0": 0.0}, "expected eta0 >= 1e-09, got 0"),
    ("sgd", {"beta": math.inf}, {}, "expected an eta0 for the perceptron loss"),
    ("sgd", {"beta": 0.0}, {}, "expected beta > 0"),
    ("sgd", {}, {"rate": 1.0}, "learner sgd: .*rate"),
]


def test_settings_that_cannot_work() -> None:
    for name, settings, options, message in REFUSED:
        with pytest.raises(ConfigError, match=message):
            build(name, random_problem(1), LearnerConfig(**settings), **options)


def test_options_and_losses_by_name() -> None:
    build("perceptron", random_problem(1), LearnerConfig(**NO_LOSS))
    assert (
        build("dca", random_problem(1), LearnerConfig(), averaged=False).initialise().average
        is None
    )
