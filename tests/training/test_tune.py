"""Tuning C: the problems are those of training, each point is scored, and the best one wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sample_treebank import quick, sample

from egparse.config.sections import TrainConfig
from egparse.errors import ConfigError, EgparseError
from egparse.evaluation.scores import attachment
from egparse.features.default_templates import SPAN_TEMPLATES
from egparse.fitting.progress import Iteration, Step
from egparse.learners.eg import path as path_module
from egparse.learners.eg.path import PathConfig, PathPoint
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.training import ArcParserTask
from egparse.sentences import Sentence
from egparse.training import tune as tune_module
from egparse.training.run import train
from egparse.training.tune import TASKS, Tuned, TunedTask, TunePoint, path_around, tune

SENTENCES, DEV = sample("train")[:60], sample("dev")[:20]
SHORT = PathConfig(c_from=4.0, c_to=1.0, decay=0.5, gap=0.003, iterations=30)


ORDER_2 = (
    "parser.order=2", "parser.bits=14", "parser.stop.iterations=2", "pruner.bits=13", "pruner.c=2",
    "pruner.stop.iterations=2", "parser.learner=dca",
)  # fmt: skip
OF_ORDER_1 = tuple(task for task in TASKS if task != "pruner")


@cache
def tuned_of_order_2(task: str) -> tuple[Tuned, tuple[Iteration | Step, ...]]:
    """Pruner or second-order parser, on a few sentences."""
    events: list[Iteration | Step] = []
    done = tune(SENTENCES[:30], DEV, quick(*ORDER_2), {task: SHORT}, events.append)
    return done, tuple(events)


@cache
def tuned(*tasks: str) -> tuple[Tuned, tuple[Iteration | Step, ...]]:
    events: list[Iteration | Step] = []
    joint = ["morphology.joint=always"] if "morphology" in tasks else []
    done = tune(SENTENCES, DEV, configured(*joint), dict.fromkeys(tasks, SHORT), events.append)
    return done, tuple(events)


def configured(*overrides: str) -> TrainConfig:
    """The quick configuration, with entities that see tags."""
    config = quick(*overrides)
    return replace(config, spans=replace(config.spans, templates=SPAN_TEMPLATES))


def point(c: float, score: float | None) -> TunePoint:
    return TunePoint(PathPoint(c, 2.0, 1.0, 1, 1.0, 1.0, 0.0, True), score)


@pytest.mark.parametrize("task", OF_ORDER_1)
def test_each_task_has_its_path(task: str) -> None:
    done, _ = tuned(task)
    (own,) = done.tasks
    assert (own.task, done.interrupted, done.development_sentences) == (task, False, 20)
    assert [each.solution.c for each in own.points] == [4.0, 2.0, 1.0]
    assert all(
        each.solution.reached and abs(each.solution.relative_gap) <= 0.01 for each in own.points
    )
    assert own.best is not None
    assert own.best.score == pytest.approx(max(each.score or 0.0 for each in own.points))
    assert own.best.score > 20.0
    loss = "softmax-margin, gamma = 4" if task == "parser" else "log-linear"
    assert (own.learner, own.loss, own.warm_start) == ("eg-online", loss, True)


def test_the_pruner_has_its_path() -> None:
    done, events = tuned_of_order_2("pruner")
    (own,) = done.tasks
    assert (own.task, own.setting, own.configured_c) == ("pruner", "pruner.c", 2.0)
    assert [each.solution.c for each in own.points] == [4.0, 2.0, 1.0]
    assert own.warm_start
    for each in own.points:
        assert each.solution.dual <= each.solution.primal * (1 + 1e-3)
        assert each.score is not None
        assert each.score > 20.0
    assert seen_tasks(events) == ["upos", "xpos", "feats", "supertags", *of_constants("pruner")]


@pytest.mark.nightly
def test_the_second_order_parser_is_trained_anew_at_each_constant() -> None:
    """Each point is that of training with this C: the same objective, and the same score."""
    done, events = tuned_of_order_2("parser")
    (own,) = done.tasks
    assert (own.learner, own.loss, own.warm_start) == (
        "dca",
        "softmax-margin, gamma = 4",
        False,
    )
    assert [each.solution.c for each in own.points] == [4.0, 2.0, 1.0]
    before = ["upos", "xpos", "feats", "supertags", "pruner"]
    assert seen_tasks(events) == [*before, *of_constants("parser")]
    for each in own.points:
        c = each.solution.c
        trained = train(SENTENCES[:30], DEV, quick(*ORDER_2, f"parser.c={c}")).model
        record = trained.record["tasks"]["heads"]
        assert each.score == record["score"]
        assert each.solution.primal == record["primal"]
    assert own.best is not None
    seconds = {f"parser C={c:g}": 0.0 for c in (4.0, 2.0, 1.0)}
    for event in events:
        if isinstance(event, Iteration) and event.task in seconds:
            seconds[event.task] += event.seconds
    assert list(seconds.values()) == [each.solution.cpu_seconds for each in own.points]


@pytest.mark.parametrize("task", ["upos", "parser"])
def test_a_point_is_what_training_with_this_c_comes_to(task: str) -> None:
    """Both are near the optimum of the same problem: their bounds agree, and so do scores, but for
    some words.
    """
    changes = ("c=1", "anneal_from=0", "stop.gap=0.0005", "stop.patience=0", "stop.iterations=100")
    events: list[Iteration | Step] = []
    train(SENTENCES, DEV, quick(*(f"{task}.{change}" for change in changes)), events.append)
    last = [event for event in events if isinstance(event, Iteration) and event.task == task][-1]
    at_one = tuned(task)[0].tasks[0].points[-1]
    assert at_one.solution.dual <= last.primal
    assert last.dual <= at_one.solution.primal
    assert at_one.solution.primal == pytest.approx(last.primal, rel=0.01)
    assert at_one.score == pytest.approx(last.score, abs=1.5)


def test_scores_are_those_of_the_model_at_each_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scored weights are v / C of the point: scoring by hand while the point stands gives the
    same.
    """
    seen: list[float] = []
    score_of = ArcParserTask.score

    def watched(task: ArcParserTask) -> Callable[[ArcParser], float]:
        score = score_of(task)
        assert score is not None

        def rescored(parser: ArcParser) -> float:
            gold = np.array([head for own in task.dev.sentences for head in own.heads])
            seen.append(attachment(gold, parser.predict(task.dev.words)))
            return score(parser)

        return rescored

    monkeypatch.setattr(ArcParserTask, "score", watched)
    done = tune(SENTENCES, DEV, quick("parser.loss=log-linear"), {"parser": SHORT})
    assert [each.score for each in done.tasks[0].points] == seen
    assert len(set(seen)) > 1


def test_the_listener_hears_of_each_c_as_of_a_task() -> None:
    done, events = tuned("upos")
    own = done.tasks[0]
    steps = [event for event in events if isinstance(event, Step)]
    assert [step.task for step in steps] == ["upos C=4", "upos C=2", "upos C=1"]
    assert all((step.total, step.done) == (30, 0) for step in steps)
    passes = [event for event in events if isinstance(event, Iteration)]
    assert len(passes) == sum(each.solution.iterations for each in own.points)
    scored = [event for event in passes if event.score is not None]
    assert [event.score for event in scored] == [each.score for each in own.points]
    assert scored[0].best
    assert sum(event.seconds for event in passes) == pytest.approx(
        sum(each.solution.cpu_seconds for each in own.points)
    )


def test_what_feeds_a_task_is_trained_and_nothing_else() -> None:
    def told(task: str) -> list[str]:
        return seen_tasks(tuned(task)[1])

    tags = ["upos", "xpos", "feats"]
    assert told("feats") == of_constants("feats")
    assert told("splitter") == of_constants("splitter")
    assert told("spans") == ["upos", "xpos", *of_constants("spans")]
    assert told("parser") == [*tags, "supertags", *of_constants("parser")]
    assert told("labeller") == [*tags, "supertags", "parser", *of_constants("labeller")]
    before = [*tags, "supertags", "pruner", "parser"]
    assert seen_tasks(tuned_of_order_2("labeller")[1]) == [*before, *of_constants("labeller")]


def test_several_tasks_come_in_the_order_of_training() -> None:
    done = tune(SENTENCES, DEV, quick(), {"parser": SHORT, "upos": SHORT})
    assert [own.task for own in done.tasks] == ["upos", "parser"]
    assert _without_times(done.tasks[0]) == _without_times(tuned("upos")[0].tasks[0])


def test_a_part_is_held_out_where_no_development_part_is_given() -> None:
    done = tune(SENTENCES, None, quick("hold_out=0.2"), {"upos": SHORT})
    assert (done.held_out, done.development_sentences) == (12, 12)
    assert done.tasks[0].best is not None


def test_without_development_sentences_nothing_is_best() -> None:
    done = tune(SENTENCES[:30], [], quick(), {"parser": replace(SHORT, c_to=4.0)})
    assert [each.score for each in done.tasks[0].points] == [None]
    assert done.tasks[0].best is None
    assert done.tasks[0].as_table()["best_c"] is None


def test_the_best_of_equals_has_the_largest_c() -> None:
    points = [point(4.0, 1.0), point(2.0, 3.0), point(1.0, 3.0)]
    own = TunedTask("upos", SHORT, 0.5, "eg-online", "log-linear", True, points)
    assert own.best is own.points[1]
    table = own.as_table()
    assert (table["best_c"], table["best_score"], table["setting"]) == (2.0, 3.0, "upos.c")
    assert table["points"][0]["relative_gap"] == 1.0
    assert (table["learner"], table["loss"], table["warm_start"]) == (
        "eg-online",
        "log-linear",
        True,
    )


def test_the_tie_breaker_between_passes_of_the_splitter_does_not_choose_a_c() -> None:
    """Of passes with equal scores the splitter prefers the later one by a billionth; of constants
    the largest one is best.
    """
    points = [point(4.0, 90.0 - 2e-9), point(2.0, 90.0 - 1e-9), point(1.0, 89.0)]
    own = TunedTask("splitter", SHORT, 4.0, "eg-online", "log-linear", True, points)
    assert own.best is points[0]


def test_max_margin_too() -> None:
    """It takes many more passes: what is small here is C, so it is kept large."""
    loose = PathConfig(c_from=80.0, c_to=20.0, decay=0.5, gap=0.15, iterations=100)
    done = tune(SENTENCES[:30], DEV, quick("upos.loss=max-margin"), {"upos": loose})
    assert done.tasks[0].loss == "max-margin"
    solutions = [each.solution for each in done.tasks[0].points]
    assert [(solution.c, solution.reached) for solution in solutions] == [
        (80.0, True),
        (40.0, True),
        (20.0, True),
    ]
    assert all(0.0 <= solution.relative_gap <= 0.15 for solution in solutions)


def test_an_interruption_keeps_the_points_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune_module, "follow", _interrupted_after(2))
    done = tune(SENTENCES, DEV, quick(), {"upos": SHORT, "parser": SHORT})
    assert done.interrupted
    assert [own.task for own in done.tasks] == ["upos"]
    assert [each.solution.c for each in done.tasks[0].points] == [4.0, 2.0]


def test_an_interruption_before_the_first_point_is_passed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tune_module, "follow", _interrupted_after(0))
    with pytest.raises(KeyboardInterrupt):
        tune(SENTENCES, DEV, quick(), {"upos": SHORT})


def test_a_path_around_the_configured_constant() -> None:
    config = quick("parser.c=25", "labeller.c=3")
    assert path_around("parser", config).constants[0] == 1000.0
    assert path_around("parser", config).c_to == pytest.approx(2.5)
    assert path_around("labeller", config, c_to=1.0).c_from == 120.0
    assert path_around("labeller", config, c_to=500.0).c_from == 500.0
    assert path_around("labeller", config, c_from=0.1, gap=0.01) == PathConfig(
        c_from=0.1, c_to=0.1, gap=0.01
    )


@pytest.mark.parametrize(
    ("sentences", "tasks", "message"),
    [
        (
            SENTENCES,
            ("heads",),
            "expected tasks among upos, .*, labeller, tokeniser, splitter, expander, .*got heads",
        ),
        (SENTENCES, (), "expected tasks among .*, got none"),
        ((), ("upos",), "expected at least one sentence to train on, got none"),
        (
            [Sentence(forms=("a", "b"), upos=("X", "Y"))] * 3,
            ("parser",),
            r"expected a task that the corpus annotates \(upos\), got 'parser'",
        ),
        (SENTENCES, ("pruner",), "pruner: a parser of order 1 has no pruner"),
        (SENTENCES[:10], ("splitter",), "expected a task that the corpus .*, got 'splitter'"),
    ],
)
def test_what_cannot_be_tuned(
    sentences: tuple[Sentence, ...], tasks: tuple[str, ...], message: str
) -> None:
    with pytest.raises(EgparseError, match=message):
        tune(sentences, [], quick(), dict.fromkeys(tasks, SHORT))


def test_a_learner_without_a_constant_has_none_to_tune() -> None:
    config = quick("parser.learner=perceptron")
    with pytest.raises(ConfigError, match="parser: the learner perceptron has no regularisation"):
        tune(SENTENCES, [], config, {"parser": SHORT})


def test_an_unknown_task_has_no_path() -> None:
    with pytest.raises(ConfigError, match=r"expected a task among upos, .*, got 'lemma'"):
        path_around("lemma", quick())


def _interrupted_after(count: int):  # type: ignore[no-untyped-def]
    def follow(*arguments: object) -> Iterator[PathPoint]:
        for number, solution in enumerate(path_module.follow(*arguments)):  # type: ignore[arg-type]
            if number == count:
                raise KeyboardInterrupt
            yield solution

    return follow


def seen_tasks(events: Sequence[Iteration | Step]) -> list[str]:
    """The tasks that events are of, in order."""
    return list(dict.fromkeys(event.task for event in events))


def of_constants(task: str) -> list[str]:
    """The tasks of its path in events."""
    return [f"{task} C={c}" for c in (4, 2, 1)]


def _without_times(own: TunedTask) -> list[TunePoint]:
    return [each._replace(solution=each.solution._replace(cpu_seconds=0.0)) for each in own.points]
