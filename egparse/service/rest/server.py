"""Running the service: sockets, clients that are silent, and a stop that lets requests end."""

from __future__ import annotations

import asyncio
import socket
from http import HTTPStatus
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS = 10.0
"""Seconds from the start of a connection, or from a reply, to the end of a request's headers; and
in which a client has to take something of a reply.
"""

CONNECTIONS = 512
"""Connections at a time; of more, the one that has been silent longest is closed."""


def opened(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free.

    Raises:
        OSError: the address is not one of this machine, or the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=CONNECTIONS)


def address_of(listening: socket.socket) -> str:
    """The address of a service for clients."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM: then no more connections are taken, and requests in flight
    end. A second signal does not wait for them.
    """
    server_of(app).run(sockets=[listening])


def server_of(app: ASGIApp) -> uvicorn.Server:
    """A server of the application."""
    config = uvicorn.Config(
        app,
        http=Connection,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
    )
    return _Server(config)


class _Server(uvicorn.Server):
    """Takes a signal for a wish to stop, and not for an error, which ``uvicorn.Server`` raises
    again when it has stopped.
    """

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True


class Connection(H11Protocol):
    """A connection that is closed if its client neither sends a request nor takes a reply.

    ``uvicorn`` waits for headers as long as a client likes, also between two requests once a byte
    of the second has come, and for a reply to be taken. The body of a request is the application's.
    """

    _timer: asyncio.TimerHandle | None = None
    _since = 0.0
    _untaken = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > CONNECTIONS:
            connections = (one for one in self.connections if isinstance(one, Connection))
            silent = filter(Connection._is_silent, connections)
            min(silent, key=lambda one: one._since)._end()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, msg)

    def _wait(self) -> None:
        """Give the client its time from now on."""
        if self._timer is not None:
            self._timer.cancel()
        self._since = self.loop.time()
        self._untaken = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(HEAD_SECONDS, self.judge)

    def judge(self) -> None:
        """Close the connection if its client has done nothing in its time."""
        untaken = self.transport.get_write_buffer_size()
        if 0 < untaken < self._untaken:
            self._wait()
        elif untaken:
            self.transport.abort()
        elif self._is_silent():
            self._end()

    def _is_silent(self) -> bool:
        """Whether there is neither a request nor a reply that its client takes."""
        cycle: RequestResponseCycle | None = self.cycle
        at_rest = cycle is None or cycle.response_complete
        closing = self.transport.is_closing()
        return at_rest and not closing and not self.transport.get_write_buffer_size()

    def _end(self) -> None:
        if self.conn.trailing_data[0]:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "expected headers that arrive faster")
        else:
            self.timeout_keep_alive_handler()

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        body = f"{reason}\n"
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}",
            "content-type: text/plain; charset=utf-8",
            f"content-length: {len(body)}",
            "connection: close",
        )
        self.transport.write("\r\n".join([*head, "", body]).encode())
        self.transport.close()
