"""What works where only the core is installed: SciPy, Clarabel and matplotlib are kept from being
imported, as if they were not there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli.program import CORPORA, ENVIRONMENT, first_sentences

PROGRAM = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"scipy", "clarabel", "matplotlib"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from egparse.cli.app import main
main()
"""

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


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return first_sentences(CORPORA / "en_sample-train.conllu", 30, tmp_path / "corpus.conllu")


def test_a_corpus_is_trained_on_and_parsed(corpus: Path, tmp_path: Path) -> None:
    model, parsed = tmp_path / "model.msgpack", tmp_path / "parsed.conllu"
    run("train", corpus, "--dev", corpus, "-o", model, *QUICK)
    run("parse", model, corpus, "--marginals", "--quiet", "--output", parsed)
    assert parsed.read_text(encoding="utf-8").count("\n\n") == 30
    run("evaluate", model, corpus)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "learners",
    [("eg-cyclic", "eg-batch", "dca"), ("mira", "perceptron", "sgd"), ("hmm", "naive-bayes")],
    ids=" ".join,
)
def test_learners_that_need_no_extra_train(
    learners: tuple[str, ...], corpus: Path, tmp_path: Path
) -> None:
    layers = ("upos", "xpos", "feats")[: len(learners)]
    settings = [f"layers={json.dumps(layers)}"]
    for layer, learner in zip(layers, learners, strict=True):
        bigrams = "false" if learner == "naive-bayes" else "true"
        settings += [f"{layer}.learner={learner}", f"{layer}.bigrams={bigrams}"]
    options = [option for setting in settings for option in ("--set", setting)]
    run("train", corpus, "-o", tmp_path / "model.msgpack", *QUICK, *options)


@pytest.mark.parametrize(
    ("learner", "package"),
    [("lbfgs", "SciPy"), ("cg", "SciPy"), ("cutting-plane", "Clarabel"), ("cd", "SciPy")],
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
    line = "egparse: experiment multiclass: needs Clarabel; pip install 'egparse[experiments]'\n"
    assert done.stderr == line
    plot = ("--task", "upos", "--plot", tmp_path / "path.svg")
    done = run("tune", corpus, "--dev", corpus, *plot, status=2)
    line = "egparse: --plot: needs matplotlib; pip install 'egparse[experiments]'\n"
    assert done.stderr == line
