"""Running the service: sockets, and a stop that lets requests end."""

from __future__ import annotations

import socket
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

_WAITING = 256
"""Connections at a time; more are answered with 503."""


def opened(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free.

    Raises:
        OSError: the address is not one of this machine, or the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_WAITING)


def address_of(listening: socket.socket) -> str:
    """The address of a service for clients."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM: then no more connections are taken, and requests in flight
    end. A second signal does not wait for them.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=_WAITING,
        lifespan="off",
        ws="none",
    )
    _Server(config).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Takes a signal for a wish to stop, and not for an error, which ``uvicorn.Server`` raises
    again when it has stopped.
    """

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
