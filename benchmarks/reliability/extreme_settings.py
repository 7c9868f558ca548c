"""Train on 40 sentences with random extreme settings, each run in a child process: every run ends
in a model that can be read and annotates, or in one line that says what is wrong.

    python -m benchmarks.reliability.extreme_settings --runs 200 --seed 1

Settings are drawn from the bounds of their ranges, learners and losses at random. A run that ends
by a signal, with another exception or not in time is printed with the command that repeats it.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from egparse.api import train
from egparse.config.fields import Setting, range_of
from egparse.config.sections import settings
from egparse.errors import EgparseError
from egparse.io.corpus import read_corpus
from egparse.learners.registry import LEARNERS, options_of
from egparse.pipeline.model import Model
from egparse.sentences import Sentence

CORPUS = Path(__file__).resolve().parents[2] / "corpora" / "en_sample-train.conllu"
ENDLESS = ("iterations", "passes", "bits", "train", "language", "layers", "base_strength")
"""Settings that decide how long a run takes, and some of no interest."""

OPTION_VALUES = {"list of strings": [[]], "true | false": [False, True], "string": ["eg-online"]}
_MEMORY = 6 << 30
TRAINED, REFUSED, TRACEBACK, MEMORY = 0, 3, 4, 5
OUTCOMES = {TRAINED: "trained", REFUSED: "refused", TRACEBACK: "traceback", MEMORY: "memory"}


def extremes(text: str) -> list[object]:
    """The bounds of a range, and values near them."""
    if text in OPTION_VALUES:
        return list(OPTION_VALUES[text])
    if " | " in text:
        return [int(one) if one.isdigit() else one for one in text.split(" | ")]
    kind, *words = text.replace(",", "").split()
    numbers = [float(word) for word in words if word[0].isdigit()]
    if "below" in words:
        numbers[1] = 0.999999
    if len(numbers) == 1:
        numbers += [1e9, 1e300, float("inf")]
    values = [*numbers, (numbers[0] + numbers[1]) / 2, numbers[0] + 1]
    return [int(value) for value in values] if kind == "integer" else list(values)


def drawn(chance: random.Random, known: list[Setting]) -> dict[str, object]:
    """A few settings at their extremes."""
    chosen: dict[str, object] = {}
    for setting in chance.sample(known, chance.randint(1, 5)):
        name = setting.key.rpartition(".")[2]
        if name == "learner":
            learner = chance.choice(list(LEARNERS))
            chosen[setting.key] = learner
            options = options_of(learner)
            if options and chance.random() < 0.5:
                option = chance.choice(list(options))
                value = chance.choice(extremes(range_of(options[option])))
                chosen[setting.key.replace("learner", "options")] = {option: value}
        elif name != "options":
            chosen[setting.key] = chance.choice(extremes(setting.range))
    return chosen


def run(corpus: list[Sentence], chosen: dict[str, object]) -> int:
    """Train, save, load and annotate; the exit code of the child."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    stops = {
        f"{section}.stop.iterations": 2
        for section in ("upos", "xpos", "feats", "spans", "pruner", "parser", "labeller")
    }
    few: dict[str, object] = {"jackknife.folds": 2, "jackknife.passes": 1, "parser.bits": 14}
    try:
        model = train(corpus[:34], corpus[34:40], **{**stops, **few, "pruner.bits": 14, **chosen})
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            again = Model.load(Path(folder) / "model")
        words = [Sentence(forms=one.forms) for one in corpus[40:44]]
        assert list(again.annotate(words)) == list(model.annotate(words))
        list(again.annotate(words, probabilities=bool(again.probabilistic)))
    except EgparseError as error:
        text = str(error)
        sys.stderr.write(f"    {text}\n")
        return REFUSED if "\n" not in text else TRACEBACK
    except MemoryError:
        return MEMORY
    except BaseException:
        traceback.print_exc()
        return TRACEBACK
    return TRAINED


def in_child(corpus: list[Sentence], chosen: dict[str, object], seconds: float, log: Path) -> str:
    """How a run ended."""
    child = os.fork()
    if child == 0:
        with log.open("w", encoding="utf-8") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
            sys.stdout = sys.stderr = stream
            code = run(corpus, chosen)
            stream.flush()
        os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if os.WIFSIGNALED(status):
                return signal.Signals(os.WTERMSIG(status)).name
            return OUTCOMES.get(os.WEXITSTATUS(status), "other")
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "time"


def main() -> None:
    """Run and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first run, to repeat one")
    parser.add_argument("--seconds", type=float, default=120.0, help="limit of one run")
    parser.add_argument("--all", action="store_true", help="print every run")
    given = parser.parse_args()
    corpus = list(read_corpus(CORPUS))[:44]
    known = [one for one in settings() if one.key.rpartition(".")[2] not in ENDLESS]
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        for number in range(given.first, given.first + given.runs):
            chosen = drawn(random.Random(f"{given.seed}-{number}"), known)
            outcome = in_child(corpus, chosen, given.seconds, log)
            counts[outcome] += 1
            if outcome not in ("trained", "refused") or given.all:
                print(f"{number}: {outcome}: {chosen}", flush=True)
                print(log.read_text(encoding="utf-8")[-3000:], flush=True)
    print(dict(counts))
    bad = sum(count for outcome, count in counts.items() if outcome not in ("trained", "refused"))
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
