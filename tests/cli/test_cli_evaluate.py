"""``egparse evaluate``: the same numbers as the library's, as a table and as JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import run, run_process

from egparse.io.corpus import read_corpus
from egparse.text.treebank_text import raw_text

METRICS = [
    "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX"
]  # fmt: skip


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
    assert list(report)[:11] == [*METRICS, "NE"]
    assert {name: report[name] for name in METRICS} == {
        name: trained.json["development"][name] for name in METRICS
    }
    low, high = report["intervals"]["LAS"]
    assert low < report["LAS"] < high


def test_the_table_names_each_convention(trained: Trained, predicted: Path) -> None:
    shown = run("evaluate", "--predicted", predicted, trained.dev, "--details").stdout
    for name in (
        "UPOS     CoNLL 2018 ",
        "UAS      CoNLL-X 2006 ",
        "LAS      CoNLL 2007 ",
        "UAS      spaCy ",
    ):
        assert name in shown
    assert "Labelled attachment by relation\nrelation " in shown
    assert "By sentence length\n" in shown
    assert max(map(len, shown.splitlines()[2:])) <= 80


def test_gold_against_itself_is_right(trained: Trained) -> None:
    done = run_process(
        "evaluate", "--predicted", trained.dev, trained.dev, "--json", "--bootstrap", 0
    )
    report = json.loads(done.stdout)
    assert [report[name] for name in METRICS] == [100.0] * len(METRICS)
    assert report["NE"]["f"] == 100.0
    assert report["intervals"] == {}


def test_gold_tags_are_marked_as_given(trained: Trained) -> None:
    shown = run("evaluate", trained.model, trained.dev, "--gold-tags", "--bootstrap", 20).stdout
    rows = {line.split()[0]: line.split() for line in shown.splitlines() if "CoNLL 2018" in line}
    assert rows["UPOS"][3:5] == ["100.00", "given"]
    assert float(rows["UAS"][3]) < 100


def test_two_systems_are_compared(trained: Trained, predicted: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.conllu"
    text = predicted.read_text(encoding="utf-8")
    other.write_text(text.replace("\tNOUN\t", "\tX\t"), encoding="utf-8")
    common = ("--bootstrap", 200, "--seed", 3)
    arguments = ("--predicted", predicted, trained.dev, "--against", other, *common)
    report = json.loads(run("evaluate", *arguments, "--json").stdout)
    alone = json.loads(
        run("evaluate", "--predicted", predicted, trained.dev, *common, "--json").stdout
    )
    assert {key: report[key] for key in alone} == alone
    assert list(report["comparison"]) == [*METRICS, "NE"]
    for name, own in report["comparison"].items():
        first, second = report[name], report["against"][name]
        scores = (first["f"], second["f"]) if name == "NE" else (first, second)
        assert (own["score"], own["against"]) == scores
        assert own["difference"] == pytest.approx(scores[0] - scores[1])
        assert own["interval"][0] <= own["difference"] <= own["interval"][1]
    tags, heads = report["comparison"]["UPOS"], report["comparison"]["UAS"]
    assert tags["difference"] > 0
    assert tags["p"] == pytest.approx(1 / 201)
    assert (heads["difference"], heads["interval"], heads["p"]) == (0.0, [0.0, 0.0], 1.0)
    shown = run("evaluate", *arguments).stdout
    assert f"A: {predicted}\nB: {other}\n\nscore    convention " in shown
    (row,) = (line.split() for line in shown.splitlines() if line.startswith("UPOS "))
    assert row[3:6] == [
        f"{tags['score']:.2f}",
        f"{tags['against']:.2f}",
        f"{tags['difference']:+.2f}",
    ]
    assert row[-1] == "0.0050"
    assert "not corrected" in shown
    assert max(map(len, shown.splitlines()[3:])) <= 80


def test_a_model_is_compared_with_its_output(trained: Trained, predicted: Path) -> None:
    for arguments in (
        (trained.model, trained.dev, "--against", predicted),
        ("--predicted", predicted, trained.dev, "--against", trained.model),
    ):
        found = json.loads(run("evaluate", *arguments, "--bootstrap", 20, "--json").stdout)
        assert {own["p"] for own in found["comparison"].values()} == {1.0}
        assert {own["difference"] for own in found["comparison"].values()} == {0.0}


def test_details_of_both_systems_follow_the_comparison(trained: Trained, predicted: Path) -> None:
    shown = run(
        f"evaluate {trained.model} {trained.dev} --against {predicted} --details --gold-tags "
        "--bootstrap 0"
    ).stdout
    assert shown.count("Labelled attachment by relation\n") == 2
    assert shown.count("By whether the form is known") == 1  # the file has no training corpus
    assert "not corrected" not in shown
    rows = [line.split() for line in shown.splitlines() if "CoNLL 2018" in line]
    compared, model, file = (row for row in rows if row[0] == "UPOS")
    assert (compared[3], compared[6:]) == ("100.00", ["given", "-"])
    assert model[3:5] == ["100.00", "given"]
    assert file[4] == "-"


@pytest.mark.parametrize("arguments", [["model"], ["--predicted", "a", "b", "c"]])
def test_too_few_and_too_many_files_are_refused(arguments: list[str]) -> None:
    assert "Invalid value for" in run("evaluate", *arguments, status=2).stderr


def test_a_model_is_scored_from_raw_text(trained: Trained, tmp_path: Path) -> None:
    """The same numbers as those of its output for the text, which aligns with gold."""
    gold = list(read_corpus(trained.dev))
    text, output = tmp_path / "text.txt", tmp_path / "system.conllu"
    text.write_text(raw_text(gold), encoding="utf-8")
    run("parse", trained.model, text, "--output", output, "--quiet")
    common = ("--from", "text", "--bootstrap", 50)
    found = json.loads(run("evaluate", trained.model, trained.dev, *common, "--json").stdout)
    of_output = ("--predicted", output, trained.dev, *common, "--json")
    expected = json.loads(run("evaluate", *of_output).stdout)
    assert {name: found[name] for name in METRICS} == {name: expected[name] for name in METRICS}
    udeval = pytest.importorskip("udtools.udeval")
    official = udeval.evaluate(
        *(
            udeval.load_conllu(io.StringIO(path.read_text("utf-8")), str(path), {})
            for path in (trained.dev, output)
        )
    )
    for name, rates in found["alignment"].items():
        theirs = official[name]
        assert rates["f1"] == pytest.approx(100 * theirs.f1, abs=1e-9), name
        if theirs.aligned_total:
            share = pytest.approx(100 * theirs.aligned_accuracy, abs=1e-9)
            assert rates["aligned_accuracy"] == share, name
    assert found["segmentation"] == expected["segmentation"]
    assert list(found["alignment"])[:3] == ["Tokens", "Sentences", "Words"]
    assert found["alignment"]["LAS"]["aligned_accuracy"] >= found["LAS"]
    shown = run("evaluate", trained.model, trained.dev, *common).stdout
    assert f"{trained.model}, from the text alone\n\nscore      precision  recall " in shown
    compared = run("evaluate", trained.model, trained.dev, *common, "--against", output).stdout
    assert "Sentences  CoNLL 2018 " in compared
    assert "resamples      50 of sentences\n" in compared
    lines = [line for line in (shown + compared).splitlines() if ".msgpack" not in line]
    assert max(len(line) for line in lines if ".conllu" not in line) <= 80
