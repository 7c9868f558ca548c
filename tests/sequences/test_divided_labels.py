"""Labels that share weights by their parts, and bigrams by their classes: a chain whose weights are
written out by enumeration.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners.passes import passes
from properties import examples
from scipy.optimize import minimize
from scipy.special import logsumexp
from sequences.scored import scored

from egparse.errors import ConfigError
from egparse.features.packed import pack, parts_that_differ, place, score_words
from egparse.features.sequence import (
    NEVER,
    Division,
    LabelParts,
    WeightRows,
    rows_of,
    supported_part_rows,
)
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.sequences.problem import SequenceProblem
from egparse.types import Floats

N_LABELS, ATTRIBUTES = 5, 6
STARTS = np.cumsum([0, 4, 1, 3])
WORDS = int(STARTS[-1])


class Chain:
    """Three sentences whose labels are made of parts, with the weights that they may have; all of
    it again in plain lists, by which the tests reckon.

    With ``spread`` part numbers are so high that no row is dense.
    """

    def __init__(self, seed: int, spread: bool) -> None:
        random = np.random.default_rng(seed)
        factor = 17 if spread else 1
        self.parts = [
            sorted(factor * random.choice(6, size=random.integers(1, 4), replace=False))
            for _ in range(N_LABELS)
        ]
        self.n_parts = 6 * factor
        self.classes = random.integers(0, 3, size=N_LABELS).astype(np.uint16)
        self.n_classes = 1 + int(self.classes.max())
        self.gold = random.integers(0, N_LABELS, size=WORDS).astype(np.int32)
        allowed = random.random((WORDS, N_LABELS)) < 0.6
        allowed[np.arange(WORDS), self.gold] = True
        self.lists = [np.flatnonzero(row).tolist() for row in allowed]
        self.attributes = random.integers(-1, ATTRIBUTES, size=(WORDS, 2)).astype(np.int32)
        pairs = np.flatnonzero(random.random(ATTRIBUTES * self.n_parts) < 0.6)
        self.rows = rows_of(pairs.astype(np.int64), ATTRIBUTES, self.n_parts)
        self.pairs = [divmod(int(pair), self.n_parts) for pair in pairs]
        self.support = random.random((self.n_classes, self.n_classes)) < 0.8
        self.bigrams = list(zip(*map(np.ndarray.tolist, np.nonzero(self.support)), strict=True))
        self.divided = LabelParts.of(self.parts)
        some = factor * random.choice(6, size=2)  # which some rows hold
        self.are_common = np.isin(np.arange(self.n_parts), some)

    @property
    def candidates(self) -> np.ndarray:
        return np.concatenate(self.lists).astype(np.uint16)

    @property
    def candidate_starts(self) -> np.ndarray:
        return np.cumsum([0, *map(len, self.lists)]).astype(np.int64)

    @property
    def size(self) -> int:
        return len(self.pairs) + len(self.bigrams)

    def problem(self) -> SequenceProblem:
        return SequenceProblem(
            attributes=self.attributes,
            word_starts=STARTS,
            gold=self.gold,
            candidates=self.candidates,
            candidate_starts=self.candidate_starts,
            rows=self.rows,
            n_labels=N_LABELS,
            support=self.support,
            divided=self.divided,
            n_parts=self.n_parts,
            are_common=self.are_common,
            classes=self.classes,
        )

    def put(self, problem: SequenceProblem, weights: Floats) -> None:
        """Set the weights of a problem."""
        bigrams = np.zeros(self.support.shape)
        bigrams[self.support] = weights[len(self.pairs) :]
        problem.set_weights(weights[: len(self.pairs)], bigrams)

    def moved(self, problem: SequenceProblem) -> Floats:
        """The weights of a problem."""
        return np.concatenate(
            [problem.rows.weights, problem.transitions[self.support]], dtype=np.float64
        )

    def features(self, first: int, path: tuple[int, ...]) -> Floats:
        """How often a label sequence from word ``first`` on has each weight."""
        counts = np.zeros(self.size)
        for k, label in enumerate(path, first):
            for attribute in self.attributes[k]:
                for part in self.parts[label]:
                    if (int(attribute), int(part)) in self.pairs:
                        counts[self.pairs.index((int(attribute), int(part)))] += 1
        for bigram in itertools.pairwise(self.classes[list(path)].tolist()):
            if bigram in self.bigrams:
                counts[len(self.pairs) + self.bigrams.index(bigram)] += 1
        return counts

    def paths(self, i: int) -> list[tuple[int, ...]]:
        return list(itertools.product(*self.lists[STARTS[i] : STARTS[i + 1]]))

    def matrix(self, i: int) -> Floats:
        """The features of all label sequences of a sentence."""
        return np.array([self.features(int(STARTS[i]), path) for path in self.paths(i)])

    def gold_place(self, i: int) -> int:
        return self.paths(i).index(tuple(self.gold[STARTS[i] : STARTS[i + 1]].tolist()))

    def part_vector(self, i: int, path: tuple[int, ...]) -> Floats:
        """The parts of a label sequence, in the layout of the problem."""
        lists = self.lists[STARTS[i] : STARTS[i + 1]]
        begins = np.cumsum([0, *map(len, lists)])
        classes = sorted({int(self.classes[label]) for own in lists for label in own})
        out = np.zeros(int(begins[-1]) + len(classes) ** 2)
        for k, label in enumerate(path):
            out[begins[k] + lists[k].index(label)] = 1.0
        for before, after in itertools.pairwise(self.classes[list(path)].tolist()):
            out[begins[-1] + classes.index(before) * len(classes) + classes.index(after)] += 1.0
        return out


chains = st.builds(Chain, st.integers(0, 10_000), st.booleans())


@examples(40)
@given(chains, st.integers(0, 1000))
def test_scores_marginals_and_gradient_are_those_of_enumeration(chain: Chain, seed: int) -> None:
    """Scores are compared by their differences: a part that all candidates of a word share may be
    left out of all of them.
    """
    problem, weights = chain.problem(), np.random.default_rng(seed).normal(size=chain.size)
    for i in range(3):
        chain.put(problem, weights)
        scores = problem.scores(i).copy()
        vectors = np.array([chain.part_vector(i, path) for path in chain.paths(i)])
        assert vectors.shape[1] == problem.part_starts[i + 1] - problem.part_starts[i]
        gold, matrix = chain.gold_place(i), chain.matrix(i)
        expected = matrix @ weights
        np.testing.assert_allclose(
            vectors @ scores - vectors[gold] @ scores, expected - expected[gold], atol=1e-9
        )
        np.testing.assert_array_equal(problem.gold(i), vectors[gold])
        marginals = np.empty(len(scores))
        log_z = problem.marginals(i, scores, marginals)
        probabilities = np.exp(expected - logsumexp(expected))
        np.testing.assert_allclose(marginals, probabilities @ vectors, atol=1e-9)
        assert log_z - vectors[gold] @ scores == pytest.approx(
            logsumexp(expected) - expected[gold], abs=1e-9
        )
        best = np.empty(len(scores))
        assert problem.argmax(i, scores, best) - vectors[gold] @ scores == pytest.approx(
            expected.max() - expected[gold], abs=1e-9
        )
        problem.reset()
        grown = problem.add(i, problem.gold(i) - marginals)
        gradient = matrix[gold] - probabilities @ matrix
        np.testing.assert_allclose(chain.moved(problem), gradient, atol=1e-6)
        assert grown == pytest.approx(float(gradient @ gradient), abs=1e-9)


@pytest.mark.parametrize("spread", [False, True], ids=["dense", "sparse"])
def test_the_gap_closes_at_the_optimum_of_the_enumerated_problem(spread: bool) -> None:
    chain, c = Chain(7, spread), 0.5
    matrices = [chain.matrix(i) for i in range(3)]

    def primal(weights: Floats) -> tuple[float, Floats]:
        value, gradient = c / 2 * float(weights @ weights), c * weights
        for i, matrix in enumerate(matrices):
            scores, gold = matrix @ weights, chain.gold_place(i)
            log_z = float(logsumexp(scores))
            value += log_z - scores[gold]
            gradient = gradient + np.exp(scores - log_z) @ matrix - matrix[gold]
        return value, gradient

    optimum = minimize(primal, np.zeros(chain.size), jac=True, options={"gtol": 1e-9}).fun
    eg = OnlineEG(chain.problem(), EGConfig(c=c))
    state = eg.initialise()
    *_, last = passes(eg, state, 200)
    assert last.dual - 1e-6 <= optimum <= last.primal + 1e-6
    assert last.primal - last.dual < 1e-4 * optimum


def test_learners_that_look_at_single_weights_are_refused() -> None:
    with pytest.raises(ConfigError, match="share weights by their parts"):
        Chain(1, False).problem().design()


@examples(30)
@given(chains, st.integers(0, 1000))
def test_a_model_scores_as_its_training_problem_does(chain: Chain, seed: int) -> None:
    """By the kernel of models each candidate gets all of its parts; that of training leaves out
    what the candidates of a word share.
    """
    random = np.random.default_rng(seed)
    weights = random.integers(-8, 9, size=len(chain.pairs)).astype(np.float32) / 4
    rows = chain.rows._replace(weights=weights)
    starts = chain.candidate_starts.astype(np.int32)
    scores = scored(chain.attributes, rows, chain.divided, chain.n_parts, starts, chain.candidates)
    value = dict(zip(chain.pairs, weights.tolist(), strict=True))
    expected = [
        sum(value.get((int(a), int(p)), 0.0) for a in chain.attributes[k] for p in chain.parts[one])
        for k, own in enumerate(chain.lists)
        for one in own
    ]
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    problem = chain.problem()
    problem.set_weights(weights.astype(np.float64))
    found = np.concatenate(
        [
            problem.scores(i)[: int(starts[STARTS[i + 1]] - starts[STARTS[i]])].copy()
            for i in range(3)
        ]
    )
    for first, end in itertools.pairwise(starts.tolist()):
        difference = found[first:end] - scores[first:end]
        np.testing.assert_allclose(difference, difference[0], atol=1e-9)


@examples(60)
@given(chains)
def test_parts_that_differ_are_those_that_some_candidates_lack(chain: Chain) -> None:
    used = parts_that_differ(chain.candidates, chain.candidate_starts, chain.divided, chain.n_parts)
    for k, own in enumerate(chain.lists):
        sets = [set(map(int, chain.parts[label])) for label in own]
        expected = set.union(*sets) - set.intersection(*sets)
        found = used.labels[used.starts[k] : used.starts[k + 1]].tolist()
        assert len(found) == len(set(found))
        assert set(found) == expected


def test_no_part_differs_where_every_word_has_one_candidate() -> None:
    divided = LabelParts.of([[0, 1], [1, 2]])
    candidates, starts = np.array([0, 1, 1], dtype=np.uint16), np.arange(4, dtype=np.int64)
    used = parts_that_differ(candidates, starts, divided, 3)
    assert used.starts.tolist() == [0, 0, 0, 0]
    attributes, rows = np.zeros((3, 1), dtype=np.int32), rows_of(np.arange(3, dtype=np.int64), 1, 3)
    placement = place(attributes, rows, 3)
    packed = pack(attributes, rows, placement, candidates, starts, 3, divided)
    scores = np.full(3, np.nan)
    score_words(packed, 0, starts.astype(np.int32), candidates, np.zeros(8), scores)
    assert scores.tolist() == [0.0, 0.0, 0.0]


@examples(60)
@given(chains, st.integers(0, 5), st.integers(0, 1000))
def test_rows_hold_the_parts_that_were_seen_and_those_of_frequent_attributes(
    chain: Chain, least: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    full_from = np.where(random.random(chain.n_parts) < 0.5, least, NEVER).astype(np.int32)
    rows = supported_part_rows(chain.attributes, chain.gold, ATTRIBUTES, chain.divided, full_from)
    seen = {
        (int(a), int(part))
        for k, label in enumerate(chain.gold.tolist())
        for a in chain.attributes[k]
        for part in chain.parts[label]
        if a >= 0
    }
    for a in range(ATTRIBUTES):
        count = int((chain.attributes == a).sum())
        seen |= {
            (a, part)
            for part in range(chain.n_parts)
            if full_from[part] != NEVER and count >= full_from[part]
        }
    assert listed(rows) == sorted(seen)
    assert not rows.weights.any()


def listed(rows: WeightRows) -> list[tuple[int, int]]:
    """The pairs of rows, in their order."""
    attributes = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
    return list(zip(attributes.tolist(), rows.labels.tolist(), strict=True))


def test_a_division_counts_its_classes() -> None:
    parts = LabelParts.of([[0], [1], [0, 1]])
    division = Division(parts, np.zeros(2, np.int32), np.array([0, 2, 1], dtype=np.uint16))
    assert division.n_classes == 3
    assert parts.starts.tolist() == [0, 1, 2, 4]
    assert parts.parts.tolist() == [0, 1, 0, 1]
