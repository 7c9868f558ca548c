"""``egparse train --base``: training continues from a model; what is reported of the base and the
new model.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import CORPORA, complaint, first_sentences, run

from egparse.storage.model_file import read_header


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences that the base has not seen, with a tag and a relation that it does not know."""
    folder = tmp_path_factory.mktemp("mine")
    blocks = (CORPORA / "en_sample-train.conllu").read_text(encoding="utf-8").split("\n\n")[100:150]
    text = "\n\n".join(blocks).replace("\tDET\t", "\tARTICLE\t").replace("\tdet\t", "\tarticle\t")
    path = folder / "mine.conllu"
    path.write_text(text + "\n\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def gone_on(trained: Trained, mine: Path) -> tuple[Path, str, str]:
    """The model, and what the program said on both streams."""
    model = mine.parent / "new.msgpack"
    done = run("train", "--base", trained.model, mine, "--dev", trained.dev, "--output", model)
    return model, done.stdout, done.stderr


def test_it_says_from_what_it_goes_on_and_what_has_become_of_it(
    gone_on: tuple[Path, str, str], trained: Trained
) -> None:
    _, output, said = gone_on
    (line,) = [line for line in said.splitlines() if line.startswith("base ")]
    assert line.startswith("base         model.msgpack: upos, xpos")
    assert line.endswith("training continues for upos, xpos, feats, lemmas, spans, heads, deprels")
    table = output.split("Before and after\n")[1].split("\n\n")[0].splitlines()
    assert table[0].split() == ["score", "base", "now", "change"]
    rows = {line.split()[0]: line.split()[-3:] for line in table[1:]}
    for name in ("UPOS", "UAS", "LAS"):
        base, now, change = map(float, rows[name])
        assert now - base == pytest.approx(change, abs=0.011)
    assert float(rows["UPOS"][0]) == pytest.approx(trained.json["development"]["UPOS"], abs=0.01)


def test_the_file_names_its_base(gone_on: tuple[Path, str, str], trained: Trained) -> None:
    (base,) = read_header(gone_on[0])["record"]["bases"]
    assert base["name"] == "model.msgpack"
    assert base["payload_sha256"] == read_header(trained.model)["payload_sha256"]
    assert base["record"]["sentences"] == 100
    shown = run("inspect", gone_on[0]).stdout
    assert f"model.msgpack, SHA-256 {base['payload_sha256']}" in shown
    assert max(len(line) for line in shown.splitlines()) < 130


def test_new_labels_are_in_use(trained: Trained, mine: Path) -> None:
    model = mine.parent / "all.msgpack"
    settings = ["morphology.stop.iterations=12", "base_strength=0.5"]
    options = [option for setting in settings for option in ("--set", setting)]
    done = run("train", "--base", trained.model, mine, "-o", model, *options)
    assert "development  none: so few sentences" in done.stderr
    assert "Before and after" not in done.stdout
    parsed = run("parse", model, mine).stdout
    assert parsed.count("\tARTICLE\t") > parsed.count("\tDET\t")
    assert parsed.count("\tarticle\t") > parsed.count("\tdet\t")


def test_json_has_both_scores_and_the_settings_are_those_of_the_base(
    trained: Trained, mine: Path
) -> None:
    done = run(
        f"train --base {trained.model} {mine} -o {mine.parent}/json.msgpack --json -q --dev "
        f"{trained.dev} --set base_strength=30",
        "--set",
        'layers=["upos", "xpos", "feats"]',
    )
    said = json.loads(done.stdout)
    assert set(said["tasks"]) == {"morphology"}
    assert said["layers"] == ["upos", "xpos", "feats", "lemmas", "spans", "heads", "deprels"]
    assert said["base"]["name"] == "model.msgpack"
    assert said["base"]["development"]["UPOS"] > 0
    header = read_header(mine.parent / "json.msgpack")
    assert header["config"]["base_strength"] == 30
    assert header["config"]["morphology"]["stop"]["iterations"] == 4
    assert header["config"]["seed"] == 4


def test_without_base_nothing_is_said_of_one(trained: Trained) -> None:
    assert trained.json["base"] is None


def test_a_corpus_with_nothing_of_the_base_is_refused(trained: Trained, tmp_path: Path) -> None:
    tags = first_sentences(CORPORA / "en_sample-train.conllu", 30, tmp_path / "tags.conllu")
    base = tmp_path / "upos.msgpack"
    run(f"train {tags} -o {base} -q --set upos.stop.iterations=1", "--set", 'layers=["upos"]')
    spans = tmp_path / "spans.txt"
    spans.write_text("Anna B-PER\nsleeps O\n\n" * 30, encoding="utf-8")
    text = complaint(
        "train", "--base", base, spans, "-q", "--format", "conll2002", "--set", 'layers=["xpos"]'
    )
    assert "expected layers that the corpus annotates (spans), got 'xpos'" in text
