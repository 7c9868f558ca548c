"""``egparse evaluate``: the same numbers as the library's, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import complaint, run

METRICS = ["UPOS", "XPOS", "UFeats", "UAS", "LAS", "CLAS", "MLAS"]


@pytest.fixture(scope="module")
def predicted(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("predicted") / "system.conllu"
    run("parse", trained.model, trained.dev, "--output", path, "--quiet")
    return path


def test_a_model_and_its_output_score_the_same(trained: Trained, predicted: Path) -> None:
    by_model = run("evaluate", trained.model, trained.dev, "--json")
    by_output = run("evaluate", "--predicted", predicted, trained.dev, "--json")
    assert by_model.stdout == by_output.stdout
    assert by_model.stderr == ""
    report = json.loads(by_model.stdout)
    assert list(report)[:8] == [*METRICS, "NE"]
    assert {name: report[name] for name in METRICS} == {
        name: trained.json["development"][name] for name in METRICS
    }
    low, high = report["intervals"]["LAS"]
    assert low < report["LAS"] < high


def test_the_table_names_each_convention(trained: Trained, predicted: Path) -> None:
    shown = run("evaluate", "--predicted", predicted, trained.dev, "--details").stdout
    for name in (
        "UPOS    CoNLL 2018 ",
        "UAS     CoNLL-X 2006 ",
        "LAS     CoNLL 2007 ",
        "UAS     spaCy ",
    ):
        assert name in shown
    assert "Labelled attachment by relation\nrelation " in shown
    assert "By length of sentence\n" in shown
    assert max(map(len, shown.splitlines()[2:])) <= 80


def test_gold_against_itself_is_right(trained: Trained) -> None:
    done = run("evaluate", "--predicted", trained.dev, trained.dev, "--json", "--bootstrap", 0)
    report = json.loads(done.stdout)
    assert [report[name] for name in METRICS] == [100.0] * 7
    assert report["NE"]["f"] == 100.0
    assert report["intervals"] == {}


def test_gold_tags_are_marked_as_given(trained: Trained) -> None:
    shown = run("evaluate", trained.model, trained.dev, "--gold-tags", "--bootstrap", 20).stdout
    rows = {line.split()[0]: line.split() for line in shown.splitlines() if "CoNLL 2018" in line}
    assert rows["UPOS"][3:5] == ["100.00", "given"]
    assert float(rows["UAS"][3]) < 100


def test_other_text_is_refused(trained: Trained, tmp_path: Path) -> None:
    other = tmp_path / "other.conllu"
    other.write_text("1\tNo\tno\tINTJ\tUH\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    assert complaint("evaluate", "--predicted", other, trained.dev).startswith(
        "gold and system are not the same text"
    )


@pytest.mark.parametrize("arguments", [["model"], ["--predicted", "a", "b", "c"]])
def test_too_few_and_too_many_files_are_refused(arguments: list[str]) -> None:
    assert "Invalid value for" in run("evaluate", *arguments, status=2).stderr
