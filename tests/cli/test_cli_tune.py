"""``egparse tune``: its table, its files, what it refuses, and what it keeps when it is
interrupted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli import program
from cli.program import CORPORA, ENVIRONMENT, first_sentences

from egparse.cli.commands.tune import check_plottable, path_table
from egparse.cli.tuning_figure import figure
from egparse.errors import EgparseError
from egparse.training.tune import TASKS

PROGRAM = """
import sys
{before}
from egparse.cli.app import main
main(sys.argv[1:])
"""

INTERRUPTED = """
from egparse.learners.eg import path
solve, solved = path._solve, []
def interrupted(*arguments):
    if len(solved) == {after}:
        raise KeyboardInterrupt
    solved.append(solve(*arguments))
    return solved[-1]
path._solve = interrupted
"""

PATH = ("--task", "upos", "--c-from", "4", "--c-to", "1", "--decay", "0.5", "--gap", "0.02")


def run(*arguments: object, before: str = "", status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run ``egparse tune``, in a process of its own after this program if there is one."""
    words = ["tune", *program.words_of(*arguments)]
    if not before:
        return program.run(*words, status=status)
    command = [sys.executable, "-c", PROGRAM.format(before=before), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


def said(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return dict(json.loads(done.stdout))


def table_rows(output: str) -> list[str]:
    """The lines below the headings, up to the blank line."""
    lines = output.splitlines()
    first = next(k for k, line in enumerate(lines) if line.split()[:2] == ["C", "passes"]) + 1
    return lines[first : lines.index("", first)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("corpus") / "corpus.conllu"
    return first_sentences(CORPORA / "en_sample-train.conllu", 40, target)


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return first_sentences(
        CORPORA / "en_sample-dev.conllu", 20, tmp_path_factory.mktemp("dev") / "dev.conllu"
    )


def test_the_table_has_the_whole_path_and_says_how_to_use_the_best(
    corpus: Path, dev: Path, tmp_path: Path
) -> None:
    output = tmp_path / "path.json"
    done = run(corpus, "--dev", dev, *PATH, "--output", output)
    own = json.loads(output.read_text(encoding="utf-8"))["tasks"]["upos"]
    rows = table_rows(done.stdout)
    assert [row.split()[0] for row in rows] == ["4", "2", "1"]
    (best,) = [row for row in rows if row.endswith("  best")]
    assert float(best.split()[0]) == own["best_c"]
    assert f"--set upos.c={own['best_c']:g}" in done.stdout
    assert f"path      {output}" in done.stdout
    assert (
        len({line.index("  dev") for line in done.stdout.splitlines() if " passes " in line}) == 1
    )
    assert "upos         3 values of C from 4 to 1" in done.stderr
    passes = [line for line in done.stderr.splitlines() if line.startswith("upos C=")]
    assert len(passes) == sum(point["iterations"] for point in own["points"])


def test_json_is_all_there_is_on_standard_output(corpus: Path, dev: Path, tmp_path: Path) -> None:
    output = tmp_path / "path.json"
    done = run(corpus, "--dev", dev, *PATH, "--json", "--quiet", "--output", output)
    found = said(done)
    assert done.stderr == ""
    assert json.loads(output.read_text(encoding="utf-8")) == found
    facts = (found["sentences"], found["development_sentences"], found["interrupted"])
    assert facts == (40, 20, False)
    own = found["tasks"]["upos"]
    assert own["setting"] == "upos.c"
    assert [point["c"] for point in own["points"]] == [4.0, 2.0, 1.0]
    assert max(point["score"] for point in own["points"]) == own["best_score"]
    expected = "primal dual gap relative_gap effective_iterations cpu_seconds reached"
    assert set(expected.split()) <= set(own["points"][0])


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_plots(corpus: Path, dev: Path, tmp_path: Path, suffix: str, start: bytes) -> None:
    plot = tmp_path / f"path.{suffix}"
    done = run(corpus, "--dev", dev, *PATH, "--task", "xpos", "--plot", plot)
    assert plot.read_bytes().startswith(start)
    assert f"plot      {plot}" in done.stdout


def test_a_plot_has_named_axes_and_a_logarithmic_c() -> None:
    above, below = figure([_some_task(scores=(50.0, 60.0, 55.0))]).axes
    assert (above.get_ylabel(), below.get_ylabel()) == (
        "development accuracy (%)",
        "relative duality gap (%)",
    )
    assert below.get_xlabel() == "regularisation constant C"
    assert above.get_xscale() == below.get_xscale() == below.get_yscale() == "log"
    left, right = above.get_xlim()
    assert left > right
    figure([_some_task(scores=(None,)), _some_task(scores=(1.0,))])  # no scores, one point


@pytest.mark.parametrize("task", TASKS)
def test_the_score_of_every_task_has_an_axis(task: str) -> None:
    above, _ = figure([replace(_some_task(scores=(50.0,)), task=task)]).axes
    assert above.get_ylabel().startswith("development ")


def test_the_table_marks_what_was_not_reached_and_shows_no_score_where_there_is_none() -> None:
    rows = path_table(_some_task(scores=(None, None), reached=False)).splitlines()[1:]
    assert all(row.endswith("  gap not reached") for row in rows)
    assert [row.split()[7] for row in rows] == ["-", "-"]


def test_an_end_of_the_path_that_is_best_is_pointed_out(corpus: Path, dev: Path) -> None:
    done = run(f"{corpus} --dev {dev} --task upos --c-from 900 --c-to 100 --gap 0.1 --quiet")
    assert "It is the smallest of the path: try a smaller --c-to." in done.stdout


def test_a_budget_that_was_too_small_is_pointed_out(corpus: Path, dev: Path) -> None:
    done = run(corpus, "--dev", dev, *PATH, "--gap", "1e-6", "--passes", 1, "--quiet")
    assert all(row.endswith("gap not reached") for row in table_rows(done.stdout))
    assert "Not every C reached the gap" in done.stdout


def test_interruption_keeps_what_was_measured(corpus: Path, dev: Path, tmp_path: Path) -> None:
    output = tmp_path / "path.json"
    done = run(
        f"{corpus} --dev {dev} --output {output}",
        *PATH,
        before=INTERRUPTED.format(after=2),
        status=130,
    )
    found = json.loads(output.read_text(encoding="utf-8"))
    assert found["interrupted"] is True
    assert [point["c"] for point in found["tasks"]["upos"]["points"]] == [4.0, 2.0]
    assert len(table_rows(done.stdout)) == 2
    assert (
        done.stderr.splitlines()[-1]
        == "egparse: interrupted; the paths hold what was measured before"
    )


def test_interruption_before_the_first_point_writes_nothing(
    corpus: Path, dev: Path, tmp_path: Path
) -> None:
    output = tmp_path / "path.json"
    before = INTERRUPTED.format(after=0)
    done = run(corpus, "--dev", dev, *PATH, "--output", output, before=before, status=130)
    assert (done.stdout, output.exists()) == ("", False)


def test_a_task_must_be_named(corpus: Path) -> None:
    assert "--task" in run(corpus, status=2).stderr
    assert "lemma" in run(corpus, "--task", "lemma", status=2).stderr


def test_without_matplotlib_a_plot_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delitem(sys.modules, "egparse.cli.tuning_figure")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        EgparseError, match=r"--plot: needs matplotlib; pip install 'egparse\[experiments\]'"
    ):
        check_plottable(tmp_path / "path.png")


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import egparse.cli.commands.tune, sys; print({'numpy', 'numba', 'matplotlib', "
        "'scipy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT, check=True
    )
    assert done.stdout.strip() == "set()"


def _some_task(scores: tuple[float | None, ...], reached: bool = True) -> Any:
    from egparse.learners.eg.path import PathConfig, PathPoint
    from egparse.training.tune import TunedTask, TunePoint

    points = [
        TunePoint(PathPoint(4.0 / 2**k, 1.01, 1.0, 3, 3.0, 3.0 * (k + 1), 0.1, reached), score)
        for k, score in enumerate(scores)
    ]
    return TunedTask(
        "upos", PathConfig(c_from=4.0, c_to=1.0), 0.5, "eg-online", "log-linear", True, points
    )


def test_a_gap_is_taken_by_the_other_learner_that_starts_from_the_last_c(
    corpus: Path, dev: Path
) -> None:
    done = run(corpus, "--dev", dev, *PATH, "--set", "upos.learner=eg-cyclic", "--quiet", "--json")
    assert said(done)["tasks"]["upos"]["warm_start"]
