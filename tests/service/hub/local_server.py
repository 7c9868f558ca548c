"""A web server on the loopback address that misbehaves as it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Request(NamedTuple):
    """What the server was asked."""

    path: str
    range: str | None


@dataclass
class Site:
    """The files of a server by path, and how it sends them; ``faults`` are used up, one a request,
    then all goes well.

    ``cut``: the connection ends after half of what was announced. ``short``: the length that is
    announced, and sent, is a half. ``stall``: half is sent, then nothing until ``released`` is set.
    """

    files: dict[str, bytes]
    base: str = ""
    version: str | None = '"1"'
    ranges: bool = True
    faults: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Site]:
    """A site that runs while the block does."""
    site = Site(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(self, site)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.base = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield site
        finally:
            site.released.set()
            server.shutdown()
            thread.join()


def _answer(handler: BaseHTTPRequestHandler, site: Site) -> None:
    asked = handler.headers.get("Range")
    site.requests.append(Request(handler.path, asked))
    data = site.files.get(handler.path)
    if data is None:
        handler.send_error(404)
        return
    first = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and site.ranges else 0
    if first and first >= len(data):
        handler.send_error(416)
        return
    fault = site.faults.pop(0) if site.faults else ""
    body = data[first:]
    half = body[: len(body) // 2]
    handler.send_response(206 if first else 200)
    if first:
        handler.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
    if site.version:
        handler.send_header("ETag", site.version)
    handler.send_header("Content-Length", str(len(half if fault == "short" else body)))
    handler.end_headers()
    handler.wfile.write(half if fault else body)
    if fault == "stall":
        handler.wfile.flush()
        site.released.wait(30)
