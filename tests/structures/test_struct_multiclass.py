"""Independent choices against enumeration: sequences whose transitions all score zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.sequences import sequence_facts
from properties import examples

from egparse.structures.chains import multiclass

FORBIDDEN = float("-inf")
cells = st.one_of(
    st.sampled_from([0.0, 0.0, 1.0, FORBIDDEN]), st.floats(-3, 3), st.floats(-800, 800)
)
blocks = st.lists(st.lists(cells, min_size=1, max_size=4), min_size=1, max_size=4)


@examples(150)
@given(blocks)
def test_choices_are_those_of_enumeration(scores: list[list[float]]) -> None:
    starts = np.cumsum([0] + [len(own) for own in scores]).astype(np.int32)
    parts = np.concatenate(scores)
    facts = sequence_facts(
        scores, [list(range(len(own))) for own in scores], np.zeros((4, 4)).tolist()
    )
    result = multiclass.marginals(parts, starts)
    np.testing.assert_allclose(result.log_partition, facts.log_partition, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(result.marginals, np.concatenate(facts.unary), rtol=1e-9, atol=1e-12)
    assert multiclass.log_partition(parts, starts) == result.log_partition
    best = multiclass.argmax(parts, starts)
    np.testing.assert_allclose(best.score, facts.best, rtol=1e-12, atol=1e-12)
    if facts.ranked:
        np.testing.assert_allclose(multiclass.entropy(parts, result), facts.entropy, atol=1e-8)
        own = sum(block[place] for block, place in zip(scores, best.choice, strict=True))
        assert own == pytest.approx(best.score, rel=1e-12, abs=1e-12)


def test_blocks_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="at least one candidate"):
        multiclass.marginals(np.zeros(1), np.array([0, 0, 1], np.int32))
    with pytest.raises(ValueError, match="expected 2 parts"):
        multiclass.argmax(np.zeros(3), np.array([0, 2], np.int32))
