"""Whether probabilities can be believed: of the values that a model gives 0.8, 80 % should be
right.

Calibration is measured on what a model chose: word ``k`` got its value with confidence ``p[k]``,
and ``r[k]`` says whether the value is right. Words in bins of equal width by confidence make a
reliability diagram; the expected calibration error is

    ECE = sum over bins b of  (words in b / words) |accuracy of b - confidence of b|          (Guo
    et al. 2017, eq. 2, 3 and 5),

with bins that are closed above, (0, 0.1], (0.1, 0.2], ... Two proper scores of the same
probabilities, which no constant guess makes small: negative log-likelihood -mean log(p if r else 1
- p), in nats, and the Brier score mean (p - r)^2.

Guo, Pleiss, Sun & Weinberger 2017, "On calibration of modern neural networks" (ICML). They fit a
temperature to the likelihood of the correct class among all; here it is that of the choice being
right, for which the probability of the choice is enough.

Probabilities, accuracies and errors are from 0 to 1 here, as ``Sentence.probabilities`` are;
elsewhere in this room rates are per cent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.evaluation.words import require_same_lengths
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.types import Floats, Mask

BINS = 10
"""Bins of equal width from 0 to 1."""

LABELLED_ARCS = "heads and deprels"
"""What heads and labels together are called beside the layers."""

# of a probability, from 0 and from 1: what is wrong at probability 1 costs 21 nats, not infinity
_SUREST = 1e-9
_COLDEST, _HOTTEST = 0.2, 5.0
_PRECISION = 0.01  # of log T
# of log T around its start, as if normally distributed: counts where there are few words only
_SPREAD = 0.5
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Bin(NamedTuple):
    """The words of confidence above ``low`` and up to ``high``: how many, their mean confidence,
    and the share that is right.
    """

    low: float
    high: float
    words: int
    confidence: float
    accuracy: float


class Calibration(NamedTuple):
    """How far probabilities can be believed; ``bins`` are those that have words. All are nan
    without words.
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
    """Every measure, from the probability of each choice and whether it is right, both of shape
    (words,).

    Raises:
        ValueError: shapes that differ, a probability outside of 0 to 1, fewer than one bin.
    """
    p, r = _checked(probabilities, right)
    found = reliability(p, r, bins)
    if not len(p):
        return Calibration(0, math.nan, math.nan, math.nan, math.nan, math.nan, ())
    error = sum(own.words * abs(own.accuracy - own.confidence) for own in found) / len(p)
    brier = float(np.mean((p - r) ** 2))
    return Calibration(
        len(p), float(p.mean()), float(r.mean()), error, negative_log_likelihood(p, r), brier, found
    )


def reliability(
    probabilities: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS
) -> tuple[Bin, ...]:
    """The reliability diagram as numbers: bins of equal width that have words, from low to high
    (Guo et al. 2017, section 2).

    Raises:
        ValueError: as ``calibration``.
    """
    p, r = _checked(probabilities, right)
    if bins < 1:
        raise ValueError(f"expected at least one bin, got {bins}")
    number = np.searchsorted(np.linspace(0.0, 1.0, bins + 1)[1:-1], p, side="left")
    words = np.bincount(number, minlength=bins)
    sure = np.bincount(number, weights=p, minlength=bins)
    correct = np.bincount(number, weights=r, minlength=bins)
    return tuple(
        Bin(
            b / bins,
            (b + 1) / bins,
            int(words[b]),
            float(sure[b] / words[b]),
            float(correct[b] / words[b]),
        )
        for b in np.flatnonzero(words).tolist()
    )


def negative_log_likelihood(probabilities: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """Mean over words, in nats, of -log p where the choice is right and -log(1 - p) where it is
    wrong; p at least 1e-9 from 0 and 1.
    """
    p, r = _checked(probabilities, right)
    if not len(p):
        return math.nan
    p = np.clip(p, _SUREST, 1.0 - _SUREST)
    return float(-np.mean(np.where(r, np.log(p), np.log1p(-p))))


def fit_temperature(
    probabilities: Callable[[float], npt.ArrayLike], right: npt.ArrayLike, start: float = 1.0
) -> float:
    """The temperature T, from 0.2 to 5, at which the choices are likeliest to be as right as they
    are (Guo et al. 2017, section 4.2).

    ``probabilities(T)`` are those of the choices under scores divided by T; dividing changes no
    choice. What is minimised, by golden-section search in log T (some 15 evaluations), is the
    negative log-likelihood of all words together plus (log(T / start))^2 / (2 * 0.5^2), which keeps
    T near ``start`` where there are few words, and at it where there are none.
    """
    correct = np.asarray(right, dtype=np.bool_)
    if not len(correct):
        return start

    def loss(log_t: float) -> float:
        likelihood = negative_log_likelihood(probabilities(math.exp(log_t)), correct) * len(correct)
        return likelihood + ((log_t - math.log(start)) / _SPREAD) ** 2 / 2.0

    return math.exp(_golden_section(loss, math.log(_COLDEST), math.log(_HOTTEST), _PRECISION))


def calibrations(
    gold: Sequence[Sentence],
    system: Sequence[Sentence],
    layers: Collection[str] | None = None,
    bins: int = BINS,
) -> dict[str, Calibration]:
    """The calibration of each layer (of ``layers``, if not None) of which the system's sentences
    tell the probabilities.

    Counted are words that have a probability and are annotated in gold. A value is right if the
    whole cell is gold's: features one and all, relations with their subtypes. The probability of a
    label is that given the arc, so only words with the right head count for ``deprels``; head and
    label together, ``LABELLED_ARCS``, have the product of both.

    Raises:
        ValueError: numbers of sentences or words that differ.
    """
    if not any(own.probabilities for own in system):
        return {}
    require_same_lengths(gold, system)
    told = {layer: None for own in system for layer in own.probabilities or ()}
    wanted = [layer for layer in told if layers is None or layer in layers]
    found = {layer: _outcomes(layer, gold, system) for layer in wanted}
    measured = {
        layer: calibration(own.probabilities[own.counted], own.right[own.counted], bins)
        for layer, own in found.items()
        if layer != "deprels"
    }
    if "heads" in found and "deprels" in found:
        heads, labels = found["heads"], found["deprels"]
        both = heads.counted & labels.counted
        given = both & heads.right
        measured["deprels"] = calibration(labels.probabilities[given], labels.right[given], bins)
        product, right = heads.probabilities * labels.probabilities, heads.right & labels.right
        measured[LABELLED_ARCS] = calibration(product[both], right[both], bins)
    return {name: own for name, own in measured.items() if own.words}


class _Outcomes(NamedTuple):
    """For each word: how probable its value is, whether it is right, and whether that is known; all
    of shape (words,).
    """

    probabilities: Floats
    right: Mask
    counted: Mask


def _outcomes(layer: str, gold: Sequence[Sentence], system: Sequence[Sentence]) -> _Outcomes:
    told = [
        value
        for own in system
        for value in (own.probabilities and own.probabilities.get(layer)) or (None,) * len(own)
    ]
    probabilities = np.array(told, dtype=np.float64)  # None becomes nan
    wanted = list(_cells(layer, gold))
    right = [a == b for a, b in zip(wanted, _cells(layer, system), strict=True)]
    return _Outcomes(
        probabilities,
        np.array(right, dtype=np.bool_),
        ~np.isnan(probabilities)
        & np.array([value is not None for value in wanted], dtype=np.bool_),
    )


def _cells(layer: str, sentences: Sequence[Sentence]) -> Iterator[str | int | None]:
    """The values of a layer, None where there is none: ``_`` is one in FEATS alone."""
    absent = () if layer == "feats" else (MISSING, MISSING_HEAD)
    for sentence in sentences:
        column: Sequence[str | int] = getattr(sentence, layer)
        for value in column or (None,) * len(sentence):
            yield None if value in absent else value


def _checked(probabilities: npt.ArrayLike, right: npt.ArrayLike) -> tuple[Floats, Mask]:
    p, r = np.asarray(probabilities, dtype=np.float64), np.asarray(right, dtype=np.bool_)
    if p.ndim != 1 or p.shape != r.shape:
        raise ValueError(
            f"expected as many probabilities as choices, got shapes {p.shape}, {r.shape}"
        )
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError("expected probabilities from 0 to 1, got others")
    return p, r


def _golden_section(
    function: Callable[[float], float], low: float, high: float, precision: float
) -> float:
    """Where a function with one minimum between ``low`` and ``high`` has it."""
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
