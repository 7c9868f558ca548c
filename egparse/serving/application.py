"""The web application: addresses, limits, and what is said of each request.

Requests are annotated by threads, at most ``threads`` at a time: kernels do not hold Python's lock,
and models are immutable. Meanwhile the loop takes other requests and answers ``/health``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import NamedTuple

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from egparse.errors import one_line
from egparse.serving.forms import parameters_of
from egparse.serving.process import Refused, process, understood
from egparse.serving.served_models import ServedModels

LOG = logging.getLogger("egparse.serving")

UPLOAD_SECONDS = 60.0
"""Seconds that a client has to send its request."""

_DROPPED = 64 << 20
"""Bytes of a request beyond its limit that are read and dropped before it is refused."""


class Limits(NamedTuple):
    """``size``: bytes of a request; ``threads``: requests that are annotated at a time."""

    size: int = 4 << 20
    threads: int = 1


class _Failed(Exception):
    """A request that is answered with a status and a reason, as JSON."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def application(models: ServedModels, limits: Limits, origins: Sequence[str] = ()) -> ASGIApp:
    """The application that serves models. Web pages from ``origins`` may use it (``*``: any)."""
    limiter = anyio.CapacityLimiter(limits.threads)

    async def process_request(request: Request) -> Response:
        body = await _body(request, limits.size)
        try:
            content_type = request.headers.get("content-type", "")
            parameters = parameters_of(request.scope["query_string"], content_type, body)
            task = understood(models, parameters)
            reply = await anyio.to_thread.run_sync(process, task, limiter=limiter)
        except Refused as refused:
            return PlainTextResponse(f"{refused}\n", status_code=400)
        return JSONResponse(reply)

    async def list_models(request: Request) -> Response:
        return JSONResponse(models.as_json())

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def missing(request: Request, error: Exception) -> Response:
        return _error(404, "expected /process, /models or /health")

    async def not_allowed(request: Request, error: Exception) -> Response:
        return _error(405, "expected GET or POST")

    async def failed(request: Request, error: Exception) -> Response:
        if isinstance(error, _Failed):
            return _error(error.status, str(error))
        return _error(500, "internal error")

    both = ["GET", "POST"]
    app = Starlette(
        routes=[
            Route("/process", process_request, methods=both),
            Route("/models", list_models, methods=both),
            Route("/health", health),
        ],
        exception_handlers={404: missing, 405: not_allowed, _Failed: failed, Exception: failed},
        middleware=[
            Middleware(CORSMiddleware, allow_origins=list(origins), allow_methods=both),
        ]
        if origins
        else [],
    )
    return _Logged(app)


async def _body(request: Request, most: int) -> bytes:
    """The body of a request.

    One that is too large is read to its end and dropped before it is refused, within limits: many
    clients send all of a request before they read, and would meet a broken connection instead of
    the reason.

    Raises:
        _Failed: more than ``most`` bytes, a client that has gone, or takes too long.
    """
    length = request.headers.get("content-length", "")
    declared = int(length) if length.isdigit() else 0
    too_large = max(declared, len(request.scope["query_string"])) > most
    patient = "expect" not in request.headers and declared <= most + _DROPPED
    parts: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(UPLOAD_SECONDS):
            if not too_large or patient:
                async for part in request.stream():
                    size += len(part)
                    too_large = too_large or size > most
                    if size > most + _DROPPED:
                        break
                    if too_large:
                        parts.clear()
                    else:
                        parts.append(part)
    except TimeoutError:
        if not too_large:
            raise _Failed(408, f"expected a request within {UPLOAD_SECONDS:.0f} s") from None
    except ClientDisconnect:
        raise _Failed(400, "the client has closed the connection") from None
    if too_large:
        raise _Failed(413, f"expected a request of at most {most} bytes")
    return b"".join(parts)


def _error(status: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, status_code=status)


class _Logged:
    """Writes a line for each request: client, method, path, status, bytes and seconds."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status, size = time.perf_counter(), 0, 0

        async def counted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, counted)
        except Exception:
            LOG.exception("%s failed", one_line(scope["path"]))
        finally:
            client = scope["client"][0] if scope.get("client") else "-"
            taken = time.perf_counter() - begun
            path = one_line(scope["path"])
            LOG.info("%s %s %s %d %d %.3f", client, scope["method"], path, status, size, taken)
