"""``egparse train``: what it says, writes, refuses, and keeps when it is interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import CONFIGS, ENVIRONMENT, on_terminal, run, run_python

LAYERS = ["upos", "xpos", "feats", "lemmas", "spans", "heads", "deprels"]
QUICK = ("--config", CONFIGS / "quick.toml")
TAGS_ONLY = (*QUICK, "--set", 'layers=["upos"]')

INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from egparse.cli.app import main
main(sys.argv[1:])
"""

STUB = """
import egparse.training.run as training
def train(*arguments):
    raise KeyboardInterrupt
training.train = train
from egparse.cli.app import main
main({arguments!r})
"""


def lines_with(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def test_json_says_what_was_trained(trained: Trained) -> None:
    said = trained.json
    assert said["layers"] == LAYERS
    assert (said["sentences"], said["held_out"], said["skipped"]) == (100, 0, 0)
    assert said["interrupted"] is False
    assert said["development"]["UPOS"] > 50
    assert all(task["passes"] > 0 for task in said["tasks"].values())


def test_standard_error_says_what_was_found_and_how_it_goes(trained: Trained) -> None:
    (found,) = lines_with(trained.done.stderr, "annotated ")
    names = ("UPOS (", "XPOS (", "FEATS (", "entities (3 types)", "heads", "dependency labels (")
    for name in names:
        assert name in found
    passes = lines_with(trained.done.stderr, "morphology  pass ")
    assert len(passes) == trained.json["tasks"]["morphology"]["passes"]
    assert all(" gap " in line and " dev " in line for line in passes)


def test_history_has_a_record_for_each_pass(trained: Trained) -> None:
    lines = (trained.model.parent / "model.history.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert len(records) == sum(task["passes"] for task in trained.json["tasks"].values())
    assert list(dict.fromkeys(record["task"] for record in records))[:2] == [
        "tokeniser",
        "splitter",
    ]
    assert {"iteration", "primal", "dual", "relative_gap", "score", "seconds"} <= set(records[0])
    assert not list(trained.model.parent.glob("*.part"))


def test_the_same_seed_gives_the_same_model(trained: Trained, tmp_path: Path) -> None:
    again = tmp_path / "again.msgpack"
    done = run(
        f"train {trained.train} --dev {trained.dev} --output {again} --seed 4 --quiet", *QUICK
    )
    assert done.stderr == ""
    assert "LAS" in done.stdout
    assert without_times(again) == without_times(trained.model)


def without_times(model: Path) -> object:
    """The payload's checksum: the header tells CPU times."""
    from egparse.storage.model_file import read_header

    return read_header(model)["payload_sha256"]


def test_a_part_is_held_out_and_the_table_fits_a_terminal(corpus: Path, tmp_path: Path) -> None:
    done = run("train", corpus, "-o", tmp_path / "m.msgpack", *TAGS_ONLY, "--set", "hold_out=0.2")
    assert lines_with(done.stderr, "development  20 % of the sentences, held out")
    assert "Development part, held out, from the words alone: 6 sentences" in done.stdout
    assert [line.split()[1:3] for line in lines_with(done.stdout, "UPOS ")] == [["CoNLL", "2018"]]
    assert max(map(len, done.stdout.splitlines()[:-4])) <= 80


def test_bars_are_drawn_on_a_terminal(corpus: Path, tmp_path: Path) -> None:
    shown = on_terminal("train", corpus, "-o", tmp_path / "m.msgpack", *TAGS_ONLY)
    assert "━━━━" in shown
    assert "primal" in shown


def test_interruption_keeps_the_best_model_so_far(corpus: Path, tmp_path: Path) -> None:
    model, part = tmp_path / "m.msgpack", tmp_path / "m.history.jsonl.part"
    endless = ["upos.stop.iterations=1000000", "upos.stop.patience=0", "upos.stop.gap=0"]
    options = [option for setting in endless for option in ("--set", setting)]
    command = [
        sys.executable,
        "-c",
        INTERRUPTIBLE,
        "train",
        str(corpus),
        "-o",
        str(model),
        *options,
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        deadline = time.monotonic() + 60
        while not (part.exists() and part.read_text(encoding="utf-8").count('"upos"') >= 2):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert f"egparse: interrupted; the best model so far is in {model}" in said.decode()
    assert (tmp_path / "m.history.jsonl").read_text(encoding="utf-8").count("\n") >= 2
    assert not part.exists()
    assert "UPOS" in json.loads(run("inspect", model, "--json").stdout)["layers"][0].upper()


def test_interruption_before_anything_is_trained_leaves_what_is_there(
    corpus: Path, tmp_path: Path
) -> None:
    model, history = tmp_path / "m.msgpack", tmp_path / "m.history.jsonl"
    model.write_text("an earlier model")
    history.write_text("its history")
    done = run_python(STUB.format(arguments=["train", str(corpus), "-o", str(model), "--force"]))
    assert done.returncode == 130
    assert done.stderr.endswith(
        "Nothing has been trained yet, so nothing is written.\negparse: interrupted\n"
    )
    assert (model.read_text(), history.read_text()) == ("an earlier model", "its history")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "corpus.conllu",
        history.name,
        model.name,
    ]


@pytest.fixture
def faulty(corpus: Path) -> Path:
    """Its second sentence has a cycle, its third a word without a head, which is no fault."""
    blocks = [block.split("\n") for block in corpus.read_text(encoding="utf-8").split("\n\n")]
    for block, head in ((blocks[1], None), (blocks[2], "_")):
        number = next(k for k, line in enumerate(block) if line.startswith("2\t"))
        cells = block[number].split("\t")
        cells[6] = head or "2"
        block[number] = "\t".join(cells)
    corpus.write_text("\n\n".join("\n".join(block) for block in blocks), encoding="utf-8")
    return corpus


def test_bad_sentences_are_skipped_and_counted(faulty: Path, tmp_path: Path) -> None:
    options = ("-o", tmp_path / "m.msgpack", *TAGS_ONLY, "--skip-bad", "--json")
    done = run("train", faulty, *options)
    assert len(lines_with(done.stderr, f"skipped      {faulty}:")) == 1
    assert (json.loads(done.stdout)["skipped"], json.loads(done.stdout)["sentences"]) == (1, 29)


def test_columns_of_chunks_are_trained_on(tmp_path: Path) -> None:
    sentence = "The DT B-NP\ncat NN I-NP\nsat VBD B-VP\non IN B-PP\nit PRP B-NP\n. . O\n\n"
    corpus = tmp_path / "chunks.txt"
    corpus.write_text(sentence * 25, encoding="utf-8")
    done = run(
        "train", corpus, "--format", "conll2000", "-o", tmp_path / "m.msgpack", *QUICK, "--json"
    )
    said = json.loads(done.stdout)
    assert said["layers"] == ["xpos", "spans"]
    assert said["development"]["NE"]["f"] == 100.0
