"""What works where only the core is installed: packages of extras are kept from being imported,
as if they were not there.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli.program import ENVIRONMENT, without

PROGRAM = without("scipy", "matplotlib", "pyarrow") + "main()"

TASKS = ("splitter", "tokeniser", "upos", "xpos", "feats", "lemmas", "spans", "pruner", "parser")
QUICK = (
    "--quiet",
    *(f"--set={task}.stop.iterations=2" for task in (*TASKS, "labeller")),
)


def run(*arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    """The program in a process that cannot import the packages of the extra."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_a_corpus_is_trained_on_and_parsed(corpus: Path, tmp_path: Path) -> None:
    model, parsed = tmp_path / "model.msgpack", tmp_path / "parsed.conllu"
    run("train", corpus, "--dev", corpus, "-o", model, *QUICK)
    run("parse", model, corpus, "--marginals", "--quiet", "--output", parsed)
    assert parsed.read_text(encoding="utf-8").count("\n\n") == 30
    run("evaluate", model, corpus)
    table = ("parse", model, corpus, "--output-format", "parquet", "--output", tmp_path / "table")
    line = "egparse: tables of words: needs pyarrow; pip install 'egparse[tables]'\n"
    assert run(*table, status=2).stderr == line


@pytest.mark.parametrize(
    ("learner", "package"),
    [("lbfgs", "SciPy"), ("cg", "SciPy"), ("cd", "SciPy")],
)
def test_other_learners_say_what_to_install(
    learner: str, package: str, corpus: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model.msgpack"
    options = ("--set", 'layers=["upos"]', "--set", "upos.bigrams=false", "--learner", learner)
    done = run("train", corpus, "-o", model, *QUICK, *options, status=2)
    line = f"egparse: learner {learner}: needs {package}; pip install 'egparse[experiments]'\n"
    assert done.stderr == line
    assert not model.exists()


def test_learners_are_listed_and_unknown_ones_refused(corpus: Path, tmp_path: Path) -> None:
    assert "\nlbfgs " in run("train", "--list-learners").stdout
    arguments = ("train", corpus, "-o", tmp_path / "model.msgpack", "-q", "--learner", "lbgfs")
    assert "expected a learner among" in run(*arguments, status=2).stderr


def test_experiments_and_plots_say_what_to_install(corpus: Path, tmp_path: Path) -> None:
    done = run("experiment", "multiclass", "--quick", "--output", tmp_path, status=2)
    line = "egparse: experiment multiclass: needs matplotlib; pip install 'egparse[experiments]'\n"
    assert done.stderr == line
    plot = ("--task", "upos", "--plot", tmp_path / "path.svg")
    done = run("tune", corpus, "--dev", corpus, *plot, status=2)
    line = "egparse: --plot: needs matplotlib; pip install 'egparse[experiments]'\n"
    assert done.stderr == line
