"""Arc features: scores are linear in the weights, changes are exact, templates are checked."""

from __future__ import annotations

import numpy as np
import pytest

from egparse.errors import ConfigError
from egparse.features.arcs import (
    add_arcs,
    codes_for,
    compile_arc_templates,
    encode_arcs,
    score_arcs,
)
from egparse.features.default_templates import ARC_TEMPLATES
from egparse.parsing.columns import BETWEEN, arc_column_names
from egparse.storage.arrays import Weights

NAMES = list(arc_column_names())
TEMPLATES = compile_arc_templates(ARC_TEMPLATES, NAMES, BETWEEN)


def sentence(n: int, seed: int = 0) -> tuple:
    generator = np.random.default_rng(seed)
    values = generator.integers(2, 9, size=(n + 1, len(NAMES))).astype(np.int32)
    values[0] = 1
    codes = codes_for(TEMPLATES, n)
    encode_arcs(values, TEMPLATES, codes)
    arcs = np.array(
        [(h, d) for h in range(n + 1) for d in range(1, n + 1) if h != d], dtype=np.int16
    )
    return codes, arcs


def scores_of(codes, arcs, weights) -> np.ndarray:
    table = weights if isinstance(weights, Weights) else Weights(weights)
    scores = np.empty(len(arcs))
    score_arcs(codes, TEMPLATES, arcs, table, np.empty(4096, dtype=np.uint32), scores)
    return scores


def test_weights_in_bytes_give_the_scores_of_the_same_weights_in_full() -> None:
    codes, arcs = sentence(6)
    cells = np.random.default_rng(3).integers(-127, 128, 1 << 10).astype(np.int8)
    table = Weights(cells, 2.0**-9)
    np.testing.assert_array_equal(
        scores_of(codes, arcs, table), scores_of(codes, arcs, table.in_full())
    )


def test_scores_are_linear_and_the_change_of_the_norm_is_exact() -> None:
    codes, arcs = sentence(6)
    weights = np.zeros(1 << 18, dtype=np.float32)
    changes = np.random.default_rng(1).normal(size=len(arcs))
    places = np.empty(4096, dtype=np.uint32)
    grown = add_arcs(codes, TEMPLATES, arcs, changes, weights, places)
    squared = float(weights.astype(np.float64) @ weights.astype(np.float64))
    assert grown == pytest.approx(squared, rel=1e-9)
    # sum_r changes_r (F v)_r = |F' changes|^2 = |v|^2
    assert changes @ scores_of(codes, arcs, weights) == pytest.approx(squared, rel=1e-4)
    assert grown + add_arcs(codes, TEMPLATES, arcs, -changes, weights, places) == pytest.approx(
        0.0, abs=1e-6
    )


def test_direction_and_length_of_an_arc_matter() -> None:
    codes, arcs = sentence(4)
    weights = np.random.default_rng(2).normal(size=1 << 18).astype(np.float32)
    scores = scores_of(codes, arcs, weights)
    assert len(np.unique(scores.round(4))) == len(arcs)


@pytest.mark.parametrize("text", ["h.lemma + d.xpos", "x.form", "h.form[a]"])
def test_a_faulty_template_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ConfigError) as fault:
        compile_arc_templates([text], NAMES, BETWEEN)
    assert text in str(fault.value)
