"""Calibration: of the values that a model predicts with probability 0.8, 80 % should be correct.

It is measured on the predicted values: the model predicts the value of word ``k`` with confidence
``p[k]``, and ``r[k]`` is 1 if the value is correct and 0 if not. Words sorted by confidence into
bins of equal width, (0, 0.1], (0.1, 0.2], ..., make a reliability diagram. The expected calibration
error is (Guo et al. 2017, eq. 2, 3 and 5)

    ECE = sum over bins b of  (words in b / words) |accuracy of b - confidence of b|.

Two proper scoring rules complete it, because the ECE alone is small for a constant guess too:

    NLL   = -mean log(p if r else 1 - p), in nats        Brier = mean (p - r)^2

Source: Guo, Pleiss, Sun & Weinberger (2017), "On calibration of modern neural networks" (ICML).
They fit the temperature to the likelihood of the correct class among all classes; here it is fitted
to the likelihood of the prediction being correct, which needs no other probability.

Probabilities, accuracies and errors are from 0 to 1 here, as ``Sentence.probabilities`` are;
elsewhere in this room rates are per cent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.evaluation.words import require_same_lengths
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.types import Floats, Mask

BINS = 10
"""Bins of equal width from 0 to 1."""

LABELLED_ARCS = "heads and deprels"
"""The name of heads and labels together, among the names of layers."""

# Probabilities are clipped to this distance from 0 and 1: an error at probability 1 costs 21 nats,
# not infinity.
_CLIPPING = 1e-9
_MIN_TEMPERATURE, _MAX_TEMPERATURE = 0.2, 5.0
# The search for log T stops at this width.
_PRECISION = 0.01
# Standard deviation of a normal prior of log T around its start; it matters for few words only.
_PRIOR_DEVIATION = 0.5
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Bin(NamedTuple):
    """The words with a confidence in (``low``, ``high``].

    Their number, their mean confidence, and the share of them that is correct.
    """

    low: float
    high: float
    words: int
    confidence: float
    accuracy: float


class Calibration(NamedTuple):
    """All measures of calibration; ``bins`` are those that have words.

    Without words the measures are nan.
    """

    words: int
    confidence: float
    accuracy: float
    ece: float
    nll: float
    brier: float
    bins: tuple[Bin, ...]


def calibration(
    probabilities: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS
) -> Calibration:
    """All measures, from the probability of each prediction and whether it is correct.

    Both arrays have shape (words,).

    Raises:
        ValueError: shapes that differ, a probability outside [0, 1], fewer than one bin.
    """
    p, r = _checked(probabilities, right)
    diagram = reliability(p, r, bins)
    if not len(p):
        return Calibration(0, math.nan, math.nan, math.nan, math.nan, math.nan, ())
    # ECE = sum over b of (words in b / words) |accuracy of b - confidence of b|
    error = sum(b.words * abs(b.accuracy - b.confidence) for b in diagram) / len(p)
    brier = float(np.mean((p - r) ** 2))
    return Calibration(
        words=len(p),
        confidence=float(p.mean()),
        accuracy=float(r.mean()),
        ece=error,
        nll=negative_log_likelihood(p, r),
        brier=brier,
        bins=diagram,
    )


def reliability(
    probabilities: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS
) -> tuple[Bin, ...]:
    """The reliability diagram as numbers (Guo et al. 2017, section 2): bins of equal width.

    They are ordered by confidence; bins without words are left out.

    Raises:
        ValueError: as ``calibration``.
    """
    p, r = _checked(probabilities, right)
    if bins < 1:
        raise ValueError(f"expected at least one bin, got {bins}")
    number = np.searchsorted(np.linspace(0.0, 1.0, bins + 1)[1:-1], p, side="left")
    words = np.bincount(number, minlength=bins)
    confidence = np.bincount(number, weights=p, minlength=bins)
    correct = np.bincount(number, weights=r, minlength=bins)
    return tuple(
        Bin(
            low=b / bins,
            high=(b + 1) / bins,
            words=int(words[b]),
            confidence=float(confidence[b] / words[b]),
            accuracy=float(correct[b] / words[b]),
        )
        for b in np.flatnonzero(words).tolist()
    )


def negative_log_likelihood(probabilities: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """Mean over words, in nats, of -log p for a correct prediction and -log(1 - p) for a wrong one.

    Probabilities are clipped to 1e-9 and 1 - 1e-9; the mean over no words is nan.

    Raises:
        ValueError: as ``calibration``.
    """
    p, r = _checked(probabilities, right)
    if not len(p):
        return math.nan
    p = np.clip(p, _CLIPPING, 1.0 - _CLIPPING)
    return float(-np.mean(np.where(r, np.log(p), np.log1p(-p))))


def fit_temperature(
    probabilities: Callable[[float], npt.ArrayLike], right: npt.ArrayLike, start: float = 1.0
) -> float:
    """The temperature T, in [0.2, 5], that calibrates best (Guo et al. 2017, section 4.2).

    ``probabilities(T)`` are those of the predictions when scores are divided by T, which changes no
    prediction. Golden-section search in log T (about 15 evaluations) minimises the negative
    log-likelihood, summed over words, plus (log(T / start))^2 / (2 * 0.5^2). The second term is a
    normal prior, which keeps T near ``start`` where there are few words; without words T is
    ``start``.
    """
    correct = np.asarray(right, dtype=np.bool_)
    if not len(correct):
        return start

    def loss(log_t: float) -> float:
        likelihood = negative_log_likelihood(probabilities(math.exp(log_t)), correct) * len(correct)
        return likelihood + ((log_t - math.log(start)) / _PRIOR_DEVIATION) ** 2 / 2.0

    low, high = math.log(_MIN_TEMPERATURE), math.log(_MAX_TEMPERATURE)
    return math.exp(_golden_section(loss, low, high, _PRECISION))


def expected_accuracy(sentence: Sentence) -> float | None:
    """The mean probability of the heads; of all values if no head has one; None if no value has.

    Unlike the probability of the whole tree, it does not fall with the length of the sentence.
    """
    layers = sentence.probabilities or {}
    for values in (layers.get("heads", ()), chain.from_iterable(layers.values())):
        known = [value for value in values if value is not None]
        if known:
            return sum(known) / len(known)
    return None


def calibrations(
    gold: Sequence[Sentence],
    system: Sequence[Sentence],
    layers: Collection[str] | None = None,
    bins: int = BINS,
) -> dict[str, Calibration]:
    """The calibration of each layer for which the system's sentences have probabilities.

    ``layers`` restricts the layers. The words that count have a probability and a gold value. A
    value is correct if the whole cell is equal: all features, relations with their subtypes. The
    probability of a label is conditional on the arc, so only words with the correct head count for
    ``deprels``; that of head and label together, ``LABELLED_ARCS``, is the product of both.

    Raises:
        ValueError: numbers of sentences or words that differ.
    """
    if not any(sentence.probabilities for sentence in system):
        return {}
    require_same_lengths(gold, system)
    present = {layer: None for sentence in system for layer in sentence.probabilities or ()}
    wanted = [layer for layer in present if layers is None or layer in layers]
    outcomes = {layer: _outcomes(layer, gold, system) for layer in wanted}
    measured = {
        layer: calibration(of.probabilities[of.counted], of.right[of.counted], bins)
        for layer, of in outcomes.items()
        if layer != "deprels"
    }
    if "heads" in outcomes and "deprels" in outcomes:
        heads, labels = outcomes["heads"], outcomes["deprels"]
        both = heads.counted & labels.counted
        given = both & heads.right
        measured["deprels"] = calibration(labels.probabilities[given], labels.right[given], bins)
        product, right = heads.probabilities * labels.probabilities, heads.right & labels.right
        measured[LABELLED_ARCS] = calibration(product[both], right[both], bins)
    return {name: measures for name, measures in measured.items() if measures.words}


class _Outcomes(NamedTuple):
    """For each word: the probability of its value, whether that is correct, whether it counts.

    All have shape (words,); the probability of a word that does not count may be nan.
    """

    probabilities: Floats
    right: Mask
    counted: Mask


def _outcomes(layer: str, gold: Sequence[Sentence], system: Sequence[Sentence]) -> _Outcomes:
    column = [
        value
        for sentence in system
        for value in (sentence.probabilities or {}).get(layer) or (None,) * len(sentence)
    ]
    probabilities = np.array(column, dtype=np.float64)  # None becomes nan
    wanted = list(_cells(layer, gold))
    right = [a == b for a, b in zip(wanted, _cells(layer, system), strict=True)]
    return _Outcomes(
        probabilities,
        np.array(right, dtype=np.bool_),
        ~np.isnan(probabilities)
        & np.array([value is not None for value in wanted], dtype=np.bool_),
    )


def _cells(layer: str, sentences: Sequence[Sentence]) -> Iterator[str | int | None]:
    """The values of a layer, None where one is missing; ``_`` is a value in FEATS only."""
    absent = () if layer == "feats" else (MISSING, MISSING_HEAD)
    for sentence in sentences:
        column: Sequence[str | int] = getattr(sentence, layer)
        for value in column or (None,) * len(sentence):
            yield None if value in absent else value


def _checked(probabilities: npt.ArrayLike, right: npt.ArrayLike) -> tuple[Floats, Mask]:
    p, r = np.asarray(probabilities, dtype=np.float64), np.asarray(right, dtype=np.bool_)
    if p.ndim != 1 or p.shape != r.shape:
        raise ValueError(
            f"expected as many probabilities as predictions, got shapes {p.shape}, {r.shape}"
        )
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError("expected probabilities from 0 to 1, got others")
    return p, r


def _golden_section(
    function: Callable[[float], float], low: float, high: float, precision: float
) -> float:
    """The place of the minimum of a unimodal function between ``low`` and ``high``."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > precision:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2.0
