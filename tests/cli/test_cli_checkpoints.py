"""A run of training that is killed and resumed makes the same model as one that was not."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.program import CORPORA, ENVIRONMENT, complaint, first_sentences, run

from egparse.storage.model_file import read_model

SETTINGS = (
    "morphology.stop.iterations=4", "spans.stop.iterations=3", "lemmas.stop.iterations=3",
    "supertags.stop.iterations=3", "tokeniser.stop.iterations=3", "splitter.stop.iterations=3",
    "parser.order=2", "parser.trees=projective", "parser.bits=14", "parser.stop.iterations=4",
    "pruner.bits=14", "pruner.stop.iterations=3", "labeller.stop.iterations=4",
    "jackknife.folds=3",
)  # fmt: skip

AFTER_WRITING = """
import os, signal, sys
from egparse.fitting import journal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background ignores it
name, count, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
write = journal.write_record
def write_and_stop(path, values, arrays):
    global count
    write(path, values, arrays)
    count -= path.name[4:] == name + ".zip"
    if not count:
        os.kill(os.getpid(), number)
journal.write_record = write_and_stop
from egparse.cli.app import main
main(sys.argv[4:])
"""
"""Sends itself a signal after it has written a file so many times."""

AFTER_CPU_SECONDS = """
import signal, sys
from egparse.cli.app import main
signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))  # its signal ends the process at once
main(sys.argv[2:])
"""


class Runs:
    """Runs of one training, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.corpus = first_sentences(CORPORA / "en_sample-train.conllu", 40, folder / "c.conllu")
        self.dev = first_sentences(CORPORA / "en_sample-dev.conllu", 15, folder / "d.conllu")

    def command(self, name: str, *options: object, seed: int = 1) -> list[str]:
        """The command that makes a model."""
        files = [self.corpus, "--dev", self.dev, "--output", self.folder / f"{name}.msgpack"]
        settings = [part for one in SETTINGS for part in ("--set", one)]
        return ["train", *map(str, [*files, "--quiet", *settings, "--seed", seed, *options])]

    def result(self, name: str) -> tuple[Any, bytes, list[Any]]:
        """The model and its history, without times."""
        path = self.folder / f"{name}.msgpack"
        header, _ = read_model(path)
        lines = (self.folder / f"{name}.history.jsonl").read_text().splitlines()
        history = [json.loads(line) for line in lines]
        payload = path.read_bytes()[-header["payload_length"] :]
        return without_times(header), payload, without_times(history)


def without_times(value: Any) -> Any:
    """The same values but for CPU times, which differ from run to run."""
    if isinstance(value, dict):
        times = ("seconds", "cpu_seconds")
        return {key: without_times(one) for key, one in value.items() if key not in times}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def stopped(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A process that ends itself."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A folder with ``plain.msgpack``, made by a run that was not stopped."""
    made = Runs(tmp_path_factory.mktemp("runs"))
    run(*made.command("plain"))
    return made


@pytest.mark.nightly
def test_a_run_that_is_killed_in_each_of_its_tasks_makes_the_same_model(runs: Runs) -> None:
    for name, count in [
        ("tokeniser", 1),
        ("morphology", 2),
        ("morphology-jackknife", 2),
        ("supertags", 3),
        ("pruner", 1),
        ("parser", 2),
        ("labeller", 3),
    ]:
        command = runs.command("killed", "--checkpoint", 0, "--resume")
        done = stopped(AFTER_WRITING, name, count, signal.SIGKILL.value, *command)
        assert done.returncode == -signal.SIGKILL, (name, done.stderr)
        assert not (runs.folder / "killed.msgpack").exists()
    run(*runs.command("killed", "--resume"))
    assert runs.result("killed") == runs.result("plain")
    left = {path.name for path in runs.folder.iterdir() if path.name.startswith("killed")}
    assert left == {"killed.msgpack", "killed.history.jsonl"}


def test_a_run_that_is_killed_at_random_moments_makes_the_same_model(runs: Runs) -> None:
    rng = random.Random(5)
    for _ in range(4):
        command = runs.command("random", "--checkpoint", 0, "--resume")
        done = stopped(AFTER_CPU_SECONDS, rng.uniform(0.5, 1.5), *command)
        assert done.returncode in (-signal.SIGPROF, 0), done.stderr
        model, folder = (runs.folder / f"random.{end}" for end in ("msgpack", "checkpoint"))
        if model.exists() and not folder.exists():  # killed, if at all, while it was evaluated
            break
    else:
        run(*runs.command("random", "--checkpoint", 0, "--resume"))
    assert runs.result("random") == runs.result("plain")


@pytest.mark.nightly
def test_after_ctrl_c_there_is_a_model_which_the_resumed_run_replaces(runs: Runs) -> None:
    command = runs.command("interrupted", "--checkpoint", 60)
    done = stopped(AFTER_WRITING, "pruner", 1, signal.SIGINT.value, *command)
    assert done.returncode == 130, done.stderr
    assert "interrupted.checkpoint" in done.stderr
    assert "--resume" in done.stderr
    assert runs.result("interrupted") != runs.result("plain")
    run(*runs.command("interrupted", "--resume"))
    assert runs.result("interrupted") == runs.result("plain")
    assert not (runs.folder / "interrupted.checkpoint").exists()


def test_faulty_checkpoints_are_refused(runs: Runs) -> None:
    def refused(*options: object, seed: int = 1) -> str:
        return complaint(*runs.command("faulty", *options, seed=seed))

    folder = runs.folder / "faulty.checkpoint"
    said = refused("--resume")
    assert said.startswith(f"{folder}: expected a checkpoint to resume, got none; --checkpoint")
    folder.mkdir()
    (folder / "mine.txt").write_text("kept")
    assert "got something else" in refused("--checkpoint", 0)
    (folder / "mine.txt").unlink()

    command = runs.command("faulty", "--checkpoint", 0)
    stopped(AFTER_WRITING, "morphology", 2, signal.SIGKILL.value, *command)
    assert "--resume continues that run, --force starts anew" in refused("--checkpoint", 0)
    assert "the setting seed (1 there, 2 here)" in refused("--resume", seed=2)
    assert "the setting parser.bits (14 there, 15 here)" in refused(
        "--resume", "--set", "parser.bits=15"
    )
    shorter = first_sentences(runs.dev, 10, runs.folder / "e.conllu")
    other = [str(shorter) if one == str(runs.dev) else one for one in runs.command("faulty")]
    assert "the development corpus" in complaint(*other, "--resume")

    entry = folder / "003-morphology.zip"
    whole = entry.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"PK" + whole[:10], altered(whole)):
        entry.write_bytes(damaged)
        assert f"{entry}: expected a checkpoint of this run" in refused("--resume")
    entry.write_bytes(whole)
    facts = folder / "run.json"
    for text in ("[]", "{", '{"format": 2}', ""):
        facts.write_text(text)
        assert f"{facts}: expected a checkpoint of this run" in refused("--resume")
    facts.write_text('{"format": 1, "facts": {}}')
    assert f"{folder}: expected a checkpoint of format 2, as this" in refused("--resume")
    run(*runs.command("faulty", "--checkpoint", 0, "--force"))
    assert runs.result("faulty") == runs.result("plain")


def altered(whole: bytes) -> bytes:
    """A file with other bits in the middle of its largest array."""
    middle = len(whole) // 2
    return (
        whole[:middle]
        + bytes(255 - byte for byte in whole[middle : middle + 8])
        + whole[middle + 8 :]
    )


def test_what_can_be_read_only_once_is_refused(runs: Runs) -> None:
    pipe = runs.folder / "pipe.conllu"
    os.mkfifo(pipe)
    command = [str(pipe) if one == str(runs.dev) else one for one in runs.command("piped")]
    with subprocess.Popen(["cp", runs.dev, pipe]) as writer:
        assert "expected a regular file beside --checkpoint" in complaint(
            *command, "--checkpoint", 1
        )
        writer.wait()
