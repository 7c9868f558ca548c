"""What egparse costs: speed, start-up, installation, memory and size, beside an earlier commit and
beside other programs in the same run.

Usage: python benchmarks/speed.py CORPUS.conllu [--model en_ewt] [--before COMMIT]
       [--peer spacy=FOLDER] [--peer udpipe=FILE] [--train TRAIN.conllu DEV.conllu --config FILE]
       [--runs 5] [--only WORD ...] [--folder DIR]

HEAD and the earlier commit are cloned and installed into virtual environments of their own, without
any cache of pip; each is measured with the model of its own repository. Programs take turns, and
figures are medians. Seconds are CPU seconds of the process and its children on one core, but for
``--jobs``, which compares the clock. "Once" marks what changes the state that is measured, such as
the first process of an installation. ``--only`` leaves out the rows whose names have none of the
words. Without ``--before`` HEAD is measured alone. Peers run in this environment (`pip install
ufal.udpipe`, or any spaCy pipeline; see ``benchmarks/udpipe.py``).

The rows without a home run in a mount namespace in which the installation is read-only; they need
root, and are left out for other users.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from egparse.io.corpus import read_corpus
from egparse.text.treebank_text import raw_text

ROOT = Path(__file__).parents[1]
WITHIN = Path(__file__).with_name("speed_within.py")
TEXT = "Where did your old friend from Lisbon put the keys?\n"
CONLLU = "".join(
    f"{place}\t{form}\t_\t_\t_\t_\t_\t_\t_\t_\n" for place, form in enumerate(TEXT.split(), start=1)
)
NO_HOME = "/dev/null/none"
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
ONE_CORE = {f"{name}_NUM_THREADS": "1" for name in ("NUMBA", "OMP", "OPENBLAS")}
KEPT = ("PATH", "LANG", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "SSL_CERT_FILE")
SHORT_TEXTS = 600
COPIES = 12  # of the corpus in a long file


class Cost(NamedTuple):
    """CPU and elapsed seconds, and the peak of memory in MB."""

    cpu: float
    elapsed: float
    peak: float


class Files(NamedTuple):
    """What is parsed: the corpus, its first sentence, its text, a short text a line, and several
    copies of corpus and text.
    """

    corpus: Path
    sentence: Path
    text: Path
    short: Path
    copies: Path
    copied_text: Path


class State(NamedTuple):
    """A commit that is installed: its checkout, its virtual environment, a home folder and the name
    of its model.
    """

    source: Path
    environment: Path
    home: Path
    model: str

    def run(self, *arguments: str | Path, home: str | Path | None = None, text: str = "") -> Cost:
        """A call of the program."""
        program = str(self.environment / "bin" / "egparse")
        return cost_of([program, *map(str, arguments)], home=home or self.home, text=text)[0]

    def parse(self, source: Path, *options: str, from_stdin: bool = False) -> Cost:
        """From file to file."""
        given = "-" if from_stdin else source
        kind = "text" if source.suffix == ".txt" else "conllu"
        return self.run(
            "parse", self.model, given, "--format", kind, "--output", self.home / "out.conllu",
            "--force", "--quiet", *options, text=source.read_text("utf-8") if from_stdin else "",
        )  # fmt: skip


class Programs(NamedTuple):
    """What is measured, by its column: our states, and the kind and model of each peer."""

    states: dict[str, State]
    peers: dict[str, tuple[str, str]]


def cost_of(command: Sequence[str], *, home: Path | str, text: str = "") -> tuple[Cost, str]:
    """What a command costs with a home folder, and what it printed."""
    environment = {key: os.environ[key] for key in KEPT if key in os.environ}
    environment |= {"HOME": str(home), **ONE_CORE}
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as said:
        given.write(text)
        given.seek(0)
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=given, stdout=said, stderr=subprocess.STDOUT, env=environment, cwd="/"
        )
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        printed = said.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}\n{printed}")
    return Cost(usage.ru_utime + usage.ru_stime, elapsed, usage.ru_maxrss / 1024), printed


def installed(name: str, commit: str, folder: Path, model: str) -> tuple[State, Cost]:
    """A commit, checked out and installed as the README says, and what that costs."""
    source, environment = folder / name, folder / f"{name}-environment"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    subprocess.run(["git", "-C", str(source), "checkout", "--quiet", commit], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    state = State(source, environment, new_home(folder), model)
    outside = str(Path(sys.base_prefix) / "bin" / "python3")  # environments may lack pip
    python = str(environment / "bin" / "python")
    pip = [outside, "-m", "pip", "--python", python, "install", "--quiet", "--no-cache-dir"]
    cost, _ = cost_of([*pip, str(source)], home=new_home(folder))
    subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
    return state, cost


def new_home(folder: Path) -> Path:
    """An empty home folder."""
    return Path(tempfile.mkdtemp(prefix="home-", dir=folder))


def files_of(corpus: Path, folder: Path) -> Files:
    """What is parsed."""
    source, sentences = corpus.read_text("utf-8").rstrip("\n") + "\n\n", list(read_corpus(corpus))
    text = raw_text(sentences).rstrip("\n") + "\n\n"
    near = [raw_text([each]).strip() for each in sentences if abs(len(each) - 15) <= 3]
    short = [near[place % len(near)] for place in range(SHORT_TEXTS)]
    files = Files(
        *(folder / name for name in ("corpus.conllu", "sentence.conllu", "text.txt", "short.txt")),
        *(folder / name for name in ("copies.conllu", "copies.txt")),
    )
    contents = (source, CONLLU + "\n", text, "\n".join(short), source * COPIES, text * COPIES)
    for path, content in zip(files, contents, strict=True):
        path.write_text(content, encoding="utf-8")
    return files


def once(state: State, folder: Path) -> Iterator[tuple[str, float]]:
    """The rows that change what is measured: the first processes of an installation."""
    parse = ["parse", state.model, "-"]
    if os.geteuid() == 0:  # before anything is compiled into the installation
        program = str(state.environment / "bin" / "egparse")
        inside = ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", str(state.environment)]
        for row in ("first", "second"):
            cost = cost_of([*inside, program, *parse], home=NO_HOME, text=TEXT)[0]
            yield f"seconds of the {row} parse, no home, read-only (once)", cost.cpu
    home = new_home(folder)
    yield (
        "seconds of the first parse of a sentence (once)",
        state.run(*parse, home=home, text=TEXT).cpu,
    )
    home, model, corpora = new_home(folder), folder / "sample.msgpack", state.source / "corpora"
    train, dev, test = (corpora / f"en_sample-{part}.conllu" for part in ("train", "dev", "test"))
    model.unlink(missing_ok=True)
    steps = (("train", train, "--dev", dev, "--output", model), ("evaluate", model, test))
    seconds = sum(state.run(*step, home=home).cpu for step in steps)
    seconds += state.run("parse", model, "-", home=home, text=TEXT).cpu
    yield "seconds of the README's train, evaluate and parse (once)", seconds


def again(state: State, files: Files) -> Iterator[tuple[str, Callable[[], float]]]:
    """The rows of later processes."""
    n_words = sum(map(len, read_corpus(files.corpus)))

    def speed(source: Path, times: int = 1) -> float:
        alone = state.parse(files.sentence).cpu
        return times * n_words / (state.parse(source).cpu - alone)

    def gain(source: Path, from_stdin: bool = False) -> float:
        one, two = (
            state.parse(source, "--jobs", jobs, from_stdin=from_stdin).elapsed for jobs in "12"
        )
        return one / two

    yield "words a second, file to file, start-up taken off", lambda: speed(files.corpus)
    yield f"words a second, the file {COPIES} times over", lambda: speed(files.copies, COPIES)
    yield "MB of memory, parsing", lambda: state.parse(files.corpus).peak
    yield (
        "seconds to parse a sentence of text",
        lambda: state.run("parse", state.model, "-", text=TEXT).cpu,
    )
    yield "seconds to parse a sentence of CoNLL-U", lambda: state.parse(files.sentence).cpu
    yield "times as fast by two jobs, CoNLL-U", lambda: gain(files.copies)
    yield "times as fast by two jobs, text", lambda: gain(files.copied_text)
    yield "times as fast by two jobs, standard input", lambda: gain(files.copies, from_stdin=True)


def size_of(state: State) -> float:
    """MB of the model file."""
    return (state.source / "models" / f"{state.model}.msgpack").stat().st_size / 1e6


def trained(state: State, train: Path, dev: Path, config: Path | None, folder: Path) -> Cost:
    """Training on a corpus."""
    chosen: list[str | Path] = [] if config is None else ["--config", config]
    target = folder / "trained.msgpack"
    return state.run(
        "train", train, "--dev", dev, "--output", target, "--force", "--quiet", *chosen
    )


class Table:
    """Rows by name: what was measured in each column."""

    def __init__(self, only: Sequence[str]) -> None:
        self.rows: dict[str, dict[str, list[float]]] = {}
        self._only = only

    def wants(self, row: str) -> bool:
        """Whether a row is asked for."""
        return not self._only or any(word in row for word in self._only)

    def add(self, row: str, column: str, value: float) -> None:
        """A figure of a row that is asked for."""
        if self.wants(row):
            self.rows.setdefault(row, {}).setdefault(column, []).append(value)

    def show(self, columns: Sequence[str]) -> None:
        """Print the medians."""
        print(f"{'':56}" + "".join(f"{column:>14}" for column in columns))
        for row, found in self.rows.items():
            medians = [statistics.median(found[one]) if one in found else None for one in columns]
            shown = (
                "" if one is None else f"{one:,.{0 if one >= 1000 else 2}f}" for one in medians
            )
            print(f"{row:56}" + "".join(f"{one:>14}" for one in shown))


def measure(programs: Programs, files: Files, table: Table, runs: int) -> None:
    """The rows that alternate; the first run warms up."""
    pythons = {
        column: state.environment / "bin" / "python" for column, state in programs.states.items()
    }
    within = {column: ("egparse", state.model) for column, state in programs.states.items()}
    for run in range(runs + 1):
        for column, (kind, model) in {**within, **programs.peers}.items():
            python = str(pythons.get(column, sys.executable))
            home = programs.states[column].home if column in pythons else Path.home()
            command = [python, str(WITHIN), kind, model, *map(str, files[:1] + files[2:4])]
            for row, value in json.loads(cost_of(command, home=home)[1].splitlines()[-1]).items():
                if run:
                    table.add(row, column, value)
        for column, state in programs.states.items():
            for row, figure in again(state, files):
                if table.wants(row):
                    value = figure()
                    if run:
                        table.add(row, column, value)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--model", default="en_ewt", help="a model of the repository, by name")
    parser.add_argument("--before", help="the commit to compare with")
    parser.add_argument("--peer", action="append", default=[], help="spacy=FOLDER or udpipe=FILE")
    parser.add_argument("--train", type=Path, nargs=2, help="train on these parts too, once")
    parser.add_argument("--config", type=Path, help="the configuration of that")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="words of the rows that are wanted")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="egparse-speed-"))
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    files = files_of(asked.corpus, folder)
    table, states = Table(asked.only), {}
    commits = {"before": asked.before} if asked.before else {}
    for column, commit in {**commits, "now": "HEAD"}.items():
        state, cost = installed(column, commit, folder, asked.model)
        states[column] = state
        table.add("seconds of pip install . (once)", column, cost.cpu)
        table.add("MB of the model file", column, size_of(state))
        if table.wants("(once)"):
            for row, value in once(state, folder):
                table.add(row, column, value)
        if asked.train:
            paths = [path.resolve() for path in asked.train]
            config = asked.config and asked.config.resolve()
            cost = trained(state, paths[0], paths[1], config, folder)
            table.add("seconds of training (once)", column, cost.cpu)
            table.add("MB of memory, training (once)", column, cost.peak)
    peers = {}
    for peer in asked.peer:
        kind, _, path = peer.partition("=")
        peers[kind] = (kind, str(Path(path).resolve()))
    measure(Programs(states, peers), files, table, asked.runs)
    table.show([*states, *peers])
    if asked.folder is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
