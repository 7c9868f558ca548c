"""The web application: addresses, limits, and what is said of each request.

Requests are read and annotated by threads, at most ``threads`` at a time: kernels do not hold
Python's lock, and models are immutable. Meanwhile the loop takes other requests and answers
``/health``. An error is a status and a line of plain text, as UDPipe's are.

Work is done in steps, and after some steps the next request has its turn. Large requests are worked
on one after the other, as many at a time as there are threads, and a small one waits for no more
than a turn of each of them. Work ends with the step at which its client goes.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Generic, NamedTuple

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from egparse.errors import ConfigError, one_line
from egparse.service.rest.inception import recommend
from egparse.service.rest.page import POLICY, page
from egparse.service.rest.process import (
    Refused,
    Steps,
    T,
    parameters_of,
    process,
    served_model,
    understood,
)
from egparse.service.rest.served_models import ServedModels

LOG = logging.getLogger("egparse.service.rest")

UPLOAD_SECONDS = 10.0
UPLOAD_SPEED = 32 << 10
"""A client has this many seconds to send its request, and one more for each so many bytes."""

PLACES = 256
PLACES_OF_ONE = 128
"""Requests that are read, wait or are annotated at a time, in all and of one client."""

TURN = 0.2
"""Seconds after which a turn ends with the step that is being done."""

_SMALL = 16 << 10
"""Bytes of a request that need not wait for all of a larger one."""

_DROPPED = 64 << 20
"""Bytes of a request beyond its limit that are read and dropped before it is refused."""

_GONE = 499
"""What the log says of a client that has closed the connection, as other servers' logs do."""


Answer = Callable[[ServedModels, Mapping[str, str]], Steps[bytes]]
"""What makes an answer of the parameters of a request."""


class Limits(NamedTuple):
    """``size``: bytes of a request; ``threads``: requests that are annotated at a time."""

    size: int = 4 << 20
    threads: int = 1


class Gone(Exception):
    """The client has closed the connection."""


class _Failed(Exception):
    """A request that is answered with a status and a reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class _Places:
    """Counts the requests that are there, so that no client shuts others out."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    @contextmanager
    def one(self, client: str) -> Iterator[None]:
        """A place for a request while it is there.

        Raises:
            _Failed: there are too many requests, of this client or in all.
        """
        if self._taken.total() >= PLACES or self._taken[client] >= PLACES_OF_ONE:
            raise _Failed(503, "too many requests at a time")
        self._taken[client] += 1
        try:
            yield
        finally:
            self._taken -= Counter([client])  # without those of count 0


class _Done(NamedTuple, Generic[T]):
    result: T


class Turns:
    """Has ``threads`` requests worked on at a time."""

    def __init__(self, threads: int) -> None:
        self._turns = anyio.CapacityLimiter(threads)
        self._large = anyio.CapacityLimiter(threads)

    async def result(
        self, steps: Steps[T], gone: Callable[[], Awaitable[object]], *, large: bool
    ) -> T:
        """The result of some work, for a client that has left when ``gone`` returns.

        Raises:
            Gone: the client has left; the work is not finished.
            Exception: raised by the work.
        """
        done: _Done[T] | Exception = Gone()
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                await gone()
                group.cancel_scope.cancel()

            group.start_soon(watch)
            try:
                async with self._large if large else nullcontext():
                    done = await self._in_turns(steps)
            except Exception as error:
                done = error  # not raised here: the group would wrap it
            group.cancel_scope.cancel()
        if isinstance(done, Exception):
            raise done
        return done.result

    async def _in_turns(self, steps: Steps[T]) -> _Done[T]:
        while True:
            done = await anyio.to_thread.run_sync(_turn, steps, limiter=self._turns)
            if done is not None:
                return done


def _turn(steps: Steps[T]) -> _Done[T] | None:
    """Steps for the time of a turn; the result if they have come to their end."""
    end = time.monotonic() + TURN
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return _Done(stop.value)
        if time.monotonic() >= end:
            return None


def application(models: ServedModels, limits: Limits, origins: Sequence[str] = ()) -> ASGIApp:
    """The application that serves models. Web pages from ``origins`` may use it (``*``: any)."""
    places, turns = _Places(), Turns(limits.threads)

    async def answered(request: Request, answer: Callable[[bytes], Steps[bytes]]) -> bytes:
        with places.one(_client(request.scope)):
            body = await _body(request, limits.size)
            large = len(request.scope["query_string"]) + len(body) > _SMALL
            return await turns.result(answer(body), lambda: _left(request), large=large)

    def by_parameters(request: Request, answer: Answer) -> Callable[[bytes], Steps[bytes]]:
        content_type = request.headers.get("content-type", "")

        def steps(body: bytes) -> Steps[bytes]:
            parameters = parameters_of(request.scope["query_string"], content_type, body)
            yield
            return (yield from answer(models, parameters))

        return steps

    async def process_request(request: Request) -> Response:
        reply = await answered(request, by_parameters(request, _reply))
        return Response(reply, media_type="application/json")

    async def show_page(request: Request) -> Response:
        return HTMLResponse(await answered(request, by_parameters(request, page)), headers=POLICY)

    async def recommend_to_inception(request: Request) -> Response:
        served = served_model(models, {"model": request.path_params["model"]})
        reply = await answered(request, lambda body: recommend(served.model, body))
        return Response(reply, media_type="application/json")

    async def train_for_inception(request: Request) -> Response:
        raise _Failed(501, "expected a recommender that is not Trainable: models do not learn here")

    async def list_models(request: Request) -> Response:
        return JSONResponse(models.as_json())

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def failed(request: Request, error: Exception) -> Response:
        status, reason, headers = _fault(error)
        return PlainTextResponse(f"{reason}\n", status, headers)

    both = ["GET", "POST"]
    faults = (HTTPException, Refused, Gone, ConfigError, _Failed, Exception)
    app = Starlette(
        routes=[
            Route("/", show_page, methods=both),
            Route("/process", process_request, methods=both),
            Route("/models", list_models, methods=both),
            Route("/inception/{model}/predict", recommend_to_inception, methods=["POST"]),
            Route("/inception/{model}/train", train_for_inception, methods=["POST"]),
            Route("/health", health),
        ],
        exception_handlers=dict.fromkeys(faults, failed),
        middleware=[Middleware(CORSMiddleware, allow_origins=list(origins), allow_methods=both)]
        if origins
        else [],
    )
    app.router.redirect_slashes = False  # to an address that the request has named
    return _Logged(app)


def _reply(models: ServedModels, parameters: Mapping[str, str]) -> Steps[bytes]:
    reply = yield from process(understood(models, parameters))
    yield
    return json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode()


def _fault(error: Exception) -> tuple[int, str, Mapping[str, str] | None]:
    """Status, reason and headers of a request that is not answered."""
    match error:
        case Refused():
            return 400, str(error), None
        case _Failed():
            return error.status, str(error), None
        case Gone():
            return _GONE, "the client has closed the connection", None
        case ConfigError():
            return 501, str(error), None
        case HTTPException(status_code=404):
            return 404, "expected /, /process, /models, /inception/MODEL/predict or /health", None
        case HTTPException():
            methods = (error.headers or {}).get("Allow", "").split(", ")
            allowed = ", ".join(sorted(methods))
            return error.status_code, f"expected {allowed}", {"Allow": allowed}
        case _:
            return 500, "internal error", None


async def _left(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request, most: int) -> bytes:
    """The body of a request.

    One that is too large is read to its end and dropped before it is refused, within limits: many
    clients send all of a request before they read, and would meet a broken connection instead of
    the reason.

    Raises:
        _Failed: more than ``most`` bytes, or a client that takes too long.
        Gone: the client has gone.
    """
    length = request.headers.get("content-length", "")
    declared = int(length) if length.isdigit() else 0
    too_large = max(declared, len(request.scope["query_string"])) > most
    patient = "expect" not in request.headers and declared <= most + _DROPPED
    parts: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(UPLOAD_SECONDS) as limit:
            if not too_large or patient:
                async for part in request.stream():
                    size += len(part)
                    limit.deadline += len(part) / UPLOAD_SPEED
                    too_large = too_large or size > most
                    if size > most + _DROPPED:
                        break
                    if too_large:
                        parts.clear()
                    else:
                        parts.append(part)
    except TimeoutError:
        if not too_large:
            raise _Failed(408, "expected a request that arrives faster") from None
    except ClientDisconnect:
        raise Gone from None
    if too_large:
        raise _Failed(413, f"expected a request of at most {most} bytes")
    return b"".join(parts)


def _client(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else "-"


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
            taken = time.perf_counter() - begun
            facts = (_client(scope), scope["method"], one_line(scope["path"]), status, size, taken)
            LOG.info("%s %s %s %d %d %.3f", *facts)
