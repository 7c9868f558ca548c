"""Runs that fail in the middle, at any pass, and are resumed from their journal end as others do:
with partial annotation, a base, several jobs, and learners that average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from sample_treebank import SECOND_ORDER, quick, quick_model, sample
from training.test_partial import blanked, only

from egparse.config.sections import TrainConfig
from egparse.errors import EgparseError
from egparse.fitting.journal import Journal
from egparse.fitting.progress import Iteration, Step
from egparse.training.continuation import Base, configure, continue_training
from egparse.training.run import Trained, train

TRAIN, DEV, OTHERS = sample("train")[:40], sample("dev")[:15], sample("train")[60:100]
PASSES = ("upos.stop.iterations=3", "labeller.stop.iterations=3", "supertags.stop.iterations=3")
FACTS = {"corpus": "sample"}

Train = Callable[..., Trained]


class Failure(Exception):
    """What stops a run."""


def second_order(*settings: str) -> TrainConfig:
    return quick(*PASSES, *SECOND_ORDER, "parser.trees=projective", "parser.bits=14", *settings)


def partial_annotation() -> Train:
    settings = second_order("jackknife.folds=2", only("upos", "heads", "deprels"))
    return partial(train, blanked(TRAIN, 0.3, "upos", "heads", "deprels"), DEV, settings)


def from_base() -> Train:
    table = {"upos": {"stop": {"iterations": 2}}, "parser": {"stop": {"iterations": 3}}}
    return partial(
        continue_training, Base(quick_model()), OTHERS, DEV, configure(quick_model(), table)
    )


def from_base_in_part() -> Train:
    table = {"parser": {"stop": {"iterations": 3}}, "layers": ["upos", "heads"]}
    base = Base(quick_model())
    corpus = blanked(OTHERS, 0.3, "heads")
    return partial(continue_training, base, corpus, DEV, configure(base.model, table))


def two_jobs() -> Train:
    return partial(train, TRAIN, DEV, second_order("jobs=2", only("upos", "heads")))


def averaged(name: str, *settings: str) -> Train:
    learners = (f"upos.learner={name}", f"parser.learner={name}", "parser.stop.iterations=3")
    layers = only("upos", "heads")
    return partial(train, TRAIN, DEV, quick(*PASSES, *learners, *settings, layers))


RUNS: dict[str, Callable[[], Train]] = {
    "partial": partial_annotation,
    "base": from_base,
    "base in part": from_base_in_part,
    "two jobs": two_jobs,
    "perceptron": lambda: averaged("perceptron"),
    "sgd": lambda: averaged("sgd", "upos.options={averaged=true}"),
}


@cache
def trained_by(kind: str) -> Train:
    return RUNS[kind]()


def made(trained: Trained, path: Path) -> bytes:
    """The model as a file, without times."""
    record = dict(trained.model.record) | {"cpu_seconds": 0.0}
    record["tasks"] = {
        task: {key: value for key, value in facts.items() if key != "seconds"}
        for task, facts in record["tasks"].items()
    }
    replace(trained.model, record=record).save(path)
    return path.read_bytes()


NIGHTLY = set(RUNS) - {"base", "two jobs"}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[pytest.mark.nightly] * (kind in NIGHTLY)) for kind in RUNS],
)
def test_a_run_that_fails_again_and_again_ends_as_others_do(kind: str, tmp_path: Path) -> None:
    """It fails at every third pass or fold that it makes."""
    run, events = trained_by(kind), list[Any]()
    whole = made(run(listener=events.append), tmp_path / "whole.msgpack")
    folder = tmp_path / "whole.checkpoint"
    journal = Journal.started(folder, FACTS, 0)
    for attempt in range(len(events)):
        heard: list[Any] = []

        def listen(
            event: Iteration | Step, heard: list[Any] = heard, attempt: int = attempt
        ) -> None:
            heard.append(event)
            if len(heard) == (attempt + 1) * 3:
                raise Failure

        try:
            ended = run(listener=listen, journal=journal)
        except Failure:
            journal = Journal.resumed(folder, FACTS, None)
        else:
            break
    assert made(ended, tmp_path / "resumed.msgpack") == whole
    assert attempt > 2
    assert passes_of(heard) == passes_of(events)


def passes_of(events: list[Any]) -> list[str]:
    """The passes without their times; by task, as several jobs learn some tasks beside others."""
    passes = [event._replace(seconds=0.0) for event in events if isinstance(event, Iteration)]
    return list(map(repr, sorted(passes, key=lambda event: event.task)))


def test_cpu_seconds_add_up_over_the_runs(tmp_path: Path) -> None:
    run, folder = trained_by("perceptron"), tmp_path / "model.checkpoint"
    first = run(journal=Journal.started(folder, FACTS, 60))
    journal = Journal.resumed(folder, FACTS, None)
    spent = journal.seconds_before
    assert 0 < spent <= first.model.record["cpu_seconds"] + 1
    assert run(journal=journal).model.record["cpu_seconds"] >= round(spent, 1)


def test_a_journal_of_other_facts_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model.checkpoint"
    Journal.started(folder, {"a": 1, "b": [1, 2], "c": None}, 5)
    assert Journal.resumed(folder, {"a": 1, "b": (1, 2), "c": None}, None).minutes == 5
    with pytest.raises(EgparseError) as refused:
        Journal.resumed(folder, {"a": 2, "b": [1, 2], "d": "x"}, None)
    assert str(refused.value) == (
        f"{folder}: expected a checkpoint of the same run, got one that differs in a (1 there, 2 "
        'here), d (nothing there, "x" here); --force without --resume starts anew'
    )
