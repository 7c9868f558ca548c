"""Ends ``train``, ``parse --output --jobs 2``, ``download`` and ``package`` by signals at random
moments: the previous result is there as it was or the new one is whole, the next run works and
leaves what a run leaves, and no process is left.

Each run replaces an older result. Runs are forks of a process that has everything loaded, so that
all moments are in their work; every twentieth is a process of its own. The signals are SIGKILL,
SIGTERM, SIGHUP and SIGINT in turn. Leftovers are files beside the result that a run without a
signal does not leave; SIGKILL may leave some until the next run, the others none.

Usage: python benchmarks/reliability/kills.py [--kills 100] [--seed 0] [--json FILE]
[--command train ...]
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from findings import ROOT, finish, parser_for
from forks import Ended, adopt_orphans, build_commands_once, left_of, run, start
from small_model import CORPORA, first_sentences, train_small_model

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
FRESH = 20
"""Every so many runs one is a process of its own."""

PATIENCE = 60.0
"""Seconds for workers to notice that their parent is gone."""

Content = dict[str, str]
"""The files below a folder and their checksums."""


@dataclass
class Work:
    """A command that replaces a result in ``folder``, and judges the result.

    ``old`` lays the older result; ``whole`` says of the contents of a folder whether they are a
    whole new result, although not the usual one; ``same`` whether they are the usual one;
    ``partial`` of a file whether a run that is ended may leave it; ``sound`` what else must hold.
    """

    name: str
    folder: Path
    arguments: list[str]
    old: Callable[[], None]
    whole: Callable[[Content], bool] = lambda content: False
    partial: Callable[[str], bool] = lambda name: False
    sound: Callable[[Content], bool] = lambda content: True
    same: Callable[[Content, Content], bool] = lambda normal, after: normal == after
    normal: Content = field(default_factory=dict)


def main() -> None:
    """Print counts for each command, and what went wrong."""
    parser = parser_for(__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each command")
    parser.add_argument("--command", nargs="*", default=["train", "parse", "download", "package"])
    options = parser.parse_args()
    os.environ |= {"COLUMNS": "200", "SOURCE_DATE_EPOCH": "1000000000"}  # wheels of equal bytes
    adopt_orphans()
    build_commands_once()
    figures: dict[str, object] = {"seed": options.seed}
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name, serving(Path(name)):
        scratch = Path(name)
        model = train_small_model(scratch)
        works = {
            "train": training(scratch),
            "parse": parsing(scratch, model),
            "download": downloading(scratch),
            "package": packaging(scratch, model),
        }
        for chosen in options.command:
            trial = Trial(works[chosen], scratch, random.Random(f"{options.seed}/{chosen}"))
            trial.all(options.kills, time.monotonic() + 60 * options.at_most)
            figures |= {f"{chosen}: {name}": count for name, count in trial.counts.items()}
            failures += [f"{chosen}, seed {options.seed}: {text}" for text in trial.failures]
    finish(figures, failures, options.json)


class Trial:
    """The kills of one command."""

    def __init__(self, work: Work, scratch: Path, draw: random.Random) -> None:
        self.work, self._draw = work, draw
        self._said = scratch / f"said-{work.name}"
        self._said.mkdir()
        self.counts: dict[str, object] = {}
        self.failures: list[str] = []
        self._old: Content = {}

    def all(self, kills: int, end: float) -> None:
        """Measure a run without a signal, then end others, until ``end`` at most."""
        work = self.work
        self._lay()
        run(work.arguments, self._said)
        self._lay()
        usual = run(work.arguments, self._said)
        if usual.status:
            raise RuntimeError(f"{work.name} does not work: {usual.said}")
        work.normal = content_of(work.folder)
        if not work.same(work.normal, work.normal):
            raise RuntimeError(f"{work.name} gives no result")
        counts: Counter[str] = Counter()
        ended: Counter[str] = Counter()
        k = 0
        while sum(ended.values()) < kills and k < 3 * kills and time.monotonic() < end:
            number = SIGNALS[k % len(SIGNALS)]
            fresh = k % FRESH == FRESH - 1
            moment = self._draw.random() * usual.seconds
            if fresh:
                moment += 0.7 + self._draw.random()
            self._one(k, number, moment, fresh, counts, ended)
            k += 1
        self.counts = {"kills": sum(ended.values()), "seconds of a run": usual.seconds, **counts}
        self.counts["ended by"] = ", ".join(f"{name} {count}" for name, count in ended.items())

    def _lay(self) -> None:
        shutil.rmtree(self.work.folder, ignore_errors=True)
        self.work.folder.mkdir()
        self.work.old()
        self._old = content_of(self.work.folder)

    def _one(
        self,
        k: int,
        number: int,
        moment: float,
        fresh: bool,
        counts: Counter[str],
        ended: Counter[str],
    ) -> None:
        work = self.work
        name = signal.Signals(number).name
        where = f"kill {k} by {name} after {moment:.3f} s{' (own process)' if fresh else ''}"
        self._lay()
        done, group = self._killed(number, moment, fresh)
        left = left_of(group, PATIENCE)
        if left:
            self.failures.append(f"{where}: processes are left: {left}")
            for process in left:
                os.kill(process, signal.SIGKILL)
        counts["were over before"] += done.status == 0
        ended[name] += done.status != 0
        if done.status == 1 or "Traceback" in done.said:
            self.failures.append(f"{where}: traceback: {done.said.strip().splitlines()[-1:]}")
        after = content_of(work.folder)
        kept = {file: after[file] for file in after if file in self._old}
        if kept == self._old:
            counts["old result intact"] += 1
        elif work.whole(after) or work.same(work.normal, _only(after, work.normal)):
            counts["new result whole"] += 1
        else:
            self.failures.append(
                f"{where}: neither the old result nor a new one: {_changes(self._old, after)}"
            )
        if not work.sound(after):
            self.failures.append(f"{where}: a file of the new result is not whole: {sorted(after)}")
        known = {*self._old, *work.normal}
        extra = [file for file in after if file not in known and not work.partial(file)]
        if extra:
            counts[f"with leftovers after {name}"] += 1
            if number != signal.SIGKILL:
                self.failures.append(f"{where}: leaves {extra[:3]}")
        self._next(where, counts)

    def _killed(self, number: int, moment: float, fresh: bool) -> tuple[Ended, int]:
        if fresh:
            return self._killed_process(number, moment)
        running = start(self.work.arguments, self._said)
        time.sleep(moment)
        running.signal(number)
        return running.wait(), running.process

    def _killed_process(self, number: int, moment: float) -> tuple[Ended, int]:
        command = [sys.executable, "-m", "egparse", *self.work.arguments]
        begun = time.perf_counter()
        with open(self._said / "said", "wb") as said:
            process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            time.sleep(moment)
            process.send_signal(number)
            status = process.wait(600)
        text = (self._said / "said").read_text(encoding="utf-8", errors="replace")
        return Ended(status, "", text, time.perf_counter() - begun), process.pid

    def _next(self, where: str, counts: Counter[str]) -> None:
        """The next run works, and leaves what a run leaves."""
        done = run(self.work.arguments, self._said)
        after = content_of(self.work.folder)
        if done.status:
            self.failures.append(f"{where}: the next run: status {done.status}: {done.said[-300:]}")
        elif not self.work.same(self.work.normal, _only(after, self.work.normal)):
            self.failures.append(
                f"{where}: the next run gives something else: {_changes(self.work.normal, after)}"
            )
        extra = sorted(set(after) - set(self.work.normal))
        if extra:
            counts["leftovers after the next run"] += 1
            self.failures.append(f"{where}: not cleared by the next run: {extra[:3]}")


def training(scratch: Path) -> Work:
    """Replaces a model by one of the same corpus and another seed."""
    folder = scratch / "training"
    corpus = first_sentences(40, scratch / "train.conllu")
    model = folder / "model.msgpack"
    options = ["--config", str(ROOT / "configs" / "quick.toml"), "--language", "en", "--quiet"]
    options += [
        "--set",
        'layers=["upos", "heads", "deprels"]',
        "--output",
        str(model),
        *forced("train"),
    ]
    older = scratch / "older"

    def old() -> None:
        if not older.exists():
            older.mkdir()
            done = run(["train", str(corpus), *options, "--seed", "1"], scratch)
            if done.status:
                raise RuntimeError(done.said)
            shutil.copytree(folder, older, dirs_exist_ok=True)
        shutil.copytree(older, folder, dirs_exist_ok=True)

    def predictions() -> tuple[int, str]:
        done = run(["parse", str(model), str(test), "--quiet"], scratch)
        return done.status, done.output

    def whole(content: Content) -> bool:
        """After SIGINT the best model so far is kept, which is another one each time."""
        return predictions()[0] == 0

    def same(normal: Content, after: Content) -> bool:
        """Models and histories record CPU seconds; what models predict is the same."""
        if not expected:
            expected.append(predictions())
        return set(normal) == set(after) and predictions() == expected[0]

    test = first_sentences(20, scratch / "test.conllu", "test")
    expected: list[tuple[int, str]] = []
    arguments = ["train", str(corpus), *options, "--seed", "2"]

    def partial(name: str) -> bool:
        return name.endswith(".part")

    return Work("train", folder, arguments, old, whole, partial, same=same)


def parsing(scratch: Path, model: Path) -> Work:
    """Replaces a corpus by its annotation, by two processes."""
    folder, source = scratch / "parsing", scratch / "source.conllu"
    source.write_bytes((CORPORA / "en_sample-train.conllu").read_bytes() * 2)

    def old() -> None:
        (folder / "out.conllu").write_text("what was there\n")

    output = folder / "out.conllu"
    arguments = [
        "parse",
        str(model),
        str(source),
        "--output",
        str(output),
        "--jobs",
        "2",
        "--quiet",
    ]
    return Work("parse", folder, [*arguments, *forced("parse")], old)


def downloading(scratch: Path) -> Work:
    """Downloads the parts of a treebank beside somebody's file."""
    folder = scratch / "downloads"

    def old() -> None:
        (folder / "other.txt").write_text("somebody's file\n")

    def partial(name: str) -> bool:
        return name.endswith((".part", ".lock", ".sha256")) or name in parts

    def sound(content: Content) -> bool:
        """Each part that has its name is whole."""
        return all(content.get(part, sums[part]) == sums[part] for part in sums)

    parts = {Path(path).name: data for path, data in served().items()}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in parts.items()}
    arguments = ["download", "UD_French-Sequoia", "--output", str(folder), "--quiet"]
    return Work("download", folder, arguments, old, partial=partial, sound=sound)


def packaging(scratch: Path, model: Path) -> Work:
    """Replaces a package by the same of another licence."""
    folder = scratch / "packages"
    older = scratch / "older-package"
    options = ["package", str(model), "--output", str(folder), "--name", "en_egparse_x", "--force"]

    def old() -> None:
        if not older.exists():
            done = run([*options, "--licence", "MIT", "--quiet"], scratch)
            if done.status:
                raise RuntimeError(done.said)
            shutil.copytree(folder, older)
        shutil.copytree(older, folder, dirs_exist_ok=True)

    def whole(content: Content) -> bool:
        """Between two renamings the older package has another name, which the next run undoes."""
        place = ".en_egparse_x-0.1.0.replaced/"
        aside = [file for file in content if file.startswith(place)]
        return len(aside) == sum(path.is_file() for path in older.rglob("*"))

    arguments = [*options, "--licence", "CC BY 4.0", "--quiet"]
    return Work("package", folder, arguments, old, whole, lambda name: ".replaced/" in name)


def forced(command: str) -> list[str]:
    """``--force``, if this command has it: it replaces results."""
    import typer.main

    from egparse.cli.app import program

    parameters = typer.main.get_command(program(command)).commands[command].params  # type: ignore[attr-defined]
    return ["--force"] if any("--force" in own.opts for own in parameters) else []


def content_of(folder: Path) -> Content:
    """The files below a folder, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _only(content: Content, names: Content) -> Content:
    return {file: content[file] for file in names if file in content}


def _changes(before: Content, after: Content) -> str:
    gone = sorted(set(before) - set(after))
    changed = sorted(file for file in before if file in after and after[file] != before[file])
    return f"gone {gone[:3]}, changed {changed[:3]}, new {sorted(set(after) - set(before))[:3]}"


def served() -> dict[str, bytes]:
    """The treebank of the local server by path."""
    from egparse.service.hub.catalogue import find_entry, mirrored

    entry = find_entry("UD_French-Sequoia")
    assert entry is not None
    text = (CORPORA / "en_sample-dev.conllu").read_bytes()
    return {
        mirrored(file.address).removeprefix(os.environ["EGPARSE_MIRROR"]): text * (3 + k)
        for k, file in enumerate(entry.files)
    }


@contextmanager
def serving(home: Path) -> Iterator[None]:
    """A mirror on the loopback address that sends a little at a time, and takes up where a download
    broke off. It is a process of its own, because the program is a fork of this one.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _send(self, files.get(self.path))

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that is killed is no error."""

    with Server(("127.0.0.1", 0), Handler) as server:
        os.environ["EGPARSE_MIRROR"] = f"http://127.0.0.1:{server.server_address[1]}"
        os.environ["EGPARSE_HOME"] = str(home / "home")
        os.environ["NO_PROXY"] = "127.0.0.1"
        files = served()
        process = os.fork()
        if process == 0:
            threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
            server.serve_forever(0.05)
        server.socket.close()
        try:
            yield
        finally:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _send(handler: BaseHTTPRequestHandler, data: bytes | None) -> None:
    if data is None:
        handler.send_error(404)
        return
    asked = handler.headers.get("Range")
    first = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
    if first >= len(data):
        handler.send_error(416)
        return
    handler.send_response(206 if first else 200)
    if first:
        handler.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
    handler.send_header("ETag", '"1"')
    handler.send_header("Content-Length", str(len(data) - first))
    handler.end_headers()
    for place in range(first, len(data), 1 << 14):
        handler.wfile.write(data[place : place + (1 << 14)])
        time.sleep(0.002)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


if __name__ == "__main__":
    main()
