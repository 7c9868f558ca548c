"""Laws of distributions over label sequences at lengths where nothing can be enumerated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from egparse.structures.chains import chain
from egparse.structures.chains.chain import Floats, Ints

sizes = pytest.mark.parametrize(("n", "n_labels"), [(30, 20), (80, 7), (200, 3)])
candidates = pytest.mark.parametrize("listed", [False, True], ids=["full", "listed"])


def sentence(n: int, n_labels: int, listed: bool, spread: float = 2.0) -> tuple[Floats, Ints, Ints]:
    random = np.random.default_rng(n)
    lists = [np.arange(n_labels)] * n
    if listed:
        lists = [np.flatnonzero(random.random(n_labels) < 0.5) for _ in range(n)]
        lists = [own if len(own) else np.array([k % n_labels]) for k, own in enumerate(lists)]
    starts = np.cumsum([0] + [len(own) for own in lists]).astype(np.int32)
    labels = np.concatenate(lists).astype(np.int32)
    return random.normal(size=len(labels) + n_labels**2) * spread, starts, labels


@sizes
@candidates
def test_zero_scores_count_the_sequences(n: int, n_labels: int, listed: bool) -> None:
    parts, starts, labels = sentence(n, n_labels, listed)
    result = chain.marginals(np.zeros_like(parts), starts, labels, n_labels)
    count = float(np.log(np.diff(starts)).sum())  # n log L if all labels are candidates
    assert result.log_partition == pytest.approx(count, rel=1e-12)


@sizes
@candidates
@pytest.mark.parametrize("spread", [2.0, 100.0])
def test_every_word_has_one_label_and_every_gap_one_transition(
    n: int, n_labels: int, listed: bool, spread: float
) -> None:
    parts, starts, labels = sentence(n, n_labels, listed, spread)
    marginals = chain.marginals(parts, starts, labels, n_labels).marginals
    np.testing.assert_allclose(
        np.add.reduceat(marginals[: starts[-1]], starts[:-1]), 1.0, rtol=1e-9
    )
    assert marginals[starts[-1] :].sum() == pytest.approx(n - 1, rel=1e-9)
    assert marginals.min() >= 0.0


@sizes
@candidates
def test_marginals_are_the_gradient_of_log_partition(n: int, n_labels: int, listed: bool) -> None:
    parts, starts, labels = sentence(n, n_labels, listed)
    marginals = chain.marginals(parts, starts, labels, n_labels).marginals
    step = 1e-5
    for r in np.random.default_rng(1).choice(len(parts), 20, replace=False):
        up, down = parts.copy(), parts.copy()
        up[r] += step
        down[r] -= step
        change = (
            chain.marginals(up, starts, labels, n_labels).log_partition
            - chain.marginals(down, starts, labels, n_labels).log_partition
        )
        assert change / (2 * step) == pytest.approx(marginals[r], abs=1e-6)


@sizes
@candidates
def test_shift_of_all_scores(n: int, n_labels: int, listed: bool) -> None:
    parts, starts, labels = sentence(n, n_labels, listed)
    shifted = parts.copy()
    shifted[: starts[-1]] += 3.0
    shifted[starts[-1] :] -= 1.0
    before, after = (chain.marginals(own, starts, labels, n_labels) for own in (parts, shifted))
    assert after.log_partition - before.log_partition == pytest.approx(3.0 * n - (n - 1), rel=1e-9)
    np.testing.assert_allclose(after.marginals, before.marginals, rtol=1e-8, atol=1e-12)


@sizes
@candidates
def test_log_partition_lies_between_the_best_and_the_best_times_all(
    n: int, n_labels: int, listed: bool
) -> None:
    parts, starts, labels = sentence(n, n_labels, listed)
    best = chain.argmax(parts, starts, labels, n_labels).score
    log_z = chain.marginals(parts, starts, labels, n_labels).log_partition
    assert best <= log_z <= best + float(np.log(np.diff(starts)).sum())


def test_full_and_listed_candidates_agree() -> None:
    # one label that no word may have turns the vectorised path into the one that looks transitions
    # up
    n, n_labels = 40, 5
    parts, starts, labels = sentence(n, n_labels, False)
    wider = np.full((n_labels + 1, n_labels + 1), -math.inf)
    wider[:n_labels, :n_labels] = parts[starts[-1] :].reshape(n_labels, n_labels)
    full = chain.marginals(parts, starts, labels, n_labels)
    listed = chain.marginals(
        np.concatenate([parts[: starts[-1]], wider.ravel()]), starts, labels, n_labels + 1
    )
    assert listed.log_partition == pytest.approx(full.log_partition, rel=1e-12)
    np.testing.assert_allclose(
        listed.marginals[: starts[-1]], full.marginals[: starts[-1]], rtol=1e-9, atol=1e-13
    )
