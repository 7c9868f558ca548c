"""``egparse tune``: the regularisation constant of a task with the best development score."""

from __future__ import annotations

import io
import sys
import time
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from egparse.cli import progress, tables
from egparse.cli.files import Kind, check_distinct, check_output, opened
from egparse.cli.notices import (
    INTERRUPTED,
    Say,
    announce_compilation,
    complain,
    say,
    silence,
    warnings_shown,
)
from egparse.cli.options import CorpusFormat
from egparse.cli.process import interruptible, uninterrupted
from egparse.cli.training import Corpora
from egparse.errors import EgparseError, import_with_extra
from egparse.storage.files import write_atomically

if TYPE_CHECKING:
    from egparse.config.sections import TrainConfig
    from egparse.fitting.progress import Listener
    from egparse.learners.eg.path import PathConfig
    from egparse.training.tune import Tuned, TunedTask, TunePoint

_HEADINGS = ("C", "passes", "eff. it.", "total", "primal", "dual", "gap %", "dev", "time", "")
_PLOTS = (".png", ".svg", ".pdf")
_FIGURE = "egparse.cli.tuning_figure"


class TuneTask(StrEnum):
    """The tasks of ``training.tune``, listed here so that help need not import it."""

    UPOS = "upos"
    XPOS = "xpos"
    FEATS = "feats"
    MORPHOLOGY = "morphology"
    SPANS = "spans"
    LEMMAS = "lemmas"
    PRUNER = "pruner"
    PARSER = "parser"
    LABELLER = "labeller"
    TOKENISER = "tokeniser"
    SPLITTER = "splitter"
    EXPANDER = "expander"


def tune(
    corpus: Path,
    task: Annotated[list[TuneTask], typer.Option(show_default=False)],
    dev: Path | None = None,
    c_from: float | None = None,
    c_to: float | None = None,
    decay: float = 0.7,
    gap: float | None = None,
    passes: int | None = None,
    output: Path | None = None,
    plot: Path | None = None,
    config: Path | None = None,
    classes: list[str] | None = None,
    set_: list[str] | None = None,
    format: CorpusFormat | None = None,
    encoding: str = "utf-8",
    seed: int | None = None,
    skip_bad: bool = False,
    force: bool = False,
    quiet: bool = False,
    json_: bool = False,
) -> None:
    """Find the regularisation constant C that suits a corpus.

    A task is trained with its settings for a large C, then for smaller and smaller ones, and each C
    is scored on the development part. With the learner eg-online each C starts from the solution of
    the previous one, and takes few passes to the duality gap of --gap. With other learners, such as
    dca, the default of the parser, each C is trained from zero, as by egparse train. Earlier tasks
    (tags for the parser, trees for the labeller) are trained as configured. Ctrl-C keeps what has
    been measured.

    Options:
        --task TASK: upos, xpos, feats, morphology, spans, lemmas, pruner, parser, labeller,
            tokeniser, splitter or expander; may be repeated.
        --c-from C: First and largest C (default: 40 times the configured C).
        --c-to C: Last and smallest C (default: a tenth of the configured C).
        --decay X: Ratio of each C to the previous one.
        --gap X: Relative duality gap to reach at each C (eg-online; default: 0.001).
        --passes N: Greatest number of passes at each C (eg-online; default: 50).
        --output, -o FILE: File for the paths, in JSON.
        --plot FILE: File for a figure of score and gap over C: .png, .svg or .pdf.
        --set KEY=VALUE: Change a setting, such as upos.min_count=3; may be repeated.
        --seed N: Random seed; equal seeds give equal paths on one machine.

    Examples:
        egparse tune corpus.conllu --dev dev.conllu --task parser --c-from 200 --c-to 12 --decay 0.5
        egparse tune corpus.conllu --task upos --task xpos --output path.json --plot path.svg
        egparse tune corpus.conllu --task labeller --set labeller.loss=max-margin --gap 0.1
    """
    devs = () if dev is None else (dev,)
    read = Corpora((corpus,), devs, format, encoding, skip_bad, config, tuple(classes or ()))
    read.require()
    check_output(None, Kind.TEXT, read.inputs)
    if output is not None:
        check_output(output, Kind.JSON, read.inputs, force=force)
    if plot is not None:
        check_output(plot, Kind.FIGURE, read.inputs, force=force)
        check_plottable(plot)
    check_distinct([path for path in (output, plot) if path is not None])
    from egparse.config.reading import read_config

    settings = read_config(read.table(set_ or []), read.name_of_settings)
    if seed is not None:
        settings = replace(settings, seed=seed)
    from egparse.training.tune import path_around

    stop = {"gap": gap, "iterations": passes}
    given = {name: value for name, value in stop.items() if value is not None}
    if given:
        _check_warm_start([one.value for one in task], settings)
    paths = {
        one.value: path_around(one.value, settings, c_from=c_from, c_to=c_to, decay=decay, **given)
        for one in task
    }
    with warnings_shown(quiet), progress.shown(quiet) as listener:
        done = _tune(read, settings, paths, silence if quiet else say, listener)
    paths_as_json = tables.as_json(_as_json(done))
    with uninterrupted():
        if output is not None:
            with opened(output) as stream:
                stream.write(paths_as_json + "\n")
        if plot is not None:
            from egparse.cli.tuning_figure import figure

            drawn = io.BytesIO()
            figure(done.tuned.tasks).savefig(drawn, format=plot.suffix[1:].lower())
            write_atomically(plot, drawn.getvalue())
    print(paths_as_json if json_ else _summary(done, output, plot))
    if done.tuned.interrupted:
        sys.stdout.flush()
        complain("interrupted; the paths hold what was measured before")
        raise typer.Exit(INTERRUPTED)


class _Tuning(NamedTuple):
    """The paths, and the corpus on which they were measured."""

    corpus: Path
    sentences: int
    skipped: int
    tuned: Tuned
    seed: int
    cpu_seconds: float


def _tune(
    read: Corpora, config: TrainConfig, paths: dict[str, PathConfig], say: Say, listener: Listener
) -> _Tuning:
    """Read and follow the path of each task.

    Raises:
        EgparseError, OSError: the input is faulty.
        KeyboardInterrupt: interrupted before anything has been measured.
    """
    begun = time.process_time()
    from egparse.training.checks import check_settings

    config = check_settings(config)
    corpora = read.read(config, say)
    for task, path in paths.items():
        say(f"{task:<11}  {_range_described(path)}")
    announce_compilation(say)
    from egparse.training import tune as tuning

    with interruptible():
        tuned = tuning.tune(corpora.sentences, corpora.dev, config, paths, listener)
    return _Tuning(
        corpus=read.corpora[0],
        sentences=len(corpora.sentences),
        skipped=corpora.skipped,
        tuned=tuned,
        seed=config.seed,
        cpu_seconds=time.process_time() - begun,
    )


def _as_json(done: _Tuning) -> dict[str, Any]:
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


def _check_warm_start(tasks: list[str], config: TrainConfig) -> None:
    """Raise EgparseError for a task that --gap and --passes have no effect on."""
    from egparse.learners.registry import LEARNERS

    for task in tasks:
        learner = getattr(config, task).algorithm
        if learner in LEARNERS and not LEARNERS[learner].warm_starts:
            raise EgparseError(
                f"--gap and --passes: expected tasks learned by eg-online, got {task}, learned by "
                f"{learner}; --set {task}.stop.iterations=N says how long that is trained"
            )


def _summary(done: _Tuning, output: Path | None = None, plot: Path | None = None) -> str:
    """A table for each task, how to use its best C, and files."""
    parts = []
    for task in done.tuned.tasks:
        unit = "nats" if task.loss.startswith(("log-linear", "softmax")) else "cost"
        way = (
            f"each C to a gap of {100 * task.path.gap:g} %"
            if task.warm_start
            else "each C trained from zero"
        )
        title = f"{task.task}: {task.learner}, {task.loss}, objective in {unit}, {way}"
        parts += [tables.section(title, path_table(task)), "", _advice(task, done)]
    files = [(name, str(path)) for name, path in (("path", output), ("plot", plot)) if path]
    facts = tables.record([*files, ("CPU time", tables.seconds(done.cpu_seconds))])
    return "\n".join([*parts, "", facts])


def path_table(task: TunedTask) -> str:
    """The path of a task, with a line for each C."""
    best = task.best
    rows = [_row(point, point is best, task.warm_start) for point in task.points]
    return tables.table(_HEADINGS, rows, "rrrrrrrrrl")


def check_plottable(plot: Path) -> None:
    """Raise EgparseError if a plot could not be drawn."""
    if plot.suffix.lower() not in _PLOTS:
        raise EgparseError(
            f"{plot}: expected the name of a plot to end in {', '.join(_PLOTS[:-1])} or "
            f"{_PLOTS[-1]}"
        )
    import_with_extra(_FIGURE, "--plot")


def _row(point: TunePoint, best: bool, to_gap: bool) -> tuple[str, ...]:
    solution = point.solution
    notes = ["best"] * best + ["gap not reached"] * (to_gap and not solution.reached)
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


def _advice(task: TunedTask, done: _Tuning) -> str:
    """The best C, the command that uses it, and whether a better one may lie beyond the path."""
    best = task.best
    if best is None:
        return (
            "The development part does not annotate this layer: there is no score to choose C by."
        )
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
    if task.warm_start and not all(point.solution.reached for point in task.points):
        lines.append(
            "Not every C reached the gap, so scores are less comparable: try more --passes or a "
            "larger --gap."
        )
    return "\n".join(lines)


def _range_described(path: PathConfig) -> str:
    values = path.constants
    return f"{tables.things(len(values), 'value')} of C from {values[0]:g} to {values[-1]:g}"
