"""k-means and the tree above its clusters, against what they promise and an enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.classes.formats import k_means, ward_paths


def drawn(seed: int, n: int, dimensions: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.random.default_rng(seed).normal(size=(n, dimensions)).astype(np.float32)


@given(st.integers(0, 1000), st.integers(1, 30), st.integers(1, 6))
@examples(60)
def test_every_vector_is_with_its_nearest_centre(seed: int, n: int, k: int) -> None:
    vectors = drawn(seed, n, 3)
    centres, classes = k_means(vectors, min(k, n))
    assert 1 <= len(centres) <= min(k, n)
    assert set(classes.tolist()) == set(range(len(centres)))
    distances = ((vectors[:, None] - centres[None]) ** 2).sum(axis=2)
    own = distances[np.arange(n), classes]
    assert (own <= distances.min(axis=1) + 1e-5).all()


def test_separate_groups_are_found_and_equal_vectors_give_equal_classes() -> None:
    groups = np.repeat(np.eye(5, dtype=np.float32), 20, axis=0) + 0.05 * drawn(1, 100, 5)
    centres, classes = k_means(groups, 5)
    assert len(centres) == 5
    assert all(len(set(classes[k : k + 20].tolist())) == 1 for k in range(0, 100, 20))
    again, of_again = k_means(groups.copy(), 5)
    assert (again == centres).all()
    assert (of_again == classes).all()


def test_fewer_distinct_vectors_than_classes() -> None:
    centres, classes = k_means(np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32), 3)
    assert len(centres) == 2
    assert classes[0] == classes[1] != classes[2]


def increase(points: list[np.ndarray], weights: list[float]) -> float:  # type: ignore[type-arg]
    """The sum of squared distances to the mean of weighted points."""
    mean = sum(weight * point for weight, point in zip(weights, points, strict=True)) / sum(weights)
    return float(sum(w * ((p - mean) ** 2).sum() for w, p in zip(weights, points, strict=True)))


def tree_by_enumeration(centres: np.ndarray, sizes: list[int]) -> set[frozenset[int]]:  # type: ignore[type-arg]
    """The sets of leaves below the nodes of Ward's tree, every union being measured anew."""
    clusters = [frozenset([k]) for k in range(len(centres))]
    found = set(clusters)

    def inertia(cluster: frozenset[int]) -> float:
        return increase([centres[k] for k in cluster], [float(sizes[k]) for k in cluster])

    while len(clusters) > 1:
        a, b = min(
            itertools.combinations(clusters, 2),
            key=lambda pair: inertia(pair[0] | pair[1]) - inertia(pair[0]) - inertia(pair[1]),
        )
        clusters = [one for one in clusters if one not in (a, b)] + [a | b]
        found.add(a | b)
    return found


def nodes_of(paths: list[str]) -> set[frozenset[int]]:
    """The sets of leaves below each prefix of the paths."""
    prefixes = {path[:size] for path in paths for size in range(len(path) + 1)}
    return {
        frozenset(k for k, path in enumerate(paths) if path.startswith(prefix))
        for prefix in prefixes
    }


@given(st.integers(0, 1000), st.integers(2, 7))
@examples(60)
def test_the_tree_is_that_of_an_enumeration(seed: int, n: int) -> None:
    centres = drawn(seed, n, 2)
    sizes = np.random.default_rng(seed).integers(1, 5, size=n)
    paths = ward_paths(centres, sizes)
    assert nodes_of(paths) == tree_by_enumeration(centres.astype(np.float64), sizes.tolist())


@pytest.mark.parametrize("n", [1, 2, 40])
def test_paths_are_those_of_a_binary_tree(n: int) -> None:
    paths = ward_paths(drawn(3, n, 4), np.ones(n, dtype=np.int64))
    assert len(set(paths)) == n
    assert all(set(path) <= {"0", "1"} and path for path in paths)
    if n > 1:  # Kraft's equality: every inner node has two children
        assert sum(2.0 ** -len(path) for path in paths) == 1.0


def test_a_deep_tree_is_cut() -> None:
    # each cluster is so far from the others that they are joined before it is
    centres = np.array([[4.0**k] for k in range(40)], dtype=np.float32)
    paths = ward_paths(centres, np.ones(40, dtype=np.int64))
    assert max(map(len, paths)) == 32
