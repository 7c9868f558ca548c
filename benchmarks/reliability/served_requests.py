"""Requests of several sizes to ``egparse serve``, among clients that are silent and clients that
leave: every answer is that of the model alone, silent clients delay nobody, and a service that is
stopped under load answers what it has taken and ends with status 0.

The service listens on the loopback address only. ``--clients`` ask for short texts, one of them for
long ones; they send forms of both kinds and check each answer. ``--silent`` connections send
nothing, or half a header, and are opened again when the service closes them. One client sends long
texts and leaves. One asks for ``/health``. When ``--requests`` have been answered, the service gets
a SIGTERM while all go on.

Usage: python benchmarks/reliability/served_requests.py CORPUS.conllu ... [--model en_ewt]
[--requests 10000] [--clients 8] [--silent 300] [--json FILE]
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from findings import finish, parser_for, percentile
from processes import cpu_seconds_of, memory_of
from service import PATIENCE, Service, form
from texts import paragraphs_of

from egparse.io.corpus import write_corpus
from egparse.pipeline.model import Model
from egparse.service.hub.resolve import find_model
from egparse.text.reading import read_plain

LONG = 60_000
"""Characters of a long text."""

TAKEN = 1.0
"""Seconds after which a request that was sent whole has been taken."""

GROWTH = 1.3
"""Of memory from an early moment on, at most: long requests come and go."""


class Asked(NamedTuple):
    """A text, and what the model makes of it."""

    text: str
    expected: str


class Answer(NamedTuple):
    """When a request was begun, how many seconds it took, and whether its text is long."""

    begun: float
    seconds: float
    is_long: bool


@dataclass
class Seen:
    """What clients saw."""

    answers: list[Answer] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str) -> None:
        """Count one more."""
        with self.lock:
            self.counts[name] += 1

    def fail(self, text: str) -> None:
        """Note a failure."""
        with self.lock:
            self.failures.append(text)


def main() -> None:
    """Start the service and its clients, stop it, and print what was seen."""
    parser = parser_for(__doc__)
    parser.add_argument("corpora", nargs="+", type=Path, help="CoNLL-U, or texts of a line each")
    parser.add_argument("--model", default="en_ewt")
    parser.add_argument("--requests", type=int, default=10_000, help="answered before the stop")
    parser.add_argument("--clients", type=int, default=8, help="that check what they are answered")
    parser.add_argument("--silent", type=int, default=300, help="connections without a request")
    parser.add_argument("--texts", type=int, default=500, help="different short ones")
    options = parser.parse_args()
    short, long = texts_of(options)
    with tempfile.TemporaryDirectory() as folder, Service(options.model, Path(folder)) as service:
        Load(service, short, long, options).run()


def texts_of(options: argparse.Namespace) -> tuple[list[Asked], list[Asked]]:
    """Short and long texts with what the model makes of them, as ``egparse parse`` does."""
    model = Model.load(find_model(Path(options.model)))
    paragraphs = paragraphs_of(options.corpora)
    random.Random(options.seed).shuffle(paragraphs)
    short = paragraphs[: options.texts]
    rest = "\n\n".join(paragraphs[options.texts :])
    long = [rest[k * LONG : (k + 1) * LONG] for k in range(min(3, max(1, len(rest) // LONG)))]

    def asked(text: str) -> Asked:
        output = io.StringIO()
        sentences = read_plain(model.plain_text, io.StringIO(text))
        write_corpus(model.annotate(sentences), output, "conllu")
        return Asked(text, output.getvalue())

    return [asked(text) for text in short], [asked(text) for text in long]


class Load:
    """The clients of a service, and what they see."""

    def __init__(
        self, service: Service, short: list[Asked], long: list[Asked], options: argparse.Namespace
    ) -> None:
        self._service, self._short, self._long, self._options = service, short, long, options
        self._seen = Seen()
        self._over = threading.Event()
        self._stopped_at = float("inf")

    def run(self) -> None:
        """Let all clients go on until enough is answered, stop the service, and report."""
        names = range(self._options.clients)
        threads = [threading.Thread(target=self._ask, args=(name,)) for name in names]
        for client in (self._be_silent, self._leave, self._ask_health):
            threads.append(threading.Thread(target=client))
        process = self._service.process
        used, begun = cpu_seconds_of(process.pid), time.monotonic()
        for thread in threads:
            thread.start()
        early = 0.0
        end = begun + 60 * self._options.at_most
        while len(self._seen.answers) < self._options.requests and time.monotonic() < end:
            time.sleep(0.2)
            if not early and len(self._seen.answers) > self._options.requests // 5:
                early = memory_of(process.pid)
            if process.poll() is not None:
                self._seen.fail("the service ended by itself")
                break
        late, used = memory_of(process.pid), cpu_seconds_of(process.pid) - used
        answered, seconds = len(self._seen.answers), time.monotonic() - begun
        if early and late > GROWTH * early:
            self._seen.fail(f"memory grew from {early:.0f} to {late:.0f} MB")
        self._stop()
        for thread in threads:
            thread.join()
        figures = {
            "requests answered": answered,
            "of them long": sum(one.is_long for one in self._seen.answers),
            "minutes": seconds / 60,
            "CPU ms a request, all others included": 1000 * used / max(1, answered),
            "memory early and late, MB": f"{early:.0f}, {late:.0f}",
        }
        finish({**figures, **self._figures()}, self._seen.failures, self._options.json)

    def _figures(self) -> dict[str, object]:
        log = self._service.said
        if "Traceback" in log:
            self._seen.fail("a traceback in the log")
        shown: dict[str, object] = dict(sorted(self._seen.counts.items()))
        shown["in the log: clients that had left (499)"] = log.count(" 499 ")
        for name, values in self._times():
            ordered = sorted(values)
            if ordered:
                shares = [percentile(ordered, share) for share in (0.5, 0.95, 0.99)]
                each = ", ".join(f"{1000 * value:.0f}" for value in (*shares, ordered[-1]))
                shown[f"{name}, ms: median, 95 %, 99 %, most"] = each
        return shown

    def _times(self) -> Iterator[tuple[str, list[float]]]:
        answers = self._seen.answers
        yield "short text", [one.seconds for one in answers if not one.is_long]
        yield "long text", [one.seconds for one in answers if one.is_long]
        yield "/health", self._seen.health

    def _stop(self) -> None:
        """SIGTERM, while clients ask."""
        process = self._service.process
        self._stopped_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._seen.fail(f"it does not end within {PATIENCE:.0f} s of SIGTERM")
            process.kill()
            status = process.wait()
        self._over.set()
        self._seen.counts["seconds from SIGTERM to the end"] = round(
            time.monotonic() - self._stopped_at
        )
        if status:
            self._seen.fail(f"status {status} after SIGTERM")
        if not self._service.said.endswith("stopped\n"):
            self._seen.fail("the log does not end with 'stopped'")
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", self._service.port)):
                self._seen.fail("something listens at its port still")

    def _connected(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._service.port, timeout=PATIENCE)

    def _ask(self, client: int) -> None:
        """A client: one request after the other."""
        draw = random.Random(f"{self._options.seed}/{client}")
        connection = self._connected()
        while not self._over.is_set():
            is_long = client == 0 and draw.random() < 0.5
            asked = draw.choice(self._long if is_long else self._short)
            body, kind = form(asked.text, draw)
            begun, sent = time.monotonic(), False
            try:
                connection.request("POST", "/process", body, {"Content-Type": kind})
                sent = True
                response = connection.getresponse()
                said = response.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if begun < self._stopped_at - TAKEN and sent:
                    self._seen.fail(f"client {client}: {type(error).__name__}: {error}")
                if self._stopped_at < float("inf"):
                    self._seen.count("clients that were not taken after SIGTERM")
                    return
                continue
            if response.status != 200:
                self._seen.fail(f"client {client}: status {response.status}: {said[:100]!r}")
            elif json.loads(said)["result"] != asked.expected:
                self._seen.fail(f"client {client}: another answer than the model's")
            with self._seen.lock:
                took = time.monotonic() - begun
                self._seen.answers.append(Answer(begun, took, is_long))
                if begun < self._stopped_at < begun + took:
                    self._seen.counts["in flight at SIGTERM, and answered"] += 1
            if draw.random() < 0.05:
                connection.close()
        connection.close()

    def _be_silent(self) -> None:
        """Connections that send nothing or half a header, again and again."""
        open_ones: list[socket.socket] = []
        while not self._over.is_set():
            while len(open_ones) < self._options.silent and not self._over.is_set():
                try:
                    one = socket.create_connection(("127.0.0.1", self._service.port), 5)
                    one.sendall(b"POST /process HT" if len(open_ones) % 2 else b"")
                except OSError:
                    break
                one.setblocking(False)
                open_ones.append(one)
                self._seen.count("silent connections opened")
            time.sleep(0.5)
            open_ones = [one for one in open_ones if self._is_open(one)]
        for one in open_ones:
            one.close()

    def _is_open(self, one: socket.socket) -> bool:
        try:
            one.recv(1 << 10)
        except BlockingIOError:
            return True
        except OSError:
            pass
        one.close()
        self._seen.count("silent connections closed by the service")
        return False

    def _leave(self) -> None:
        """Long texts whose client leaves."""
        draw = random.Random(f"{self._options.seed}/leaves")
        while not self._over.is_set():
            body, kind = form(draw.choice(self._long).text, draw)
            connection = self._connected()
            try:
                connection.request("POST", "/process", body, {"Content-Type": kind})
                time.sleep(draw.random())
                self._seen.count("clients that left")
            except OSError:
                pass
            connection.close()
            time.sleep(draw.random())

    def _ask_health(self) -> None:
        while not self._over.is_set():
            begun = time.monotonic()
            connection = self._connected()
            try:
                connection.request("GET", "/health")
                response = connection.getresponse()
                response.read()
                with self._seen.lock:
                    self._seen.health.append(time.monotonic() - begun)
                if response.status != 200:
                    self._seen.fail(f"/health: status {response.status}")
            except (OSError, http.client.HTTPException) as error:
                if time.monotonic() < self._stopped_at:
                    self._seen.fail(f"/health: {type(error).__name__}: {error}")
            connection.close()
            time.sleep(0.2)


if __name__ == "__main__":
    main()
