"""``egparse_lemmatizer`` through spaCy's interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from sample_treebank import quick_model, sample
from spacy.language import Language
from spacy.matcher import Matcher
from spacy.tokens import Doc
from spacy.training import Example

import egparse.spacy_components.factories  # registers the factories of this tree  # noqa: F401
from egparse.sentences import Sentence
from egparse.spacy_components.doc_conversion import doc_from_sentences

NAME = "egparse_lemmatizer"


@pytest.fixture(scope="session")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lemmas") / "model.msgpack"
    quick_model().save(path)
    return path


def pipeline(model_path: Path, *others: str, **settings: Any) -> Language:
    nlp = spacy.blank("en")
    for name in others:
        nlp.add_pipe(name, config={"model": str(model_path)})
    nlp.add_pipe(NAME, config={"model": str(model_path), **settings})
    return nlp


def words_of(sentence: Sentence, nlp: Language) -> Doc:
    return Doc(
        nlp.vocab,
        words=list(sentence.forms),
        sent_starts=[k == 0 for k in range(len(sentence))],
    )


def test_lemmas_are_those_of_the_model(model_path: Path) -> None:
    nlp = pipeline(model_path)
    for sentence in sample("test")[:10]:
        (expected,) = quick_model().annotate([Sentence(forms=sentence.forms)])
        doc = nlp.get_pipe(NAME)(words_of(sentence, nlp))
        assert [token.lemma_ for token in doc] == list(expected.lemmas)
        assert not doc.has_annotation("TAG")  # tags are predicted, but not set


def test_a_stream_gives_the_same(model_path: Path) -> None:
    nlp = pipeline(model_path, "egparse_tagger")
    texts = [" ".join(one.forms) for one in sample("test")[:12]]
    found = [[token.lemma_ for token in doc] for doc in nlp.pipe(texts, batch_size=5)]
    assert found == [[token.lemma_ for token in nlp(text)] for text in texts]


def test_tags_of_the_doc_are_used(model_path: Path) -> None:
    sentence = sample("test")[0]
    other = sentence.with_layers(upos=("PROPN",) * len(sentence), lemmas=(), heads=(), deprels=())
    (expected,) = quick_model().annotate([other], gold_tags=True)
    (free,) = quick_model().annotate([Sentence(forms=sentence.forms)])
    for use_tags, wanted in ((True, expected), (False, free)):
        nlp = pipeline(model_path, use_tags=use_tags)
        doc = nlp.get_pipe(NAME)(doc_from_sentences([other], nlp.vocab))
        assert [token.lemma_ for token in doc] == list(wanted.lemmas)


def test_lemmas_of_the_doc_are_kept_unless_overwritten(model_path: Path) -> None:
    for overwrite in (False, True):
        nlp = pipeline(model_path, overwrite=overwrite)
        doc = nlp.make_doc("The dogs bark")
        doc[1].lemma_ = "mine"
        doc = nlp.get_pipe(NAME)(doc)
        assert (doc[1].lemma_ == "mine") is not overwrite
        assert all(token.lemma_ for token in doc)


def test_white_space_is_its_own_lemma(model_path: Path) -> None:
    doc = pipeline(model_path)("The  dogs \n bark ")
    assert [token.lemma_ for token in doc if token.is_space] == [
        token.text for token in doc if token.is_space
    ]
    assert len(pipeline(model_path)("")) == 0


def test_the_matcher_finds_lemmas(model_path: Path) -> None:
    nlp = pipeline(model_path)
    doc = nlp(" ".join(sample("test")[0].forms))
    matcher = Matcher(nlp.vocab)
    wanted = doc[0].lemma_
    matcher.add("ONE", [[{"LEMMA": wanted}]])
    assert {doc[start].lemma_ for _, start, _ in matcher(doc)} == {wanted}


def test_a_pipeline_is_saved_and_loaded(model_path: Path, tmp_path: Path) -> None:
    nlp = pipeline(model_path, "egparse_tagger", "egparse_parser")
    nlp.to_disk(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved")
    text = " ".join(sample("test")[1].forms)
    assert [t.lemma_ for t in loaded(text)] == [t.lemma_ for t in nlp(text)]
    again = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert [t.lemma_ for t in again(text)] == [t.lemma_ for t in nlp(text)]
    assert nlp.analyze_pipes()["problems"] == {name: [] for name in nlp.pipe_names}


def test_probabilities_stand_beside_the_doc(model_path: Path) -> None:
    doc = pipeline(model_path, probabilities=True)(" ".join(sample("test")[0].forms))
    found = np.array([token._.egparse_lemma_prob for token in doc])
    assert ((found > 0) & (found <= 1)).all()


def test_it_scores_lemmas(model_path: Path) -> None:
    nlp = pipeline(model_path)
    examples = [
        Example(words_of(one, nlp), doc_from_sentences([one], nlp.vocab))
        for one in sample("test")[:10]
    ]
    scores = nlp.evaluate(examples)
    assert 0.3 < scores["lemma_acc"] <= 1
    assert scores["conll_lemmas"] == pytest.approx(scores["lemma_acc"], abs=0.02)


def test_it_is_trained_with_a_pipeline() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("egparse_tagger")
    nlp.add_pipe(NAME)
    examples = [
        Example(words_of(one, nlp), doc_from_sentences([one], nlp.vocab))
        for one in sample("train")[:60]
    ]
    nlp.initialize(lambda: examples)
    pipe: Any = nlp.get_pipe(NAME)
    assert pipe.model is nlp.get_pipe("egparse_tagger").model
    assert pipe.model.layers == ("upos", "xpos", "feats", "lemmas")
    assert nlp.evaluate(examples)["lemma_acc"] > 0.9
    assert pipe.labels == ()
    assert pipe.hide_labels


def test_it_learns_from_updates() -> None:
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe(NAME)
    examples = [
        Example(words_of(one, nlp), doc_from_sentences([one], nlp.vocab))
        for one in sample("train")[:30]
    ]
    for _ in range(3):
        losses = nlp.update(examples)
    assert losses[NAME] >= 0
    assert nlp.evaluate(examples)["lemma_acc"] > 0.8
    assert "lemmas" in pipe.model.layers
