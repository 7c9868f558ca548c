"""The second-order parser from the command line: trained, saved, evaluated, shown, and refused
where its options make no sense.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.program import CONFIGS, CORPORA, first_sentences, run

from egparse.io.conllu import read_conllu

QUICK = ("--config", CONFIGS / "quick.toml", "--seed", 4)
FEW = (
    *QUICK,
    *["--set", "parser.order=2", "--set", "parser.bits=16", "--set", "parser.stop.iterations=3"],
    *["--set", "pruner.bits=18", "--set", "pruner.stop.iterations=3"],
)
TREES = (*FEW, "--set", 'layers=["upos", "heads", "deprels"]')
HEADS = (*FEW, "--set", 'layers=["heads"]')


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("second_order")
    return first_sentences(CORPORA / "en_sample-train.conllu", 60, folder / "corpus.conllu")


@pytest.fixture(scope="module")
def said(corpus: Path) -> dict[str, Any]:
    """What training says; the model is beside the corpus."""
    dev = CORPORA / "en_sample-dev.conllu"
    done = run(
        "train", corpus, "--dev", dev, "-o", corpus.parent / "model.msgpack", *TREES, "--json"
    )
    for text in ("pruner  pass ", "parser  pass "):
        assert sum(line.startswith(text) for line in done.stderr.splitlines()) == 3
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def model(corpus: Path, said: dict[str, Any]) -> Path:
    return corpus.parent / "model.msgpack" if said else Path()


def test_training_tells_of_the_pruner_and_of_the_parser(said: dict[str, Any], model: Path) -> None:
    assert set(said["tasks"]) >= {"upos", "pruner", "parser", "labeller"}
    assert said["development"]["UAS"] > 40
    records = [
        json.loads(line)
        for line in model.with_suffix(".history.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    tasks = [record["task"] for record in records]
    assert tasks.count("pruner") == tasks.count("parser") == 3
    assert tasks.index("pruner") < tasks.index("parser")


def test_evaluation_finds_what_training_said(said: dict[str, Any], model: Path) -> None:
    found = json.loads(
        run("evaluate", model, CORPORA / "en_sample-dev.conllu", "--bootstrap", 0, "--json").stdout
    )
    for metric in ("UPOS", "UAS", "LAS"):
        assert found[metric] == pytest.approx(said["development"][metric])


def test_parsing_writes_projective_trees_with_one_root(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "parsed.conllu"
    run("parse", model, CORPORA / "en_sample-test.conllu", "-o", target)
    with target.open(encoding="utf-8") as lines:
        sentences = list(read_conllu(lines))
    assert len(sentences) > 50
    for sentence in sentences:
        heads = (0, *sentence.heads)
        assert sentence.heads.count(0) == 1
        arcs = [(min(h, d), max(h, d)) for d, h in enumerate(heads) if d]
        assert not any(a < c < b < d for a, b in arcs for c, d in arcs)


def test_probabilities_are_written_on_demand(model: Path, corpus: Path) -> None:
    short = first_sentences(corpus, 5, corpus.parent / "short.conllu")
    written = run("parse", model, short, "--marginals", "--quiet").stdout
    probabilities = [
        float(item.partition("=")[2])
        for line in written.splitlines()
        if line[:1].isdigit()
        for item in line.split("\t")[9].split("|")
        if item.startswith("PHead=")
    ]
    assert len(probabilities) == sum(line[:1].isdigit() for line in written.splitlines())
    assert all(0 <= probability <= 1 for probability in probabilities)


def test_what_is_fixed_is_kept(model: Path, corpus: Path) -> None:
    short = first_sentences(corpus, 5, corpus.parent / "fixed.conllu")
    written = run("parse", model, short, "--respect-input", "--quiet").stdout.splitlines()
    heads = [
        line.split("\t")[6:8]
        for line in short.read_text(encoding="utf-8").splitlines()
        if line[:1].isdigit()
    ]
    assert [line.split("\t")[6:8] for line in written if line[:1].isdigit()] == heads


@pytest.mark.parametrize(
    "options",
    [
        ("parser.learner=mira",),
        ("parser.learner=eg-online", "parser.gamma=0"),
        ("parser.inference=loopy", "parser.trees=non-projective"),
    ],
    ids=" ".join,
)
def test_other_learners_and_inference_are_options(
    corpus: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    sets = [word for option in options for word in ("--set", option)]
    done = run("train", corpus, "-o", tmp_path / "m.msgpack", *HEADS, *sets, "--quiet", "--json")
    of_text = {"tokeniser", "splitter", "expander"}
    assert set(json.loads(done.stdout)["tasks"]) == {*of_text, "pruner", "parser"}


def test_order_one_trains_no_second_parser(corpus: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.msgpack"
    heads = ("--set", 'layers=["heads"]')
    done = run("train", corpus, "-o", target, *QUICK, *heads, "--json")  # parser.order = 1
    assert "pruner" not in done.stderr
    assert json.loads(done.stdout)["tasks"]["parser"]["passes"] == 4
