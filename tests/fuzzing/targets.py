"""What must hold for any bytes that egparse reads: one function a target, which takes bytes and
raises an error where something does not hold.

``benchmarks/fuzz.py`` looks for such bytes; ``test_fuzz_corpus.py`` tries those that it has kept.

=========  =========================================================================================
model      changes of the model file beside this file, as ``Change``, in msgpack
msgpack    the payload of a model file, and again its header
conllu     a corpus in CoNLL-U
request    a byte that chooses the address and the type of the body, and the body
=========  =========================================================================================
"""

from __future__ import annotations

import io
import json
import logging
import math
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
from storage.annotating_process import SAVED_EVERY, annotate
from storage.crafted import file_of, header_of
from storage.mutations import Mutant, Tree, copy_of

from egparse.errors import CorpusError, ModelFileError
from egparse.io.corpus import read_corpus, write_corpus
from egparse.pipeline.model import Model
from egparse.storage.model_file import file_parts, read_model, read_model_bytes

MODEL = Path(__file__).with_name("model.msgpack")
"""A model of everything, trained on 20 sentences of corpora/ with tables of 2^8 weights, attributes
seen 12 times and weights from 0.3 on, without record and settings; the splitter is of 260.
"""

CORPUS = Path(__file__).with_name("corpus")

MOST_CHANGES = 8
SIZE = 20_000
"""Bytes of a request at most."""

COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""What compressed corpora start with; their lines cannot be counted from outside."""

BODIES = (
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    'multipart/form-data; boundary="a b"',
    "multipart/form-data",
    "text/plain",
    "",
)
ADDRESSES = ("/process", "/")
ANSWERED, DOCUMENTED = 200, {200, 400, 413}
"""Statuses of docs/how-to/serve.md that a request of any bytes may get from a free service."""


class Change(NamedTuple):
    """A new value at a place of ``{"header": ..., "payload": ...}``; without one it is removed."""

    path: list[str | int]
    value: list[Any]


def changes_of(data: bytes) -> list[Change]:
    """The changes that some bytes describe; none where they describe none."""
    try:
        found = msgpack.unpackb(data, strict_map_key=False)
        changes = [Change(path, value) for path, value in found]
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError):
        return []
    is_right = all(
        isinstance(path, list) and isinstance(value, list) and len(path) > 1 > len(value) - 1
        for path, value in changes
    )
    return changes if is_right and len(changes) <= MOST_CHANGES else []


@cache
def sound() -> Tree:
    """Header and payload of the model that is changed."""
    header, payload = read_model(MODEL)
    return {"header": header, "payload": payload}


def changed(changes: list[Change]) -> Mutant:
    """The model with these changes, of which those of places that it has not are left out."""
    tree = copy_of(sound())
    for (*way, last), value in changes:
        part: Any = tree
        with suppress(LookupError, TypeError):
            for key in way:
                part = part[key]
            if value and (isinstance(part, dict) or part[last] is not None):
                part[last] = value[0]
            elif not value:
                del part[last]
    header, payload = tree.get("header"), tree.get("payload")
    return Mutant("", header if isinstance(header, dict) else {}, payload)


def model(data: bytes) -> None:
    """A file loads or is refused; what loads annotates, and one in ``SAVED_EVERY`` is saved, to
    bytes that load to the same model and save to the same bytes.
    """
    try:
        content = changed(changes_of(data)).content()
    except (ValueError, TypeError, OverflowError, RecursionError):
        return  # no file holds it
    try:
        loaded = Model.from_bytes(content)
    except ModelFileError as error:
        is_refused(error)
        return
    found = annotate(loaded)
    if zlib.crc32(data) % SAVED_EVERY:
        return
    saved = loaded.to_bytes()
    again = Model.from_bytes(saved)
    assert again.to_bytes() == saved
    assert repr(annotate(again)) == repr(found)


def is_refused(error: ModelFileError) -> None:
    """The error is one line that names the file."""
    assert str(error).isprintable()
    assert str(error).startswith("<bytes>: ")


def packed(data: bytes) -> None:
    """Bytes are refused, or are content that is written to a file which holds the same."""
    for content in (file_of(msgpack.packb(header_of(data)), data), file_of(data, b"\x80")):
        try:
            header, payload = read_model_bytes(content)
        except ModelFileError as error:
            is_refused(error)
            continue
        msgpack.unpackb(data, object_pairs_hook=once)
        written = b"".join(file_parts(header, payload))
        assert b"".join(file_parts(*read_model_bytes(written))) == written


def once(pairs: list[tuple[str, Any]]) -> None:
    """Each key of a map that was read stands once."""
    assert len({key for key, _ in pairs}) == len(pairs)


def corpus(data: bytes, format: str | None = "conllu") -> None:
    """A corpus is read or refused by its line; sentences that were read are written and read."""
    bad: list[CorpusError] = []
    read = []
    try:
        list(read_corpus(io.BytesIO(data), format))
    except CorpusError as error:
        bad.append(error)
    with suppress(CorpusError):
        read += list(read_corpus(io.BytesIO(data), format, skip_bad=True, on_bad=bad.append))
    lines = math.inf if data.startswith(COMPRESSED) else data.count(b"\n") + 1
    assert all(1 <= error.line <= lines for error in bad)
    if format is None or not read:
        return
    stream = io.StringIO()
    write_corpus(read, stream, format)
    assert list(read_corpus(io.StringIO(stream.getvalue()), format)) == read


@cache
def application() -> Any:
    """A service of the model, without its socket and its log."""
    from egparse.service.rest import application as web
    from egparse.service.rest.served_models import ServedModel, ServedModels

    logging.getLogger("egparse.service.rest").setLevel(logging.CRITICAL)
    served = ServedModels([ServedModel("en_small", Model.load(MODEL))])
    return web.application(served, web.Limits(size=SIZE))


def request(data: bytes) -> None:
    """A request is answered, or refused with a documented status and a line of plain text."""
    import anyio

    if not data or len(data) > 2 * SIZE:
        return
    address = ADDRESSES[data[0] % 2]
    kind = BODIES[data[0] // 2 % len(BODIES)]
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": data[1:]}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not messages:
            await anyio.sleep_forever()
        return messages.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": address,
        "query_string": b"",
        "headers": [(b"content-type", kind.encode())] if kind else [],
        "client": ("127.0.0.1", 1),
    }
    anyio.run(application(), scope, receive, send)
    status = sent[0]["status"]
    said = b"".join(message.get("body", b"") for message in sent).decode()
    assert status in DOCUMENTED, (status, said)
    if status != ANSWERED:
        assert said.endswith("\n")
        assert said[:-1].isprintable(), said
    elif address == "/process":
        assert {*json.loads(said)} == {"model", "acknowledgements", "result"}


TARGETS: dict[str, Callable[[bytes], None]] = {
    "model": model,
    "msgpack": packed,
    "conllu": corpus,
    "request": request,
}
