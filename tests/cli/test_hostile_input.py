"""Faulty corpora and texts are accepted, or refused in one line that names the file: the first of
the cases that ``benchmarks/reliability/mutated_corpora.py`` tries by the hundred thousand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Trained
from cli.program import ROOT

SEED = 14


@pytest.fixture
def mutated_corpora(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "reliability")
    return pytest.importorskip("mutated_corpora")


@pytest.mark.nightly
def test_faulty_input_is_accepted_or_refused_in_one_line(
    mutated_corpora: Any, trained: Trained, tmp_path: Path
) -> None:
    samples = mutated_corpora.samples_of(trained.dev)
    bench = mutated_corpora.Bench(trained.model, samples, tmp_path, SEED)
    found = [mutated_corpora.outcome_of(bench, number) for number in range(60)]
    assert [outcome for outcome in found if outcome.kind == mutated_corpora.FAILED] == []
    kinds = {outcome.kind for outcome in found}
    assert {mutated_corpora.ACCEPTED, mutated_corpora.REFUSED, mutated_corpora.WHOLE} == kinds


def test_the_check_sees_what_is_wrong(mutated_corpora: Any) -> None:
    made = mutated_corpora.Case("conllu", b"", "case.in", ())

    def wrong(status: int, said: str, trace: str = "") -> str:
        return str(
            mutated_corpora.judged(["parse", "m", "case.in"], made, status, said, trace).wrong
        )

    assert wrong(2, "egparse: case.in:3: expected this, got that\n") == ""
    assert wrong(2, "egparse: case.in: expected something to parse, got nothing\n") == ""
    assert wrong(0, "", "Traceback\nValueError: a bug") == "traceback"
    assert wrong(2, "egparse: case.in:3: got\nthat\n") == "several lines"
    assert wrong(2, "egparse: case.in:3: got \x1b[31m\n") == "control characters"
    assert wrong(2, "egparse: expected this\n") == "no file named"
    assert wrong(2, "egparse: case.in: expected this\n") == "no line named"
    assert wrong(1, "Aborted!\n") == "exit status 1"
    assert wrong(2, "") == "several lines"
