"""The kernels of strings and trees against enumeration, and the machine on such objects."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from egparse.experiments.kernels.objects import ObjectProblem
from egparse.experiments.kernels.strings import Subsequence
from egparse.experiments.kernels.trees import Fragments, Tree
from hypothesis import given
from hypothesis import strategies as st

from egparse.errors import ConfigError, EgparseError
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build

Features = dict[Any, float]
words = st.lists(st.text("ab", max_size=6), min_size=1, max_size=4)


def subsequence_features(string: str, length: int, decay: float) -> Features:
    """One feature for each string of so many characters, by all choices of places."""
    features: Features = Counter()
    for places in itertools.combinations(range(len(string)), length):
        covered = places[-1] - places[0] + 1
        features["".join(string[place] for place in places)] += decay**covered
    return features


def product(a: Features, b: Features) -> float:
    return sum(value * b.get(key, 0.0) for key, value in a.items())


def cosine(a: Features, b: Features) -> float:
    squares = product(a, a) * product(b, b)
    return product(a, b) / squares**0.5 if squares else 0.0


@given(words, words, st.integers(1, 4), st.sampled_from([0.3, 1.0]))
def test_the_kernel_of_strings_is_the_product_of_their_features(
    a: list[str], b: list[str], length: int, decay: float
) -> None:
    found = Subsequence(length=length, decay=decay).matrix(a, b)
    written_out = [
        [
            cosine(subsequence_features(s, length, decay), subsequence_features(t, length, decay))
            for t in b
        ]
        for s in a
    ]
    assert found == pytest.approx(np.array(written_out), abs=1e-12)


def test_the_example_of_the_paper() -> None:
    """cat and car: K_2 = lambda^4, normalised 1 / (2 + lambda^2) (Lodhi et al. 2002, section 3)."""
    found = Subsequence(length=2, decay=0.7).matrix(["cat"], ["car"])
    assert found[0, 0] == pytest.approx(1 / (2 + 0.7**2))


def fragments(tree: Tree) -> list[tuple[Any, int]]:
    """The fragments whose root is that of the tree, each with its number of productions."""
    if not tree.children:
        return []
    choices = [
        [((child.label,), 0), *((own, size) for own, size in fragments(child))]
        for child in tree.children
    ]
    return [
        ((tree.label, *(own for own, _ in chosen)), 1 + sum(size for _, size in chosen))
        for chosen in itertools.product(*choices)
    ]


def nodes(tree: Tree) -> list[Tree]:
    return [tree, *(node for child in tree.children for node in nodes(child))]


def fragment_features(tree: Tree, decay: float) -> Features:
    """The root of its weight: a fragment of s productions counts decay^s in a product."""
    features: Features = Counter()
    for node in nodes(tree):
        for own, size in fragments(node):
            features[own] += decay ** (size / 2)
    return features


trees = st.recursive(
    st.sampled_from("ab").map(Tree),
    lambda children: st.builds(
        Tree, st.sampled_from("AB"), st.lists(children, min_size=1, max_size=3).map(tuple)
    ),
    max_leaves=6,
)


@given(st.lists(trees, min_size=1, max_size=3), trees, st.sampled_from([0.4, 1.0]))
def test_the_kernel_of_trees_is_the_product_of_their_fragments(
    some: list[Tree], other: Tree, decay: float
) -> None:
    found = Fragments(decay=decay).matrix(some, [other])
    written_out = [
        [cosine(fragment_features(tree, decay), fragment_features(other, decay))] for tree in some
    ]
    assert found == pytest.approx(np.array(written_out), abs=1e-12)


def test_deep_trees_do_not_exhaust_the_stack() -> None:
    tree = Tree("a")
    for _ in range(5000):
        tree = Tree("A", (tree,))
    assert Fragments(decay=0.1).matrix([tree], [tree]) == pytest.approx(np.ones((1, 1)))


def test_gram_matrices_of_objects_are_semidefinite() -> None:
    random = np.random.default_rng(1)
    strings = ["".join(random.choice(list("abc"), size=size)) for size in range(1, 15)]
    some = [Tree("S", tuple(Tree(letter, (Tree("x"),)) for letter in own)) for own in strings]
    for kernel, objects in ((Subsequence(length=2), strings), (Fragments(), some)):
        gram = kernel.matrix(objects, objects)
        assert gram == pytest.approx(gram.T)
        assert np.linalg.eigvalsh(gram).min() >= -1e-9


@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        ("subsequences", {"length": 0}, "subsequence kernel: expected length >= 1"),
        ("subsequences", {"decay": 0.0}, "subsequence kernel: expected .* 0 < decay <= 1"),
        ("fragments", {"decay": 1.5}, "tree kernel: expected 0 < decay <= 1, got 1.5"),
        ("fragments", {}, "expected a kernel of strings, got fragments, a kernel of trees"),
        ("linear", {}, "expected a kernel of strings, got linear, a kernel of vectors"),
    ],
)
def test_kernels_that_do_not_fit_are_refused(
    kernel: str, options: dict[str, Any], message: str
) -> None:
    problem = ObjectProblem("strings", ["a", "b"], [0, 1], 2)
    with pytest.raises(ConfigError, match=message):
        build("kernel-perceptron", problem, LearnerConfig(), kernel=kernel, **options)


def test_objects_and_classes_belong_together() -> None:
    with pytest.raises(EgparseError, match="expected a class for each of 2 objects"):
        ObjectProblem("strings", ["a", "b"], [0], 2)
    with pytest.raises(EgparseError, match="expected at least 2 classes, numbered below 2"):
        ObjectProblem("strings", ["a", "b"], [0, 2], 2)


def learned(problem: ObjectProblem, **options: Any) -> list[int]:
    """The classes of the training examples after 30 passes."""
    learner = build("kernel-perceptron", problem, LearnerConfig(), rule="last", **options)
    state = learner.initialise()
    for _ in range(30):
        learner.iterate(state)
    with learner.model_weights(state):
        found = problem.predict(problem.inputs().x).tolist()
    assert not problem.predict(problem.inputs().x).any()  # the machine is taken out again
    return list(found)


def test_order_is_seen_by_longer_subsequences_only() -> None:
    strings, y = ["ab", "ba", "aabb", "bbaa", "abab", "baba"], [0, 1, 0, 1, 0, 1]
    problem = ObjectProblem("strings", strings, y, 2)
    assert learned(problem, kernel="subsequences", length=2) == y
    assert learned(problem, kernel="subsequences", length=1) != y


def test_shape_is_seen_by_larger_fragments_only() -> None:
    """Two trees of the same productions; which of two equal nodes is above the other differs."""
    low, high = Tree("N", (Tree("n"),)), Tree("N", (Tree("D"), Tree("n")))
    some = [Tree("S", (Tree("A", (low,)), Tree("B", (high,))))]
    some.append(Tree("S", (Tree("A", (high,)), Tree("B", (low,)))))
    problem = ObjectProblem("trees", some, [0, 1], 2)
    assert learned(problem, kernel="fragments", decay=0.5) == [0, 1]
    gram = Fragments(decay=1e-9).matrix(some, some)
    assert gram == pytest.approx(np.ones((2, 2)))
