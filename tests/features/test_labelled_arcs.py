"""Features of labelled arcs: scores are linear in the weights, changes are exact, labels have
places of their own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from egparse.features.arcs import (
    ArcCodes,
    ArcLabels,
    ArcTemplates,
    add_labels,
    codes_for,
    compile_arc_templates,
    encode_arcs,
    score_labels,
)
from egparse.storage.arrays import Weights

Floats = npt.NDArray[np.float64]
Arcs = npt.NDArray[np.int16]

NAMES = ("form", "upos")
TEMPLATES = ("h.upos + d.upos", "+ d.upos", "h.form + d.upos", "h.upos + d.form d.form[-1]")
LINE = 16


def compiled(texts: tuple[str, ...] = TEMPLATES) -> ArcTemplates:
    return compile_arc_templates(texts, NAMES, "upos")


def encoded(values: npt.NDArray[np.int32], templates: ArcTemplates) -> ArcCodes:
    codes = codes_for(templates, len(values) - 1)
    encode_arcs(values, templates, codes)
    return codes


def sentence(n: int, seed: int) -> tuple[npt.NDArray[np.int32], Arcs, ArcLabels]:
    """Words, all arcs, and some labels for most of them."""
    random = np.random.default_rng(seed)
    values = random.integers(0, 5, size=(n + 1, 2)).astype(np.int32)
    arcs = np.array(
        [(h, d) for h in range(n + 1) for d in range(1, n + 1) if h != d], dtype=np.int16
    )
    own = [np.sort(random.permutation(40)[: random.integers(0, 5)]) for _ in arcs]
    starts = np.cumsum([0, *map(len, own)]).astype(np.int32)
    return values, arcs, ArcLabels(np.concatenate(own).astype(np.uint8), starts)


def every_label(count: int = 255) -> ArcLabels:
    """All labels for one arc."""
    return ArcLabels(np.arange(count, dtype=np.uint8), np.array([0, count], dtype=np.int32))


def features_of(
    codes: ArcCodes, templates: ArcTemplates, arcs: Arcs, candidates: ArcLabels, bits: int
) -> Floats:
    """(labels, 2^bits): how often a labelled arc has the feature of each place, by adding one at a
    time.
    """
    found = np.zeros((len(candidates.labels), 1 << bits))
    for k in range(len(found)):
        weights = np.zeros(1 << bits, dtype=np.float32)
        changes = np.zeros(len(found))
        changes[k] = 1.0
        add_labels(codes, templates, arcs, candidates, changes, weights)
        found[k] = weights
    return found


def scores_of(
    codes: ArcCodes,
    templates: ArcTemplates,
    arcs: Arcs,
    candidates: ArcLabels,
    weights: npt.NDArray[np.float32] | Weights,
) -> Floats:
    table = weights if isinstance(weights, Weights) else Weights(weights)
    scores = np.zeros(len(candidates.labels))
    score_labels(codes, templates, arcs, candidates, table, scores)
    return scores


@pytest.mark.parametrize("bits", [8, 16])
def test_scores_after_a_change_are_its_products_with_the_gram_matrix(bits: int) -> None:
    templates = compiled()
    values, arcs, candidates = sentence(4, bits)
    codes, random = encoded(values, templates), np.random.default_rng(bits)
    features = features_of(codes, templates, arcs, candidates, bits)
    assert (features.sum(axis=1) == len(TEMPLATES)).all()
    gram = features @ features.T
    before = random.normal(size=1 << bits).astype(np.float32)
    changes = random.normal(size=len(gram)) * (random.random(len(gram)) < 0.6)
    weights = before.copy()
    grown = add_labels(codes, templates, arcs, candidates, changes, weights)
    moved = scores_of(codes, templates, arcs, candidates, weights)
    moved -= scores_of(codes, templates, arcs, candidates, before)
    assert moved == pytest.approx(gram @ changes, abs=1e-4)
    squared = np.sum(weights.astype(np.float64) ** 2) - np.sum(before.astype(np.float64) ** 2)
    assert grown == pytest.approx(squared, rel=1e-9, abs=1e-9)


def test_weights_are_added_to_what_is_there() -> None:
    templates = compiled()
    values, arcs, candidates = sentence(3, 1)
    scores = np.arange(len(candidates.labels), dtype=np.float64)
    weights = np.ones(1 << 10, dtype=np.float32)
    codes = encoded(values, templates)
    score_labels(codes, templates, arcs, candidates, Weights(weights), scores)
    assert scores.tolist() == [k + len(TEMPLATES) for k in range(len(scores))]


@pytest.mark.parametrize("extreme", [0, -128, 127])
def test_weights_in_bytes_give_the_scores_of_the_same_weights_in_full(extreme: int) -> None:
    templates = compiled(tuple(f"h.upos + d.upos d.upos[{k}]" for k in range(256)))
    values, arcs, _ = sentence(4, 5)
    every = [rank for rank in range(255) for _ in range(rank % 3)]
    labels = np.array(every[: 6 * len(arcs)], dtype=np.uint8)
    starts = np.linspace(0, len(labels), len(arcs) + 1).astype(np.int32)
    candidates, codes = ArcLabels(labels, starts), encoded(values, templates)
    cells = np.random.default_rng(2).integers(-128, 128, 1 << 10).astype(np.int8)
    if extreme:
        cells[:] = extreme
    table = Weights(cells, 2.0**-7)
    found = scores_of(codes, templates, arcs, candidates, table)
    in_full = scores_of(codes, templates, arcs, candidates, table.in_full())
    np.testing.assert_array_equal(found, in_full)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("dependent", [1, 2, 3])
def test_labels_of_one_line_have_places_of_their_own(bits: int, dependent: int) -> None:
    """The 16 most frequent labels share a line; ranks above are in other lines, so that none stands
    in for another.
    """
    templates = compiled()
    first = templates._replace(head_sides=templates.head_sides[:1])
    values = np.arange(8, dtype=np.int32).reshape(4, 2)
    arcs = np.array([(0, dependent)], dtype=np.int16)
    features = features_of(encoded(values, templates), first, arcs, every_label(), bits)
    assert (features.sum(axis=1) == 1).all()
    places = features.argmax(axis=1)
    assert len(set(places.tolist())) == 255
    lines = places // LINE
    for start in range(0, 255, LINE):
        assert len(set(lines[start : start + LINE].tolist())) == 1
    assert len(set(lines.tolist())) == LINE
    assert set((lines // LINE).tolist()) == {lines[0] // LINE}, "neighbouring lines"


def test_the_direction_matters_to_all_templates_and_the_length_to_the_first() -> None:
    templates = compiled()
    values = np.full((6, 2), 3, dtype=np.int32)
    codes, label = encoded(values, templates), every_label(1)
    place = {
        (h, d): set(
            np.flatnonzero(
                features_of(codes, templates, np.array([(h, d)], dtype=np.int16), label, 16)[0]
            ).tolist()
        )
        for h, d in ((1, 2), (2, 1), (3, 4), (2, 4), (2, 5))
    }
    # alike words: only offsets that reach beyond the sentence, direction and length tell arcs apart
    assert place[1, 2] == place[3, 4]
    assert not place[1, 2] & place[2, 1]
    assert len(place[1, 2] & place[2, 4]) == len(TEMPLATES) - 1
    assert len(place[2, 4] & place[2, 5]) == len(TEMPLATES) - 1


def test_an_arc_without_labels_and_a_change_of_nothing_leave_the_weights_alone() -> None:
    templates = compiled()
    values, arcs, candidates = sentence(3, 2)
    codes = encoded(values, templates)
    weights = np.zeros(1 << 10, dtype=np.float32)
    nothing = np.zeros(len(candidates.labels))
    assert add_labels(codes, templates, arcs, candidates, nothing, weights) == 0
    none = ArcLabels(np.zeros(0, dtype=np.uint8), np.zeros(len(arcs) + 1, dtype=np.int32))
    assert add_labels(codes, templates, arcs, none, np.zeros(0), weights) == 0
    assert not weights.any()
