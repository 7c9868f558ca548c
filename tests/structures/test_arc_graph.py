"""The places of parts in an arc graph and the parts of a tree, against their definitions.

Also what the tests of pruned and loopy trees share: sparse graphs at random, and their trees by
enumeration.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.trees import Heads, all_trees

from egparse.structures.second_order.arc_graph import ArcGraph, lay_out, mark_tree

Floats = npt.NDArray[np.float64]
Part = tuple[str, int, int, int]
"""A kind, and three words: (h, h, d) for arcs, starts and stops, (h, s, d) for siblings, (g, h, d)
for grandparents.
"""

FORBIDDEN = -math.inf
ROOTS = pytest.mark.parametrize("single_root", [True, False], ids=["single", "multi"])
PAIRS = pytest.mark.parametrize(
    ("siblings", "grandparents"),
    [(True, True), (True, False), (False, True), (False, False)],
    ids=["both", "siblings", "grandparents", "arcs"],
)


def parts_of(graph: ArcGraph) -> list[Part]:
    """The part in each place, from what the module says of the order."""
    arcs = [(int(h), int(d)) for h, d in graph.arcs]
    parts: list[Part] = [("arc", h, h, d) for h, d in arcs]
    for h, d in arcs:
        if graph.siblings:
            inward = [s for g, s in arcs if g == h and (h < s < d or d < s < h)]
            parts.append(("start", h, h, d))
            parts += [("sibling", h, s, d) for s in sorted(inward, key=lambda s: abs(s - h))]
            parts.append(("stop", h, h, d))
        if graph.grandparents:
            parts += [("grandparent", g, h, d) for g in sorted(g for g, own in arcs if own == h)]
    return parts


def tree_parts(heads: Heads) -> set[Part]:
    """The parts of a tree, of all kinds."""
    parts: set[Part] = set()
    for d in range(1, len(heads)):
        h = heads[d]
        same_side = [s for s in range(1, len(heads)) if heads[s] == h and (s < h) == (d < h)]
        inward = [s for s in same_side if abs(s - h) < abs(d - h)]
        parts.add(("arc", h, h, d))
        if inward:
            parts.add(("sibling", h, max(inward, key=lambda s: abs(s - h)), d))
        else:
            parts.add(("start", h, h, d))
        if len(inward) == len(same_side) - 1:
            parts.add(("stop", h, h, d))
        if h > 0:
            parts.add(("grandparent", heads[h], h, d))
    return parts


class Listed(NamedTuple):
    """The distribution over the candidates' trees: log Z, the marginals of parts, all scores above
    -inf, best first.
    """

    log_partition: float
    marginals: Floats
    ranked: list[float]


def listed(
    graph: ArcGraph, potentials: Floats, single_root: bool, projective: bool = True
) -> Listed:
    """What enumeration says."""
    parts = parts_of(graph)
    arcs = {(int(h), int(d)) for h, d in graph.arcs}
    rows = []
    for heads in all_trees(len(graph.into) - 2, single_root, projective):
        if all((heads[d], d) in arcs for d in range(1, len(heads))):
            held = tree_parts(heads)
            rows.append([part in held for part in parts])
    table = np.array(rows, dtype=bool).reshape(len(rows), len(parts))
    scores = np.array(
        [
            math.fsum(potentials[row]) if (potentials[row] > FORBIDDEN).all() else FORBIDDEN
            for row in table
        ]
    )
    if not (scores > FORBIDDEN).any():
        return Listed(FORBIDDEN, np.zeros(len(parts)), [])
    log_z = float(np.logaddexp.reduce(scores))
    ranked = sorted(scores[scores > FORBIDDEN].tolist(), reverse=True)
    return Listed(log_z, np.exp(scores - log_z) @ table, ranked)


def random_graph(
    n: int, candidates: int, seed: int, siblings: bool = True, grandparents: bool = True
) -> ArcGraph:
    """Candidate heads near to each word, and the word before it: so there is a tree."""
    rng = np.random.default_rng(seed)
    arcs = {(d - 1, d) for d in range(1, n + 1)}
    for d in range(1, n + 1):
        others = [h for h in range(max(0, d - 6), min(n, d + 6) + 1) if h != d]
        for h in rng.choice(others, size=min(candidates - 1, len(others)), replace=False):
            arcs.add((int(h), d))
    return lay_out(np.array(sorted(arcs), dtype=np.int16), n + 1, siblings, grandparents)


def random_potentials(graph: ArcGraph, spread: float, seed: int) -> Floats:
    """Normal potentials for all parts."""
    return np.random.default_rng(seed).normal(0, spread, graph.pairs[-1])


class Pruned(NamedTuple):
    graph: ArcGraph
    potentials: Floats


@st.composite
def pruned(draw: st.DrawFn, max_words: int = 5) -> Pruned:
    """Candidates with and without a tree; potentials of up to 1e4 in size, with ties and forbidden
    parts of every kind.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, max_words)) + 1
    density = draw(st.sampled_from([0.4, 0.7, 1.0]))
    every = [
        (h, d) for h in range(size) for d in range(1, size) if h != d and rng.random() < density
    ]
    arcs = np.array(every, dtype=np.int16).reshape(len(every), 2)
    graph = lay_out(rng.permutation(arcs), size, draw(st.booleans()), draw(st.booleans()))
    spread = draw(st.sampled_from([0.0, 1.0, 30.0, 1e4]))
    potentials = rng.uniform(-spread, spread, graph.pairs[-1])
    if draw(st.booleans()):
        potentials = np.sign(potentials) * spread
    potentials[rng.random(len(potentials)) < draw(st.sampled_from([0.0, 0.0, 0.1, 0.3]))] = (
        FORBIDDEN
    )
    return Pruned(graph, potentials)


def place_of(graph: ArcGraph) -> dict[Part, int]:
    return {part: place for place, part in enumerate(parts_of(graph))}


@PAIRS
@pytest.mark.parametrize("n", [1, 2, 9])
def test_arcs_and_their_parts_lie_as_documented(n: int, siblings: bool, grandparents: bool) -> None:
    graph = random_graph(n, 4, n, siblings, grandparents)
    assert (graph.siblings, graph.grandparents) == (siblings, grandparents)
    arcs = [(int(h), int(d)) for h, d in graph.arcs]
    assert arcs == sorted(arcs, key=lambda arc: (arc[0], arc[1] > arc[0], abs(arc[1] - arc[0])))
    for h in range(n + 1):
        for side in range(2):
            block = arcs[graph.blocks[2 * h + side] : graph.blocks[2 * h + side + 1]]
            assert block == [(g, d) for g, d in arcs if g == h and (d > h) == bool(side)]
        incoming = [arcs[a] for a in graph.incoming[graph.into[h] : graph.into[h + 1]]]
        assert incoming == sorted(arc for arc in arcs if arc[1] == h)
    parts = parts_of(graph)
    assert len(parts) == graph.pairs[-1]
    for a, arc in enumerate(arcs):
        own = parts[graph.pairs[a] : graph.pairs[a + 1]]
        assert all(
            (part[2] if part[0] == "grandparent" else part[1], part[3]) == arc for part in own
        )


def test_the_order_of_arcs_does_not_matter() -> None:
    graph = random_graph(12, 5, 0)
    again = lay_out(np.random.default_rng(1).permutation(graph.arcs), 13, True, True)
    for own, other in zip(again, graph, strict=True):
        np.testing.assert_array_equal(own, other)


@PAIRS
@pytest.mark.parametrize("n", [1, 2, 4])
def test_marked_are_the_parts_of_the_tree(n: int, siblings: bool, grandparents: bool) -> None:
    every = [(h, d) for h in range(n + 1) for d in range(1, n + 1) if h != d]
    graph = lay_out(np.array(every, dtype=np.int16), n + 1, siblings, grandparents)
    parts = parts_of(graph)
    marks = np.full(len(parts), np.nan)
    for heads in all_trees(n, False, False):
        assert mark_tree(graph, np.array(heads, dtype=np.int32), marks) == 0
        held = tree_parts(heads)
        assert marks.tolist() == [float(part in held) for part in parts]


@given(drawn=pruned(), seed=st.integers(0, 1000))
def test_what_is_no_candidate_is_passed_over(drawn: Pruned, seed: int) -> None:
    graph = drawn.graph
    n = len(graph.into) - 2
    trees = all_trees(n, False, False)
    heads = trees[seed % len(trees)]
    marks = np.empty(graph.pairs[-1])
    missing = mark_tree(graph, np.array(heads, dtype=np.int32), marks)
    candidates = {(int(h), int(d)) for h, d in graph.arcs}
    kept = tuple(h if d == 0 or (h, d) in candidates else -1 for d, h in enumerate(heads))
    assert missing == sum(h == -1 for h in kept[1:])
    held = {part for part in tree_parts(kept) if part[1] >= 0}
    assert marks.tolist() == [float(part in held) for part in parts_of(graph)]
