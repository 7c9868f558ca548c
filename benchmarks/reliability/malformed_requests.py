"""Malformed requests to ``egparse serve``: sound ones of several kinds with up to three faults in
their bytes, in the request line, the headers or the form. Each is answered with a status that is
not 5xx, an error with a line of plain text that names no file of the service, or its connection is
closed; nothing is written to the log but its line, and sound requests are answered as before.

A case is made from the seed and its number. The service listens on the loopback address only.

Usage: python benchmarks/reliability/malformed_requests.py [--model en_ewt] [--cases 3000]
[--json FILE]
"""

from __future__ import annotations

import http.client
import random
import socket
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from findings import ROOT, finish, parser_for
from mutations import FAULTS
from processes import memory_of
from service import Service, form

KINDS = ("piece", "bytes", "removed", "repeated", "truncated", "lines", "line ends", "any bytes")
TEXT = "Kim saw the river in London. It was dark.\n\nThey na\u00efvely left."
PAUSE = 0.5
"""Seconds that a client waits for an answer before it says that it has sent everything."""

EVERY = 100
"""A sound request follows so many cases."""

METHODS = ("GET", "POST", "HEAD", "PUT", "OPTIONS", "\u0261")
PATHS = ("/", "/process", "/models", "/health", "/../etc/passwd", "//", "/process/", "*", "%00")


def request_of(seed: int, number: int) -> bytes:
    """The request of this number."""
    draw = random.Random(f"{seed}/{number}")
    body, kind = form(TEXT, draw)
    method = draw.choice(METHODS) if draw.random() < 0.2 else "POST"
    path = draw.choice(PATHS) if draw.random() < 0.4 else "/process"
    chunked = draw.random() < 0.2
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    if chunked:
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    lines = (f"{method} {path} HTTP/1.1", "Host: a", f"Content-Type: {kind}", length)
    head = "\r\n".join([*lines, "Connection: close", "", ""]).encode()
    parts = [head, body]
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(2)
        parts[place] = FAULTS[draw.choice(KINDS)](draw, parts[place])
    return b"".join(parts)


def answer_to(request: bytes, port: int) -> bytes:
    """What a service answers to a request, until it closes the connection."""
    received = bytearray()
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        try:
            connection.sendall(request)
            connection.settimeout(PAUSE)
            try:
                received += connection.recv(1 << 16)
            except TimeoutError:
                connection.shutdown(socket.SHUT_WR)
            connection.settimeout(60)
            while part := connection.recv(1 << 16):
                received += part
        except (ConnectionResetError, BrokenPipeError):
            pass  # it was closed before all of it was sent
    return bytes(received)


def fault_of(answer: bytes, folders: Sequence[str]) -> str | None:
    """What is wrong with an answer, None if nothing is."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = answer[9:12]
    if not answer.startswith(b"HTTP/1.1 ") or not status.isdigit():
        return f"no HTTP: {answer[:80]!r}"
    if status >= b"500":
        return f"status {status.decode()}"
    said = body.decode("utf-8", "replace")
    if any(folder in said for folder in folders):
        return f"a path: {said[:200]!r}"
    plain = b"content-type: text/plain; charset=utf-8" in head
    if status >= b"400" and not plain:
        return f"an error in another form: {answer[:200]!r}"
    return None


def main() -> None:
    """Send the cases, and print what came of them."""
    parser = parser_for(__doc__)
    parser.add_argument("--model", default="en_ewt")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0, help="the first case, to repeat one")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder, Service(options.model, Path(folder)) as service:
        expected = sound(service.port)
        before = memory_of(service.process.pid)
        folders = (str(ROOT), folder, str(Path.home()) + "/", "site-packages")

        def judge(number: int) -> None:
            answer = answer_to(request_of(options.seed, number), service.port)
            status = answer[9:12].decode("latin-1") if answer else "closed"
            counts[f"answers: {status}"] += 1
            fault = fault_of(answer, folders) if answer else None
            if fault:
                failures.append(f"case {number}: {fault}")
            if number % EVERY == 0 and sound(service.port) != expected:
                failures.append(f"after case {number}: another answer to a sound request")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(judge, range(options.first, options.first + options.cases)))
        if sound(service.port) != expected:
            failures.append("at the end: another answer to a sound request")
        if "Traceback" in service.said:
            failures.append(f"in the log: {service.said[-2000:]}")
        after = memory_of(service.process.pid)
        service.process.terminate()
        if status := service.process.wait(60):
            failures.append(f"status {status} after SIGTERM")
    memory = f"{before:.0f}, {after:.0f}"
    figures = {"cases": options.cases, **dict(sorted(counts.items()))}
    finish({**figures, "memory before and after, MB": memory}, failures, options.json)


def sound(port: int) -> bytes:
    """The answer to a sound request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body, kind = form(TEXT, random.Random(0))
    connection.request("POST", "/process", body, {"Content-Type": kind})
    response = connection.getresponse()
    said = response.read()
    connection.close()
    return b"%d %b" % (response.status, said)


if __name__ == "__main__":
    main()
