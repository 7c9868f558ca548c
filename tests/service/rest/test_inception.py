"""The recommender for INCEpTION, asked with documents that dkpro-cassis writes and reads."""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Sequence
from typing import Any

import cassis
import pytest
import requests
from service.rest.conftest import MODELS, finished, model

from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.service.rest.application import Limits, application
from egparse.service.rest.inception import recommend
from egparse.service.rest.process import Refused
from egparse.service.rest.served_models import ServedModel, ServedModels
from egparse.service.rest.server import opened, server_of

DKPRO = "de.tudarmstadt.ukp.dkpro.core.api."
SENTENCE, TOKEN = (f"{DKPRO}segmentation.type.{name}" for name in ("Sentence", "Token"))
POS, LEMMA = f"{DKPRO}lexmorph.type.pos.POS", f"{DKPRO}segmentation.type.Lemma"
DEPENDENCY = f"{DKPRO}syntax.type.dependency.Dependency"
ENTITY = f"{DKPRO}ner.type.NamedEntity"
PREDICTED = "inception_internal_predicted"
FEATURES = {POS: "coarseValue", LEMMA: "value", DEPENDENCY: "DependencyType", ENTITY: "value"}
TEXT = "Ela viu o gato .\nO cão dorme ."


def document(text: str = TEXT) -> Any:
    """A document whose tokens are given, with the features that INCEpTION adds to its types."""
    with warnings.catch_warnings(action="ignore"):  # of Python, about how cassis reads its files
        types = cassis.load_dkpro_core_typesystem()
    for name, feature in FEATURES.items():
        type_ = types.get_type(name)
        types.create_feature(type_, f"{feature}_score", "uima.cas.Double")
        types.create_feature(type_, PREDICTED, "uima.cas.Boolean")
    cas = cassis.Cas(types)
    cas.sofa_string = text
    begin = 0
    for line in text.split("\n"):
        cas.add(types.get_type(SENTENCE)(begin=begin, end=begin + len(line)))
        for word in line.split():
            cas.add(types.get_type(TOKEN)(begin=begin, end=begin + len(word)))
            begin += len(word) + 1
    return cas


def request(cas: Any, layer: str, feature: str | None = None) -> bytes:
    metadata = {"layer": layer, "feature": feature or FEATURES[layer], "projectId": 1}
    given = {"xmi": cas.to_xmi(), "documentId": 1, "userId": "a"}
    types = cas.typesystem.to_xml()
    return json.dumps({"metadata": metadata, "document": given, "typeSystem": types}).encode()


def predictions(answer: bytes, cas: Any, layer: str) -> list[Any]:
    found = cassis.load_cas_from_xmi(json.loads(answer)["document"], cas.typesystem)
    return [one for one in found.select(layer) if getattr(one, PREDICTED)]


def recommended(cas: Any, layer: str, of: Model | None = None) -> list[Any]:
    return predictions(finished(recommend(of or model(), request(cas, layer))), cas, layer)


def test_every_word_gets_a_tag_and_its_probability() -> None:
    found = recommended(document(), POS)
    words = [line.split() for line in TEXT.split("\n")]
    sentences = [*model().annotate(map(sentence_of, words), probabilities=["upos"])]
    assert [one.get_covered_text() for one in found] == TEXT.split()
    assert [one.coarseValue for one in found] == [tag for s in sentences for tag in s.upos]
    scores = [p for s in sentences for p in s.probabilities["upos"]]
    assert [one.coarseValue_score for one in found] == pytest.approx(scores)


def test_what_an_annotator_has_decided_is_kept() -> None:
    cas = document()
    tokens = [*cas.select(TOKEN)]
    arc = cas.typesystem.get_type(DEPENDENCY)

    def fix(dependent: Any, governor: Any) -> None:
        ends = {"begin": dependent.begin, "end": dependent.end}
        cas.add(arc(Governor=governor, Dependent=dependent, DependencyType="dep", **ends))

    fix(tokens[3], tokens[3])  # the root of the first sentence
    fix(tokens[0], tokens[8])  # of another sentence: left alone
    found = recommended(cas, DEPENDENCY)
    heads = {one.Dependent.begin: (one.Governor.begin, one.DependencyType) for one in found}
    assert tokens[3].begin not in heads
    assert len(heads) == len(tokens) - 1
    (root,) = (begin for begin, (head, _) in heads.items() if begin == head)
    assert root >= tokens[5].begin  # in the second sentence
    assert heads[tokens[1].begin][0] == tokens[3].begin
    assert all(0 < one.DependencyType_score <= 1 for one in found)
    fix(tokens[7], tokens[8])
    fix(tokens[8], tokens[7])  # a cycle, which the annotator will mend: the model speaks its mind
    assert len(recommended(cas, DEPENDENCY)) == len(tokens) - 3


def test_a_token_of_several_words_gets_the_values_of_the_highest() -> None:
    cas = document("Ela gosta do gato .")
    (words,) = model()("Ela gosta do gato .")
    assert [*words.forms] == ["Ela", "gosta", "de", "o", "gato", "."]
    tags = {one.get_covered_text(): one.coarseValue for one in recommended(cas, POS)}
    assert [*tags] == ["Ela", "gosta", "do", "gato", "."]
    assert tags["do"] == "ADP"
    arcs = recommended(cas, DEPENDENCY)
    found = {one.Dependent.get_covered_text(): one.Governor.get_covered_text() for one in arcs}
    assert found == {"Ela": "gosta", "gosta": "gosta", "do": "gato", "gato": "gosta", ".": "gosta"}


def test_entities_are_recommended_where_none_is() -> None:
    cas = document("Kim Smith saw Lisbon .\nShe met Tom .")
    english = Model.load(MODELS / "en_ewt.msgpack")
    found = recommended(cas, ENTITY, english)
    texts = ["Kim Smith", "Lisbon", "Tom"]
    assert [(one.get_covered_text(), one.value) for one in found] == [
        *zip(texts, ["PER", "LOC", "PER"], strict=True)
    ]
    cas.add(cas.typesystem.get_type(ENTITY)(begin=0, end=3, value="ORG"))
    assert [one.get_covered_text() for one in recommended(cas, ENTITY, english)] == texts[1:]


def test_a_layer_that_is_not_predicted_is_refused() -> None:
    with pytest.raises(Refused, match=r"\(POS.coarseValue, .*\), got 'webanno.custom.X' and 'a'"):
        finished(recommend(model(), request(document(), "webanno.custom.X", "a")))


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"\xff", b'{"metadata": 1}', request(document(), POS)[:-5]]
)
def test_other_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(Refused, match="Expected JSON"):
        finished(recommend(model(), body))


@pytest.mark.parametrize(
    ("xmi", "said"), [("<a", "Cannot read the CAS"), ("<!DOCTYPE a><a/>", "document type")]
)
def test_documents_that_are_no_cas_are_refused(xmi: str, said: str) -> None:
    body = json.loads(request(document(), POS))
    body["document"]["xmi"] = xmi
    with pytest.raises(Refused, match=said):
        finished(recommend(model(), json.dumps(body).encode()))


@pytest.mark.parametrize("name", ["a=print()", "a: (print())", "class", "a b", "__a", ""])
def test_names_that_could_be_code_are_refused(name: str) -> None:
    body = json.loads(request(document(), POS))
    for kept in ("coarseValue_score", POS.rpartition(".")[2]):
        changed = {"typeSystem": re.sub(rf"{kept}</name>", f"{name}</name>", body["typeSystem"])}
        with pytest.raises(Refused, match=r"identifiers|Cannot read the CAS"):
            finished(recommend(model(), json.dumps(body | changed).encode()))


def test_a_document_without_a_text_is_refused() -> None:
    body = json.loads(request(document(), POS))
    body["document"]["xmi"] = re.sub(r'sofaString="[^"]*"', "", body["document"]["xmi"])
    with pytest.raises(Refused, match=r"Cannot read the annotations: [A-Z]"):
        finished(recommend(model(), json.dumps(body).encode()))


def test_the_service_answers_at_the_address_of_a_model() -> None:
    listening = opened("127.0.0.1", 0)
    models = ServedModels([ServedModel("pt_bosque", model())])
    server = server_of(application(models, Limits()))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/inception"
    cas = document()

    def asked(path: str) -> requests.Response:
        return requests.post(f"{address}/{path}", data=request(cas, LEMMA), timeout=30)

    try:
        answer = asked("pt_bosque/predict")
        assert answer.headers["content-type"] == "application/json"
        assert len(predictions(answer.content, cas, LEMMA)) == len(TEXT.split())
        assert asked("pt_bosque/train").status_code == 501
        assert asked("none/predict").status_code == 400
    finally:
        server.should_exit = True
        thread.join()


def sentence_of(words: Sequence[str]) -> Sentence:
    return Sentence(tuple(words))
