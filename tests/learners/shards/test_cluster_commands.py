"""``egparse train`` and ``egparse parse`` with ``--engine ray``: the results of one machine."""

from __future__ import annotations

import gzip
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.program import CORPORA, complaint, first_sentences, run
from cli.test_cli_checkpoints import AFTER_WRITING, stopped
from learners.shards.nodes import Nodes
from service.hub.local_server import serving

from egparse.fitting.jobs import Jobs, working_with
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.problem import Problem
from egparse.learners.shards.cocoa import ShardsConfig, in_turn, sharded
from egparse.pipeline.model import Model
from egparse.storage.model_file import read_model

DEV = CORPORA / "en_sample-dev.conllu"
SETTINGS = (
    "--quiet",
    "--set", 'layers=["upos"]', "--set", "upos.stop.iterations=3", "--set", "splitter.train=false",
)  # fmt: skip

TREES = (
    "--quiet", "--set", 'layers=["heads"]', "--set", "parser.order=1",
    "--set", "parser.stop.iterations=3", "--set", "splitter.train=false",
    "--set", "tokeniser.train=false", "--set", "expander.train=false",
)  # fmt: skip


def on(cluster: Nodes) -> tuple[str, ...]:
    return ("--engine", "ray", "--workers", "2", "--ray-address", cluster.address)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return first_sentences(
        CORPORA / "en_sample-train.conllu", 60, tmp_path_factory.mktemp("corpus") / "part.conllu"
    )


@pytest.fixture(scope="module")
def model(cluster: Nodes, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was trained on the cluster."""
    path = tmp_path_factory.mktemp("model") / "model.msgpack"
    run("train", corpus, "--dev", corpus, "-o", path, *SETTINGS, *on(cluster))
    return path


def without_seconds(path: Path) -> dict[str, Any]:
    """What a model says of its training."""
    record = Model.load(path).record
    for part in (record, *record["tasks"].values()):
        part.pop("cpu_seconds", None), part.pop("seconds", None)
    return dict(record)


def here(problem: Problem, kind: type[Learner], config: LearnerConfig, count: int) -> Learner:
    """A learner by so many shards in this process."""
    return sharded(problem, kind, config, ShardsConfig(shards=count), in_turn)


def test_training_on_a_cluster_gives_the_parser_of_the_same_shards_in_one_process(
    cluster: Nodes, corpus: Path, tmp_path: Path
) -> None:
    model, alone = tmp_path / "there.msgpack", tmp_path / "here.msgpack"
    run("train", corpus, "--dev", corpus, "-o", model, *TREES, *on(cluster))
    with working_with(Jobs(2, here)):
        run("train", corpus, "--dev", corpus, "-o", alone, *TREES, "--jobs", 2)
    assert without_seconds(model) == without_seconds(alone)
    parsed = [tmp_path / "one.conllu", tmp_path / "other.conllu"]
    for trained, output in zip((model, alone), parsed, strict=True):
        run("parse", trained, DEV, "--marginals", "--quiet", "--output", output)
    assert parsed[0].read_bytes() == parsed[1].read_bytes()


def test_a_run_whose_driver_is_killed_is_resumed_to_the_same_model(
    cluster: Nodes, model: Path, corpus: Path, tmp_path: Path
) -> None:
    resumed = tmp_path / "resumed.msgpack"
    command = ["train", corpus, "--dev", corpus, "-o", resumed, *SETTINGS, *on(cluster)]
    command += ["--checkpoint", "0", "--resume"]
    died = stopped(AFTER_WRITING, "upos", 2, signal.SIGKILL.value, *command)
    assert died.returncode == -signal.SIGKILL
    assert not resumed.exists()
    run(*command)
    assert without_seconds(resumed) == without_seconds(model)
    assert payload(resumed) == payload(model)


def payload(path: Path) -> bytes:
    """The weights of a model, without what is said of them."""
    return path.read_bytes()[-read_model(path)[0]["payload_length"] :]


def test_the_cluster_parses_what_is_stored_elsewhere_and_writes_the_same_bytes(
    cluster: Nodes, model: Path, tmp_path: Path
) -> None:
    text, packed = tmp_path / "text.txt", tmp_path / "more.conllu.gz"
    text.write_text("Mary saw John.\n\nThe dog slept. It was late.\n" * 50, encoding="utf-8")
    packed.write_bytes(gzip.compress(DEV.read_bytes() * 3))
    here, there = tmp_path / "here.conllu", tmp_path / "there.conllu"
    run("parse", model, text, packed, "--output", here)
    addresses = (f"file://{text}", f"file://{packed}")
    run("parse", model, *addresses, "--output", there, "--resume", *on(cluster))
    assert _without_names(there) == _without_names(here)
    assert [path.name for path in tmp_path.glob("there*")] == ["there.conllu"]


AFTER_SAVING = """
import os, signal, sys
from egparse.cli.annotating import pieces
from egparse.cli.annotating.resuming import Resumption
pieces.CHUNK, pieces.CHARACTERS, pieces.SHARD = 900, 112, 1.0  # small inputs have many shards
save, count = Resumption.save, int(sys.argv[1])
def save_and_stop(self, saved, documents):
    global count
    save(self, saved, documents)
    count -= 1
    if not count:
        os.kill(os.getpid(), signal.SIGKILL)
Resumption.save = save_and_stop
from egparse.cli.app import main
main(sys.argv[2:])
"""
"""Ends itself after it has recorded so many shards."""


def test_a_driver_of_annotation_that_is_killed_goes_on_at_the_same_shard(
    cluster: Nodes, model: Path, tmp_path: Path
) -> None:
    text, whole, resumed = (tmp_path / name for name in ("text.txt", "whole", "resumed"))
    text.write_text("Mary saw John.\n\nThe dog slept. It was late.\n\n" * 60, encoding="utf-8")
    run("parse", model, text, "--output", whole)
    command = ("parse", model, text, "--output", resumed, "--resume", *on(cluster))
    died = stopped(AFTER_SAVING, 3, *command)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert not resumed.exists()
    done = stopped(AFTER_SAVING, 0, *command)
    assert done.returncode == 0, done.stderr
    assert resumed.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["resumed", "text.txt", "whole"]


def test_the_cluster_parses_what_a_server_has(cluster: Nodes, model: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here.conllu", tmp_path / "there.conllu"
    run("parse", model, DEV, "--output", here)
    with serving({"/corpus.conllu.gz": gzip.compress(DEV.read_bytes())}) as site:
        run("parse", model, f"{site.base}/corpus.conllu.gz", "--output", there, *on(cluster))
        missing = ("parse", model, f"{site.base}/no.conllu", "--output", tmp_path / "no")
        assert f"{site.base}/no.conllu: cannot be read: " in complaint(*missing, *on(cluster))
    assert _without_names(there) == _without_names(here)
    assert not (tmp_path / "no").exists()


def _without_names(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("# newdoc")]


def test_pieces_of_a_node_that_dies_are_worked_on_again(cluster: Nodes) -> None:
    from egparse.cli.workers import Actors, map_in_order

    def numbers() -> Iterator[int]:
        for number in range(40):
            if number == 12:
                cluster.lose()
            yield number

    def square(number: int) -> int:  # within the test: nodes cannot import this file
        time.sleep(0.02)
        return number * number

    assert list(map_in_order(Actors(square, 2), numbers())) == [n * n for n in range(40)]


def test_faults_of_the_input_are_those_of_one_machine(
    cluster: Nodes, model: Path, tmp_path: Path
) -> None:
    faulty = tmp_path / "faulty.conllu"
    faulty.write_text(DEV.read_text(encoding="utf-8") + "1\tx\n\n", encoding="utf-8")
    command = ("parse", model, faulty, "--output", tmp_path / "out.conllu", "--quiet")
    assert complaint(*command, *on(cluster)) == complaint(*command)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--engine", "ray"), "--engine ray: expected --workers N beside it"),
        (("--workers", "2"), "--workers: expected --engine ray beside it"),
        (("--ray-address", "a:1"), "--ray-address: expected --engine ray beside it"),
        (
            ("--engine", "ray", "--workers", "2", "--jobs", "2"),
            "--jobs: expected --workers alone with --engine ray, got both",
        ),
        (
            ("--engine", "ray", "--workers", "2", "--ray-address", "head"),
            "--ray-address: expected HOST:PORT or auto, got 'head'",
        ),
        (
            ("--engine", "ray", "--workers", "2", "--ray-address", "127.0.0.1:1"),
            "--ray-address: expected a Ray cluster at 127.0.0.1:1, got no connection: Connection "
            "refused",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_options_are_refused_by_name(
    options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    assert message in complaint("train", DEV, "-o", tmp_path / "model.msgpack", *options)
    assert not list(tmp_path.iterdir())


def test_more_workers_than_processors_are_refused(cluster: Nodes, tmp_path: Path) -> None:
    options = ("--engine", "ray", "--workers", "3", "--ray-address", cluster.address)
    said = complaint("train", DEV, "-o", tmp_path / "model.msgpack", *options)
    assert "--workers: expected at most 2, the processors of the cluster, got 3" in said


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    options = ("--engine", "ray", "--workers", "2")
    said = complaint("train", DEV, "-o", tmp_path / "model.msgpack", *options)
    assert "--engine ray: needs Ray; pip install 'egparse[ray]'" in said
