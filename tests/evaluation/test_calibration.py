"""Calibration: the definitions on small examples, laws of the measures, and temperatures that are
what they should be.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from egparse.evaluation.calibration import (
    LABELLED_ARCS,
    Bin,
    calibration,
    calibrations,
    fit_temperature,
    negative_log_likelihood,
    reliability,
)
from egparse.evaluation.report import evaluate, report_as_json
from egparse.sentences import MISSING_HEAD, Sentence

Floats = npt.NDArray[np.float64]

OUTCOMES = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


def sigmoid(z: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-z)))


def test_the_definitions_by_hand() -> None:
    p, r = [0.95, 0.95, 0.85, 0.55], [True, False, True, True]
    found = calibration(p, r)
    assert [(own.words, own.accuracy) for own in found.bins] == [(1, 1.0), (1, 1.0), (2, 0.5)]
    assert found.ece == pytest.approx((0.45 + 0.15 + 2 * 0.45) / 4)
    assert found.brier == pytest.approx((0.05**2 + 0.95**2 + 0.15**2 + 0.45**2) / 4)
    nll = -(math.log(0.95) + math.log(0.05) + math.log(0.85) + math.log(0.55)) / 4
    assert found.nll == pytest.approx(nll)
    assert (found.words, found.accuracy) == (4, 0.75)
    assert found.confidence == pytest.approx(np.mean(p))


def test_bins_are_closed_above() -> None:
    assert reliability([0.0, 0.5, 0.50001, 1.0], [False, True, True, True], bins=2) == (
        Bin(0.0, 0.5, 2, 0.25, 0.5),
        Bin(0.5, 1.0, 2, pytest.approx(0.750005), 1.0),  # type: ignore[arg-type]
    )


@given(OUTCOMES)
def test_finer_bins_hide_less(outcomes: list[tuple[float, bool]]) -> None:
    p, r = zip(*outcomes, strict=True)
    whole, coarse, fine = (calibration(p, r, bins) for bins in (1, 5, 10))
    assert whole.ece == pytest.approx(abs(whole.confidence - whole.accuracy))
    assert whole.ece - 1e-12 <= coarse.ece
    assert coarse.ece - 1e-12 <= fine.ece <= 1
    assert sum(own.words for own in fine.bins) == len(p)
    assert all(own.low <= own.confidence <= own.high + 1e-12 for own in fine.bins)
    assert fine.ece <= math.sqrt(fine.brier) + 1e-12  # |E(p - r)| <= sqrt E(p - r)^2, bin by bin


def test_probabilities_that_come_true_are_calibrated() -> None:
    random = np.random.default_rng(0)
    p = random.random(100_000)
    found = calibration(p, random.random(100_000) < p)
    assert found.ece < 0.01
    assert found.brier == pytest.approx(1 / 6, abs=0.005)  # E p (1 - p)
    assert found.nll == pytest.approx(0.5, abs=0.01)  # -E p log p - E (1 - p) log (1 - p)


def test_what_is_wrong_at_probability_one_is_finite() -> None:
    assert negative_log_likelihood([1.0], [False]) == pytest.approx(9 * math.log(10))


def test_nothing_is_nothing() -> None:
    found = calibration([], [])
    assert (found.words, found.bins) == (0, ())
    assert math.isnan(found.ece)
    assert math.isnan(negative_log_likelihood([], []))


@pytest.mark.parametrize("told", [0.5, 1.0, 2.5])
def test_the_temperature_that_made_the_scores_too_sure_is_found(told: float) -> None:
    random = np.random.default_rng(1)
    logits = random.normal(2.0, 2.0, size=50_000)
    right = random.random(50_000) < sigmoid(logits)
    found = fit_temperature(lambda t: sigmoid(told * logits / t), right)
    assert found == pytest.approx(told, rel=0.05)
    assert calibration(sigmoid(told * logits / found), right).ece < 0.01
    best = minimize_scalar(
        lambda t: negative_log_likelihood(sigmoid(told * logits / t), right),
        bounds=(0.2, 5),
        method="bounded",
    )
    assert found == pytest.approx(best.x, rel=0.01)


def test_few_words_leave_the_temperature_near_its_start() -> None:
    sure = sigmoid(np.array([3.0, 4.0]))
    assert fit_temperature(lambda t: [], [], start=0.7) == 0.7
    found = fit_temperature(lambda t: sigmoid(np.array([3.0, 4.0]) / t), [True, True])
    assert 0.9 < found < 1.0
    assert all(sure > 0.9)
    lost = fit_temperature(lambda t: sigmoid(np.array([9.0] * 500) / t), [False] * 500)
    assert lost == pytest.approx(5.0, rel=0.01)


@pytest.mark.parametrize(
    ("p", "r", "bins", "text"),
    [
        (
            [0.5],
            [True, False],
            10,
            r"as many probabilities as predictions, got shapes \(1,\), \(2,\)",
        ),
        ([1.5], [True], 10, "from 0 to 1"),
        ([math.nan], [True], 10, "from 0 to 1"),
        ([0.5], [True], 0, "at least one bin, got 0"),
    ],
)
def test_faults_are_told(p: list[float], r: list[bool], bins: int, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        calibration(p, r, bins)


GOLD = Sentence(
    ("a", "b", "c"),
    upos=("X", "_", "Z"),
    feats=("_", "A=1", "_"),
    heads=(2, 0, MISSING_HEAD),
    deprels=("x", "root", "y"),
)
SYSTEM = replace(
    GOLD,
    upos=("X", "Y", "Q"),
    feats=("_", "A=2", "_"),
    heads=(2, 1, 1),
    deprels=("z", "root", "y"),
    probabilities={
        "upos": (0.9, 0.8, None),
        "feats": (0.9, 0.8, 0.7),
        "heads": (0.6, 0.5, 0.9),
        "deprels": (0.5, 0.8, 0.9),
    },
)


def test_layers_count_what_gold_annotates_and_labels_what_has_the_right_head() -> None:
    found = calibrations([GOLD], [SYSTEM])
    assert {name: (own.words, own.accuracy) for name, own in found.items()} == {
        "upos": (1, 1.0),
        "feats": (3, pytest.approx(2 / 3)),
        "heads": (2, 0.5),
        "deprels": (1, 0.0),
        LABELLED_ARCS: (2, 0.0),
    }
    assert found["deprels"].confidence == 0.5
    assert found[LABELLED_ARCS].confidence == pytest.approx((0.6 * 0.5 + 0.5 * 0.8) / 2)
    assert set(calibrations([GOLD], [SYSTEM], {"upos", "deprels"})) == {"upos"}


def test_sentences_without_probabilities_have_no_calibration() -> None:
    assert calibrations([GOLD], [GOLD]) == {}
    assert "calibration" not in report_as_json(evaluate([GOLD], [GOLD], bootstrap=0))


def test_the_report_holds_it_and_is_json() -> None:
    gold = replace(GOLD, heads=(2, 0, 2))
    report = evaluate([gold, gold], [SYSTEM, replace(gold, probabilities=None)], bootstrap=0)
    found = json.loads(json.dumps(report_as_json(report)))["calibration"]
    assert found["heads"]["words"] == 3  # the second sentence tells none
    assert found["heads"]["bins"][0] == {
        "low": 0.4,
        "high": 0.5,
        "words": 1,
        "confidence": 0.5,
        "accuracy": 0.0,
    }
    assert "calibration" not in report_as_json(
        evaluate([gold], [SYSTEM], layers=set(), bootstrap=0)
    )
