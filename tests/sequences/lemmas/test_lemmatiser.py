"""The lemmatiser: training, probabilities, constraints, model files, and continued training."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from sample_treebank import quick, sample

from egparse.errors import ConfigError, EgparseError
from egparse.features.request import Request
from egparse.pipeline.constraints import Constraints
from egparse.pipeline.model import Model
from egparse.sentences import MISSING, Sentence
from egparse.sequences.lemmatiser import NO_TAG, options_of
from egparse.training.continuation import Base, configure, continue_training
from egparse.training.run import train
from egparse.training.steps import StepLearner, untrained_model

LAYERS = 'layers=["upos", "feats", "lemmas"]'


@cache
def trained() -> Model:
    return train(sample("train"), sample("dev"), quick(LAYERS)).model


def bare(sentences: list[Sentence]) -> list[Sentence]:
    return [Sentence(forms=one.forms) for one in sentences]


def accuracy(model: Model, sentences: list[Sentence], **options: bool) -> float:
    source = sentences if options else bare(sentences)
    found = chain.from_iterable(own.lemmas for own in model.annotate(source, **options))
    gold = chain.from_iterable(own.lemmas for own in sentences)
    right = [a == b for a, b in zip(found, gold, strict=True)]
    return sum(right) / len(right)


def without_lemmas(sentence: Sentence) -> Sentence:
    return sentence.with_layers(lemmas=(MISSING,) * len(sentence))


def test_it_learns_the_training_part() -> None:
    model = train(sample("train"), [], quick(LAYERS, "jackknife.folds=1")).model
    assert accuracy(model, sample("train"), gold_tags=True) > 0.99


def test_it_generalises() -> None:
    copied = [
        a.lower() == b for own in sample("test") for a, b in zip(own.forms, own.lemmas, strict=True)
    ]
    given = accuracy(trained(), sample("test"), gold_tags=True)
    assert given >= accuracy(trained(), sample("test")) > sum(copied) / len(copied)
    assert trained().layers == ("upos", "feats", "lemmas")


def test_a_saved_model_is_the_same(tmp_path: Path) -> None:
    trained().save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    asked = {"probabilities": ["lemmas"]}
    first = list(trained().annotate(sample("test"), **asked))
    assert list(loaded.annotate(sample("test"), **asked)) == first
    assert loaded.sizes()["lemmas"]["labels"] > 10
    assert any(label == "known lemma" for _, label, _ in loaded.strongest("lemmas", 200))
    assert "lemmas" not in loaded.columns.labels


def test_probabilities_are_those_of_lemmas() -> None:
    """They are the softmax of the candidates' scores, each of which gives another lemma."""
    lemmatiser, words = (
        trained().components["lemmas"],
        trained().columns.words([one.forms for one in sample("test")]),
    )
    assert lemmatiser is not None
    request = Request(words, trained().columns, asked=("lemmas",))
    found = lemmatiser.annotate(request)["lemmas"]
    assert found.values == lemmatiser.predict(words, trained().columns)
    assert ((found.probabilities > 0) & (found.probabilities <= 1)).all()
    options = lemmatiser.options(words)
    for word, (lemma, probability) in enumerate(zip(*found, strict=True)):
        own = options.of_word(word)
        assert lemma in own.lemmas
        assert len(set(own.lemmas)) == len(own.lemmas)
        assert list(own.labels) == sorted(set(own.labels))
        # the best of k is at least as probable as the mean
        assert probability >= 1 / len(own.lemmas) - 1e-9
        if len(own.lemmas) == 1:
            assert probability == 1.0


def test_given_lemmas_are_kept_and_others_predicted() -> None:
    given = ("no such lemma", MISSING, MISSING)
    (found,) = trained().annotate(
        [Sentence(("The", "dog", "barks"), lemmas=given)],
        respect_input=True,
        probabilities=["lemmas"],
    )
    free = next(iter(trained().annotate([Sentence(("The", "dog", "barks"))])))
    assert found.lemmas == ("no such lemma", *free.lemmas[1:])
    assert found.probabilities is not None
    assert found.probabilities["lemmas"][0] is None  # not a candidate
    (known,) = trained().annotate(
        [free.with_layers(upos=(), feats=())], respect_input=True, probabilities=["lemmas"]
    )
    assert known.lemmas == free.lemmas
    assert known.probabilities is not None
    assert known.probabilities["lemmas"] == (1.0, 1.0, 1.0)


def test_forbidden_lemmas_do_not_come_back() -> None:
    sentence = Sentence(("The", "dog", "barks"))
    barred: list[str] = []
    for _ in range(4):
        constraints = Constraints().forbid("lemmas", 2, *barred)
        (found,) = trained().annotate([sentence], constraints=[constraints])
        assert found.lemmas[1] not in barred
        barred.append(found.lemmas[1])


def test_faulty_constraints_are_refused() -> None:
    sentence = Sentence(("The", "dog"))
    for constraints, text in (
        (Constraints({"lemmas": {3: "a"}}), "constraints on lemmas for words from 1 to 2, got"),
        (
            Constraints({"lemmas": {1: "a"}}, {"lemmas": {1: ["a"]}}),
            "a value in lemmas that is not forbidden, got 'a'",
        ),
    ):
        with pytest.raises(EgparseError, match=text):
            list(trained().annotate([sentence], constraints=[constraints]))


def test_empty_sentences_are_no_trouble() -> None:
    found = list(trained().annotate([Sentence(()), Sentence(("dogs",)), Sentence(())]))
    assert [len(one.lemmas) for one in found] == [0, 1, 0]
    assert next(iter(trained().annotate([Sentence(())]))).lemmas == ()


def test_a_corpus_without_lemmas_trains_none() -> None:
    corpus = [without_lemmas(one) for one in sample("train")[:30]]
    assert "lemmas" not in train(corpus, [], quick('layers=["upos"]')).model.components
    with pytest.raises(EgparseError, match="expected layers that the corpus annotates"):
        train(corpus, [], quick(LAYERS))


def test_words_without_lemmas_are_no_examples() -> None:
    half = [
        one.with_layers(lemmas=[MISSING if k % 2 else lemma for k, lemma in enumerate(one.lemmas)])
        for one in sample("train")
    ]
    model = train(half, sample("dev"), quick(LAYERS)).model
    assert "lemmas" in model.components
    assert "=_" not in "".join(model.components["lemmas"].lexicon.scripts)
    assert accuracy(model, sample("test")) > 0.7


def test_a_corpus_without_upos_has_lemmas_too() -> None:
    plain = [Sentence(forms=one.forms, lemmas=one.lemmas) for one in sample("train")]
    model = train(plain, [], quick("hold_out=0")).model
    assert model.layers == ("lemmas",)
    assert accuracy(model, sample("train")) > 0.9


def test_few_unambiguous_words_are_enough() -> None:
    model = train([Sentence(("a", "b"), lemmas=("a", "b"))], [], quick()).model
    assert next(iter(model.annotate([Sentence(("a", "b", "C"))]))).lemmas[:2] == ("a", "b")


def test_templates_must_not_name_later_layers() -> None:
    with pytest.raises(ConfigError, match=r"lemmas\.templates: expected layers .* got 'spans'"):
        train(sample("train"), [], quick('lemmas.templates=["bias", "spans[0]"]'))


def test_learners_for_choices_alone_are_refused() -> None:
    with pytest.raises(ConfigError, match="and cannot train lemmas"):
        train(sample("train"), [], quick(LAYERS, "lemmas.learner=gis"))


@pytest.mark.nightly
@pytest.mark.parametrize("learner", ["dca", "perceptron", "mira", "sgd"])
def test_other_learners_learn_lemmas(learner: str) -> None:
    settings = (LAYERS, f"lemmas.learner={learner}")
    model = train(sample("train")[:60], sample("dev"), quick(*settings)).model
    assert accuracy(model, sample("train")[:60]) > 0.8


def test_training_continues_from_a_base() -> None:
    new = Sentence(
        ("Blorfs", "grumpel"), lemmas=("blorf", "GRUMP"), upos=("NOUN", "VERB"), feats=("_", "_")
    )
    config = configure(trained(), {}, "test")
    model = continue_training(Base(trained()), [new] * 3, None, config).model
    assert next(iter(model.annotate([new], gold_tags=True))).lemmas == new.lemmas
    assert accuracy(model, sample("train")) > accuracy(trained(), sample("train")) - 0.02
    assert "lemmas" in trained().components
    assert "lemmas" in model.components
    known = trained().components["lemmas"].lexicon.scripts
    assert model.components["lemmas"].lexicon.scripts[: len(known)] == known


def test_lemmas_of_a_base_stay_where_the_corpus_has_none(tmp_path: Path) -> None:
    corpus = [without_lemmas(one) for one in sample("dev")[:10]]
    config = configure(trained(), {}, "test")
    model = continue_training(Base(trained()), corpus, None, config).model
    assert model.layers == trained().layers
    forms = [["The", "dogs", "were", "barking"]]
    first, second = (own.columns.words(forms) for own in (trained(), model))
    assert "lemmas" in trained().components
    assert "lemmas" in model.components
    lemmatisers = [own.components["lemmas"] for own in (trained(), model)]
    assert lemmatisers[0].predict(first, trained().columns) == lemmatisers[1].predict(
        second, model.columns
    )
    model.save(tmp_path / "m")
    assert Model.load(tmp_path / "m").layers == model.layers


def test_templates_are_those_of_the_base() -> None:
    with pytest.raises(ConfigError, match=r"lemmas\.templates: expected the \d+ templates as in"):
        configure(trained(), {"lemmas": {"templates": ["bias"]}}, "test")


def test_it_learns_in_steps(tmp_path: Path) -> None:
    layers = ("upos", "feats", "lemmas")
    sentences = sample("train")[:60]
    learner = StepLearner(untrained_model(sentences, layers, quick()))
    for _ in range(3):
        for first in range(0, len(sentences), 10):
            losses = learner.update(sentences[first : first + 10], layers)
            assert losses["lemmas"] >= 0
    assert accuracy(learner.model, sentences) > 0.9
    learner.model.save(tmp_path / "m")
    assert list(Model.load(tmp_path / "m").annotate(bare(sentences))) == list(
        learner.model.annotate(bare(sentences))
    )
    strange = Sentence(("Blorfs",), lemmas=("BLORF",), upos=("NOUN",), feats=("_",))
    for _ in range(3):
        learner.update([strange], layers)
    assert next(iter(learner.model.annotate([strange], gold_tags=True))).lemmas == ("BLORF",)
    assert learner.update([without_lemmas(strange)], ("lemmas",)) == {}


def test_scripts_that_give_the_same_lemma_are_one_candidate() -> None:
    lemmatiser = trained().components["lemmas"]
    assert lemmatiser is not None
    every = range(len(lemmatiser.lexicon.scripts))
    found = options_of(lemmatiser.lexicon, "dogs", every)
    assert len(set(found.lemmas)) == len(found.lemmas) > 10
    assert options_of(lemmatiser.lexicon, "dogs", ()).lemmas == ("dogs",)
    assert lemmatiser.options_of["xyzzy", NO_TAG].lemmas


def test_of_many_candidates_the_first_and_the_known_remain() -> None:
    lexicon = trained().components["lemmas"].lexicon
    every = range(len(lexicon.scripts))
    whole = options_of(lexicon, "dogs", every, len(every))
    first = set(options_of(lexicon, "dogs", every, 3).lemmas)
    known = {lemma for lemma in whole.lemmas if lexicon.is_known(lemma, "dogs")}
    assert known <= first < set(whole.lemmas)
    assert 0 < len(first - known) <= 3
    assert options_of(lexicon, "dogs", every) == options_of(lexicon, "dogs", every, 8)


def test_the_settings_are_in_the_model() -> None:
    config = replace(quick(LAYERS).lemmas, candidates=3)
    model = train(sample("train")[:40], [], replace(quick(LAYERS), lemmas=config)).model
    assert model.config_table["lemmas"]["candidates"] == 3
    assert asdict(quick())["lemmas"]["candidates"] == 64
    assert "lemmas" in model.components
    assert model.components["lemmas"].lexicon.size == 3
