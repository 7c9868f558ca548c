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
from properties import examples
from sample_treebank import quick_model, without
from spacy.language import Language
from spacy.symbols import LEMMA, NORM, ORTH
from spacy.tokens import Doc

from egparse.errors import EgparseError, ModelFileError
from egparse.pipeline.model import Model
from egparse.service.hub.resolve import find_model
from egparse.spacy_components.multiword import words_of
from egparse.spacy_components.shared_models import LanguageWarning

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


@examples(30)
@given(text=st.text(alphabet=st.sampled_from("aB1.,'-  \n\t\u00a0\u2019\U0001f600"), max_size=60))
def test_the_text_is_unchanged(text: str) -> None:
    for one in (text, *ODD):
        assert english()(one).text == one


def texts(doc: Doc) -> list[str]:
    return [token.text for token in doc]


@pytest.mark.parametrize("name", MODELS)
def test_tokens_are_those_of_the_model(name: str) -> None:
    text = "Kim l'a vu (2 fois) : don't du dos pelo fazê-lo. Ela/elle, Mr. Smith: 3.5 kg\n\nFim."
    model = Model.load(Path("models") / f"{name}.msgpack")
    with_model = with_tokenizer(name, model.language)
    sentences = list(model(text))
    found = [token for token in with_model(text) if not token.is_space]
    tokens = [token.form for sentence in sentences for token in sentence.surface_tokens]
    assert [token.text for token in found] == tokens
    of_words = [words_of(token) or [{"form": token.text}] for token in found]
    words = [form for sentence in sentences for form in sentence.forms]
    assert [word["form"] for several in of_words for word in several] == words


def test_a_pipeline_is_saved_with_one_file_of_the_model(tmp_path: Path) -> None:
    nlp = with_tokenizer("en_ewt")
    nlp.add_pipe("egparse_tagger", config={"model": "en_ewt"})
    nlp.to_disk(tmp_path / "saved")
    assert len(list((tmp_path / "saved").rglob("*.msgpack"))) == 1
    text = "Don't you see? It's 5.30pm."
    again = spacy.load(tmp_path / "saved")
    of_bytes = with_tokenizer("en_ewt")
    of_bytes.add_pipe("egparse_tagger")
    for other in (again, of_bytes.from_bytes(nlp.to_bytes())):
        assert described(other(text)) == described(nlp(text))


def test_copies_share_the_model(nlp: Language) -> None:
    for other in (copy.deepcopy(nlp.tokenizer), pickle.loads(pickle.dumps(nlp.tokenizer))):
        assert other.model is nlp.tokenizer.model
        assert texts(other("Don't!")) == texts(nlp("Don't!"))


def test_pipe_and_processes_give_the_same(nlp: Language) -> None:
    given = ["Don't!", "", "Go on, e.g. here."] * 3
    alone = [texts(nlp(text)) for text in given]
    assert [texts(doc) for doc in nlp.pipe(given)] == alone
    assert [texts(doc) for doc in nlp.pipe(given, n_process=2, batch_size=2)] == alone


def test_a_model_without_a_tokeniser_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "without.msgpack"
    without(quick_model(), "tokeniser").save(path)
    with pytest.raises(EgparseError, match="tokenizer: expected a model with a tokeniser"):
        with_tokenizer(path)
    with pytest.raises(ModelFileError):
        with_tokenizer(tmp_path / "missing.msgpack")
    tokenizer = {"@tokenizers": "egparse.Tokenizer.v1"}
    with pytest.raises(EgparseError, match="tokenizer: expected a model"):
        spacy.blank("en", config={"nlp": {"tokenizer": tokenizer}})("text")


def test_another_language_is_warned_of() -> None:
    with pytest.warns(LanguageWarning):
        with_tokenizer("fr_sequoia", "en")


def special(nlp: Language) -> Language:
    nlp.tokenizer.add_special_case("gimme", [{ORTH: "gim", NORM: "give"}, {ORTH: "me"}])
    nlp.tokenizer.add_special_case("f**k", [{"ORTH": "f**k", "TAG": "VB", LEMMA: "hug"}])
    return nlp


def described(doc: Doc) -> list[tuple[str, ...]]:
    return [(token.text, token.norm_, token.tag_, token.lemma_) for token in doc]


SPECIAL = "gimme a f**k, Gimme f*uk gimmes"


def test_special_cases_are_split_as_they_say() -> None:
    found = described(special(with_tokenizer("en_ewt"))(SPECIAL))
    assert " ".join(text for text, *_ in found) == "gim me a f**k , Gimme f*uk gimmes"
    assert found[0][1] == "give"
    assert found[3][2:] == ("VB", "hug")


def test_special_cases_go_with_the_pipeline(tmp_path: Path) -> None:
    nlp = special(with_tokenizer("en_ewt"))
    expected = described(nlp(SPECIAL))
    nlp.to_disk(tmp_path / "saved")
    plain = with_tokenizer("en_ewt")
    others = [
        spacy.load(tmp_path / "saved"),
        with_tokenizer("en_ewt").from_bytes(nlp.to_bytes()),
        pickle.loads(pickle.dumps(nlp)),
    ]
    assert [described(other(SPECIAL)) for other in others] == [expected] * 3
    assert described(special(plain)(SPECIAL)) == expected
    plain.from_bytes(with_tokenizer("en_ewt").to_bytes()).to_disk(tmp_path / "saved")
    assert described(spacy.load(tmp_path / "saved")(SPECIAL)) != expected


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ([{ORTH: "gi"}, {ORTH: "me"}], r"expected ORTH of tokens that .*, got \['gi', 'me'\]"),
        ([{ORTH: "gimme", "DEP": "x"}], "expected texts of ORTH, NORM, .*, got DEP 'x'"),
        ([], "expected ORTH of tokens"),
    ],
)
def test_a_special_case_that_is_none_is_refused(
    nlp: Language, tokens: list[dict[int | str, str]], text: str
) -> None:
    with pytest.raises(EgparseError, match=f"special case 'gimme': {text}"):
        nlp.tokenizer.add_special_case("gimme", tokens)


def test_components_use_the_exceptions_of_their_model(tmp_path: Path) -> None:
    path = tmp_path / "mine.conllu"
    empty = "\t_" * 7
    path.write_text(
        f"1\tdog\tmutt\tADV{empty[2:]}\n\n1\t.{empty}\tSentenceEnd=No\n2\t<number>{empty}\t_\n\n"
    )
    Model.load(find_model(Path("en_ewt"))).with_exceptions(path).save(tmp_path / "en.msgpack")
    nlp = spacy.blank("en")
    for name in ("egparse_senter", "egparse_tagger", "egparse_lemmatizer"):
        nlp.add_pipe(name, config={"model": str(tmp_path / "en.msgpack")})
    doc = nlp(Doc(nlp.vocab, ["A", "dog", "came", ".", "5", "men", "ran", ".", "He", "sat"]))
    assert (doc[1].pos_, doc[1].lemma_) == ("ADV", "mutt")
    assert [token.i for token in doc if token.is_sent_start] == [0, 8]
