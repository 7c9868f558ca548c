"""``egparse parse --marginals`` and the calibration that ``egparse evaluate --details`` tells."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import CONFIGS, complaint, first_sentences, run
from cli.test_cli_parse import columns

KEYS = ["PUpos", "PXpos", "PFeats", "PLemma", "PNE", "PHead", "PDeprel"]


def told(misc: str) -> list[str]:
    """The keys of probabilities in a MISC cell."""
    return re.findall(r"(?:^|\|)(P[A-Z]\w*)=[01]\.\d{3}(?=\||$)", misc)


def misc_of(text: str) -> list[str]:
    return [misc for block in text.strip().split("\n\n") for (misc,) in columns(block, 10)]


@pytest.fixture(scope="module")
def parsed(trained: Trained) -> str:
    return run("parse", trained.model, trained.dev, "--marginals").stdout


def test_every_word_says_how_probable_its_values_are_and_misc_is_kept(
    trained: Trained, parsed: str
) -> None:
    assert all(told(misc) == KEYS for misc in misc_of(parsed))
    plain = run("parse", trained.model, trained.dev).stdout
    without = re.sub(r"\|?PUpos=.*$", "", parsed, flags=re.MULTILINE)
    assert [line.rstrip("\t_") for line in without.splitlines()] == [
        line.rstrip("\t_") for line in plain.splitlines()
    ]


def test_several_processes_say_the_same(trained: Trained, parsed: str) -> None:
    assert run("parse", trained.model, trained.dev, "--marginals", "--jobs", 2).stdout == parsed


def test_text_has_them_too(trained: Trained) -> None:
    done = run("parse", trained.model, "-", "--marginals", text="The cat sat on the mat.")
    assert all(told(misc) == KEYS for misc in misc_of(done.stdout))


def test_parsing_again_replaces_them_and_kept_tags_have_none(trained: Trained, parsed: str) -> None:
    again = run("parse", trained.model, "-", "--marginals", "--gold-tags", text=parsed).stdout
    assert all(told(misc) == KEYS[3:] for misc in misc_of(again))
    respected = run(
        "parse", trained.model, "-", "--marginals", "--respect-input", text=parsed
    ).stdout
    cells = misc_of(respected)
    assert all(set(told(misc)) <= set(KEYS) and "PHead=1.000" in misc for misc in cells)


def test_models_without_probabilities_are_refused(trained: Trained, tmp_path: Path) -> None:
    corpus, model = (
        first_sentences(trained.train, 20, tmp_path / "train.conllu"),
        tmp_path / "model.msgpack",
    )
    run(
        f"train {corpus} --output {model} --config {CONFIGS}/quick.toml --learner perceptron "
        "--set parser.order=1",
        "--set",
        'layers=["upos", "heads"]',
    )
    wanted = (
        "probabilities: expected layers learned with a loss that has probabilities, such as "
        "log-linear, got upos, heads"
    )
    for jobs in (1, 2):
        assert complaint("parse", model, trained.dev, "--marginals", "--jobs", jobs) == wanted
    assert "Calibration" not in run("evaluate", model, trained.dev, "--details").stdout


def test_evaluation_tells_their_calibration_on_request(trained: Trained) -> None:
    plain = run("evaluate", trained.model, trained.dev, "--bootstrap", 0).stdout
    text = run("evaluate", trained.model, trained.dev, "--bootstrap", 0, "--details").stdout
    assert "Calibration" not in plain
    rows = text.partition("Calibration of probabilities\n")[2].splitlines()
    headings = "probability of words confidence accuracy ECE NLL Brier"
    assert rows[0].split() == headings.split()
    layers = ["upos", "xpos", "feats", "lemmas", "spans", "heads", "deprels", "heads and deprels"]
    assert [row.split("  ")[0] for row in rows[1:9]] == layers
    assert "Reliability of heads" in rows
    found = json.loads(
        run("evaluate", trained.model, trained.dev, "--bootstrap", 0, "--details", "--json").stdout
    )
    heads = found["calibration"]["heads"]
    assert heads["words"] == sum(own["words"] for own in heads["bins"]) == found["counts"]["words"]
    assert 0.0 < heads["ece"] < 0.2


def test_the_help_names_the_keys() -> None:
    said = run("parse", "--help").stdout
    assert all(key in said for key in KEYS)
