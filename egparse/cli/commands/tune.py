"""``egparse tune``: the best regularisation constant of a task, from one warm-started path over all
of them.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import typer

from egparse.cli import corpora, outputs, progress, tables
from egparse.cli.commands.train import check_writable
from egparse.cli.exit_codes import INTERRUPTED, complain, reported, uninterrupted
from egparse.cli.kernel_cache import NOTICE, kernels_are_compiled
from egparse.cli.options import (
    ConfigOption,
    CorpusArgument,
    DevOption,
    FormatOption,
    JsonOption,
    QuietOption,
    SkipBadOption,
    examples,
)
from egparse.errors import EgparseError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from egparse.fitting.config import TrainConfig
    from egparse.fitting.progress import Listener
    from egparse.learners.eg.path import PathConfig
    from egparse.training.tune import Tuned, TunedTask, TunePoint

EPILOG = examples(
    "egparse tune corpus.conllu --dev dev.conllu --task parser --c-from 1000 --c-to 1",
    "egparse tune corpus.conllu --task upos --task xpos --output path.json --plot path.svg",
    "egparse tune corpus.conllu --task labels --set labeller.loss=max-margin --gap 0.1",
)

_HEADINGS = ("C", "passes", "eff. it.", "total", "primal", "dual", "gap %", "dev", "time", "")
_PLOTS = (".png", ".svg", ".pdf")
Say: TypeAlias = Callable[[str], None]


class TuneTask(StrEnum):
    """The tasks, those of ``tasks.tune``: help should not need to import it."""

    UPOS = "upos"
    XPOS = "xpos"
    FEATS = "feats"
    SPANS = "spans"
    PARSER = "parser"
    LABELS = "labels"


class Tuning(NamedTuple):
    """What came of it, and the corpus it is about."""

    corpus: Path
    sentences: int
    skipped: int
    tuned: Tuned
    seed: int
    cpu_seconds: float


def tune(
    corpus: Path,
    config: TrainConfig,
    paths: dict[str, PathConfig],
    *,
    dev: Path | None = None,
    format: str | None = None,
    skip_bad: bool = False,
    say: Say = lambda text: None,
    listener: Listener | None = None,
) -> Tuning:
    """Read and follow the path of each task; ``say`` is told in words what was found, ``listener``
    how it goes.

    Raises EgparseError and OSError where the input is faulty; KeyboardInterrupt where nothing has
    been measured.
    """
    begun = time.process_time()
    read = _read(corpus, "corpus", config, format, skip_bad, say)
    dev_read = _read(dev, "development", config, format, skip_bad, say) if dev else None
    if dev_read is None and config.hold_out > 0:
        say(
            f"development  {100 * config.hold_out:g} % of the sentences, held out; --dev names a "
            "file instead"
        )
    for task, path in paths.items():
        say(f"{task:<11}  {_range_described(path)}")
    if not kernels_are_compiled():
        say(NOTICE)
    from egparse.fitting.progress import silent
    from egparse.training import tune as tuning

    tuned = tuning.tune(
        read.sentences, dev_read.sentences if dev_read else None, config, paths, listener or silent
    )
    return Tuning(
        corpus=corpus,
        sentences=len(read.sentences),
        skipped=len(read.skipped) + (len(dev_read.skipped) if dev_read else 0),
        tuned=tuned,
        seed=config.seed,
        cpu_seconds=time.process_time() - begun,
    )


def tuning_as_json(done: Tuning) -> dict[str, Any]:
    """What came of it as plain data."""
    return {
        "corpus": str(done.corpus),
        "sentences": done.sentences,
        "skipped": done.skipped,
        "held_out": done.tuned.held_out,
        "development_sentences": done.tuned.development_sentences,
        "seed": done.seed,
        "interrupted": done.tuned.interrupted,
        "cpu_seconds": round(done.cpu_seconds, 3),
        "tasks": {task.task: task.as_table() for task in done.tuned.tasks},
    }


def tune_cli(
    corpus: CorpusArgument,
    task: Annotated[
        list[TuneTask],
        typer.Option(
            "--task",
            metavar="TASK",
            help="upos, xpos, feats, spans, parser or labels; may be repeated.",
            show_default=False,
        ),
    ],
    dev: DevOption = None,
    c_from: Annotated[
        float | None,
        typer.Option(
            "--c-from", metavar="C", help="The first, largest C; else 40 times the configured one."
        ),
    ] = None,
    c_to: Annotated[
        float | None,
        typer.Option(
            "--c-to", metavar="C", help="The last, smallest C; else a tenth of the configured one."
        ),
    ] = None,
    decay: Annotated[
        float, typer.Option("--decay", metavar="X", help="Each C is the one before times this.")
    ] = 0.7,
    gap: Annotated[
        float,
        typer.Option("--gap", metavar="X", help="The relative duality gap at which a C is done."),
    ] = 0.001,
    passes: Annotated[
        int, typer.Option("--passes", metavar="N", help="At most so many passes for each C.")
    ] = 50,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the paths here, as JSON."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw score and gap over C: .png, .svg or .pdf."
        ),
    ] = None,
    config: ConfigOption = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a setting, such as upos.min_count=3; may be repeated.",
        ),
    ] = None,
    format: FormatOption = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Same seed, same machine: same path.")
    ] = None,
    skip_bad: SkipBadOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find the regularisation constant C that suits a corpus.

    Solves a task for a large C, then for smaller and smaller ones, each from the solution before,
    which takes few passes. Each solution is within the duality gap asked for, and scored on the
    development part. What feeds the task (tags for the parser, trees for labels) is trained as
    configured. Ctrl-C keeps what has been measured.
    """
    with reported():
        if output is not None:
            check_writable(output)
        if plot is not None:
            check_plottable(plot)
        from egparse.fitting.config import load_config

        settings = load_config(config, override or [])
        if seed is not None:
            settings = replace(settings, seed=seed)
        from egparse.training.tune import path_around

        paths = {
            one.value: path_around(
                one.value,
                settings,
                c_from=c_from,
                c_to=c_to,
                decay=decay,
                gap=gap,
                iterations=passes,
            )
            for one in task
        }
        with progress.shown(quiet) as listener:
            done = tune(
                corpus,
                settings,
                paths,
                dev=dev,
                format=format,
                skip_bad=skip_bad,
                say=(lambda text: None) if quiet else _say,
                listener=listener,
            )
        found = json.dumps(tables.finite(tuning_as_json(done)), ensure_ascii=False, indent=2)
        with uninterrupted():
            if output is not None:
                with outputs.opened(output) as stream:
                    stream.write(found + "\n")
            if plot is not None:
                figure(done.tuned.tasks).savefig(plot)
        print(found if as_json else summary(done, output, plot))
        if done.tuned.interrupted:
            sys.stdout.flush()
            complain("interrupted; the paths end where they had come to")
            raise typer.Exit(INTERRUPTED)


def summary(done: Tuning, output: Path | None = None, plot: Path | None = None) -> str:
    """A table for each task, how to use its best C, and files."""
    parts = []
    for task in done.tuned.tasks:
        unit = "nats" if task.loss == "log-linear" else "cost"
        title = (
            f"{task.task}: {task.loss}, objective in {unit}, a C done at a gap of "
            f"{100 * task.path.gap:g} %"
        )
        parts += [tables.section(title, path_table(task)), "", _advice(task, done)]
    files = [(name, str(path)) for name, path in (("path", output), ("plot", plot)) if path]
    facts = tables.record([*files, ("CPU time", tables.seconds(done.cpu_seconds))])
    return "\n".join([*parts, "", facts])


def path_table(task: TunedTask) -> str:
    """The path of a task, a line for each C."""
    best = task.best
    rows = [_row(point, point is best) for point in task.points]
    return tables.table(_HEADINGS, rows, "rrrrrrrrrl")


def check_plottable(plot: Path) -> None:
    """Raise EgparseError where a plot could not be drawn or written, before time is spent on it."""
    if plot.suffix.lower() not in _PLOTS:
        raise EgparseError(
            f"{plot}: expected the name of a plot to end in {', '.join(_PLOTS[:-1])} or "
            f"{_PLOTS[-1]}"
        )
    check_writable(plot)
    if importlib.util.find_spec("matplotlib") is None:
        raise EgparseError(
            "--plot: expected matplotlib to be installed: pip install 'egparse[experiments]'"
        )


def figure(tasks: Sequence[TunedTask]) -> Figure:
    """A column for each task: development score above, relative gap below, over C from large to
    small.
    """
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(5.0 * len(tasks) + 0.6, 5.6), layout="constrained")
    for column, task in enumerate(tasks):
        above, below = (
            drawn.add_subplot(2, len(tasks), row * len(tasks) + column + 1) for row in range(2)
        )
        constants = [point.solution.c for point in task.points]
        scores = [float("nan") if point.score is None else point.score for point in task.points]
        above.plot(constants, scores, "o-", markersize=4)
        best = task.best
        if best is not None and best.score is not None:
            label = f"best: C = {best.solution.c:.4g}, {best.score:.2f}"
            above.plot(
                [best.solution.c], [best.score], "o", markersize=9, color="tab:red", label=label
            )
            above.legend(loc="best")
        above.set_ylabel("development F1 (%)" if task.task == "spans" else _SCORES[task.task])
        above.set_title(f"{task.task} ({task.loss})")
        gaps = [max(100 * point.solution.relative_gap, 1e-6) for point in task.points]
        below.plot(constants, gaps, "o-", markersize=4, color="tab:green", label="measured")
        below.axhline(
            100 * task.path.gap, linestyle="--", linewidth=1, color="grey", label="asked for"
        )
        below.set_yscale("log")
        below.set_ylabel("relative duality gap (%)")
        below.set_xlabel("regularisation constant C")
        below.legend(loc="best")
        for axes in (above, below):
            axes.set_xscale("log")
            axes.grid(visible=True, alpha=0.3)
            if len(constants) > 1:
                axes.invert_xaxis()
    return drawn


_SCORES = {
    **dict.fromkeys(("upos", "xpos", "feats"), "development accuracy (%)"),
    "parser": "development UAS (%)",
    "labels": "development LAS (%)",
}


def _row(point: TunePoint, best: bool) -> tuple[str, ...]:
    solution = point.solution
    notes = ["best"] * best + ["gap not reached"] * (not solution.reached)
    return (
        f"{solution.c:.6g}",
        str(solution.iterations),
        f"{solution.effective_iterations:.2f}",
        f"{solution.total_effective_iterations:.2f}",
        *tables.nats(solution.primal, solution.dual),
        tables.gap(solution.relative_gap),
        tables.per_cent(point.score),
        tables.seconds(solution.cpu_seconds),
        ", ".join(notes),
    )


def _advice(task: TunedTask, done: Tuning) -> str:
    """The best C, the command that uses it, and whether a better one may lie outside."""
    best = task.best
    if best is None:
        return "No development part that annotates this: nothing to choose a C by."
    c = f"{best.solution.c:.6g}"
    lines = [
        f"Best C of {task.task}: {c} (dev {tables.per_cent(best.score)}; configured: "
        f"{task.configured_c:g}). To train with it:",
        f"  egparse train {done.corpus} --set {task.setting}={c}",
    ]
    if len(task.points) > 1 and best is task.points[-1]:
        lines.append("It is the smallest of the path: try a smaller --c-to.")
    if len(task.points) > 1 and best is task.points[0]:
        lines.append("It is the largest of the path: try a larger --c-from.")
    if not all(point.solution.reached for point in task.points):
        lines.append(
            "Not every C came within the gap, so scores compare less well: try more --passes or a "
            "larger --gap."
        )
    return "\n".join(lines)


def _range_described(path: PathConfig) -> str:
    values = path.constants
    return f"{tables.things(len(values), 'value')} of C from {values[0]:g} to {values[-1]:g}"


def _read(
    path: Path, name: str, config: TrainConfig, format: str | None, skip_bad: bool, say: Say
) -> corpora.Corpus:
    multiple_roots = None if config.parser.single_root else True
    read = corpora.read(path, format, skip_bad=skip_bad, multiple_roots=multiple_roots)
    if read.skipped:
        say(
            f"skipped      {tables.things(len(read.skipped), 'faulty sentence')}; first: "
            f"{read.skipped[0]}"
        )
    say(f"{name:<11}  {path}: {corpora.described(read.sentences)}")
    return read


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
