"""hmm and naive-bayes as learners: against models counted with dictionaries, as differences of
scores between structures.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from full_rows import full_rows
from learners.small_problems import sequences, trees
from oracles.generative import HiddenMarkov, naive_bayes_log_joint
from scipy.special import logsumexp

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.counting import bigram_weights, pair_weights
from egparse.experiments.problems.classification import ClassifierProblem
from egparse.features.sequence import supported_rows
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.problem import Problem, read
from egparse.learners.registry import build
from egparse.sequences.problem import SequenceProblem

Ints = npt.NDArray[np.int64]
L = 3
SMOOTHING, FOLLOWING = 0.05, 0.2
OPTIONS = {"smoothing": SMOOTHING, "transition_smoothing": FOLLOWING}


def text(seed: int = 1) -> tuple[Ints, Ints, Ints]:
    """Words, of which some are rare, their tags, and where sentences of one to four words start."""
    random = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(random.integers(1, 5, size=30))])
    words = np.minimum(random.geometric(0.25, size=starts[-1]) - 1, 15)
    tags = (words + random.choice([0, 0, 1], size=len(words))) % L
    return words, tags, starts


def problem_of(
    words: Ints, tags: Ints, starts: Ints, *, bigrams: bool = True, seen: bool = False
) -> SequenceProblem:
    """The attributes of a word are a bias and the word itself, unless it is rare (seen once), as in
    ``HiddenMarkov``.
    """
    often = np.flatnonzero(np.bincount(words) > 1)
    number = np.full(words.max() + 1, -1)
    number[often] = 1 + np.arange(len(often))
    attributes = np.stack([np.zeros(len(words), dtype=np.int64), number[words]], axis=1).astype(
        np.int32
    )
    gold = tags.astype(np.int32)
    size = len(often) + 1
    rows = supported_rows(attributes, gold, size, L) if seen else full_rows(size, L)
    support = np.ones((L, L), dtype=bool)
    if seen:
        support[2, 0] = support[1, 1] = False
    return SequenceProblem(
        attributes=attributes,
        word_starts=starts,
        gold=gold,
        candidates=np.tile(np.arange(L, dtype=np.uint16), len(words)),
        candidate_starts=np.arange(len(words) + 1) * L,
        rows=rows,
        n_labels=L,
        support=support if bigrams else None,
    )


def trained(name: str, problem: Problem, **options: float) -> Learner:
    learner = build(name, problem, LearnerConfig(), **options)
    learner.iterate(learner.initialise())
    return learner


def test_with_one_symbol_a_word_it_is_the_hidden_markov_model() -> None:
    words, tags, starts = text()
    problem = problem_of(words, tags, starts)
    trained("hmm", problem, **OPTIONS)
    sentences = [
        (words[first:end].tolist(), tags[first:end].tolist())
        for first, end in itertools.pairwise(starts.tolist())
    ]
    hmm = HiddenMarkov(sentences, L, emission_smoothing=SMOOTHING, transition_smoothing=FOLLOWING)
    for i, (own, _) in enumerate(sentences):
        scores = problem.scores(i).copy()
        every = problem.k_best(i, scores, L**4)
        assert len(every) == L ** len(own)
        chosen = every[:, : L * len(own)].reshape(len(every), -1, L).argmax(axis=2)
        joint = [hmm.log_joint(own, labels) for labels in chosen.tolist()]
        assert np.ptp(every @ scores - joint) < 1e-9  # alike up to a constant of the sentence
        assert joint[0] == pytest.approx(max(joint))


def test_without_bigrams_it_is_naive_bayes_of_draws() -> None:
    words, tags, starts = text(2)
    problem = problem_of(words, tags, starts, bigrams=False)
    learner = trained("naive-bayes", problem, **OPTIONS)
    counts = np.bincount(words)
    symbols = np.where(counts[words] > 1, words, 99)
    outcomes = len(set(symbols.tolist()) | {99})
    examples = np.bincount(tags, minlength=L)
    loss = 0.0
    for i, first in enumerate(starts[:-1].tolist()):
        found = problem.scores(i)[:L] - problem.scores(i)[0]
        seen = np.array([np.sum((symbols == symbols[first]) & (tags == y)) for y in range(L)])
        joint = np.log((examples + SMOOTHING) / (len(words) + SMOOTHING * L))
        joint += np.log((seen + SMOOTHING) / (examples + SMOOTHING * outcomes))
        np.testing.assert_allclose(found, joint - joint[0], atol=1e-9)
    for k in range(len(words)):
        seen = np.array([np.sum((symbols == symbols[k]) & (tags == y)) for y in range(L)])
        joint = np.log(examples + SMOOTHING) + np.log(
            (seen + SMOOTHING) / (examples + SMOOTHING * outcomes)
        )
        loss += float(logsumexp(joint) - joint[tags[k]])
    state = learner.initialise()
    learner.iterate(state)
    certificate = learner.certificate(state)
    assert certificate.primal == pytest.approx(loss)
    assert certificate.dual == -math.inf


def test_vectors_are_multinomial() -> None:
    random = np.random.default_rng(4)
    x = random.integers(0, 3, size=(30, 5)).astype(np.float64)
    y = random.integers(0, L, size=30)
    problem = ClassifierProblem(np.hstack([x, np.full((30, 1), 2.0)]), y, L)
    trained("naive-bayes", problem, smoothing=0.3)
    examples = list(zip(x.tolist(), y.tolist(), strict=True))
    for i in range(30):
        found = problem.scores(i)
        expected = np.array(naive_bayes_log_joint(examples, L, 0.3, x[i].tolist()))
        np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-9)


def test_labels_without_a_weight_share_what_they_ought_to_have() -> None:
    """Weights of pairs seen are those of all pairs less the mean of what the attribute's other
    labels have there; so are bigrams.
    """
    words, tags, starts = text(5)
    every, seen = (
        problem_of(words, tags, starts).design(),
        problem_of(words, tags, starts, seen=True).design(),
    )
    full = pair_weights(every, 0, SMOOTHING).reshape(-1, L)
    found = np.full(full.shape, np.nan)
    found[seen.pair_attributes(), seen.pair_labels] = pair_weights(seen, 0, SMOOTHING)
    assert np.isnan(found).any()
    assert not np.isnan(found[0]).any()
    for own, other in zip(found, full, strict=True):
        shared = other[np.isnan(own)].mean() if np.isnan(own).any() else 0.0
        np.testing.assert_allclose((own - other + shared)[~np.isnan(own)], 0.0, atol=1e-9)
    assert every.bigrams is not None
    assert seen.bigrams is not None
    complete = bigram_weights(every, every.bigrams, FOLLOWING)
    np.testing.assert_allclose(logsumexp(complete, axis=1), 0.0, atol=1e-12)
    expected = np.where(seen.bigrams, complete - complete[~seen.bigrams].mean(), 0.0)
    np.testing.assert_allclose(bigram_weights(seen, seen.bigrams, FOLLOWING), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["hmm", "naive-bayes"])
def test_one_pass_is_all(name: str) -> None:
    problem = problem_of(*text(6), bigrams=name == "hmm", seen=True)
    learner = build(name, problem, LearnerConfig())
    state = learner.initialise()
    before = learner.certificate(state).primal
    learner.iterate(state)
    first, weights = learner.certificate(state), read(problem)
    assert first.primal < before
    learner.iterate(state)
    assert learner.certificate(state) == first
    assert np.array_equal(read(problem), weights)
    with learner.model_weights(state):
        assert np.array_equal(read(problem), weights)


def test_candidates_limit_the_choice() -> None:
    problem = sequences(listed=True)
    design = problem.design()
    assert design.candidates is not None
    assert design.candidates[np.arange(len(design.labels)), design.labels].all()
    assert sequences(listed=False).design().candidates is None


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(
        ConfigError, match=r"hmm fits sequences of labels; .*TreeProblem has no design matrix"
    ):
        build("hmm", trees(), LearnerConfig())
    with pytest.raises(ConfigError, match=r"hmm fits sequences .* no weights of label bigrams"):
        build("hmm", problem_of(*text(), bigrams=False), LearnerConfig())
    with pytest.raises(ConfigError, match=r"naive-bayes fits choices .*set bigrams = false"):
        build("naive-bayes", problem_of(*text()), LearnerConfig())
    with pytest.raises(
        ConfigError, match="naive-bayes: expected an attribute that all examples have"
    ):
        build(
            "naive-bayes", ClassifierProblem([[1.0, 0.0], [0.5, 1.0]], [0, 1], 2), LearnerConfig()
        )
    with pytest.raises(EgparseError, match="attribute values of at least 0, got -1"):
        build(
            "naive-bayes", ClassifierProblem([[1.0, -1.0], [1.0, 1.0]], [0, 1], 2), LearnerConfig()
        )
    with pytest.raises(ConfigError, match="hmm counts and minimises no loss"):
        build("hmm", problem_of(*text()), LearnerConfig(beta=math.inf, gamma=1.0))
    with pytest.raises(ConfigError, match=r"expected transition_smoothing >= 1e-09, got 0\.0"):
        build("hmm", problem_of(*text()), LearnerConfig(), transition_smoothing=0.0)
