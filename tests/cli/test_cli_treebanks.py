"""Several corpora for ``egparse train``, several ``--dev``, and ``--treebank``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.program import CORPORA, first_sentences, run

QUICK = (
    "--set", 'layers=["upos", "heads"]', "--set", "splitter.train=false", "--set",
    "tokeniser.train=false", "--set", "parser.order=1", "--set", "parser.bits=14", "--set",
    "jackknife.folds=0", "--set", "upos.stop.iterations=3",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two treebanks; the second one calls determiners pronouns."""
    folder = tmp_path_factory.mktemp("treebanks")
    for part in ("train", "dev"):
        plain = folder / f"en_one-ud-{part}.conllu"
        first_sentences(CORPORA / f"en_sample-{part}.conllu", 40, plain)
        other = plain.read_text(encoding="utf-8").replace("\tDET\t", "\tPRON\t")
        (folder / f"en_two-ud-{part}.conllu").write_text(other, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    path = folder / "model.msgpack"
    corpora = [folder / f"en_{name}-ud-train.conllu" for name in ("one", "two")]
    devs = [f"--dev={folder}/en_{name}-ud-dev.conllu" for name in ("one", "two")]
    done = run("train", *corpora, *devs, "-o", path, *QUICK)
    assert "treebanks    en_one, en_two: annotates like the first" in done.stderr
    titles = [line for line in done.stdout.splitlines() if "from the words alone" in line]
    assert len(titles) == 2
    assert "en_two-ud-dev.conllu" in titles[1]
    return path


def upos_of(model: Path, gold: Path, *options: str) -> float:
    report = json.loads(run("evaluate", model, gold, "--json", *options).stdout)
    return float(report["UPOS"])


def test_a_treebank_is_scored_as_it_is_annotated(model: Path, folder: Path) -> None:
    gold = folder / "en_two-ud-dev.conllu"
    assert upos_of(model, gold, "--treebank", "en_two") > upos_of(model, gold) + 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_parse_annotates_like_the_treebank_that_is_named(
    model: Path, folder: Path, jobs: int
) -> None:
    text = folder / "en_one-ud-dev.conllu"
    one, two = (
        run("parse", model, text, "--quiet", f"--treebank={name}", f"--jobs={jobs}").stdout
        for name in ("en_one", "en_two")
    )
    assert one == run("parse", model, text, "--quiet").stdout
    assert one.count("\tDET\t") > 20 > two.count("\tDET\t")


def test_inspect_names_the_treebanks(model: Path) -> None:
    record = json.loads(run("inspect", model, "--json").stdout)["record"]
    assert list(record["treebanks"]) == ["en_one", "en_two"]


@pytest.mark.parametrize("command", ["parse", "evaluate"])
def test_another_treebank_is_a_fault(model: Path, folder: Path, command: str) -> None:
    done = run(command, model, folder / "en_one-ud-dev.conllu", "--treebank", "en_three", status=2)
    assert done.stderr.endswith(
        "expected a treebank that the model has learned from (en_one, en_two), got 'en_three'\n"
    )


def test_training_goes_on_with_the_treebank_of_the_file(
    model: Path, folder: Path, tmp_path: Path
) -> None:
    gold, path = folder / "en_two-ud-dev.conllu", tmp_path / "more.msgpack"
    done = run(
        "train", "--base", model, folder / "en_two-ud-train.conllu", "--dev", gold, "-o", path
    )
    scores = [line.split() for line in done.stdout.splitlines() if line.startswith("UPOS")]
    shown = float(scores[0][scores[0].index("2018") + 1])
    assert shown == pytest.approx(upos_of(path, gold, "--treebank", "en_two"), abs=0.01)
    assert upos_of(path, gold) < shown - 3
