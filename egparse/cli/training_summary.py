"""What ``egparse train`` says at the end: tables of tasks and scores, and the same as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from egparse.cli import corpora, tables
from egparse.cli.scores import score_table
from egparse.cli.task_progress import (
    FINAL_HEADINGS,
    HEADINGS,
    Standings,
    scored_together,
    without_bound,
)
from egparse.layers import MORPHOLOGY

if TYPE_CHECKING:
    from egparse.evaluation.report import Report
    from egparse.training.continuation import Base
    from egparse.training.run import Trained


class Training(NamedTuple):
    """The result of training: files, sizes of the corpus, the last pass of each task, and the
    development scores of the model and of its base.
    """

    output: Path
    history: Path
    sentences: int
    words: int
    skipped: int
    trained: Trained
    standings: Standings
    report: Report | None
    cpu_seconds: float
    base: Base | None = None
    base_report: Report | None = None


def training_as_json(done: Training) -> dict[str, Any]:
    """The result of training as plain data."""
    from egparse.evaluation.report import report_as_json

    return {
        "model": str(done.output),
        "history": str(done.history),
        "interrupted": done.trained.interrupted,
        "sentences": done.sentences,
        "words": done.words,
        "skipped": done.skipped,
        "held_out": done.trained.held_out,
        "layers": list(done.trained.model.layers),
        "tasks": {standing.task: standing.as_json() for standing in done.standings.trained()},
        "cpu_seconds": round(done.cpu_seconds, 3),
        "development": None if done.report is None else report_as_json(done.report),
        "base": done.base
        and {
            "name": done.base.name,
            "payload_sha256": done.base.checksum,
            "development": None if done.base_report is None else report_as_json(done.base_report),
        },
    }


def summary(done: Training) -> str:
    """The final tables: tasks, development scores, files."""
    rows = [standing.final_row() for standing in done.standings.trained()]
    table = tables.table(FINAL_HEADINGS, rows, "l" + "r" * len(HEADINGS))
    settings = done.trained.model.config_table
    bounds = without_bound(
        {task: settings[task]["learner"] for task in done.standings.without_bound()}
    )
    components, is_joint = done.trained.model.components, MORPHOLOGY in done.standings.tasks
    together = scored_together(components[MORPHOLOGY].layers if is_joint else ())
    parts = [
        tables.section(
            "Training: the pass that is kept (objective in nats), CPU time of all",
            "\n".join([table, *filter(None, (together, bounds))]),
        )
    ]
    if done.report is not None:
        held_out = ", held out" if done.trained.held_out else ""
        title = (
            f"Development part{held_out}, from the words alone: "
            f"{corpora.described(done.trained.dev)}"
        )
        parts.append(tables.section(title, score_table(done.report)))
    if done.report is not None and done.base_report is not None:
        parts.append(
            tables.section("Before and after", _before_and_after(done.base_report, done.report))
        )
    files = [
        ("model", f"{done.output} ({tables.size(done.output.stat().st_size)})"),
        ("history", str(done.history)),
    ]
    return "\n".join(
        [*parts, "", tables.record([*files, ("CPU time", tables.seconds(done.cpu_seconds))])]
    )


def _before_and_after(before: Report, after: Report) -> str:
    """The scores of the base and of the model on the development part."""
    rows = []
    for name, score in scores_by_name(after).items():
        was = scores_by_name(before).get(name)
        change = tables.NOTHING if was is None else f"{score - was:+.2f}"
        rows.append((name, tables.per_cent(was), tables.per_cent(score), change))
    return tables.table(("score", "base", "now", "change"), rows, "lrrr")


def scores_by_name(report: Report) -> dict[str, float]:
    """The F1 of each metric, and of spans as ``NE F1``."""
    scores = {name: metric.f1 for name, metric in report.metrics.items()}
    return scores if report.spans is None else scores | {"NE F1": report.spans.micro.f1}
