"""The service without its socket: names of models, parameters of requests, and replies."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import anyio
import pytest
from sample_treebank import taggers, without
from service.rest.conftest import MODELS, finished, model

from egparse.errors import ConfigError, EgparseError
from egparse.service.rest import application as web
from egparse.service.rest.process import (
    MULTIPART,
    URL_ENCODED,
    Refused,
    parameters_of,
    process,
    understood,
)
from egparse.service.rest.served_models import ServedModel, ServedModels, load_models

TEXT = "O gato dorme. Ela não.\n\nOutro dia.\n"
ROWS = (
    "# sent_id = s\n"
    "1\tEla\tela\tX\tY\tA=b\t2\tdep\t_\tz=1\n2\tdorme\tdormir\tZ\t_\t_\t0\troot\t_\t_\n\n"
)


def served(*names: str) -> ServedModels:
    return ServedModels(ServedModel(name, model()) for name in names)


def reply(**parameters: str) -> str:
    return str(finished(process(understood(served("pt_bosque"), parameters)))["result"])


def columns(conllu: str, *numbers: int) -> list[tuple[str, ...]]:
    rows = [line.split("\t") for line in conllu.split("\n") if line[:1].isdigit()]
    return [tuple(row[number] for number in numbers) for row in rows]


def test_models_are_found_by_name_beginning_and_language() -> None:
    models = served("pt_bosque-ud-2.5", "pt_gsd", "other-model")
    names = ("pt_bosque-ud-2.5", "pt_bosque-ud", "pt_bosque", "pt", "", "pt_gsd", "other")
    found = [models.find(name) for name in names]
    first, second, third = models
    assert found == [first, first, first, first, first, second, third]
    for unknown in ("pt_bosque-2", "p", "en", "PT", "pt_", "gsd"):
        assert models.find(unknown) is None
    assert models.as_json() == {
        "models": {one.name: ["tokenizer", "tagger", "parser"] for one in models},
        "default_model": "pt_bosque-ud-2.5",
    }


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("portuguese-bosque-ud-2.12-230717", 1),
        ("pt_bosque-ud-2.6-200830", 1),
        ("portuguese-gsd-ud-2.5-191206", 0),
        ("portuguese-gsd", 0),
        ("portuguese-ud-2.0-170801", 0),
        ("portuguese", 0),
        ("por", 0),
        ("ancient_greek-proiel-ud-2.5-191206", 2),
        ("grc_proiel-ud-2.6-200830", 2),
        ("ancient_greek", 2),
        ("portuguese-pud-ud-2.12-230717", None),
        ("ancient_greek-perseus-ud-2.12-230717", None),
        ("french", None),
        ("greek", None),
        ("Portuguese", None),
    ],
)
def test_names_of_udpipe_mean_the_model_of_that_language_and_treebank(
    name: str, place: int | None
) -> None:
    models = served("pt_gsd", "pt_bosque", "grc_proiel")
    found = models.find(name)
    assert found is (None if place is None else list(models)[place])


def test_a_model_says_what_it_can_do() -> None:
    tagger = ServedModel("a", without(model(), "parser", "labeller"))
    parser = ServedModel("b", without(model(), "morphology", *taggers(model()), "lemmas"))
    listed = ServedModels([tagger, parser]).as_json()["models"]
    assert listed == {"a": ["tokenizer", "tagger"], "b": ["tokenizer", "parser"]}
    with pytest.raises(Refused, match="does not contain a parser"):
        understood(ServedModels([tagger]), {"data": "", "parser": ""})
    with pytest.raises(Refused, match="does not contain a tagger"):
        understood(ServedModels([parser]), {"data": "", "tagger": ""})


def test_models_are_served_with_exceptions(tmp_path: Path) -> None:
    path = tmp_path / "mine.conllu"
    path.write_text("1\tgrok\tgrokk\tADV\t_\t_\t_\t_\t_\t_\n\n")
    served = load_models(["en_ewt"], path).default
    (sentence,) = served.model("I grok it.")
    assert (sentence.upos[1], sentence.lemmas[1]) == ("ADV", "grokk")


def test_models_are_loaded_by_name_or_path(tmp_path: Path) -> None:
    models = load_models(["pt_bosque", MODELS / "fr_sequoia.msgpack"])
    assert [one.name for one in models] == ["pt_bosque", "fr_sequoia"]
    acknowledged = "\n".join(models.default.acknowledgements)
    assert "licence of the model: CC-BY-SA-4.0\nUD Portuguese Bosque" in acknowledged
    (tmp_path / "pt_bosque.msgpack").write_bytes(b"")
    with pytest.raises(EgparseError, match="expected models of different names"):
        load_models([MODELS / "pt_bosque.msgpack", tmp_path / "pt_bosque.msgpack"])
    with pytest.raises(ConfigError, match="expected a model to serve, got none"):
        ServedModels([])


def test_text_is_tokenised_tagged_and_parsed() -> None:
    everything = reply(data=TEXT, tokenizer="", tagger="", parser="")
    forms = [form for (form,) in columns(everything, 1)]
    assert forms == ["O", "gato", "dorme", ".", "Ela", "não", ".", "Outro", "dia", "."]
    whole = model()(TEXT)
    assert columns(everything, 3, 6, 7) == [
        (upos, str(head), deprel)
        for sentence in whole
        for upos, head, deprel in zip(sentence.upos, sentence.heads, sentence.deprels, strict=True)
    ]
    tagged = reply(data=TEXT, tokenizer="", tagger="")
    assert columns(tagged, 1, 3, 5) == columns(everything, 1, 3, 5)
    assert set(columns(tagged, 6, 7)) == {("_", "_")}
    alone = reply(data=TEXT, tokenizer="", tagger="none", parser="none")
    assert set(columns(alone, 3, 5, 6, 7)) == {("_", "_", "_", "_")}


def test_enhanced_dependencies_are_made_on_request() -> None:
    graphs = columns(reply(data=TEXT, tokenizer="", tagger="", parser="enhanced"), 8)
    assert graphs == [(cell,) for one in model()(TEXT, enhanced=True) for cell in one.deps]
    given = reply(data=TEXT, tokenizer="", tagger="")
    assert ("_",) not in columns(reply(data=given, parser="enhanced"), 8)
    german = ServedModels([ServedModel("de", replace(model(), language="de"))])
    with pytest.raises(Refused, match="expected one of the languages"):
        understood(german, {"data": "", "parser": "enhanced"})


def test_without_a_tagger_the_tags_of_the_input_stay() -> None:
    assert reply(data=ROWS) == ROWS
    parsed = reply(data=ROWS, parser="")
    assert columns(parsed, 2, 3, 4, 5, 9) == columns(ROWS, 2, 3, 4, 5, 9)
    assert {head for (head,) in columns(parsed, 6)} <= {"0", "1", "2"}
    tagged = reply(data=ROWS, tagger="")
    assert columns(tagged, 6, 7) == columns(ROWS, 6, 7)
    assert columns(tagged, 3) != columns(ROWS, 3)
    shown = json.loads(reply(data=ROWS, output="json"))["sentences"][0]["words"]
    assert [(one["head"], one["deprel"]) for one in shown] == [(2, "dep"), (0, "root")]
    untagged = reply(data=TEXT, tokenizer="", parser="")
    assert set(columns(untagged, 3, 5)) == {("_", "_")}
    assert ("0",) in columns(untagged, 6)


@pytest.mark.parametrize(
    ("parameters", "forms"),
    [
        ({"tokenizer": "presegmented", "data": "O gato. Ela.\nNão"}, "O gato . Ela .|Não"),
        ({"tokenizer": "ranges;presegmented", "data": "a b. c\n"}, "a b . c"),
        ({"tokenizer": "horizontal", "data": "O gato. Ela.\nNão"}, "O gato. Ela.|Não"),
        ({"tokenizer": "vertical", "data": "O\ngato.\n\nNão"}, "O gato.|Não"),
        ({"tokenizer": "conllu", "data": ROWS}, "Ela dorme"),
        ({"tokenizer": "default", "data": "Ela não."}, "Ela não ."),
        ({"tokenizer": "tokenizer", "data": "Ela não."}, "Ela não ."),
        ({"input": "horizontal", "data": "O gato. Ela.\nNão"}, "O gato. Ela.|Não"),
        ({"input": "vertical", "data": "O\ngato.\n\nNão"}, "O gato.|Não"),
        ({"input": "conllu=v2", "data": ROWS}, "Ela dorme"),
        ({"input": "generic_tokenizer", "data": "Ela não."}, "Ela não ."),
        ({"input": "generic_tokenizer;presegmented", "data": "Ei. Ui."}, "Ei . Ui ."),
        ({"input": "text", "data": "Ela não."}, "Ela não ."),
        ({"input": "sentences", "data": "Ei. Ui."}, "Ei . Ui ."),
    ],
)
def test_inputs(parameters: dict[str, str], forms: str) -> None:
    found = reply(**parameters, output="horizontal")
    assert found.rstrip("\n").replace("\n", "|") == forms


def test_outputs() -> None:
    common = {"data": "Ela não. Oi!\n", "tokenizer": ""}
    assert reply(**common, output="vertical") == "Ela\nnão\n.\n\nOi\n!\n\n"
    assert reply(**common, output="plaintext=normalized_spaces") == "Ela não.\nOi!\n"
    assert reply(**common, output="text") == reply(**common, output="plaintext")
    assert len(json.loads(reply(**common, output="json"))["sentences"]) == 2
    assert reply(**common) == reply(**common, output="conllu=v2")
    for data in ("", "\n\n"):
        assert reply(data=data) == reply(data=data, tokenizer="") == ""
        assert json.loads(reply(data=data, output="json")) == {"sentences": []}


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, "Required argument 'data' is missing."),
        ({"data": "", "model": "x\ny"}, r"Requested model 'x\ny' does not exist; expected pt_"),
        ({"data": "", "input": "epe"}, "Unknown input format 'epe'; expected conllu, text,"),
        ({"data": "", "input": ""}, "Unknown input format ''"),
        ({"data": "", "output": "matxin"}, "Unknown output format 'matxin'; expected conllu, json"),
        ({"data": "x"}, "Cannot read input data: data:1: expected 10 tab-separated columns, got 1"),
        ({"data": ROWS.replace("\t2\tdep", "\t9\tdep")}, "Cannot read input data: data:2: "),
    ],
)
def test_a_request_that_is_not_understood_is_refused(
    parameters: dict[str, str], reason: str
) -> None:
    with pytest.raises(Refused) as refused:
        reply(**parameters)
    assert str(refused.value).startswith(reason)


def multipart(parts: Mapping[str, str], boundary: str = "xyz") -> tuple[str, bytes]:
    lines = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in parts.items()
    ]
    body = "".join(lines) + f"--{boundary}--\r\n"
    return f"{MULTIPART}; boundary={boundary}", body.encode()


VALUES = {"data": "é = a&b + c %41\r\n\n\u2028", "tokenizer": "", "model": "pt"}


def test_parameters_are_read_from_address_and_body() -> None:
    encoded = urlencode(VALUES).encode()
    assert parameters_of(encoded, "", b"") == VALUES
    assert parameters_of(b"", f"{URL_ENCODED}; charset=UTF-8", encoded) == VALUES
    assert parameters_of(b"", *multipart(VALUES)) == VALUES
    assert parameters_of(b"data=a&tagger", *multipart({"data": "b"})) == {
        "data": "b",
        "tagger": "",
    }
    assert parameters_of(b"data=a&data=b", URL_ENCODED, b"") == {"data": "b"}
    raw = "data=é".encode()
    assert parameters_of(b"", URL_ENCODED, raw) == {"data": "é"}


def test_a_file_is_a_parameter_too() -> None:
    for text in ("a\nb\n", "palavra " * 300_000):  # the second is in a temporary file meanwhile
        content_type, body = multipart({"data": text})
        as_file = body.replace(b'name="data"', b'name="data"; filename="x.txt"')
        assert parameters_of(b"", content_type, as_file) == {"data": text}


@pytest.mark.parametrize(
    ("content_type", "body", "reason"),
    [
        ("text/plain", b"x", "Unsupported payload Content-Type 'text/plain'"),
        ("", b"x", "Unsupported payload Content-Type ''"),
        (URL_ENCODED, b"data=\xe9", "The parameters in the body are not UTF-8."),
        (URL_ENCODED, b"data=%E9", "The parameters in the body are not UTF-8."),
        (URL_ENCODED, b"&".join([b"a=b"] * 101), "Expected at most 100 parameters in the body."),
        (MULTIPART, b"x", "Cannot parse the multipart/form-data payload."),
        (f"{MULTIPART}; boundary=z", b"x", "Cannot parse the multipart/form-data payload."),
        (*multipart({str(k): "" for k in range(101)}), "Expected at most 100 parameters"),
    ],
)
def test_a_faulty_body_is_refused(
    content_type: str, body: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(Refused) as refused:
        parameters_of(b"", content_type, body)
    assert str(refused.value).startswith(reason)
    assert caplog.messages == [], "what a client sends fills no log"


def test_parts_that_are_not_utf_8_are_refused() -> None:
    content_type, body = multipart({"data": "@"})
    with pytest.raises(Refused, match="not UTF-8"):
        parameters_of(b"", content_type, body.replace(b"@", b"\xe9"))


def asked(
    path: str, messages: list[dict[str, Any]], **headers: str
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body of a reply, without a server."""
    app = web.application(served("pt_bosque"), web.Limits(size=100), ["https://a.example"])
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not messages:
            await anyio.sleep_forever()
        message = messages.pop(0)
        await anyio.sleep(message.get("seconds", 0))
        return message

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
        "client": ("127.0.0.1", 1),
    }
    anyio.run(app, scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], dict(sent[0]["headers"]), body


FORM = {"content-type": URL_ENCODED}


def body(data: bytes, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


def test_a_large_body_is_refused_whatever_its_length_says(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = (413, b"expected a request of at most 100 bytes\n")

    def sent(count: int, *, more: bool) -> int:
        """Send so many pieces of 60 bytes; returns how many are not read."""
        in_pieces = [body(b"a" * 60, more=more or k < count - 1) for k in range(count)]
        status, _, said = asked("/process", in_pieces)
        assert (status, said) == refused
        return len(in_pieces)

    assert sent(5, more=False) == 0  # to its end, or the client would not hear why
    monkeypatch.setattr(web, "UPLOAD_SECONDS", 0.1)
    assert sent(3, more=True) == 0  # one that does not end
    monkeypatch.setattr(web, "_DROPPED", 50)
    assert sent(5, more=False) == 2  # nor is more read than that


def test_a_client_that_does_not_send_its_request_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(web, "UPLOAD_SECONDS", 0.01)
    status, _, said = asked("/process", [body(b"data=", more=True)])
    assert (status, said) == (408, b"expected a request that arrives faster\n")


def test_a_client_has_more_time_for_a_longer_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "UPLOAD_SECONDS", 0.05)
    monkeypatch.setattr(web, "UPLOAD_SPEED", 0.1)
    slow = [body(b"data=", more=True), body(b"") | {"seconds": 0.1}]
    assert asked("/process", slow, **FORM)[0] == 200


def test_a_client_that_goes_is_no_error() -> None:
    assert asked("/process", [{"type": "http.disconnect"}])[0] == 499  # in the log


def test_work_ends_when_its_client_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(task: object) -> Iterator[None]:
        while True:
            yield

    monkeypatch.setattr(web, "process", endless)
    messages = [body(b"data="), {"type": "http.disconnect"}]
    assert asked("/process", messages, **FORM)[0] == 499


def test_forms_are_read_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def read(*arguments: object) -> dict[str, str]:
        threads.append(threading.current_thread())
        return {"data": ""}

    monkeypatch.setattr(web, "parameters_of", read)
    assert asked("/process", [body(b"")])[0] == 200
    assert threads != [threading.main_thread()]


def test_a_client_has_a_share_of_the_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "PLACES_OF_ONE", 0)
    status, headers, said = asked("/process", [body(b"")])
    assert (status, said) == (503, b"too many requests at a time\n")
    assert headers[b"content-type"] == b"text/plain; charset=utf-8"
    assert asked("/models", [])[0] == 200


def test_an_internal_error_says_nothing_of_the_inside(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(task: object) -> None:
        raise RuntimeError("inside")

    monkeypatch.setattr(web, "process", broken)
    with caplog.at_level(logging.INFO, "egparse.service.rest"):
        status, _, said = asked("/process", [body(b"data=")], **FORM)
    assert (status, said) == (500, b"internal error\n")
    assert "RuntimeError: inside" in caplog.text


def test_the_page_lets_a_browser_load_nothing() -> None:
    status, headers, page = asked("/", [body(b"")])
    assert status == 200
    assert page.startswith(b"<!DOCTYPE html>")
    assert headers[b"content-security-policy"].startswith(b"default-src 'none'; ")
    assert b"script" not in headers[b"content-security-policy"]


def test_web_pages_of_named_origins_may_ask() -> None:
    for origin, is_allowed in (("https://a.example", True), ("https://b.example", False)):
        allowed = asked("/models", [], origin=origin)[1].get(b"access-control-allow-origin")
        assert allowed == (origin.encode() if is_allowed else None)
