"""The drop-in for spacy_udpipe: pipelines by language, of texts, sentences and tokens."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import spacy
from sample_treebank import quick_model
from spacy.language import Language
from spacy.tokens import Doc

import egparse
from egparse import spacy_udpipe
from egparse.cli.commands.models import index_of


@pytest.fixture(scope="module")
def nlp() -> Language:
    return spacy_udpipe.load("fr")


def rows(doc: Doc) -> list[tuple[object, ...]]:
    return [
        (token.text, token.lemma_, token.pos_, token.dep_, token.head.i, token.is_sent_start)
        for token in doc
    ]


def test_a_text_has_the_trees_of_the_model(nlp: Language) -> None:
    text = "Attention aux articles contractés!  Ils existent."
    doc = nlp(text)
    assert doc.text == text
    assert [token.norm_ for token in doc][:4] == ["attention", "à", "les", "articles"]
    assert [token.pos_ for token in doc][1:3] == ["ADP", "DET"]
    found, expected = egparse.sentences_from_doc(doc), list(egparse.load("fr")(text))
    assert [(s.forms, s.upos, s.lemmas, s.heads, s.deprels) for s in found] == [
        (s.forms, s.upos, s.lemmas, s.heads, s.deprels) for s in expected
    ]
    assert nlp.lang == "fr"
    assert nlp.vocab.get_noun_chunks is not None


def test_sentences_and_tokens_are_taken_as_they_are(nlp: Language) -> None:
    doc = nlp(["Le maire du village", "parle. Il rit.", " "])
    assert [sentence.text for sentence in doc.sents] == ["Le maire du village", "parle. Il rit."]
    doc = nlp([["Le", "maire", "de", "le", "village", "."], [], ["Il", "rit"]])
    assert doc.text == "Le maire de le village. Il rit"
    assert [len(sentence) for sentence in doc.sents] == [6, 2]
    assert [len(nlp(nothing)) for nothing in ("", [], [""], [[]])] == [0] * 4


def test_streams_take_all_kinds_of_texts(nlp: Language) -> None:
    texts = ["Il va au bal.", ["Il rit.", "Elle dort."], [["Il", "rit"]], nlp.make_doc("Oui.")]
    expected = [rows(nlp(text)) for text in texts]
    assert [rows(doc) for doc in nlp.pipe(texts)] == expected
    assert [rows(doc) for doc in nlp.pipe(texts, n_process=2)] == expected
    pairs = nlp.pipe(zip(texts, "abcd", strict=True), as_tuples=True)
    assert [(rows(doc), context) for doc, context in pairs] == [*zip(expected, "abcd", strict=True)]


def test_a_pipeline_is_pickled_and_saved(nlp: Language, tmp_path: Path) -> None:
    given = ["Il va au bal.", "Elle dort."]
    assert rows(pickle.loads(pickle.dumps(nlp))(given)) == rows(nlp(given))
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")  # one of spaCy, which takes texts
    assert rows(again(given[0])) == rows(nlp(given[0]))


@pytest.mark.parametrize("text", [["a", ["b"]], [["a", 3]], [3]])
def test_lists_of_anything_else_are_refused(nlp: Language, text: object) -> None:
    with pytest.raises(egparse.EgparseError, match="expected a text, a list of sentences or a"):
        nlp(text)  # type: ignore[arg-type]


def test_models_have_the_names_of_udpipe_or_a_path(tmp_path: Path) -> None:
    quick_model().save(tmp_path / "mine.msgpack")
    nlp = spacy_udpipe.load_from_path("en-mine", tmp_path / "mine.msgpack", meta={"author": "Kim"})
    assert (nlp.lang, nlp.meta["author"]) == ("en", "Kim")
    assert nlp([["A", "dog", "barks"]])[1].pos_ == "NOUN"
    assert spacy_udpipe.download("fr-sequoia") == spacy_udpipe.download("fr")
    with pytest.raises(egparse.ModelFileError, match="xx_none: expected the path, the name"):
        spacy_udpipe.load("xx-none")


def test_a_model_is_downloaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published, home = tmp_path / "published", tmp_path / "home"
    published.mkdir()
    quick_model().save(published / "xx_test.msgpack")
    index = json.dumps({"models": index_of(published)})
    (published / "index.json").write_text(index, encoding="utf-8")
    monkeypatch.setenv("EGPARSE_HOME", str(home))
    monkeypatch.setenv("EGPARSE_INDEX", str(published))
    with pytest.raises(egparse.ModelFileError, match="'egparse download xx_test'"):
        spacy_udpipe.load("xx-test")
    assert spacy_udpipe.download("xx-test") == home / "models" / "xx_test.msgpack"
    (published / "xx_test.msgpack").unlink()
    assert spacy_udpipe.download("xx-test").is_file()
    with pytest.raises(egparse.ModelFileError, match="xx_none: expected the path"):
        spacy_udpipe.download("xx_none")
