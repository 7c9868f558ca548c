"""What the experiment ``dca`` checks in numbers, where the numbers are known; and claims that are
computed from made-up results.
"""

from __future__ import annotations

import numpy as np
import pytest
from egparse.experiments.claims.losses import CRF, LOSSES, name_of
from egparse.experiments.data.problems import without_punctuation
from egparse.experiments.data.propositions import check_all, pseudo_marginals
from learners.small_problems import trees

from egparse.sentences import Sentence


def test_checks_of_the_propositions_on_a_small_problem() -> None:
    problem = trees(kind="non-projective", single_root=False)
    found = check_all(problem, 2.0, 5)
    assert found["proposition 1"]["error"] < 1e-5  # type: ignore[index]
    for own in found["subproblems"].values():  # type: ignore[attr-defined]
        assert -1e-4 <= own["gap"] < 0.02
        assert 0 < own["linearised"] <= 1.01
        assert own["inferences"] >= 1
    assert found["footnote 18"]["error"] < 1e-4  # type: ignore[index]
    assert found["MIRA"]["error"] < 1e-4  # type: ignore[index]
    excess = [row["excess"] for row in found["limit of beta"]]  # type: ignore[attr-defined]
    assert excess == sorted(excess, reverse=True)
    rows = found["large beta"]
    assert all(row["walk"] < 1e-9 for row in rows)  # type: ignore[attr-defined]
    assert rows[-1]["inverse"] > 1e-3  # type: ignore[index]
    # the checks leave the problem usable
    assert problem.weights.any()


def test_estimates_from_pseudo_marginals_are_counted() -> None:
    found = pseudo_marginals(100)
    assert 0 < found["above"] <= found["below zero"] < found["graphs"] == 100
    assert found["most"] > 0


def test_punctuation_is_left_out() -> None:
    sentences = [Sentence(forms=("A", "(", "b", "$"))]
    right = np.array([True, False, False, True])
    found = without_punctuation(sentences, right)
    assert found == {"without punctuation": pytest.approx(100 * 2 / 3)}


def test_losses_have_names() -> None:
    assert name_of(LOSSES[0]) == CRF == "beta 1, gamma 0 (CRF)"
    assert name_of(LOSSES[-1]) == "beta inf, gamma 1 (SVM)"
