"""The experiment on grammars: data, command, and verdicts that follow from the numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from egparse.experiments.claims.grammars import ANCHORED, LOG_LINEAR, MARGIN, PCFG, RULES
from egparse.experiments.comparisons import grammars
from egparse.experiments.comparisons.catalogue import perform
from egparse.experiments.grammars.conversion import phrase_tree
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results, read_results
from sample_treebank import sample

from egparse.errors import EgparseError

PAGES = Path(__file__).resolve().parents[2] / "docs" / "experiments"


@cache
def measured() -> Results:
    """The numbers of the full run that the page shows."""
    return read_results(PAGES / "grammars.json", "grammars")[0]


def verdict(results: Results, words: str) -> str:
    found = [claim for claim in grammars.report(results).claims if words in claim.text]
    assert len(found) == 1
    return found[0].verdict


def changed(**numbers: Any) -> Results:
    return measured()._replace(numbers={**measured().numbers, **numbers})


@pytest.mark.nightly
def test_all_parts_of_the_experiment_are_measured() -> None:
    results = grammars.measure(Request(quick=True, iterations=2, constants=(10.0,)))
    assert set(results.comparisons) == {LOG_LINEAR, MARGIN, RULES}
    assert set(results.numbers["models"]) == {PCFG, RULES, ANCHORED, MARGIN}
    for values in results.numbers["oracle"]["f1"].values():
        assert values[-1] >= values[0]
    assert results.numbers["generated"]["entropy"] > 0
    assert results.comparisons[LOG_LINEAR].task.facts["parts"] > 1000


def test_em_that_lowers_the_likelihood_once_is_not_reproduced() -> None:
    rows = measured().numbers["em"]
    assert verdict(measured(), "as the E step of EM") == "reproduced"
    fallen = [*rows, {**rows[-1], "log-likelihood": rows[-1]["log-likelihood"] - 1.0}]
    assert verdict(changed(em=fallen), "as the E step of EM") == "not reproduced"


def test_a_log_linear_grammar_has_to_be_better_by_more_than_chance() -> None:
    models = dict(measured().numbers["models"])
    text = "does more than one whose probabilities are counted"
    for p, expected in ((0.01, "reproduced"), (0.2, "not reproduced")):
        better = {
            name: {**own, "f1": own["f1"] + (name != PCFG) * 50, "p against PCFG": p}
            for name, own in models.items()
        }
        assert verdict(changed(models=better), text) == expected


def test_time_has_to_be_cubic() -> None:
    text = "Factored representations"
    for power, expected in ((3.0, "reproduced"), (4.0, "not reproduced")):
        rows = [
            {"words": n, "sentences": 1, "cky": 1e-6 * n**power, "inside-outside": 1e-6 * n**power}
            for n in (10, 20, 40)
        ]
        assert verdict(changed(speed=rows), text) == expected


@pytest.mark.nightly
def test_a_file_in_brackets_takes_the_place_of_the_treebank(tmp_path: Path) -> None:
    trees = [phrase_tree(sentence) for sentence in sample("train")[:90]]
    (tmp_path / "trees.mrg").write_text("\n".join(map(str, trees)), encoding="utf-8")
    command = ["experiment", "grammars", "--quick", "--iterations", "1", "--c", "10"]
    done = subprocess.run(
        [sys.executable, "-m", "egparse", *command, "--data", str(tmp_path), "-o", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "grammars.json").read_text(encoding="utf-8"))
    facts = content["comparisons"][LOG_LINEAR]["task"]["facts"]
    assert facts["data"] == "trees.mrg"


def test_a_full_run_on_brackets_needs_no_dependency_treebank(tmp_path: Path) -> None:
    path = tmp_path / "trees.mrg"
    path.write_text("(S (NN a))\n(S (NN b))\n", encoding="utf-8")
    with pytest.raises(EgparseError, match=r"trees\.mrg: expected at least 3 trees, got 2"):
        perform("grammars", Request(data=tmp_path), tmp_path)
    path.write_text("(S (NN a)\n", encoding="utf-8")
    with pytest.raises(EgparseError, match=r"trees\.mrg:1: expected a bracket that is closed"):
        perform("grammars", Request(data=tmp_path), tmp_path)
