"""Ensembles of second-order parsers: means of the members' probabilities, decoded as those of one
parser.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from cli.program import CORPORA, complaint, run_process
from oracles.trees import all_trees
from sample_treebank import (
    SECOND_ORDER,
    changed,
    quick,
    sample,
)

from egparse.errors import ConfigError, EgparseError, ModelFileError
from egparse.features.word_table import Words
from egparse.parsing.constraints import FREE, ArcConstraints
from egparse.parsing.long_sentences import LongSentenceWarning
from egparse.parsing.second_order.parser import SecondOrderParser, ensemble_of
from egparse.pipeline.constraints import Constraints
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.storage.model_file import read_model, write_model
from egparse.training.continuation import Base, configure, continue_training
from egparse.training.run import train
from egparse.training.steps import StepLearner

TINY = ('layers=["heads"]', *SECOND_ORDER, "parser.ensemble=3")
ALL = 10_000
KINDS = pytest.mark.parametrize("kind", ["projective", "non-projective"])


@cache
def model_of(kind: str = "projective") -> Model:
    return train(
        sample("train")[:40], sample("dev")[:20], quick(*TINY, f"parser.trees={kind}")
    ).model


def parser_of(kind: str = "projective") -> SecondOrderParser:
    parser = model_of(kind).components["parser"]
    assert isinstance(parser, SecondOrderParser)
    return parser


def words_of(sentences: tuple[Sentence, ...], kind: str = "projective") -> Words:
    columns = model_of(kind).columns
    words = columns.words([sentence.forms for sentence in sentences])
    return columns.with_input(words, sentences, predicted=())


def stretches(length: int, count: int) -> tuple[Sentence, ...]:
    """Sentences of the first words of others."""
    return tuple(
        Sentence(
            one.forms[:length],
            upos=one.upos[:length],
            xpos=one.xpos[:length],
            feats=one.feats[:length],
        )
        for one in sample("dev")[:count]
    )


def arc_marginals(parser: SecondOrderParser, words: Words, n: int) -> np.ndarray:
    """The marginals [head, dependent] of one sentence of n words from the list of all its trees."""
    sums = np.zeros((n + 1, n + 1))
    for tree in parser.k_best(words, ALL)[0]:
        sums[tree.heads, np.arange(1, n + 1)] += np.exp(tree.log_probability)
    return sums


def risks(marginals: np.ndarray, n: int) -> list[tuple[float, tuple[int, ...]]]:
    """The expected correct heads of all projective trees with one root."""
    return [
        (float(sum(marginals[tree[d], d] for d in range(1, n + 1))), tree[1:])
        for tree in all_trees(n, single_root=True, projective=True)
    ]


def test_members_differ_in_their_weights_alone() -> None:
    parser = parser_of()
    assert parser.weights.shape == (3, 1 << 16)
    members = parser.members
    assert all(one.pruner is parser.pruner for one in members)
    for one, other in itertools.combinations(members, 2):
        assert np.any(one.weights != other.weights)
    np.testing.assert_array_equal(ensemble_of(members).weights, parser.weights)
    assert ensemble_of(members[:1]) is members[0]


def test_the_first_member_is_the_parser_that_is_trained_alone() -> None:
    settings = quick(*TINY[:-1], "parser.trees=projective")
    alone = train(sample("train")[:40], sample("dev")[:20], settings).model.components["parser"]
    assert isinstance(alone, SecondOrderParser)
    np.testing.assert_array_equal(alone.weights, parser_of().weights[:1])


@pytest.mark.parametrize("sentence", stretches(5, 8), ids=lambda one: " ".join(one.forms))
def test_trees_have_the_most_expected_heads_under_the_mean_of_all_trees_probabilities(
    sentence: Sentence,
) -> None:
    """An oracle: all trees of each member, their mean, and all trees decoded."""
    words, n, parser = words_of((sentence,)), len(sentence), parser_of()
    at_training = parser.with_temperature(1.0 / parser.mbr_scale)
    mean = np.mean([arc_marginals(one, words, n) for one in at_training.members], axis=0)
    best, heads = max(risks(mean, n)), parser.predict(words)
    assert sum(mean[heads, np.arange(1, n + 1)]) == pytest.approx(best[0], abs=1e-9)
    calibrated = np.mean([arc_marginals(one, words, n) for one in parser.members], axis=0)
    found = parser.predict_with_probabilities(words)
    np.testing.assert_array_equal(found.heads, heads)
    np.testing.assert_allclose(
        found.probabilities, calibrated[heads, np.arange(1, n + 1)], atol=1e-9
    )


def test_equal_members_are_one_parser() -> None:
    member = parser_of().members[1]
    words = words_of(sample("dev")[20:])
    np.testing.assert_array_equal(
        ensemble_of([member, member]).predict(words), member.predict(words)
    )


@pytest.mark.parametrize(("kind", "k"), [("projective", 5), ("non-projective", ALL)])
def test_best_trees_have_the_mean_of_the_members_probabilities(kind: str, k: int) -> None:
    words, parser = words_of(stretches(5, 8), kind), parser_of(kind)
    of_members = [one.k_best(words, ALL) for one in parser.members]
    for trees, each in zip(parser.k_best(words, k), zip(*of_members, strict=True), strict=True):
        known = [{tuple(t.heads): np.exp(t.log_probability) for t in one} for one in each]
        means = {heads: np.mean([one[heads] for one in known]) for heads in known[0]}
        listed = {tuple(t.heads) for one in each for t in one[:k]}
        highest = sorted((means[heads] for heads in listed), reverse=True)[:k]
        np.testing.assert_allclose([np.exp(t.log_probability) for t in trees], highest, rtol=1e-6)
        for tree in trees:
            assert np.exp(tree.log_probability) == pytest.approx(means[tuple(tree.heads)])


@KINDS
def test_constraints_hold(kind: str) -> None:
    sentences = sample("dev")[:30]
    words = words_of(sentences, kind)
    gold = np.concatenate([one.heads for one in sentences]).astype(np.int32)
    fixed = np.where(np.arange(len(gold)) % 3 == 0, gold, FREE).astype(np.int32)
    constraints = ArcConstraints(fixed, {}, np.ones(words.n_sentences, dtype=bool))
    found = parser_of(kind).predict_with_probabilities(words, constraints)
    np.testing.assert_array_equal(found.heads[fixed != FREE], gold[fixed != FREE])
    assert (found.probabilities[fixed != FREE] == 1.0).all()


def test_a_long_sentence_is_parsed_in_pieces() -> None:
    forms = tuple(form for one in sample("dev") for form in one.forms)[:600]
    with pytest.warns(LongSentenceWarning):
        (found,) = model_of()([Sentence(forms)])
    assert found.heads.count(0) == 1


@KINDS
def test_files_keep_the_members(kind: str, tmp_path: Path) -> None:
    model, path = model_of(kind), tmp_path / "ensemble.msgpack"
    model.save(path)
    loaded = Model.load(path)
    assert isinstance(loaded.components["parser"], SecondOrderParser)
    np.testing.assert_array_equal(loaded.components["parser"].weights, parser_of(kind).weights)
    assert loaded(sample("dev")) == model(sample("dev"))
    assert model.sizes()["heads"]["attributes"] == 3 << 16
    assert len(model.record["tasks"]["heads"]["members"]) == 3


def test_a_large_table_of_few_weights_can_be_read_again(tmp_path: Path) -> None:
    """Each member has the memory that it takes in proportion to its place in the file."""
    parser, weights = parser_of(), np.zeros((5, 1 << 23), dtype=np.float32)
    weights[:, 7] = 1.0
    model = changed(model_of(), replace(parser, weights=weights))
    model.save(tmp_path / "large.msgpack")
    loaded = Model.load(tmp_path / "large.msgpack").components["parser"]
    assert loaded is not None
    np.testing.assert_array_equal(loaded.weights, weights)


def few(payload: dict) -> None:
    payload["others"][1] = payload["others"][1] | {"count": 256, "deflated": b""}


def many(payload: dict) -> None:
    payload["others"] = payload["others"][:1] * 16


@pytest.mark.parametrize(
    ("change", "fault"),
    [(few, r"parser\.others\.1"), (many, r"parser\.others: expected .*15")],
)
def test_faulty_members_are_refused(
    change: Callable[[dict], None], fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "faulty.msgpack"
    model_of().save(path)
    header, payload = read_model(path)
    change(payload["parser"])
    write_model(path, header, payload)
    with pytest.raises(ModelFileError, match=fault):
        Model.load(path)


def test_training_continues_from_each_member() -> None:
    base = model_of()
    settings = configure(base, {})
    trained = continue_training(Base(base), sample("train")[40:60], None, settings)
    found = trained.model.components["parser"]
    assert isinstance(found, SecondOrderParser)
    assert len(found.weights) == 3
    for before, after in zip(base.components["parser"].weights, found.weights, strict=True):
        assert np.any(before != after)
    with pytest.raises(ConfigError, match=r"parser\.ensemble: expected 3 as in the base model"):
        configure(base, {"parser": {"ensemble": 2}})


def test_parsers_without_probabilities_have_no_mean() -> None:
    with pytest.raises(ConfigError, match=r"parser\.ensemble: expected .*, got perceptron"):
        train(sample("train")[:40], None, quick(*TINY, "parser.learner=perceptron"))


def test_learning_in_steps_is_of_one_parser() -> None:
    with pytest.raises(
        EgparseError, match="expected a single parser, got a model with an ensemble"
    ):
        StepLearner(model_of())


def test_the_interrupted_ensemble_has_the_members_that_there_are() -> None:
    events = 0

    def stop(event: object) -> None:
        nonlocal events
        events += getattr(event, "task", "") == "parser"
        if events == 6:  # the beginning and three passes of the first, the beginning of the second
            raise KeyboardInterrupt

    trained = train(sample("train")[:40], sample("dev")[:20], quick(*TINY), stop)
    assert trained.interrupted
    assert isinstance(trained.model.components["parser"], SecondOrderParser)
    assert 1 <= len(trained.model.components["parser"].weights) <= 2


def test_the_command_trains_shows_and_uses_an_ensemble(tmp_path: Path) -> None:
    model = tmp_path / "ensemble.msgpack"
    settings = ["--set", 'layers=["upos", "heads", "deprels"]', "--set", "jackknife.folds=0"]
    for one in (*SECOND_ORDER, "supertags.train=false", "splitter.train=false"):
        settings += ["--set", one]
    corpora = [str(CORPORA / f"en_sample-{part}.conllu") for part in ("dev", "test")]
    files = [corpora[0], "--dev", corpora[1], "--output", str(model)]
    done = run_process("train", *files, "--ensemble", "2", *settings)
    assert "parser" in done.stdout
    shown = run_process("inspect", str(model))
    assert "2 parsers, dev " in shown.stdout
    found = json.loads(run_process("inspect", str(model), "--json").stdout)
    assert found["configuration"]["parser"]["ensemble"] == 2
    parsed = run_process("parse", str(model), corpora[1], "--marginals")
    assert "PHead=" in parsed.stdout
    again = tmp_path / "again.msgpack"
    base = ["--base", str(model), "--output", str(again), "--ensemble", "3"]
    refused = complaint("train", corpora[0], *base)
    assert "parser.ensemble: expected 2 as in the base model" in refused
    refused = complaint("train", *files[:-1], str(again), "--ensemble", "0")
    assert "parser.ensemble" in refused


def test_constraints_of_sentences_are_kept_by_the_model() -> None:
    one, other = sample("dev")[:2]
    wanted = [Constraints.of(one, ("heads",)), Constraints()]
    found = list(model_of().annotate(map(bare, (one, other)), constraints=wanted))
    assert found[0].heads == one.heads
    assert found[1] == model_of()([bare(other)])[0]


def bare(sentence: Sentence) -> Sentence:
    return Sentence(sentence.forms)
