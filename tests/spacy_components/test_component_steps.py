"""Pipelines that learn by batches, in loops of their users and in that of ``spacy train``."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path

import pytest
import spacy
from sample_treebank import sample
from spacy.cli.init_config import fill_config
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy_components.conftest import ALL, blank
from spacy_components.test_component_training import CONFIG, in_pieces
from spacy_components.texts import QUICK, everything, examples_of, gold_docs, said

from egparse.errors import EgparseError
from egparse.spacy_components.doc_conversion import (
    doc_from_sentences,
    sentences_from_doc,
    sentences_of,
    sentences_to_learn,
)


def learn(nlp: Language, examples: list[Example], passes: int = 1) -> dict[str, float]:
    """The losses of the last pass."""
    losses: dict[str, float] = {}
    for _ in range(passes):
        losses = {}
        for first in range(0, len(examples), 4):
            nlp.update(examples[first : first + 4], losses=losses)
    return losses


@pytest.fixture(scope="module")
def stepped() -> Language:
    nlp = spacy.blank("en")
    for name in ALL:
        nlp.add_pipe(name)
    settings = {"training": QUICK, "by_steps": True}
    nlp.config["initialize"]["components"] = {"egparse_tagger": settings}
    examples = examples_of(nlp)
    nlp.initialize(lambda: examples)
    learn(nlp, examples, 4)
    return nlp


def test_a_loop_of_updates_learns(stepped: Language, tmp_path: Path) -> None:
    scores = stepped.evaluate(examples_of(stepped))
    assert scores["tag_acc"] > 0.9
    assert min(scores["conll_las"], scores["ents_f"]) > 0.8
    assert len({id(stepped.get_pipe(name).model) for name in ALL}) == 1
    stepped.to_disk(tmp_path / "stepped")
    assert everything(spacy.load(tmp_path / "stepped")) == everything(stepped)
    assert len(list((tmp_path / "stepped").rglob("*.msgpack"))) == 1
    assert everything(pickle.loads(pickle.dumps(stepped))) == everything(stepped)


def test_components_without_a_model_begin_with_the_first_batch() -> None:
    nlp = spacy.blank("en")
    names = ("egparse_tagger", "egparse_ner")
    for name in names:
        nlp.add_pipe(name)
    examples = [*map(without_trees, examples_of(nlp, count=30))]
    first, last = learn(nlp, examples), learn(nlp, examples, 3)
    assert set(first) == set(names)
    assert all(0 < last[name] < first[name] for name in names)
    assert len({id(nlp.get_pipe(name).model) for name in names}) == 1
    assert nlp.evaluate(examples)["tag_acc"] > 0.7


def without_trees(example: Example) -> Example:
    """The Example without its trees."""
    gold = sentences_from_doc(example.reference)
    flat = [own.with_layers(heads=(), deprels=(), lemmas=()) for own in gold]
    return Example(example.predicted, doc_from_sentences(flat, example.reference.vocab))


def test_a_pipeline_learns_and_others_with_its_model_do_not(model_path: Path) -> None:
    nlp, other = blank(model_path), blank(model_path)
    before = everything(other)
    examples = examples_of(nlp, "test", 30)
    scores = nlp.evaluate(examples)
    learn(nlp, examples, 2)
    assert nlp.evaluate(examples)["conll_las"] > scores["conll_las"]
    assert everything(nlp) != before
    assert everything(other) == before
    copied = pickle.loads(pickle.dumps(nlp))
    now = everything(nlp)
    learn(copied, examples)
    assert everything(nlp) == now


def test_a_frozen_component_stays_as_it_is(model_path: Path) -> None:
    nlp = blank(model_path)
    tagger = nlp.get_pipe("egparse_tagger").model
    losses: dict[str, float] = {}
    nlp.update(examples_of(nlp, "test", 6), losses=losses, exclude=["egparse_tagger"])
    assert set(losses) == {"egparse_parser", "egparse_ner"}
    assert nlp.get_pipe("egparse_tagger").model is tagger
    assert nlp.get_pipe("egparse_parser").model is nlp.get_pipe("egparse_ner").model


def test_components_say_that_they_can_learn(nlp: Language) -> None:
    assert all(nlp.get_pipe(name).is_trainable for name in ALL)
    models = [nlp.get_pipe(name).model for name in ALL]
    optimizer = nlp.resume_training()
    assert nlp.get_pipe(ALL[0])._rehearsal_model is models[0]
    losses = nlp.update(examples_of(nlp, "test", 3), sgd=optimizer)
    assert all(losses[name] > 0 for name in ALL)


def test_rehearsal_holds_to_the_model_before(model_path: Path) -> None:
    """After learning nonsense, rehearsal brings annotation of other texts back."""
    texts = [example.predicted.text for example in examples_of(blank(model_path), "dev", 30)]
    before = [said(doc) for doc in blank(model_path, "egparse_tagger").pipe(texts)]
    kept = []
    for rehearses in (False, True):
        nlp = blank(model_path, "egparse_tagger")
        nlp.resume_training()
        nonsense = [
            Example.from_dict(nlp.make_doc(text), {"pos": ["X"] * len(nlp.make_doc(text))})
            for text in ("the dog saw a man", "we saw her house and the garden")
        ]
        raw = [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in texts]
        for _ in range(4):
            nlp.update(nonsense)
            if rehearses:
                assert nlp.rehearse(raw)["egparse_tagger"] >= 0
        now = [said(doc) for doc in nlp.pipe(texts)]
        kept.append(sum(old == new for old, new in zip(before, now, strict=True)))
    assert kept[1] > kept[0]


def test_rehearsal_needs_resume_training(nlp: Language) -> None:
    before = everything(nlp)
    assert nlp.rehearse(examples_of(nlp, "test", 3)) == dict.fromkeys(ALL, 0.0)
    assert everything(nlp) == before


def test_labels_can_be_added(nlp: Language) -> None:
    ner, parser, tagger = (nlp.get_pipe(f"egparse_{name}") for name in ("ner", "parser", "tagger"))
    before = everything(nlp)
    assert ner.add_label("SHIP") == 1
    assert ner.add_label("SHIP") == 0
    assert "SHIP" in ner.labels
    assert parser.add_label("ROOT") == 0
    assert tagger.add_label("NEW", layer="xpos") == 1
    with pytest.raises(
        EgparseError, match=r"expected the layer of the label \(upos, xpos, feats\)"
    ):
        tagger.add_label("NEW")
    assert everything(nlp) == before


def test_labels_added_before_there_is_a_model_are_kept() -> None:
    nlp = spacy.blank("en")
    ner = nlp.add_pipe("egparse_ner")
    assert ner.add_label("SHIP") == 1
    nlp.initialize()
    nlp.update(examples_of(nlp, count=12))
    assert "SHIP" in ner.labels


def test_what_was_trained_to_its_end_is_not_learned_again(caplog: pytest.LogCaptureFixture) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("egparse_tagger")
    examples = examples_of(nlp, count=30)
    with caplog.at_level(logging.INFO, "spacy.egparse"):
        nlp.get_pipe("egparse_tagger").initialize(
            lambda: examples, nlp=nlp, training={**QUICK, "layers": ["upos"]}
        )
    assert any("upos" in line and "pass  1" in line for line in caplog.messages)
    model = nlp.get_pipe("egparse_tagger").model
    assert nlp.update(examples[:4]) == {"egparse_tagger": 0.0}
    assert nlp.get_pipe("egparse_tagger").model is model
    assert nlp.update(examples_of(nlp, "test", 3))["egparse_tagger"] > 0
    assert nlp.get_pipe("egparse_tagger").model is not model


def test_a_component_that_the_examples_have_nothing_for_stays_without_a_model() -> None:
    nlp = spacy.blank("en")
    for name in ("egparse_tagger", "egparse_parser"):
        nlp.add_pipe(name)
    nlp.config["initialize"]["components"] = {"egparse_tagger": {"training": QUICK}}
    examples = [*map(without_trees, examples_of(nlp, count=30))]
    nlp.initialize(lambda: examples)
    assert nlp.get_pipe("egparse_tagger").model.layers == ("upos", "xpos", "feats")
    assert nlp.get_pipe("egparse_parser").model is None


def test_sentences_whose_words_do_not_match_are_those_of_the_gold() -> None:
    """A word of the gold that is two tokens leaves its dependents without a head."""
    nlp = spacy.blank("en")
    gold = gold_docs(nlp, "train", 30)
    examples = [Example(in_pieces(nlp, own), own) for own in gold]
    found = sentences_to_learn(examples, ("upos", "heads", "deprels"))
    assert found.left_out == 0
    assert len(found.sentences) == 30
    assert 0 < found.with_gold_words <= len(examples)
    assert all(-1 not in sentence.heads for sentence in found.sentences)
    forms = {sentence.forms for sentence in sample("train")[:30]}
    assert sum(one.forms in forms for one in found.sentences) >= 30 - len(examples)


def test_entities_that_are_not_annotated_are_missing_and_hyphens_are_words() -> None:
    nlp = spacy.blank("en")
    gold = Doc(nlp.vocab, words=["Ann", "-", "left"], lemmas=["Ann", "-", "leave"])
    gold.set_ents([Span(gold, 0, 1, "PER")], missing=[gold[1:3]], default="outside")
    (found,) = sentences_of(Example(nlp.make_doc("Ann - left"), gold))
    assert found.spans == ("B-PER", "_", "_")
    assert found.lemmas == ("Ann", "-", "leave")


def test_a_parser_is_trained_where_tokens_do_not_match() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("egparse_parser")
    examples = [Example(in_pieces(nlp, own), own) for own in gold_docs(nlp, "train", 30)]
    nlp.get_pipe("egparse_parser").initialize(lambda: examples, nlp=nlp, training=QUICK)
    assert nlp.get_pipe("egparse_parser").model.record["sentences"] == 30


@pytest.mark.parametrize(
    "by_steps",
    [pytest.param(False, marks=pytest.mark.nightly), True],
    ids=["whole", "by steps"],
)
def test_spacys_training_loop(
    tmp_path: Path, by_steps: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    nlp = spacy.blank("en")
    for part, count in (("train", 45), ("dev", 30)):
        docs = gold_docs(nlp, part, count)
        DocBin(docs=docs).to_disk(tmp_path / f"{part}.spacy")
    text = CONFIG.format(
        train=json.dumps(str(tmp_path / "train.spacy")), model="", quick=json.dumps(QUICK)
    )
    text = text.replace("max_steps = 1", "max_steps = 12").replace("max_epochs = 1", "max_epochs=0")
    text = text.replace("gold_preproc = true", "").replace("eval_frequency = 1", "eval_frequency=6")
    text = text.rstrip() + f"\nby_steps = {json.dumps(by_steps)}\n"
    config = tmp_path / "config.cfg"
    config.write_text(text, encoding="utf-8")
    fill_config(config, config)
    spacy_train(config, tmp_path / "out", overrides={"paths.dev": str(tmp_path / "dev.spacy")})
    trained = spacy.load(tmp_path / "out" / "model-best")
    record = trained.get_pipe("egparse_parser").model.record
    rows = [line for line in capsys.readouterr().out.splitlines() if line[:3].strip().isdigit()]
    if by_steps:
        assert len(rows) == 3  # steps 0, 6 and 12
        assert record["steps"]["batches"] > 0
    else:
        assert len(rows) == 1
        assert trained.config["training"]["max_steps"] == 1
        assert record["development_sentences"] == 30
    scores = trained.evaluate(examples_of(trained, count=45))
    assert scores["tag_acc"] > 0.8
    assert scores["conll_las"] > 0.5
