"""What it costs to start: the first process of a new installation, each later one, and the steps of
the README, from an installed wheel in an empty home; in pairs with an earlier commit.

Both commits are checked out, built and installed into virtual environments of their own, without
any cache of pip. Rows that are run once for each state say so in their name; the others are medians
of alternating runs. CPU is user and system time of the process and its children.

The rows without a home run in a mount namespace in which the installation is read-only; they need
root, and are left out for other users.

Usage: python benchmarks/start.py [--before COMMIT] [--runs 7] [--corpus FILE.conllu] [--folder DIR]
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TEXT = "Where did your old friend from Lisbon put the keys?\n"
CONLLU = "".join(
    f"{place}\t{form}\t_\t_\t_\t_\t_\t_\t_\t_\n" for place, form in enumerate(TEXT.split(), start=1)
)
NO_HOME = "/dev/null/none"
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'

LOAD = """
import time, egparse
from egparse.sentences import Sentence
t = time.process_time(); model = egparse.load("en_ewt"); loaded = time.process_time()
list(model.annotate([Sentence(["Where", "is", "she", "?"])])); done = time.process_time()
print(loaded - t, done - loaded)
"""
SPACY = """
import spacy, time
nlp = spacy.blank("en"); nlp("One two."); t = time.process_time()
for name in ("senter", "tagger", "parser", "ner"):
    nlp.add_pipe("egparse_" + name, config={"model": "en_ewt"})
nlp("Kim saw her in Lisbon. She waved.")
print(time.process_time() - t)
"""


class State(NamedTuple):
    """One of the two states: its name, its checkout and its virtual environment."""

    name: str
    source: Path
    environment: Path

    @property
    def egparse(self) -> str:
        """The program."""
        return str(self.environment / "bin" / "egparse")

    @property
    def python(self) -> str:
        """The interpreter."""
        return str(self.environment / "bin" / "python")


class Cost(NamedTuple):
    """CPU and elapsed seconds."""

    cpu: float
    elapsed: float


def cost_of(command: list[str], *, home: Path | str, text: str = "") -> tuple[Cost, str]:
    """What a command costs with a home folder, and what it printed."""
    kept = ("PATH", "LANG", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "SSL_CERT_FILE")
    environment: Mapping[str, str] = {key: os.environ[key] for key in kept if key in os.environ} | {
        "HOME": str(home)
    }
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, input=text, env=environment, text=True, capture_output=True, check=False,
        cwd="/",
    )  # fmt: skip
    elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, elapsed), done.stdout


def install(name: str, commit: str, folder: Path) -> tuple[State, Cost]:
    """A commit, checked out and installed as the README says."""
    source, environment = folder / name, folder / f"{name}-environment"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    subprocess.run(["git", "-C", str(source), "checkout", "--quiet", commit], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    state = State(name, source, environment)
    outside = str(Path(sys.base_prefix) / "bin" / "python3")  # environments may lack pip
    pip = [outside, "-m", "pip", "--python", state.python, "install", "--quiet"]
    cost, _ = cost_of([*pip, "--no-cache-dir", str(source)], home=new_home(folder))
    subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
    return state, cost


def new_home(folder: Path) -> Path:
    """An empty home folder."""
    return Path(tempfile.mkdtemp(prefix="home-", dir=folder))


def once(state: State, folder: Path) -> Iterator[tuple[str, Cost]]:
    """The rows that change what is measured: the first processes of an installation."""
    parse = [state.egparse, "parse", "en_ewt", "-"]
    if os.geteuid() == 0:  # before anything is compiled into the installation
        inside = ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", str(state.environment)]
        for row in ("first", "second"):
            cost = cost_of([*inside, *parse], home=NO_HOME, text=TEXT)[0]
            yield f"{row} parse, no home, read-only", cost
    yield "first parse of one sentence", cost_of(parse, home=new_home(folder), text=TEXT)[0]
    home, model = new_home(folder), str(folder / f"{state.name}.msgpack")
    corpora = state.source / "corpora"
    train, dev, test = (
        str(corpora / f"en_sample-{part}.conllu") for part in ("train", "dev", "test")
    )
    whole = [
        cost_of([state.egparse, "train", train, "--dev", dev, "--output", model], home=home)[0],
        cost_of([state.egparse, "evaluate", model, test], home=home)[0],
        cost_of([state.egparse, "parse", model, "-"], home=home, text=TEXT)[0],
    ]
    total = Cost(sum(cost.cpu for cost in whole), sum(cost.elapsed for cost in whole))
    yield "README: train, evaluate, parse", total


def again(
    state: State, home: Path, corpus: Path | None
) -> Iterator[tuple[str, Callable[[], Cost]]]:
    """The rows of later processes."""
    parse = [state.egparse, "parse", "en_ewt"]
    yield (
        "later parse of a sentence of text",
        lambda: cost_of([*parse, "-"], home=home, text=TEXT)[0],
    )
    conllu = [*parse, "--format", "conllu", "-"]
    yield "later parse of a sentence of CoNLL-U", lambda: cost_of(conllu, home=home, text=CONLLU)[0]

    def within(script: str, place: int) -> Cost:
        figures = cost_of([state.python, "-c", script], home=home)[1].split()
        return Cost(float(figures[place]), float("nan"))

    yield 'egparse.load("en_ewt")', lambda: within(LOAD, 0)
    yield "first annotate after it", lambda: within(LOAD, 1)
    yield "four spaCy pipes and the first Doc", lambda: within(SPACY, 0)
    yield "import spacy", lambda: cost_of([state.python, "-c", "import spacy"], home=home)[0]
    if corpus is not None:
        yield f"parse {corpus.name}", lambda: cost_of([*parse, str(corpus)], home=home)[0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default="HEAD~1", help="the commit to compare with")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    corpus: Path | None = asked.corpus and asked.corpus.resolve()
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="egparse-start-"))
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    rows: dict[str, list[list[Cost]]] = {}
    states = []
    for place, (name, commit) in enumerate((("before", asked.before), ("after", "HEAD"))):
        state, cost = install(name, commit, folder)
        states.append(state)
        for row, measured in (("pip install .", cost), *once(state, folder)):
            rows.setdefault(f"{row} (once)", [[], []])[place].append(measured)
    home = new_home(folder)
    for run in range(asked.runs + 1):  # the first run warms up
        for place, state in enumerate(states):
            for row, measure in again(state, home, corpus):
                cost = measure()
                if run:
                    rows.setdefault(row, [[], []])[place].append(cost)
    print(f"{'CPU seconds (elapsed)':44}{'before':>18}{'after':>18}")
    for row, both in rows.items():
        print(f"{row:44}" + "".join(f"{shown(costs):>18}" for costs in both))
    if asked.folder is None:
        shutil.rmtree(folder)


def shown(costs: list[Cost]) -> str:
    """The medians of costs."""
    if not costs:
        return "-"
    cpu = statistics.median(cost.cpu for cost in costs)
    elapsed = statistics.median(cost.elapsed for cost in costs)
    return f"{cpu:.2f}" + (f" ({elapsed:.2f})" if elapsed == elapsed else "")


if __name__ == "__main__":
    main()
