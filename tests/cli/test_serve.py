"""``egparse serve``: a real service on the loopback address, asked by HTTP clients."""

from __future__ import annotations

import email.mime.multipart
import email.mime.nonmultipart
import email.policy
import http.client
import json
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from cli.conftest import Trained
from cli.program import COMMAND, ENVIRONMENT, complaint, run, run_python, without

TEXT = "The cat sat on the mat. It slept.\n\nA dog barked.\n"
EVERYTHING = {"tokenizer": "", "tagger": "", "parser": ""}
URL_ENCODED = "application/x-www-form-urlencoded"
PATIENCE = 60.0
"""Seconds for what takes a few at most."""


class Service:
    """A process that serves, and what it has said."""

    def __init__(self, log: Path, *arguments: object) -> None:
        self.log = log
        command = [*COMMAND, "serve", *map(str, arguments), "--port", "0"]
        with log.open("wb") as said:
            self.process = subprocess.Popen(
                command, stderr=said, stdout=subprocess.DEVNULL, env=ENVIRONMENT
            )
        until = time.monotonic() + PATIENCE
        while " at http://" not in self.said:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < until, self.said
            time.sleep(0.05)
        self.address = self.said.partition(" at ")[2].split("\n")[0]

    @property
    def said(self) -> str:
        return self.log.read_text()

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def get(self, path: str, data: bytes | None = None, **headers: str) -> Any:
        """The JSON of a reply."""
        given = {key.replace("_", "-"): value for key, value in headers.items()}
        request = urllib.request.Request(self.address + path, data, given)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            assert answer.headers["Content-Type"] == "application/json"
            return json.loads(answer.read())

    def process_text(self, **parameters: str) -> str:
        """The result of a form that is URL-encoded."""
        return str(self.get("/process", urlencode(parameters).encode())["result"])

    def refused(self, path: str, data: bytes | None = None, **headers: str) -> tuple[int, str]:
        """Status and body of a refusal."""
        with pytest.raises(urllib.error.HTTPError) as refusal:
            self.get(path, data, **headers)
        with refusal.value as answer:
            assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
            return answer.code, answer.read().decode()


@pytest.fixture(scope="module")
def service(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    log = tmp_path_factory.mktemp("service") / "log"
    started = Service(log, trained.model, "--threads", 2, "--max-size", 1)
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="module")
def expected(trained: Trained) -> str:
    """What ``parse`` makes of the text."""
    return run("parse", trained.model, "-", text=TEXT).stdout


def test_models_are_listed(service: Service) -> None:
    assert service.address.startswith("http://127.0.0.1:")  # unless it is told otherwise
    listed = service.get("/models")
    layers = ["tokenizer", "tagger", "parser"]
    assert listed == {"models": {"model": layers}, "default_model": "model"}
    assert service.get("/models", b"") == listed
    assert service.get("/health") == {"status": "ok"}


def test_a_text_is_annotated_as_by_the_command(service: Service, expected: str) -> None:
    reply = service.get("/process", urlencode({"data": TEXT, **EVERYTHING}).encode())
    assert list(reply) == ["model", "acknowledgements", "result"]
    assert reply["model"] == "model"
    assert reply["acknowledgements"][0].startswith("egparse ")
    assert reply["result"] == expected
    in_address = service.get("/process?" + urlencode({"data": TEXT, **EVERYTHING}))
    assert in_address == reply
    bare = service.get("/process?tokenizer&tagger&parser", urlencode({"data": TEXT}).encode())
    assert bare == reply
    named = service.process_text(data=TEXT, **EVERYTHING, model="en", output="conllu")
    assert named == expected


def as_client(parameters: Mapping[str, str]) -> tuple[str, bytes]:
    """A form as UDPipe's client for the command line makes it, by Python's package for mail."""
    message = email.mime.multipart.MIMEMultipart("form-data", policy=email.policy.HTTP)
    for name, value in parameters.items():
        part = email.mime.nonmultipart.MIMENonMultipart("text", "plain")
        part.add_header("Content-Disposition", f'form-data; name="{name}"')
        part.add_header("Content-Transfer-Encoding", "8bit")
        part.set_payload(value, charset="utf-8")
        message.attach(part)
    body = message.as_bytes().split(b"\r\n\r\n", maxsplit=1)[1]
    return message["Content-Type"], body  # which has a boundary now


def test_clients_of_udpipe_are_answered(
    service: Service, trained: Trained, tmp_path: Path, expected: str
) -> None:
    """Forms in several parts, with parameters that are empty or the usual ones. That client ends
    lines as mail does, and so places in the text are others.
    """
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    with_crlf = run("parse", trained.model, path).stdout
    sent = {"input": "conllu", "output": "conllu", "data": TEXT, **EVERYTHING}
    content_type, body = as_client(sent)
    assert service.get("/process", body, Content_Type=content_type)["result"] == with_crlf
    as_text = service.process_text(data="É o cão.", tokenizer="", output="horizontal")
    content_type, body = as_client({"data": "É o cão.", "tokenizer": "", "output": "horizontal"})
    assert service.get("/process", body, Content_Type=content_type)["result"] == as_text
    again = service.process_text(data=expected, tagger="default", parser="default")
    assert again == expected


def test_clients_at_the_same_time_get_their_own_replies(service: Service) -> None:
    texts = [f"Cat {k} sat. " * (1 + k % 5) for k in range(24)]
    alone = [service.process_text(data=text, **EVERYTHING) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        together = pool.map(lambda text: service.process_text(data=text, **EVERYTHING), texts)
        health = pool.map(lambda _: service.get("/health"), range(8))
        assert list(together) == alone
        assert list(health) == [{"status": "ok"}] * 8


def test_refusals_have_reasons(service: Service) -> None:
    form = {"Content_Type": URL_ENCODED}
    faulty = service.refused("/process", b"data=1%09x", **form)
    assert faulty[0] == 400
    assert faulty[1].startswith("Cannot read input data: data:1: expected 10 tab-separated")
    assert service.refused("/process", b"data=%ff", **form)[0] == 400
    assert service.refused("/process", b"{}", Content_Type="application/json")[0] == 400
    nowhere = (404, "expected /, /process, /models, /inception/MODEL/predict or /health\n")
    assert service.refused("/model") == service.refused("/models/") == nowhere
    host = urlsplit(service.address)
    connection = http.client.HTTPConnection(str(host.hostname), host.port, timeout=PATIENCE)
    connection.request("DELETE", "/process")
    with connection.getresponse() as refusal:
        assert (refusal.status, refusal.headers["Allow"]) == (405, "GET, HEAD, POST")
        assert refusal.read() == b"expected GET, HEAD, POST\n"
    connection.close()


def test_what_is_too_large_is_refused(service: Service) -> None:
    limit = "expected a request of at most 1048576 bytes\n"
    assert service.refused("/process", b"data=" + b"a" * (1 << 20)) == (413, limit)
    fits = "a b " * 200_000  # without tagger: nothing but reading and writing
    result = service.process_text(data=fits, tokenizer="horizontal", output="horizontal")
    assert result == fits.strip() + "\n"
    host = urlsplit(service.address)
    connection = http.client.HTTPConnection(str(host.hostname), host.port, timeout=PATIENCE)
    pieces = iter([b"data=", *[b"a" * (1 << 18)] * 4])  # without a length
    connection.request("POST", "/process", pieces, encode_chunked=True,
                       headers={"Transfer-Encoding": "chunked"})  # fmt: skip
    assert connection.getresponse().status == 413
    connection.close()
    # Refused after all of it was taken: a client that sends first and reads then hears the reason.
    assert service.refused("/process", b"data=" + b"a" * (32 << 20)) == (413, limit)
    connection.request("POST", "/process", headers={"Content-Length": str(1 << 40)})
    assert connection.getresponse().status == 413  # what nobody would read is refused at once
    connection.close()
    connection.putrequest("POST", "/process")
    connection.putheader("Content-Length", str(2 << 20))
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    assert connection.getresponse().status == 413  # and what a client asks about before it sends
    connection.close()


def test_each_request_has_a_line_in_the_log(service: Service) -> None:
    service.get("/models?line=1")
    service.refused("/no%C2%A0such%0Apath")
    until = time.monotonic() + PATIENCE
    while "such\\npath 404 " not in service.said:  # written after the reply
        assert time.monotonic() < until, service.said
        time.sleep(0.05)
    lines = [line.split(" ", 2)[2] for line in service.said.splitlines()[1:] if " INFO " in line]
    assert any(line.startswith("127.0.0.1 GET /models 200 ") for line in lines)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_in_flight_end_before_the_service_does(
    trained: Trained, tmp_path: Path, number: int
) -> None:
    service = Service(tmp_path / "log", trained.model)
    long = TEXT * 600
    with ThreadPoolExecutor(1) as pool:
        request = pool.submit(service.process_text, data=long, **EVERYTHING)
        host = urlsplit(service.address)
        assert host.port is not None
        time.sleep(0.3)  # it has been taken; whether it has ended does not matter
        assert service.stop(number) == 0
        assert request.result().count("\n\n") == 1800
    with pytest.raises(OSError):  # noqa: PT011
        socket.create_connection((str(host.hostname), host.port), 1)
    assert service.said.endswith("stopped\n")
    assert "Traceback" not in service.said


def test_quiet_services_say_nothing(trained: Trained) -> None:
    command = [*COMMAND, "serve", str(trained.model), "--port", "0", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        time.sleep(2)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    assert said == b""


def test_faulty_arguments(trained: Trained, tmp_path: Path) -> None:
    absent = tmp_path / "absent.msgpack"
    assert str(absent) in complaint("serve", absent)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "in use" in complaint("serve", trained.model, "--port", port)


def test_without_the_extra_it_says_what_to_install() -> None:
    done = run_python(without("uvicorn", "starlette", "anyio") + "main(['serve', 'pt_bosque'])")
    assert done.returncode == 2, done.stderr
    assert done.stderr == "egparse: serve: needs uvicorn; pip install 'egparse[serve]'\n"
