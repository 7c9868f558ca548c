"""Independent choices against enumeration: sequences whose transitions all score zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.sequences import sequence_facts
from properties import examples
from tolerances import DOUBLE, score_rounding

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
    marginals = np.full_like(parts, np.nan)
    log_z = multiclass.softmax(parts, starts, marginals)
    near = score_rounding(parts, len(scores))
    np.testing.assert_allclose(log_z, facts.log_partition, rtol=0, atol=near)
    np.testing.assert_allclose(marginals, np.concatenate(facts.unary), rtol=3 * near, atol=DOUBLE)
    choice = np.full(len(scores), -1, dtype=np.int32)
    best = multiclass.best_choice(parts, starts, choice)
    np.testing.assert_allclose(best, facts.best, rtol=0, atol=near)
    if facts.ranked:
        chosen = sum(block[place] for block, place in zip(scores, choice, strict=True))
        assert chosen == pytest.approx(best, rel=0, abs=near)
