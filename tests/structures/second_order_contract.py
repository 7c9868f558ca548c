"""What both dynamic programs of second order promise, checked through one interface: sibling trees ignore the grandparents."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from oracles.second_order_trees import second_order_facts, second_order_score
from oracles.trees import is_projective, is_single_rooted, is_tree

from egparse.structures import grandparent_trees, sibling_trees
from egparse.structures.dependency_trees import BestTree, Floats
from egparse.structures.second_order_parts import grandparent_cells, sibling_cells

FORBIDDEN = float("-inf")


class Parts(NamedTuple):
    """Scores of all parts of a sentence; cells that are never read hold nan."""

    arcs: Floats
    siblings: Floats
    grandparents: Floats


def spoilt(arcs: Floats, siblings: Floats, grandparents: Floats) -> Parts:
    """The scores, with nan in every cell that is never read."""
    size = len(arcs)
    arcs = arcs.copy()
    arcs[:, 0] = np.nan
    np.fill_diagonal(arcs, np.nan)
    return Parts(
        arcs,
        np.where(sibling_cells(size), siblings, np.nan),
        np.where(grandparent_cells(size), grandparents, np.nan),
    )


def random_parts(n: int, spread: float = 1.0, seed: int = 0) -> Parts:
    """Normal scores of standard deviation ``spread``."""
    rng = np.random.default_rng(seed)
    size = n + 1
    return spoilt(
        rng.normal(0, spread, (size,) * 2),
        rng.normal(0, spread, (size,) * 3),
        rng.normal(0, spread, (size,) * 3),
    )


@st.composite
def part_scores(draw: st.DrawFn, max_words: int = 5) -> Parts:
    """Scores of up to 1e4 in size, with ties and forbidden parts of every kind."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, max_words)) + 1
    spread = draw(st.sampled_from([0.0, 1.0, 30.0, 1e4]))
    ties = draw(st.booleans())
    forbidden = draw(st.sampled_from([0.0, 0.0, 0.1, 0.4]))

    def scores(dimensions: int) -> npt.NDArray[np.float64]:
        array = rng.uniform(-spread, spread, (size,) * dimensions)
        if ties:
            array = np.sign(array) * spread
        array[rng.random(array.shape) < forbidden] = FORBIDDEN
        return array

    return spoilt(scores(2), scores(3), scores(3))


def used(structure: ModuleType, parts: Parts) -> tuple[Floats, ...]:
    """The scores that the functions of ``structure`` take."""
    return parts[:2] if structure is sibling_trees else parts


def dense(probabilities: dict[Any, float], shape: tuple[int, ...]) -> Floats:
    array = np.zeros(shape)
    for part, probability in probabilities.items():
        array[part] = probability
    return array


def size_of(parts: Parts) -> float:
    """The largest score, at least 1."""
    return float(max(1.0, np.nanmax(np.where(np.isfinite(parts.siblings), np.abs(parts.siblings), 0.0))))


def check_distribution(structure: ModuleType, parts: Parts, single_root: bool) -> None:
    """Log Z and the marginals of every kind of part are those of the enumerated trees."""
    scores = used(structure, parts)
    facts = second_order_facts(*parts[:2], parts[2] if len(scores) > 2 else None, single_root)
    result = structure.marginals(*scores, single_root)
    # a rounding error of the scores is a relative error of the probabilities
    size = size_of(parts)
    near = {"rtol": 1e-13 * size + 1e-11, "atol": 1e-12}
    # and an absolute error of log Z, which may be near 0 where scores are not
    np.testing.assert_allclose(
        result.log_partition, facts.log_partition, rtol=1e-12, atol=1e-12 + 1e-14 * size
    )
    np.testing.assert_allclose(
        structure.log_partition(*scores, single_root),
        facts.log_partition,
        rtol=1e-12,
        atol=1e-12 + 1e-14 * size,
    )
    np.testing.assert_allclose(result.arcs, dense(facts.arcs, result.arcs.shape), **near)
    np.testing.assert_allclose(result.siblings, dense(facts.siblings, result.siblings.shape), **near)
    if structure is grandparent_trees:
        np.testing.assert_allclose(
            result.grandparents, dense(facts.grandparents, result.siblings.shape), **near
        )


def check_argmax(structure: ModuleType, parts: Parts, single_root: bool) -> None:
    """The best tree is a tree of the kind, scores what it says, and no tree scores more."""
    scores = used(structure, parts)
    grandparents = parts[2] if len(scores) > 2 else None
    facts = second_order_facts(*parts[:2], grandparents, single_root)
    best: BestTree = structure.argmax(*scores, single_root)
    if facts.best == FORBIDDEN:
        assert best.score == FORBIDDEN
        assert best.heads.tolist() == [-1] * len(parts.arcs)
        return
    heads = best.heads.tolist()
    assert is_tree(heads)
    assert is_projective(heads)
    assert not single_root or is_single_rooted(heads)
    rounding = 1e-12 + 1e-14 * size_of(parts)
    np.testing.assert_allclose(best.score, facts.best, rtol=1e-12, atol=rounding)
    own = second_order_score(parts.arcs, parts.siblings, grandparents, heads)
    np.testing.assert_allclose(best.score, own, rtol=1e-12, atol=rounding)
