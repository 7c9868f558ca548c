"""The page of a service: its form, what a model finds in a text, and that it loads nothing."""

from __future__ import annotations

from functools import cache
from math import exp
from xml.etree.ElementTree import Element, fromstring

import pytest
from service.rest.conftest import finished, model

from egparse.service.rest import page as under_test
from egparse.service.rest.page import page
from egparse.service.rest.process import Refused
from egparse.service.rest.served_models import ServedModel, ServedModels

LOADING = {"src", "srcset", "poster", "background", "formaction", "onload", "onclick"}


@cache
def models() -> ServedModels:
    return ServedModels(ServedModel(name, model()) for name in ("first", "second"))


def shown(**parameters: str) -> Element:
    """The page, whose markup is also well-formed XML but for elements without an end."""
    text = finished(page(models(), parameters)).decode().removeprefix("<!DOCTYPE html>")
    parts = text.split("<meta ")
    closed = [part.replace(">", "/>", 1) for part in parts[1:]]
    return fromstring("<meta ".join([parts[0], *closed]))


def texts(element: Element, path: str) -> list[str]:
    return ["".join(found.itertext()) for found in element.iterfind(path)]


def test_a_form_asks_for_a_text_and_a_model() -> None:
    empty = shown()
    form = empty.find(".//form")
    assert form is not None
    assert form.attrib == {"method": "post", "action": "."}
    assert texts(form, ".//option") == ["first", "second"]
    named = {field.get("id") for field in form.iter() if field.get("name")}
    assert named == {label.get("for") for label in form.iter("label")} == {"data", "model"}
    assert empty.find(".//article") is None


def test_words_tags_and_tree_of_a_text_are_shown() -> None:
    whole = shown(data="O gato dorme. Ela não.\n", model="second")
    (sentence, _) = models().default.model("O gato dorme. Ela não.\n")
    assert len(whole.findall(".//article")) == 2
    article = whole.find(".//article")
    assert article is not None
    assert texts(article, ".//th")[:4] == ["", "word", "lemma", "UPOS"]
    rows = [texts(row, "td") for row in article.iterfind(".//tbody/tr")]
    assert [row[1] for row in rows] == list(sentence.forms) == ["O", "gato", "dorme", "."]
    assert [row[-3:-1] for row in rows] == [
        [str(head), deprel] for head, deprel in zip(sentence.heads, sentence.deprels, strict=True)
    ]
    assert len(article.findall(".//svg//text[@class='displacy-token']")) == 4
    assert texts(whole, ".//textarea") == ["O gato dorme. Ela não.\n"]
    assert texts(whole, ".//option[@selected]") == ["second"]


def test_two_readings_of_an_unsure_sentence_are_told_apart() -> None:
    text = "O gato viu o cão com a menina no jardim da casa velha com um rato."
    (ranked,) = models().default.model.k_best(models().default.model(text), 2)
    found = texts(shown(data=text), ".//div[@class='readings']//li")
    assert len(found) == 2
    for line, tree in zip(found, ranked, strict=True):
        assert line.startswith(f"{exp(tree.log_probability):.3f} ")
        sentence = tree.sentence
        forms = ("", *sentence.forms)
        places = {
            f"{form}: {label}" + f" of {forms[head]}" * (head > 0)
            for form, label, head in zip(
                sentence.forms, sentence.deprels, sentence.heads, strict=True
            )
        }
        assert {*line.partition(" ")[2].split("; ")} <= places


def test_text_stays_text_and_nothing_is_loaded() -> None:
    hostile = "</textarea><script>alert(1)</script> & \"'\x01"
    found = shown(data=hostile)
    assert found.find(".//script") is None
    assert texts(found, ".//textarea") == [hostile.replace("\x01", "\ufffd")]
    for element in found.iter():
        assert element.tag not in {"img", "iframe", "object", "link", "base"}
        assert not LOADING & set(element.attrib)
    assert {a.get("href") for a in found.iter("a")} <= {"models", "#s1", "#s2", "#s3"}


def test_of_a_long_text_the_first_sentences_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "MOST_SENTENCES", 2)
    found = shown(data="Ela não.\n\n" * 3)
    assert len(found.findall(".//article")) == 2
    assert "The first 2 sentences of a longer text." in texts(found, ".//main/p")


def test_a_model_that_is_not_served_is_refused() -> None:
    with pytest.raises(Refused, match="expected first, second"):
        shown(data="a", model="x")
