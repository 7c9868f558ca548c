"""The tokeniser of a model as ``nlp.tokenizer``."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from sample_treebank import quick_model
from spacy.language import Language

from egparse.errors import EgparseError, ModelFileError
from egparse.pipeline.model import Model
from egparse.spacy_components.model_holder import LanguageWarning
from egparse.spacy_components.tokens.multiword import words_of

MODELS = ("en_ewt", "fr_sequoia", "pt_bosque")

ODD = (
    "",
    " ",
    "\n\n",
    "a  b",
    " Kim saw it.  She\twaved. \n\n Then \r\n he did ",
    "http://example.com/x?y=1,2 e.g. don't cannot",
    "e\u0301te\u0301 \u00a0x \u200b\u2028 end",
)


def with_tokenizer(model: str | Path, language: str = "en") -> Language:
    tokenizer = {"@tokenizers": "egparse.Tokenizer.v1", "model": str(model)}
    return spacy.blank(language, config={"nlp": {"tokenizer": tokenizer}})


@cache
def english() -> Language:
    return with_tokenizer("en_ewt")


@pytest.fixture(scope="module")
def nlp() -> Language:
    return english()


@pytest.mark.parametrize("text", ODD)
def test_the_text_is_unchanged(nlp: Language, text: str) -> None:
    assert nlp(text).text == text


@given(text=st.text(alphabet=st.sampled_from("aB1.,'-  \n\t\u00a0\u2019\U0001f600"), max_size=60))
def test_any_text_is_unchanged(text: str) -> None:
    assert english()(text).text == text


@pytest.mark.parametrize("name", MODELS)
def test_tokens_are_those_of_the_model(name: str) -> None:
    text = "Kim l'a vu (2 fois) : don't du dos pelo fazê-lo. Ela/elle, Mr. Smith: 3.5 kg\n\nFim."
    model = Model.load(Path("models") / f"{name}.msgpack")
    with_model = with_tokenizer(name, model.language)
    tokens, words = [], []
    for sentence in model(text):
        forms, covered = list(sentence.forms), {}
        for token in sentence.tokens:
            covered[token.first] = token
        k = 0
        while k < len(forms):
            token = covered.get(k)
            tokens.append(forms[k] if token is None else token.form)
            words += forms[k : k + 1 if token is None else token.last + 1]
            k = k + 1 if token is None else token.last + 1
    doc = with_model(text)
    found = [token for token in doc if not token.is_space]
    assert [token.text for token in found] == tokens
    of_words = [
        [word["form"] for word in words_of(token) or [{"form": token.text}]] for token in found
    ]
    assert [form for forms in of_words for form in forms] == words


def test_a_pipeline_is_saved_with_one_file_of_the_model(tmp_path: Path) -> None:
    nlp = with_tokenizer("en_ewt")
    nlp.add_pipe("egparse_tagger", config={"model": "en_ewt"})
    nlp.to_disk(tmp_path / "saved")
    assert len(list((tmp_path / "saved").rglob("*.msgpack"))) == 1
    text = "Don't you see? It's 5.30pm."
    again = spacy.load(tmp_path / "saved")
    assert [(token.text, token.tag_) for token in again(text)] == [
        (token.text, token.tag_) for token in nlp(text)
    ]
    of_bytes = with_tokenizer("en_ewt")
    of_bytes.add_pipe("egparse_tagger")
    of_bytes.from_bytes(nlp.to_bytes())
    assert [token.tag_ for token in of_bytes(text)] == [token.tag_ for token in nlp(text)]


def test_copies_share_the_model(nlp: Language) -> None:
    for other in (copy.deepcopy(nlp.tokenizer), pickle.loads(pickle.dumps(nlp.tokenizer))):
        assert other.model is nlp.tokenizer.model
        assert [token.text for token in other("Don't!")] == [token.text for token in nlp("Don't!")]


def test_pipe_and_processes_give_the_same(nlp: Language) -> None:
    texts = ["Don't!", "", "Go on, e.g. here."] * 3
    alone = [[token.text for token in nlp(text)] for text in texts]
    assert [[token.text for token in doc] for doc in nlp.pipe(texts)] == alone
    both = nlp.pipe(texts, n_process=2, batch_size=2)
    assert [[token.text for token in doc] for doc in both] == alone


def test_a_model_without_a_tokeniser_is_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    path = tmp_path / "without.msgpack"
    replace(quick_model(), tokeniser=None).save(path)
    with pytest.raises(EgparseError, match="tokenizer: expected a model with a tokeniser"):
        with_tokenizer(path)
    with pytest.raises(ModelFileError):
        with_tokenizer(tmp_path / "missing.msgpack")
    with pytest.raises(EgparseError, match="tokenizer: expected a model"):
        spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "egparse.Tokenizer.v1"}}})(
            "text"
        )


def test_another_language_is_warned_of() -> None:
    with pytest.warns(LanguageWarning):
        with_tokenizer("fr_sequoia", "en")
