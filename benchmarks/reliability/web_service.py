"""A spaCy pipeline of all components behind gunicorn, a web server, with processes of several
threads, and clients that ask it at the same time: every answer is that of ``nlp(text)`` alone,
nothing fails, and no process grows.

The server listens on the loopback address only. Its processes are forks of one that has loaded the
pipeline; its threads share it. Clients draw texts at random; each waits ``--pause`` seconds, on
average, between an answer and its next request. Memory counts as growing if the median of the last
fifth of the time is more than 5 % above that of the second fifth.

Needs gunicorn (``pip install gunicorn``), and matplotlib for --figure.

Usage: python benchmarks/reliability/web_service.py CORPUS.conllu ... [--model en_ewt]
[--minutes 10] [--processes 4] [--threads 8] [--clients 32] [--pause 0.5] [--json FILE]
[--figure FILE]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from findings import finish, parser_for, percentile
from processes import Point, children_of, cpu_seconds_of, draw_memory, memory_of
from texts import paragraphs_of

if TYPE_CHECKING:
    from spacy.language import Language

COMPONENTS = ("egparse_tagger", "egparse_parser", "egparse_ner")
GROWTH = 1.05
"""Of the median memory of a process, at most."""


def service(model: str) -> Callable[[dict[str, Any], Any], Iterable[bytes]]:
    """The web application (WSGI) that gunicorn runs: the answer to a text is its annotation."""
    nlp = pipeline(model)
    answer(nlp, "Kim saw the river in London.")  # loads kernels before processes fork

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        text = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
        body = answer(nlp, text)
        size = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response("200 OK", [*size, ("X-Process", str(os.getpid()))])
        return [body]

    return application


def pipeline(model: str) -> Language:
    """A blank pipeline with our components."""
    import spacy

    nlp = spacy.blank("en")
    for name in COMPONENTS:
        nlp.add_pipe(name, config={"model": model})
    return nlp


def answer(nlp: Language, text: str) -> bytes:
    """All annotation of a text."""
    words = [
        (
            word.text,
            word.pos_,
            word.tag_,
            str(word.morph),
            word.head.i,
            word.dep_,
            word.ent_iob_,
            word.ent_type_,
            word.is_sent_start,
        )
        for word in nlp(text)
    ]
    return json.dumps(words, ensure_ascii=False).encode()


def main() -> None:
    """Start the server and the clients, and print what they saw."""
    parser = parser_for(__doc__)
    parser.add_argument("corpora", nargs="+", type=Path, help="CoNLL-U, or texts of a line each")
    parser.add_argument("--model", default="en_ewt")
    parser.add_argument("--minutes", type=float, default=10.0, help="of requests")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--threads", type=int, default=8, help="of each process")
    parser.add_argument("--clients", type=int, default=32, help="that ask at the same time")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between requests")
    parser.add_argument("--texts", type=int, default=1000, help="different ones")
    parser.add_argument("--figure", type=Path, help="draw the memory of each process")
    options = parser.parse_args()
    texts = paragraphs_of(options.corpora)
    random.Random(options.seed).shuffle(texts)
    texts = texts[: options.texts]
    nlp = pipeline(options.model)
    begun = time.process_time()
    expected = [answer(nlp, text) for text in texts]
    alone = (time.process_time() - begun) / len(texts)
    load = Load(texts, expected, options)
    load.run()
    load.report(alone)


class Load:
    """The server, its clients, and what they measure."""

    def __init__(
        self, texts: Sequence[str], expected: Sequence[bytes], options: argparse.Namespace
    ) -> None:
        self._texts, self._expected, self._options = texts, expected, options
        self._end = 0.0
        self._lock = threading.Lock()
        self._latencies: list[float] = []
        self._answers: Counter[str] = Counter()
        self._failures: list[str] = []
        self._memory: dict[int, list[Point]] = {}
        self._cpu = 0.0
        self._seconds = 0.0

    def run(self) -> None:
        """Let the clients ask for the time given."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = subprocess.Popen(self._command(port), cwd=Path(__file__).parent)
        try:
            workers = self._ready(server, port)
            before = {worker: cpu_seconds_of(worker) for worker in workers}
            begun = time.monotonic()
            self._end = begun + 60 * self._options.minutes
            clients = [
                threading.Thread(target=self._ask, args=(port, k))
                for k in range(self._options.clients)
            ]
            for client in clients:
                client.start()
            self._memory = {worker: [] for worker in workers}
            while any(client.is_alive() for client in clients):
                for worker in workers:
                    point = time.monotonic() - begun, memory_of(worker)
                    self._memory[worker].append(point)
                time.sleep(1)
            self._seconds = time.monotonic() - begun
            if children_of(server.pid) != workers:
                self._failures.append("processes of the server were replaced")
            self._cpu = sum(cpu_seconds_of(worker) - used for worker, used in before.items())
        finally:
            server.send_signal(signal.SIGTERM)
            if server.wait(60):
                self._failures.append(f"the server ended with status {server.returncode}")

    def report(self, alone: float) -> None:
        """Print the figures, and leave."""
        latencies = sorted(self._latencies)
        if not latencies:
            finish({}, ["no request was answered", *self._failures], self._options.json)
        for worker, points in self._memory.items():
            fifth = len(points) // 5
            early = statistics.median(memory for _, memory in points[fifth : 2 * fifth + 1])
            late = statistics.median(memory for _, memory in points[-fifth - 1 :])
            if late > GROWTH * early:
                self._failures.append(f"process {worker} grew from {early:.1f} to {late:.1f} MB")
        lines = {f"process {k}": points for k, points in enumerate(self._memory.values(), start=1)}
        ends = [points[-1][1] for points in lines.values()]
        words = sum(text.count(" ") + 1 for text in self._texts) / len(self._texts)
        figures = {
            "minutes": self._seconds / 60,
            "processes": self._options.processes,
            "threads of each": self._options.threads,
            "clients": self._options.clients,
            "different texts": len(self._texts),
            "words a text": words,
            "requests": len(latencies),
            "requests/s": len(latencies) / self._seconds,
            "answers of each process": ", ".join(map(str, sorted(self._answers.values()))),
            "latency, ms: median": 1000 * percentile(latencies, 0.5),
            "latency, ms: 95 %": 1000 * percentile(latencies, 0.95),
            "latency, ms: 99 %": 1000 * percentile(latencies, 0.99),
            "latency, ms: most": 1000 * latencies[-1],
            "CPU ms a request": 1000 * self._cpu / len(latencies),
            "CPU ms of nlp(text) alone": 1000 * alone,
            "memory of a process at the end, MB": ", ".join(f"{end:.1f}" for end in ends),
        }
        if self._options.figure:
            draw_memory(lines, "seconds", self._options.figure)
        finish(figures, self._failures, self._options.json, {"memory": lines})

    def _command(self, port: int) -> list[str]:
        return [
            sys.executable,
            "-m",
            "gunicorn",
            "--preload",
            f"--workers={self._options.processes}",
            f"--threads={self._options.threads}",
            f"--bind=127.0.0.1:{port}",
            "--timeout=120",
            "--keep-alive=75",
            "--log-level=warning",
            f"web_service:service({self._options.model!r})",
        ]

    def _ready(self, server: subprocess.Popen[bytes], port: int) -> list[int]:
        """Wait until all processes of the server are there and one answers."""
        end = time.monotonic() + 180
        while time.monotonic() < end and server.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", port), 1):
                    workers = children_of(server.pid)
                    if len(workers) == self._options.processes:
                        return workers
            except OSError:
                pass
            time.sleep(0.2)
        raise RuntimeError("the server does not start; is gunicorn installed?")

    def _ask(self, port: int, client: int) -> None:
        """One client: ask until the time is over."""
        draw = random.Random(f"{self._options.seed}/{client}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        while time.monotonic() < self._end:
            k = draw.randrange(len(self._texts))
            begun = time.perf_counter()
            try:
                connection.request("POST", "/", self._texts[k].encode())
                response = connection.getresponse()
                body = response.read()
            except (OSError, http.client.HTTPException) as error:
                self._fail(f"text {k}: {type(error).__name__}: {error}")
                connection.close()
                continue
            seconds = time.perf_counter() - begun
            if response.status != 200:
                self._fail(f"text {k}: status {response.status}")
            elif body != self._expected[k]:
                self._fail(f"text {k}: another answer than that of nlp(text)")
            with self._lock:
                self._latencies.append(seconds)
                self._answers[response.headers.get("X-Process", "")] += 1
            if draw.random() < 0.02:
                connection.close()  # now and then a new connection, which another process may take
            time.sleep(draw.random() * 2 * self._options.pause)

    def _fail(self, text: str) -> None:
        with self._lock:
            self._failures.append(text)


if __name__ == "__main__":
    main()
