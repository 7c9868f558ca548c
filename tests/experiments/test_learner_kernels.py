"""Kernels against enumeration of their features, and the kernel perceptron against the primal
one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.kernels import Gaussian, Linear, Polynomial, StringKernel, Tree, TreeKernel
from egparse.experiments.kernels.kernel_perceptron import KernelModel, KernelPerceptron

Floats = np.ndarray

vectors = st.integers(0, 10_000).map(
    lambda seed: np.random.default_rng(seed).choice([-1.0, 0.0, 0.0, 0.5, 2.0], size=(7, 4))
)
strings = st.lists(st.text("abc", max_size=7), min_size=1, max_size=6)


def subsequences(s: str, length: int, decay: float) -> Counter[str]:
    """phi_u(s) = the sum of decay ^ span over the places of u in s."""
    features: Counter[str] = Counter()
    for places in combinations(range(len(s)), length):
        features["".join(s[place] for place in places)] += decay ** (places[-1] - places[0] + 1)
    return features


def fragments_at(node: Tree) -> list[tuple[Tree, int]]:
    """The fragments with this root, and of how many productions each is made: every child is cut
    off or taken further.
    """
    choices = []
    for child in node[1:]:
        if isinstance(child, str):
            choices.append([(child, 0)])
        else:
            choices.append([((child[0],), 0), *fragments_at(child)])
    return [
        ((node[0], *(part for part, _ in chosen)), 1 + sum(size for _, size in chosen))
        for chosen in product(*choices)
    ]


def fragments(tree: Tree, decay: float) -> Counter[Tree]:
    """phi_f(T) = occurrences times the root of decay ^ size."""
    features: Counter[Tree] = Counter()
    for fragment, size in fragments_at(tree):
        features[fragment] += decay ** (size / 2)
    for child in tree[1:]:
        if not isinstance(child, str):
            features.update(fragments(child, decay))
    return features


def inner(a: Counter[Any], b: Counter[Any]) -> float:
    return sum(a[key] * b[key] for key in a.keys() & b.keys())


def gram(features: list[Counter[Any]]) -> Floats:
    return np.array([[inner(a, b) for b in features] for a in features])


def unit(matrix: Floats) -> Floats:
    lengths = np.sqrt(np.diag(matrix))
    lengths[lengths == 0] = np.inf
    return matrix / lengths[:, None] / lengths[None, :]


def is_semidefinite(matrix: Floats) -> bool:
    return bool(
        np.allclose(matrix, matrix.T)
        and np.linalg.eigvalsh(matrix).min() >= -1e-9 * max(1.0, np.abs(matrix).max())
    )


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> Tree:
    label = draw(st.sampled_from("AB"))
    children = (
        st.sampled_from("Ax") if depth == 0 else st.sampled_from("Ax") | trees(depth=depth - 1)
    )
    return (label, *draw(st.lists(children, min_size=1, max_size=2)))


@given(vectors)
def test_vector_kernels_are_what_they_say(x: Floats) -> None:
    assert Linear().matrix(x, x) == pytest.approx(x @ x.T)
    assert Polynomial(degree=3, constant=2.0).matrix(x, x[:2]) == pytest.approx(
        (x @ x[:2].T + 2.0) ** 3
    )
    far = ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2)
    assert Gaussian(sigma2=3.0).matrix(x, x) == pytest.approx(np.exp(-far / 6.0))
    for kernel in (Linear(), Polynomial(), Gaussian()):
        assert is_semidefinite(kernel.matrix(x, x))
        assert kernel.matrix(csr_matrix(x), csr_matrix(x[:3])) == pytest.approx(
            kernel.matrix(x, x[:3])
        )


def test_the_polynomial_kernel_is_the_product_of_its_features() -> None:
    """The six features of McDonald 2009, "Example: Polynomial Kernel"."""

    def features(x: Floats) -> Floats:
        a, b = x
        root = np.sqrt(2.0)
        return np.array([a * a, b * b, root * a, root * b, root * a * b, 1.0])

    x = np.array([[1.0, 2.0], [-0.5, 3.0]])
    written_out = np.array([[features(a) @ features(b) for b in x] for a in x])
    assert Polynomial(degree=2).matrix(x, x) == pytest.approx(written_out)


@given(strings, st.integers(1, 4), st.sampled_from([0.3, 0.5, 1.0]))
def test_the_string_kernel_is_that_of_enumerated_subsequences(
    examples: list[str], length: int, decay: float
) -> None:
    expected = gram([subsequences(own, length, decay) for own in examples])
    raw = StringKernel(length=length, decay=decay, normalise=False).matrix(examples, examples)
    assert raw == pytest.approx(expected)
    normalised = StringKernel(length=length, decay=decay).matrix(examples, examples)
    assert normalised == pytest.approx(unit(expected))
    assert is_semidefinite(normalised)


def test_the_example_of_the_string_kernel_paper() -> None:
    """Lodhi et al. 2002, section 3: K_2(cat, car) = decay^4, K_2(cat, cat) = 2 decay^4 + decay^6,
    normalised 1 / (2 + decay^2).
    """
    kernel = StringKernel(length=2, decay=0.5)
    assert kernel.matrix(["cat"], ["car", "cat"])[0] == pytest.approx([1 / 2.25, 1.0])
    raw = StringKernel(length=2, decay=0.5, normalise=False).matrix(["cat"], ["car", "cat"])[0]
    assert raw == pytest.approx([0.5**4, 2 * 0.5**4 + 0.5**6])


def test_strings_may_be_numbers() -> None:
    kernel = StringKernel(length=2)
    numbers = [np.array([7, 1, 5]), np.array([7, 1, 9])]
    assert kernel.matrix(numbers, numbers) == pytest.approx(
        kernel.matrix(["cat", "car"], ["cat", "car"])
    )


@settings(max_examples=60)
@given(st.lists(trees(), min_size=1, max_size=4), st.sampled_from([0.3, 1.0]))
def test_the_tree_kernel_is_that_of_enumerated_fragments(
    examples: list[Tree], decay: float
) -> None:
    expected = gram([fragments(own, decay) for own in examples])
    assert TreeKernel(decay=decay, normalise=False).matrix(examples, examples) == pytest.approx(
        expected
    )
    normalised = TreeKernel(decay=decay).matrix(examples, examples[:1])
    assert normalised == pytest.approx(unit(expected)[:, :1])
    assert is_semidefinite(TreeKernel(decay=decay).matrix(examples, examples))


def test_the_noun_phrase_has_its_six_fragments() -> None:
    """A noun phrase with two words: it whole, without either or both words, and the two words alone
    (Collins & Duffy 2002, Fig. 2).
    """
    phrase: Tree = ("NP", ("D", "the"), ("N", "apple"))
    assert TreeKernel(decay=1.0, normalise=False).matrix([phrase], [phrase])[0, 0] == 6.0
    other: Tree = ("NP", ("D", "the"), ("N", "pear"))
    assert TreeKernel(decay=1.0, normalise=False).matrix([phrase], [other])[0, 0] == 3.0


def test_deep_trees_do_not_exhaust_the_stack() -> None:
    tree: Tree = ("A", "x")
    for _ in range(3000):
        tree = ("A", tree)
    assert TreeKernel(decay=0.4, normalise=False).matrix([("A", "x")], [tree])[
        0, 0
    ] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Polynomial(degree=0), "expected degree >= 1"),
        (lambda: Polynomial(constant=-1.0), "constant >= 0"),
        (lambda: Gaussian(sigma2=0.0), "expected sigma2 > 0"),
        (lambda: StringKernel(length=0), "expected length >= 1"),
        (lambda: StringKernel(decay=1.5), r"decay in \(0, 1\]"),
        (lambda: TreeKernel(decay=0.0), r"decay in \(0, 1\]"),
        (lambda: KernelPerceptron(kernel=Linear(), passes=0), "expected passes >= 1"),
    ],
)
def test_bad_configurations_are_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build()


def test_a_node_without_children_is_refused() -> None:
    with pytest.raises(EgparseError, match="expected a node with a label and children"):
        TreeKernel().matrix([("A", ("B",))], [("A", "x")])


class Primal:
    """The perceptron of McDonald 2009 with a weight vector a label; keeps every vector it visited
    with.
    """

    def __init__(self, x: Floats, labels: Floats, label_count: int, orders: list[Floats]) -> None:
        self.w = np.zeros((label_count, x.shape[1]))
        self.visited: list[Floats] = []
        self.mistakes: list[int] = []
        for order in orders:
            mistakes = 0
            for i in order:
                best = int((self.w @ x[i]).argmax())
                if best != labels[i]:
                    mistakes += 1
                    self.w = self.w.copy()
                    self.w[labels[i]] += x[i]
                    self.w[best] -= x[i]
                self.visited.append(self.w)
            self.mistakes.append(mistakes)
            if mistakes == 0:
                break

    def votes(self, x: Floats) -> Floats:
        out = np.zeros((len(x), len(self.w)))
        for w in self.visited:
            out[np.arange(len(x)), (x @ w.T).argmax(axis=1)] += 1
        return out


def integers(seed: int, n: int = 12) -> tuple[Floats, Floats, Floats]:
    """Integer features, so that primal and dual scores are equal to the bit."""
    random = np.random.default_rng(seed)
    return (
        random.integers(-2, 3, size=(n, 3)).astype(float),
        random.integers(0, 3, size=n),
        random.integers(-2, 3, size=(20, 3)).astype(float),
    )


def trained(x: Floats, labels: Floats, **options: Any) -> KernelModel:
    return KernelPerceptron(kernel=Linear(), **options).train(x, labels, label_count=3)


@given(st.integers(0, 100_000))
def test_with_the_linear_kernel_it_is_the_primal_perceptron(seed: int) -> None:
    x, labels, fresh = integers(seed)
    model = trained(x, labels, passes=4)
    primal = Primal(x, labels, 3, [np.arange(len(x))] * 4)
    assert list(model.mistakes_by_pass) == primal.mistakes
    assert model.scores(fresh, "last").tolist() == (fresh @ primal.w.T).tolist()
    assert model.predict(fresh, "last").tolist() == (fresh @ primal.w.T).argmax(axis=1).tolist()
    mean = np.mean(primal.visited, axis=0)
    assert model.scores(fresh, "averaged") == pytest.approx(fresh @ mean.T, abs=1e-12)
    assert model.scores(fresh, "voted").tolist() == primal.votes(fresh).tolist()


def test_a_seed_shuffles_each_pass_and_sparse_rows_do_as_well() -> None:
    x, labels, fresh = integers(4)
    random = np.random.default_rng(9)
    primal = Primal(x, labels, 3, [random.permutation(len(x)) for _ in range(3)])
    for examples in (x, csr_matrix(x)):
        model = trained(examples, labels, passes=3, seed=9)
        assert model.scores(fresh, "last").tolist() == (fresh @ primal.w.T).tolist()


def test_mistakes_stay_below_the_bound_of_the_margin() -> None:
    """At most R^2 / gamma^2 on separable data (McDonald 2009, "Perceptron: Main Theorem"), and
    training stops without any.
    """
    random = np.random.default_rng(3)
    x = random.normal(size=(60, 2))
    x = x[np.abs(x[:, 0]) > 0.3]
    labels = (x[:, 0] > 0).astype(int)
    model = trained(x, labels, passes=1000)
    u = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]) / np.sqrt(2)
    scores = x @ u.T
    others = np.where(np.arange(3) == labels[:, None], -np.inf, scores).max(axis=1)
    margin = (scores[np.arange(len(x)), labels] - others).min()
    radius = 2 * (x**2).sum(axis=1).max()  # |f(x, y) - f(x, y')|^2 = 2 |x|^2
    assert model.mistakes_by_pass[-1] == 0
    assert 0 < sum(model.mistakes_by_pass) <= radius / margin**2
    assert model.predict(x, "last").tolist() == labels.tolist()


def test_a_polynomial_kernel_separates_what_a_line_cannot() -> None:
    x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    labels = [0, 1, 1, 0]
    model = KernelPerceptron(kernel=Polynomial(), passes=100).train(x, labels)
    assert model.predict(x, "last").tolist() == labels
    assert KernelPerceptron(kernel=Linear(), passes=100).train(x, labels).mistakes_by_pass[-1] > 0


def test_strings_and_trees_are_learned() -> None:
    words = ["walking", "talking", "singing", "walked", "talked", "jumped"]
    model = KernelPerceptron(kernel=StringKernel(length=2)).train(words, [0, 0, 0, 1, 1, 1])
    assert model.predict(["ringing", "rained"]).tolist() == [0, 1]
    phrases: list[Tree] = [
        ("NP", ("D", "a"), ("N", "dog")),
        ("PP", ("P", "on"), ("NP", ("N", "land"))),
    ]
    model = KernelPerceptron(kernel=TreeKernel()).train(phrases, [0, 1])
    assert model.predict(
        [("PP", ("P", "at"), ("NP", ("N", "sea"))), ("NP", ("D", "a"), ("N", "cat"))]
    ).tolist() == [1, 0]


def test_without_mistakes_there_is_nothing_to_say() -> None:
    model = trained(np.ones((3, 2)), np.zeros(3, dtype=int))
    assert model.mistakes_by_pass == (0,)
    for rule in ("last", "averaged", "voted"):
        assert model.predict(np.ones((2, 2)), rule).tolist() == [0, 0]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(EgparseError, match=r"expected 3 labels in 0\.\.2"):
        trained(np.ones((3, 2)), np.array([0, 1]))
    with pytest.raises(EgparseError, match="expected finite kernel values"):
        trained(np.array([[np.nan]]), np.array([0]))
    with pytest.raises(ConfigError, match="expected last, averaged or voted, got 'mean'"):
        trained(np.ones((1, 2)), np.array([0])).scores(np.ones((1, 2)), "mean")  # type: ignore[arg-type]
