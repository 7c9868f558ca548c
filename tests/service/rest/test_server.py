"""Connections of the service: clients that are silent, slow, or do not read."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.server import ServerState

from egparse.service.rest import server
from egparse.service.rest.server import opened, server_of

PATIENCE = 30.0
"""Seconds for what takes less than one."""

REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
LARGE = 16 << 20


class Served:
    """A server in a thread: ``/`` answers a word, ``/large`` more than a socket takes."""

    def __init__(self) -> None:
        async def word(request: Request) -> Response:
            return PlainTextResponse("fine")

        async def large(request: Request) -> Response:
            return Response(b"a" * LARGE)

        self.listening = opened("127.0.0.1", 0)
        app = Starlette(routes=[Route("/", word), Route("/large", large)])
        self.server: uvicorn.Server = server_of(app)
        self._thread = threading.Thread(target=self.server.run, args=([self.listening],))
        self._address = self.listening.getsockname()

    def __enter__(self) -> Served:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def connected(self, sent: bytes = b"", buffer: int | None = None) -> socket.socket:
        client = socket.socket()
        client.settimeout(PATIENCE)
        if buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.connect(self._address)
        client.sendall(sent)
        return client

    def open_connections(self) -> int:
        return len(self.server.server_state.connections)


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as service:
        yield service


def everything_from(client: socket.socket) -> bytes:
    """What a client receives until the server closes the connection."""
    with client:
        return b"".join(iter(lambda: client.recv(1 << 16), b""))


def test_silent_clients_do_not_shut_others_out(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CONNECTIONS", 4)
    silent = [served.connected() for _ in range(8)]
    last = REQUEST[:-2] + b"Connection: close\r\n\r\n"
    assert everything_from(served.connected(last)).endswith(b"\r\n\r\nfine")
    assert everything_from(silent[0]) == b""  # the one that had been silent longest
    for client in silent[1:]:
        client.close()


def test_headers_have_to_arrive_in_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    patient = served.connected(REQUEST)
    with patient, monkeypatch.context() as patched:
        assert patient.recv(15) == b"HTTP/1.1 200 OK"
        patched.setattr(server, "HEAD_SECONDS", 0.05)
        patient.sendall(REQUEST + b"G")  # half a head, on a connection that is kept open
        said = everything_from(patient)
    assert said.count(b"HTTP/1.1 200 OK") == 1
    refusal = said.partition(b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain")[2]
    assert refusal.endswith(b"\r\n\r\nexpected headers that arrive faster\n")
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.05)
    assert everything_from(served.connected()) == b""


def test_what_is_no_http_gets_a_reason(served: Served) -> None:
    said = everything_from(served.connected(b"\0\xff\r\n\r\n"))
    assert said.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert said.endswith(b"\r\n\r\nInvalid HTTP request received.\n")


def test_a_reply_that_is_not_taken_is_given_up(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = served.connected(buffer=4096)
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.05)
    with patient:
        patient.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        until = time.monotonic() + PATIENCE
        while not served.server.server_state.total_requests or served.open_connections():
            assert time.monotonic() < until
            time.sleep(0.01)


class Untaken(asyncio.Transport):
    """A transport of which so many bytes are not taken yet."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.is_aborted = size, False

    def get_write_buffer_size(self) -> int:
        return self.size

    def abort(self) -> None:
        self.is_aborted = True


def test_a_client_that_reads_slowly_is_not_given_up() -> None:
    async def run() -> None:
        config = uvicorn.Config(Starlette(), http=server.Connection, lifespan="off", ws="none")
        connection = server.Connection(config, ServerState(), {})
        transport = Untaken(9)
        connection.connection_made(transport)
        for transport.size in (8, 3):
            connection.judge()
            assert not transport.is_aborted
        connection.judge()
        assert transport.is_aborted
        connection.connection_lost(ConnectionAbortedError())

    asyncio.run(run())
