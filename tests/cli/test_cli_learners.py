"""``egparse train --learner``: the list of learners, one learner for all tasks, and what is said of
tasks that it does not fit.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.program import CONFIGS, CORPORA, run, run_python

from egparse.learners.registry import LEARNERS

OF_ISSUE = (
    "eg-online", "eg-batch", "dca", "mira", "perceptron", "sgd", "lbfgs", "cg", "n-slack",
    "frank-wolfe", "gis", "iis", "scgis", "cd",
)  # fmt: skip


MINE = """
import math
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge
from egparse.cli.app import main
from egparse.learners.learner import Certificate
from egparse.learners.learner import Learner, LearnerConfig, UnscaledState
from egparse.learners.registry import LEARNERS, Entry


@dataclass(frozen=True, kw_only=True)
class Config(LearnerConfig):
    step: Annotated[float, Ge(0), "the factor of a step"] = 1.0


class Mine(Learner):
    config_type = Config

    def __init__(self, problem, config):
        super().__init__(problem)
        self.config = config

    def initialise(self, gold_theta=3.0):
        self.problem.reset()
        return UnscaledState()

    def iterate(self, state):
        for i in range(self.n):
            scores = self.problem.scores(i)
            best = scores.copy()
            self.problem.argmax(i, scores, best)
            self.problem.add(i, self.config.step * (self.problem.gold(i) - best))

    def certificate(self, state):
        return Certificate(0.0, -math.inf, 1.0, 0.0, {})


LEARNERS["mine"] = Entry("__main__:Mine", "an example", probabilities=False, loss="perceptron")
"""
"""A learner as CONTRIBUTING describes it, and its entry in the registry."""


def test_all_learners_are_listed() -> None:
    listed = [line.split()[0] for line in run("train", "--list-learners").stdout.splitlines()[1:]]
    assert listed == list(LEARNERS)
    assert set(OF_ISSUE) <= set(listed)


def test_an_entry_of_the_registry_is_all_that_a_learner_needs(corpus: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.msgpack"
    arguments = ["train", str(corpus), "--learner", "mine", "--set", 'layers=["upos"]']
    arguments += ["--set", "tokeniser.train=false", "--set", "splitter.train=false"]
    arguments += ["--set", "upos.stop.iterations=3", "--output", str(model), "--quiet"]
    done = run_python(f"{MINE}\nmain({arguments})")
    assert done.returncode == 0, done.stderr
    found = json.loads(run("evaluate", model, corpus, "--bootstrap", 0, "--json").stdout)
    assert found["UPOS"] > 80


def test_a_tagger_of_another_learner_is_trained_saved_and_evaluated(
    corpus: Path, tmp_path: Path
) -> None:
    model, dev = tmp_path / "model.msgpack", CORPORA / "en_sample-dev.conllu"
    settings = ("--set", 'layers=["upos"]', "--set", "upos.bigrams=false")
    arguments = (*settings, "--learner", "gis", "-o", model, "--quiet", "--json")
    said = json.loads(run("train", corpus, "--dev", dev, *arguments).stdout)
    found = json.loads(run("evaluate", model, dev, "--bootstrap", 0, "--json").stdout)
    assert said["tasks"]["upos"]["kept"] >= 1
    assert said["development"]["UPOS"] == pytest.approx(found["UPOS"])
    assert found["UPOS"] > 60


def test_what_is_set_of_a_task_goes_before_the_learner_of_all(corpus: Path, tmp_path: Path) -> None:
    done = run(
        f"train {corpus} --config {CONFIGS}/quick.toml --learner gis --set upos.bigrams=false "
        f"--set parser.learner=perceptron -o {tmp_path}/model.msgpack --quiet --json",
        "--set",
        'layers=["upos", "heads"]',
    )
    assert set(json.loads(done.stdout)["tasks"]) >= {"upos", "parser"}


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_softmax_margin_by_exponentiated_gradient_has_a_certificate(
    corpus: Path, tmp_path: Path, order: int
) -> None:
    """Of a tagger, and of a parser without and with pairs of arcs."""
    layers = ("--set", 'layers=["upos", "heads"]', "--set", f"parser.order={order}")
    ways = [
        word
        for section in ("upos", "parser")
        for word in (
            *("--set", f"{section}.learner=eg-online"),
            *("--set", f"{section}.loss=softmax-margin"),
        )
    ]
    model, length = tmp_path / "model.msgpack", ("--set", "parser.stop.iterations=6")
    run("train", corpus, *layers, *ways, *length, "-o", model, "--quiet")
    lines = (tmp_path / "model.history.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for task in ("upos", "parser"):
        own = [record for record in records if record["task"] == task]
        known = [record for record in own if record["primal"] is not None]
        assert all(record["dual"] <= record["primal"] for record in known)
        assert own[-1]["relative_gap"] < 0.1 < (own[0]["relative_gap"] or 1.0)  # not known: far
