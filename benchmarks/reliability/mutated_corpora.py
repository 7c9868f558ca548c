"""Faulty corpora and texts through the readers, parse, evaluate and visualize: each is accepted, or
refused by exit status 2 and one line that names the file.

Cases run in a process that has everything loaded, through the program's main function with its
handling of errors; a second process watches it for crashes and time. Each case is made from the
seed and its number alone, and a failure is printed with the command that runs it alone and keeps
its file.

Outcomes: ``accepted`` (status 0), ``refused`` (status 2, one line without control characters
that names file and line), ``refused as a whole`` (the same without a line, for the messages that
are about no line); anything else is a failure.

Usage: python benchmarks/reliability/mutated_corpora.py [--cases 1000] [--seed 0] [--first 0]
[--corpus CORPUS.conllu] [--at-most MINUTES] [--json FILE] [--keep FOLDER]
"""

from __future__ import annotations

import functools
import io
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import unicodedata
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple

from findings import finish, parser_for
from mutations import FORMATS, Case, case, samples_of
from processes import cpu_seconds_of
from small_model import CORPORA, first_sentences, train_small_model

NOT_RUN, ACCEPTED, REFUSED, WHOLE, FAILED = range(5)
NAMES = ("not run", "accepted", "refused", "refused as a whole", "failed")
HEADER = struct.Struct("@qdd")
"""The number of the case at work, -1 between cases, and when it began: on the wall, and in CPU
seconds of its process.
"""

SECONDS = 20.0
"""CPU seconds; a case that takes more fails. None has more than some hundred words."""

WAITING = 300.0
"""Seconds on the wall, for a case that waits for ever; the machine may be busy."""

MEGABYTES = 400
"""By which a case may raise the memory of its process."""

WHOLE_FILE = re.compile(
    r"expected something to parse, got nothing|expected at least one sentence to draw"
    r"|for --respect-input, got|for --marginals|expected an annotated corpus"
    r"|gold and system are not the same text"
)
"""Messages about no line: the file is empty, of another format, or of other words than a second."""

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("parse", "MODEL", "INPUT", "FORMAT"),
    ("parse", "MODEL", "INPUT", "FORMAT", "--output", "OUTPUT"),
    ("parse", "MODEL", "-", "FORMAT"),
    ("parse", "MODEL", "INPUT", "FORMAT", "--respect-input"),
    ("parse", "MODEL", "INPUT", "--respect-input", "--marginals"),
    ("parse", "MODEL", "INPUT", "FORMAT", "--marginals"),
    ("parse", "MODEL", "INPUT", "FORMAT", "--gold-tags"),
    ("evaluate", "MODEL", "INPUT", "CORPUS FORMAT", "--bootstrap", "5"),
    ("evaluate", "MODEL", "INPUT", "--details", "--bootstrap", "0"),
    ("evaluate", "--predicted", "INPUT", "ORIGINAL", "CORPUS FORMAT", "--bootstrap", "0"),
    ("evaluate", "--predicted", "ORIGINAL", "INPUT", "--bootstrap", "5", "--json"),
    ("visualize", "INPUT", "FORMAT", "--output", "OUTPUT"),
    ("visualize", "MODEL", "INPUT", "FORMAT"),
    ("visualize", "MODEL", "INPUT", "--compare"),
    ("visualize", "MODEL", "INPUT", "--least-certain", "--limit", "2"),
    ("read", "INPUT", "FORMAT"),
    ("read", "INPUT", "FORMAT", "--skip-bad"),
)


class Outcome(NamedTuple):
    """What became of a case: its kind, and for a failure what is wrong."""

    kind: int
    wrong: str = ""
    said: str = ""


class Bench(NamedTuple):
    """What cases need: a model, sentences, a folder for files."""

    model: Path
    samples: dict[str, Sequence[bytes]]
    folder: Path
    seed: int


def main() -> None:
    """Print counts of outcomes and the failures."""
    parser = parser_for(__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--corpus", type=Path, default=CORPORA / "en_sample-test.conllu")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the files of the cases")
    options = parser.parse_args()
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(
            train_small_model(Path(name)), samples_of(options.corpus), folder, options.seed
        )
        warm_up(bench)
        begun = time.perf_counter()
        end = time.monotonic() + 60 * options.at_most
        run = Run(bench, options.first, options.cases, end, keep=options.keep is not None)
        run.all()
        run.report(options, time.perf_counter() - begun)


class Run:
    """The cases, run by a child process that is replaced where it ends before its work."""

    def __init__(self, bench: Bench, first: int, count: int, end: float, *, keep: bool) -> None:
        self.bench, self.first, self.count, self.keep = bench, first, count, keep
        self.end = end
        self.shared = mmap.mmap(-1, HEADER.size + count)
        self.log = bench.folder / "log.jsonl"
        self.deaths: list[str] = []

    def all(self) -> None:
        """Run all cases."""
        place = 0
        while place < self.count:
            HEADER.pack_into(self.shared, 0, -1, 0.0, 0.0)
            child = os.fork()
            if child == 0:
                self._work(place)
            reason = self._watched(child)
            at, *_ = HEADER.unpack_from(self.shared, 0)
            if at < 0 and not reason:
                return
            place = max(at, place)
            self.shared[HEADER.size + place] = FAILED
            self.deaths.append(f"{self._again(place)}: {reason or 'the process ended'}")
            place += 1

    def _watched(self, child: int) -> str:
        """Wait for the child; how it ended, empty if well."""
        seen: tuple[int, float, float] | None = None
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                if code == 0:
                    return ""
                return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
            seen, before = HEADER.unpack_from(self.shared, 0), seen
            at, begun, used = seen
            worked = cpu_seconds_of(child) - used
            too_long = worked > SECONDS or time.monotonic() - begun > WAITING
            if at >= 0 and too_long and seen == before:  # seen twice: it is written field by field
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return f"took more than {worked:.0f} CPU s"
            time.sleep(0.1)

    def _work(self, place: int) -> None:
        """In the child: run cases from ``place`` on, and leave."""
        status = 1
        try:
            _limit_memory()
            slowest = 0.0
            with open(self.log, "a", encoding="ascii", buffering=1) as log:
                for k in range(place, self.count):
                    if time.monotonic() > self.end:
                        break
                    before, used = _peak(), time.process_time()
                    HEADER.pack_into(self.shared, 0, k, time.monotonic(), used)
                    outcome = outcome_of(self.bench, self.first + k, keep=self.keep)
                    seconds = time.process_time() - used
                    slowest = max(slowest, seconds)
                    if (grown := _peak() - before) > MEGABYTES:
                        outcome = Outcome(FAILED, f"memory grew by {grown:.0f} MB", outcome.said)
                    self.shared[HEADER.size + k] = outcome.kind
                    if outcome.kind in (FAILED, WHOLE) or seconds > 1:
                        record = [k, outcome.kind, outcome.wrong, outcome.said, round(seconds, 2)]
                        log.write(json.dumps(record) + "\n")
                HEADER.pack_into(self.shared, 0, -1, 0.0, 0.0)
                log.write(json.dumps([-1, 0, "", _peak(), slowest]) + "\n")
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def report(self, options: Any, seconds: float) -> None:
        """Print what was found, and leave."""
        kinds = Counter(self.shared[HEADER.size :])
        records = [json.loads(line) for line in self.log.read_text().splitlines()]
        failures = list(self.deaths)
        failures += [f"{self._again(r[0])}: {r[2]}: {r[3]!r}" for r in records if r[1] == FAILED]
        whole = Counter(_without_names(r[3]) for r in records if r[1] == WHOLE)
        wrong = Counter(r[2] for r in records if r[1] == FAILED)
        slow = [r[4] for r in records if r[0] >= 0 and r[4] > 1]
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self.count - kinds.get(NOT_RUN, 0)
        figures: dict[str, object] = {"cases": done, "seed": self.bench.seed}
        figures |= {name: kinds.get(kind, 0) for kind, name in enumerate(NAMES)}
        figures |= {f"failed: {name}": count for name, count in wrong.items()}
        figures |= {
            "crashes and hangs": len(self.deaths),
            "slowest case, CPU s": max(r[4] for r in [*records, [-1, 0, "", 0.0, 0.0]]),
            "cases above 1 CPU s": len(slow),
            "peak memory, MB": max((r[3] for r in records if r[0] < 0), default=0.0),
            "CPU ms a case": 1000 * (used.ru_utime + used.ru_stime) / max(1, done),
            "wall seconds": seconds,
        }
        finish(figures, failures, options.json, {"whole": dict(whole.most_common(40))})

    def _again(self, place: int) -> str:
        return (
            f"python benchmarks/reliability/mutated_corpora.py --seed {self.bench.seed} --first "
            f"{self.first + place} --cases 1 --keep FOLDER"
        )


def warm_up(bench: Bench) -> None:
    """Load what the commands load, so that the child has it, and the model once for all cases; and
    let Typer build its tree of commands once, which takes longer than a case.
    """
    import spacy  # noqa: F401
    import typer.main

    from egparse.pipeline.model import Model

    typer.main.get_command = functools.cache(typer.main.get_command)
    load, models = Model.load, {}

    def load_once(path: Any, *arguments: Any, **options: Any) -> Model:
        key = (str(path), *arguments, *options.items())
        if key not in models:
            models[key] = load(path, *arguments, **options)
        return models[key]

    Model.load = load_once  # type: ignore[method-assign]
    plain = first_sentences(20, bench.folder / "warm.conllu", "test")
    for command in COMMANDS:
        plain.with_name("output").unlink(missing_ok=True)
        arguments = _filled(command, bench, plain, plain, "conllu", named=False)
        status, said, trace = call(arguments, b"")
        if trace:
            raise RuntimeError(f"{arguments} does not work on a sound corpus: {trace}")
        if status and "-" not in arguments:
            print(f"warming up: {arguments[0]}: {said.strip()}", file=sys.stderr)


def outcome_of(bench: Bench, number: int, *, keep: bool = False) -> Outcome:
    """Make a case, run it, and judge what the program did."""
    made = case(bench.seed, number, bench.samples)
    draw = random.Random(f"{bench.seed}/{number}/command")
    folder = bench.folder / str(number) if keep else bench.folder / "case"
    folder.mkdir(exist_ok=True)
    path, original = folder / made.name, folder / "original"
    path.write_bytes(made.content)
    original.write_bytes(b"".join(bench.samples[made.format][:2]))
    command = draw.choice(COMMANDS)
    arguments = _filled(command, bench, path, original, made.format, named=draw.random() < 0.5)
    if keep:
        print(f"{number}: {made.faults}: egparse {' '.join(arguments)}")
    status, said, trace = call(arguments, made.content)
    outcome = judged(arguments, made, status, said, trace)
    if keep:
        print(f"{NAMES[outcome.kind]} {outcome.wrong}: status {status}: {said}{trace}")
    else:
        shutil.rmtree(folder)
    return outcome


def judged(arguments: Sequence[str], made: Case, status: int, said: str, trace: str) -> Outcome:
    """Whether this is how a command may end."""
    if trace:
        return Outcome(FAILED, "traceback", trace.strip().splitlines()[-1])
    lines = said.splitlines(keepends=True) if "\n" not in said else said.split("\n")[:-1]
    if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in said.replace("\n", "")):
        return Outcome(FAILED, "control characters", said)
    if status == 0:
        return Outcome(ACCEPTED)
    if status != 2:
        return Outcome(FAILED, f"exit status {status}", said)
    if not all(line.startswith("egparse: ") for line in lines) or not lines:
        return Outcome(FAILED, "several lines", said)
    if "not enough memory" in lines[-1]:
        return Outcome(FAILED, "memory", said)
    text = lines[-1]
    names = "<stdin>" if "-" in arguments else "case"
    if WHOLE_FILE.search(text):
        return Outcome(WHOLE, "", text)
    if names not in text and made.name[:3] not in text and "original" not in text:
        return Outcome(FAILED, "no file named", said)
    if re.search(r":\d+: ", text):
        return Outcome(REFUSED)
    return Outcome(FAILED, "no line named", said)


def call(arguments: Sequence[str], standard_input: bytes) -> tuple[int, str, str]:
    """Exit status, standard error, and the traceback of an exception that the program lets pass."""
    from egparse.cli.app import main as egparse

    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogatepass")
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    kept, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(standard_input), encoding="utf-8")
    status, trace = 0, ""
    try:
        with redirect_stdout(output), redirect_stderr(said):
            if arguments[0] == "read":
                status = _read(arguments)
            else:
                egparse(list(arguments))
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        trace = traceback.format_exc()
    finally:
        sys.stdin = kept
    with suppress(ValueError, OSError):
        said.flush()
    return status, said.buffer.getvalue().decode("utf-8", "surrogatepass"), trace


def _read(arguments: Sequence[str]) -> int:
    """The readers alone: all sentences, and what was read is written and read again."""
    from egparse.errors import EgparseError
    from egparse.io.corpus import read_corpus, write_corpus

    path = Path(arguments[1])
    format = arguments[3] if "--format" in arguments else None
    if format == "text":
        format = None
    try:
        sentences = list(read_corpus(path, format, skip_bad="--skip-bad" in arguments))
    except EgparseError as error:
        print(f"egparse: {error}", file=sys.stderr)
        return 2
    written = format or (sentences[0].source.format if sentences and sentences[0].source else None)
    if written and sentences:
        stream = io.StringIO()
        write_corpus(sentences, stream, written)
        if list(read_corpus(io.StringIO(stream.getvalue()), written)) != sentences:
            raise AssertionError("what was written is read as something else")
    return 0


def _filled(
    command: Sequence[str], bench: Bench, path: Path, original: Path, format: str, *, named: bool
) -> list[str]:
    """The command with its paths; the format is named or left to be found out."""
    corpus_format = format if format != "text" else random.Random(path.name).choice(FORMATS[:7])
    places = {
        "MODEL": [str(bench.model)],
        "INPUT": [str(path)],
        "ORIGINAL": [str(original)],
        "OUTPUT": [str(path.with_name("output"))],
        "FORMAT": ["--format", format] if named else [],
        "CORPUS FORMAT": ["--format", corpus_format] if named else [],
    }
    return [word for place in command for word in places.get(place, [place])]


def _without_names(text: str) -> str:
    """A message without what differs from case to case."""
    return re.sub(r"/\S+|'[^']*'|\d+", "*", text)[:150]


def _limit_memory() -> None:
    """Let allocations of gigabytes fail; kernels and libraries have mapped much already."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = mapped + (2 << 30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _peak() -> float:
    """Megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
