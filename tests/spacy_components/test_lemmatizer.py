"""``egparse_lemmatizer`` through spaCy's interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from house.package import ROOT
from sample_treebank import quick_model, sample
from spacy.matcher import Matcher
from spacy.training import Example
from spacy_components.conftest import blank
from spacy_components.texts import made

from egparse.sentences import Sentence
from egparse.spacy_components.doc_conversion import doc_from_sentences

NAME = "egparse_lemmatizer"
TEXT = " ".join(sample("test")[0].forms)


def examples(nlp: Any, part: str, count: int) -> list[Example]:
    """Examples of one sentence each."""
    chosen = sample(part)[:count]
    return [Example(made(nlp, [one]), doc_from_sentences([one], nlp.vocab)) for one in chosen]


def lemmas(doc: Any) -> list[str]:
    return [token.lemma_ for token in doc]


def test_lemmas_are_those_of_the_model(model_path: Path) -> None:
    nlp = blank(model_path, NAME)
    for sentence in sample("test")[:10]:
        (expected,) = quick_model().annotate([Sentence(forms=sentence.forms)])
        doc = nlp.get_pipe(NAME)(made(nlp, [sentence]))
        assert lemmas(doc) == list(expected.lemmas)
        assert not doc.has_annotation("TAG")  # tags are predicted, but not set


def test_a_stream_gives_the_same(model_path: Path) -> None:
    nlp = blank(model_path, "egparse_tagger", NAME)
    texts = [" ".join(one.forms) for one in sample("test")[:12]]
    assert [*map(lemmas, nlp.pipe(texts, batch_size=5))] == [lemmas(nlp(text)) for text in texts]


def test_tags_of_the_doc_are_used(model_path: Path) -> None:
    sentence = sample("test")[0]
    other = sentence.with_layers(upos=("PROPN",) * len(sentence), lemmas=(), heads=(), deprels=())
    (expected,) = quick_model().annotate([other], gold_tags=True)
    (free,) = quick_model().annotate([Sentence(forms=sentence.forms)])
    for use_tags, wanted in ((True, expected), (False, free)):
        nlp = blank(model_path, NAME, use_tags=use_tags)
        doc = nlp.get_pipe(NAME)(doc_from_sentences([other], nlp.vocab))
        assert lemmas(doc) == list(wanted.lemmas)


@pytest.mark.parametrize("overwrite", [False, True])
def test_lemmas_of_the_doc_are_kept_unless_overwritten(model_path: Path, overwrite: bool) -> None:
    nlp = blank(model_path, NAME, overwrite=overwrite)
    doc = nlp.make_doc("The dogs bark")
    doc[1].lemma_ = "mine"
    doc = nlp.get_pipe(NAME)(doc)
    assert (doc[1].lemma_ == "mine") is not overwrite
    assert all(lemmas(doc))


def test_white_space_is_its_own_lemma(model_path: Path) -> None:
    doc = blank(model_path, NAME)("The  dogs \n bark ")
    assert all(token.lemma_ == token.text for token in doc if token.is_space)
    assert len(blank(model_path, NAME)("")) == 0


def test_the_matcher_finds_lemmas_which_have_probabilities(model_path: Path) -> None:
    nlp = blank(model_path, NAME, probabilities=True)
    doc = nlp(TEXT)
    matcher = Matcher(nlp.vocab)
    matcher.add("ONE", [[{"LEMMA": doc[0].lemma_}]])
    assert {doc[start].lemma_ for _, start, _ in matcher(doc)} == {doc[0].lemma_}
    found = np.array([token._.egparse_lemma_prob for token in doc])
    assert ((found > 0) & (found <= 1)).all()


def test_a_pipeline_is_saved_and_loaded(model_path: Path, tmp_path: Path) -> None:
    nlp = blank(model_path, "egparse_tagger", "egparse_parser", NAME)
    nlp.to_disk(tmp_path / "saved")
    again = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    for other in (spacy.load(tmp_path / "saved"), again):
        assert lemmas(other(TEXT)) == lemmas(nlp(TEXT))
    assert nlp.analyze_pipes()["problems"] == {name: [] for name in nlp.pipe_names}  # type: ignore[index]


def test_it_scores_lemmas(model_path: Path) -> None:
    nlp = blank(model_path, NAME)
    scores = nlp.evaluate(examples(nlp, "test", 10))
    assert 0.3 < scores["lemma_acc"] <= 1
    assert scores["conll_lemmas"] == pytest.approx(scores["lemma_acc"], abs=0.02)


def test_it_is_trained_with_a_pipeline() -> None:
    nlp = spacy.blank("en")
    tagger: Any = nlp.add_pipe("egparse_tagger")
    pipe: Any = nlp.add_pipe(NAME)
    given = examples(nlp, "train", 60)
    nlp.initialize(lambda: given)
    assert pipe.model is tagger.model
    assert pipe.model.layers == ("upos", "xpos", "feats", "lemmas")
    assert nlp.evaluate(given)["lemma_acc"] > 0.9
    assert (pipe.labels, pipe.hide_labels) == ((), True)


def test_it_learns_from_updates() -> None:
    nlp = spacy.blank("en")
    pipe: Any = nlp.add_pipe(NAME)
    given = examples(nlp, "train", 30)
    for _ in range(3):
        losses = nlp.update(given)
    assert losses[NAME] >= 0
    assert nlp.evaluate(given)["lemma_acc"] > 0.8
    assert "lemmas" in pipe.model.layers


def test_the_recipe_for_lemmas_in_the_documentation_works() -> None:
    pytest.importorskip("spacy_lookups_data", reason="spacy-lookups-data is not installed")
    page = (ROOT / "docs" / "spacy.md").read_text(encoding="utf-8")
    (recipe,) = (block for block in page.split("```py\n") if "lemmatizer" in block[:200])
    nlp = blank(ROOT / "models" / "en_ewt.msgpack", "egparse_tagger", "egparse_parser")
    exec(recipe.partition("```")[0], {"nlp": nlp})
    found = lemmas(nlp("She gave the children two books."))
    assert found == ["she", "give", "the", "child", "two", "book", "."]
    assert nlp.pipe_names == ["egparse_tagger", "lemmatizer", "egparse_parser"]
