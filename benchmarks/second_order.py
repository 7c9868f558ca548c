"""What second-order parts bring and cost: heads and labels trained on the tags of a corpus by one
parser after the other.

Usage: python benchmarks/second_order.py TRAIN.conllu DEV.conllu TEST.conllu --output DIRECTORY
[--only NAME ...] [--set KEY=VALUE ...]

Each row of the table is one training with one seed, in a process of its own: the development part
says when to stop, the test part is scored as ``egparse evaluate --gold-tags`` does, with 95 %
intervals by bootstrap. Speed is that of ``parser.predict`` alone, on words that are numbered
already: the median of five runs, in words a CPU second. The cost of training is CPU seconds of the
parser alone, from encoding to the last look at the development part, pruner included and labeller
not; memory is the peak of the process up to there. A small training goes before, which compiles the
kernels or loads them.

Writes ``second_order.json`` after each row, then ``second_order.md`` and ``second_order.png`` from
it; the progress of each row is in ``NAME.log``. A row that fails is shown as failed. Run
again, it does what is missing: rows that failed, that are new, or whose settings have changed;
``--only`` does just these rows, again if need be, and without a name none, which draws what there
is. ``--set`` is for all rows, and wins over the settings of a row.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple
from unittest import mock

import numpy as np

from egparse.cli.tables import finite
from egparse.config.reading import load_config
from egparse.config.sections import TrainConfig
from egparse.errors import ConfigError
from egparse.experiments.store import versions
from egparse.fitting.prepared import Best
from egparse.fitting.progress import Iteration, Listener, Step
from egparse.fitting.task import Task, fit
from egparse.io.corpus import read_whole
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.training import run as training

REPETITIONS = 5
WARM_UP = 20
"""Sentences of the training that only compiles."""

SHORT = tuple(
    f"{key}=2"
    for key in (
        "parser.stop.iterations",
        "labeller.stop.iterations",
    )
)
SHORT_PRUNER = "pruner.stop.iterations=2"
"""How that is kept short; only a second-order parser has a pruner."""

ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

Kind = Literal["arc-factored", "exact", "loopy"]
Trees = Literal["projective", "non-projective"]
Pairs = Literal["none", "siblings", "grandparents", "both"]


class Row(NamedTuple):
    """A parser: its name, how it takes expectations over which trees, what it scores beside arcs,
    and its configuration.
    """

    name: str
    kind: Kind
    trees: Trees
    pairs: Pairs
    labels: bool
    learner: str
    settings: tuple[str, ...]


def arc_factored(name: str, trees: Trees, learner: str, *settings: str) -> Row:
    """A row of the first order, log-linear unless the settings say otherwise."""
    return Row(
        name,
        "arc-factored",
        trees,
        "none",
        False,
        learner,
        ("parser.order=1", f"parser.trees={trees}", *LOG_LINEAR_ARCS, *settings),
    )


def second_order(
    name: str,
    kind: Kind,
    pairs: Pairs,
    *settings: str,
    trees: Trees = "projective",
    labels: bool = True,
    learner: str = "DCA",
) -> Row:
    """A row over the arcs that a pruner leaves; by DCA, unless the settings say otherwise."""
    chosen = (
        *DCA,
        "parser.order=2",
        f"parser.trees={trees}",
        f"parser.inference={kind}",
        f"parser.siblings={str(pairs in ('siblings', 'both')).lower()}",
        f"parser.grandparents={str(pairs in ('grandparents', 'both')).lower()}",
        f"parser.labels={str(labels).lower()}",
    )
    return Row(name, kind, trees, pairs, labels, learner, (*chosen, *settings))


LOG_LINEAR_ARCS = (
    "parser.loss=log-linear",
    "parser.c=25",
    "parser.anneal_from=75",
    "parser.mbr_scale=1.5",
)
PAIRS: tuple[Pairs, ...] = ("none", "siblings", "grandparents", "both")
DCA = ("parser.learner=dca", "parser.c=50")
EG = (
    "parser.learner=eg-online",
    "parser.loss=log-linear",
    "parser.c=25",
    "parser.anneal_from=0",
    "parser.stop.iterations=14",
)

ROWS = (
    arc_factored("arcs-eg", "projective", "EG"),
    arc_factored("arcs-eg-non-projective", "non-projective", "EG"),
    arc_factored(
        "arcs-dca", "projective", "DCA, gamma 0", "parser.learner=dca", "parser.anneal_from=0"
    ),
    *(
        second_order(
            f"{'arcs' if pairs == 'none' else pairs}-{suffix}", "exact", pairs, labels=labels
        )
        for labels, suffix in ((False, "unlabelled"), (True, "labelled"))
        for pairs in PAIRS
    ),
    second_order("both-eg", "exact", "both", *EG, learner="EG"),
    second_order("both-crf", "exact", "both", "parser.loss=log-linear", learner="DCA, gamma 0"),
    second_order("loopy-both", "loopy", "both"),
    *(
        second_order(f"loopy-{pairs}-non-projective", "loopy", pairs, trees="non-projective")
        for pairs in PAIRS[1:]
    ),
)
BY_NAME = {row.name: row for row in ROWS}


class Parts(NamedTuple):
    """Training, development and test part."""

    train: list[Sentence]
    dev: list[Sentence]
    test: list[Sentence]


class Cost(NamedTuple):
    """Of training a parser: CPU seconds, and the peak memory of the process up to its end."""

    cpu_seconds: float
    peak_memory_mb: float


def overrides(row: Row, given: Sequence[str]) -> list[str]:
    """All that makes the configuration of a row, the latest last."""
    return ['layers=["heads","deprels"]', *row.settings, *given]


def read(paths: Sequence[Path], config: TrainConfig) -> Parts:
    """The parts as ``egparse train`` and ``egparse evaluate`` read them."""
    roots = None if config.parser.single_root else True
    train, dev = (read_whole(path, None, multiple_roots=roots).sentences for path in paths[:2])
    test = read_whole(paths[2], None, multiple_roots=True, whole_trees=False).sentences
    return Parts(train, dev, test)


def costed_fit(costs: list[Cost]) -> Callable[[Task[Any], Listener], Best[Any]]:
    """``fit``, which notes what pruner and parser cost."""

    def call(task: Task[Any], listener: Listener) -> Best[Any]:
        begun = time.process_time()
        best = fit(task, listener)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        if task.layer == "heads":
            costs.append(Cost(time.process_time() - begun, round(memory)))
        return best

    return call


def trained(parts: Parts, config: TrainConfig) -> tuple[Model, Cost, list[dict[str, Any]]]:
    """The model, what its parser and pruner cost, and the passes, which are also written to
    standard error.
    """
    passes: list[dict[str, Any]] = []
    costs: list[Cost] = []

    def listener(event: Iteration | Step) -> None:
        if isinstance(event, Iteration):
            passes.append(event._asdict())
            print(json.dumps(finite(passes[-1])), file=sys.stderr, flush=True)

    with mock.patch.object(training, "fit", costed_fit(costs)):
        done = training.train(parts.train, parts.dev, config, listener)
    if done.interrupted:
        raise KeyboardInterrupt
    seconds = sum(cost.cpu_seconds for cost in costs)
    return done.model, Cost(round(seconds, 2), costs[-1].peak_memory_mb), passes


def words_per_second(model: Model, sentences: Sequence[Sentence]) -> float:
    """Of the parser alone."""
    words = model.columns.words([sentence.forms for sentence in sentences])
    words = model.columns.with_input(words, sentences, model.layers)
    assert "parser" in model.components
    seconds = []
    for _ in range(1 + REPETITIONS):
        begun = time.process_time()
        model.components["parser"].predict(words)
        seconds.append(time.process_time() - begun)
    return len(words.form_ids) / max(statistics.median(seconds[1:]), 1e-9)


def measured(row: Row, paths: Sequence[Path], given: Sequence[str]) -> dict[str, Any]:
    """The figures of one row, from this process."""
    chosen = overrides(row, given)
    config = load_config(None, chosen)
    parts = read(paths, config)
    few = parts.train[:WARM_UP]
    short = [*SHORT, SHORT_PRUNER] if config.parser.order == 2 else SHORT
    training.train(few, few, load_config(None, [*chosen, *short]))
    model, cost, passes = trained(parts, config)
    speed = words_per_second(model, parts.test)
    report = model.evaluate(parts.test, gold_tags=True)
    assert "parser" in model.components
    return {
        "settings": chosen,
        "uas": report.metrics["UAS"].f1,
        "uas_interval": list(report.interval_bounds["UAS"]),
        "las": report.metrics["LAS"].f1,
        "las_interval": list(report.interval_bounds["LAS"]),
        "words_per_second": round(speed),
        "training": cost._asdict(),
        "weights": int(np.count_nonzero(model.components["parser"].weights)),
        "sizes": {name: [len(own), sum(map(len, own))] for name, own in parts._asdict().items()},
        "stopped": {task: record["stopped"] for task, record in model.record["tasks"].items()},
        "kept_pass": model.record["tasks"]["heads"]["iteration"],
        "passes": passes,
    }


def in_own_process(
    row: Row, paths: Sequence[Path], given: Sequence[str], log: Path
) -> dict[str, Any]:
    """The figures of one row, or what went wrong."""
    command = [sys.executable, __file__, *map(str, paths), "--row", row.name]
    with log.open("w", encoding="utf-8") as progress:
        done = subprocess.run(
            [*command, *(["--set", *given] if given else [])],
            check=False,
            stdout=subprocess.PIPE,
            stderr=progress,
            text=True,
            env={**os.environ, **ONE_THREAD},
        )
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout)
        return found
    if done.returncode < 0:
        error = f"ended by {signal.Signals(-done.returncode).name}"
    else:
        lines = log.read_text(encoding="utf-8").split("\n")
        error = next((line for line in reversed(lines) if line.strip()), f"exit {done.returncode}")
    return {"settings": overrides(row, given), "error": error}


def is_finished(row: Row, given: Sequence[str], known: dict[str, Any]) -> bool:
    """Whether there are figures of a row with the same settings."""
    own = known["rows"].get(row.name, {"error": "missing"})
    return "error" not in own and own["settings"] == overrides(row, given)


def save(path: Path, content: str | bytes) -> None:
    """The file holds all of it or what it held before."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    temporary.replace(path)


def table(known: dict[str, Any]) -> str:
    """All rows that there are, in Markdown."""
    headings = (
        "parser",
        "inference",
        "trees",
        "pairs of arcs",
        "labels",
        "learner",
        "UAS",
        "LAS",
        "words/s",
        "training, CPU s",
        "memory, MB",
        "pass",
    )
    lines = [headings, ["---"] * 6 + ["---:"] * 6]
    for row, own in present(known):
        what = [
            row.name,
            row.kind,
            row.trees,
            row.pairs,
            "-" if row.kind == "arc-factored" else "yes" if row.labels else "no",
            row.learner,
        ]
        lines.append(
            what + ([failure(own["error"])] + [""] * 5 if "error" in own else figures(own))
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def failure(error: str) -> str:
    """Short enough for a cell."""
    short = error if len(error) <= 100 else error[:97] + "..."
    return "failed: " + short.replace("|", "\\|")


def figures(own: dict[str, Any]) -> list[str]:
    """The cells of a row that is finished."""
    scores = [
        f"{own[key]:.2f} ({'-'.join(f'{end:.2f}' for end in own[key + '_interval'])})"
        for key in ("uas", "las")
    ]
    cost = own["training"]
    return [
        *scores,
        f"{own['words_per_second']:,}",
        f"{cost['cpu_seconds']:,.1f}",
        f"{cost['peak_memory_mb']:,.0f}",
        str(own["kept_pass"]),
    ]


def present(known: dict[str, Any]) -> Iterator[tuple[Row, dict[str, Any]]]:
    """The rows that there are, in the order of the table."""
    return ((row, known["rows"][row.name]) for row in ROWS if row.name in known["rows"])


LOOKS: dict[Kind, tuple[str, str]] = {
    "arc-factored": ("#0072B2", "o"),
    "exact": ("#D55E00", "s"),
    "loopy": ("#009E73", "^"),
}
"""Colour and marker."""

MARKER = 6.0  # points


def figure(known: dict[str, Any]) -> bytes:
    """Accuracy against speed, as PNG."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    drawn = Figure(figsize=(9, 6), dpi=110, layout="constrained")
    axes = drawn.add_subplot()
    finished = [(row, own) for row, own in present(known) if "error" not in own]
    points = sorted(
        [(row, own["words_per_second"], own["uas"]) for row, own in finished],
        key=lambda point: point[1],
    )
    for kind, (colour, marker) in LOOKS.items():
        own = [(x, y) for row, x, y in points if row.kind == kind]
        if own:
            label = kind if kind == "arc-factored" else f"second order, {kind}"
            axes.plot(*zip(*own, strict=True), marker, color=colour, markersize=MARKER, label=label)
    axes.set_xscale("log")
    axes.margins(x=0.2, y=0.2)
    axes.set_xlabel("speed of the parser alone (words per CPU second)")
    axes.set_ylabel("UAS (per cent of words)")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3)
    if points:
        drawn.legend(loc="outside upper center", ncols=len(LOOKS), frameon=False)
        annotate(drawn, axes, points)
    stream = io.BytesIO()
    drawn.savefig(stream, format="png")
    return stream.getvalue()


def shown(row: Row) -> str:
    """Its name without what the marker says."""
    return row.name.removeprefix("loopy-").replace("non-projective", "non-proj.")


def annotate(drawn: Any, axes: Any, points: Sequence[tuple[Row, float, float]]) -> None:
    """Names beside the markers, each at the nearest place where it covers no marker, name or line
    to a name.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.path import Path as Line
    from matplotlib.transforms import Bbox

    canvas: Any = FigureCanvasAgg(drawn)
    canvas.draw()  # where the axes lie is known only then
    pixels = drawn.dpi / 72
    places = axes.transData.transform([(x, y) for _, x, y in points])
    taken = [Bbox([at - MARKER / 2 * pixels, at + MARKER / 2 * pixels]) for at in places]
    lines: list[Any] = []
    far = [(radius, turn * np.pi / 12) for radius in range(6, 240, 6) for turn in range(24)]
    for number, (row, x, y) in enumerate(points):
        text = axes.annotate(
            shown(row),
            (x, y),
            (0, 0),
            textcoords="offset points",
            fontsize=8,
            color=LOOKS[row.kind][0],
            arrowprops={
                "arrowstyle": "-",
                "color": "#7F7F7F",
                "linewidth": 0.5,
                "shrinkA": 0,
                "shrinkB": 2,
            },
        )
        size = np.array(text.get_window_extent(canvas.get_renderer()).size)
        for radius, angle in far:
            way = np.array([np.cos(angle), np.sin(angle)])
            # the side of the name that looks to the marker is at the radius
            corner = places[number] + radius * pixels * way + size * (np.round(way, 6) / 2 - 0.5)
            box, line = Bbox([corner, corner + size]), Line([places[number], corner + size / 2])
            others = taken[:number] + taken[number + 1 :]
            inside = (
                axes.bbox.containsx(box.x1)
                and axes.bbox.containsy(box.y1)
                and axes.bbox.contains(box.x0, box.y0)
            )
            crossed = any(line.intersects_bbox(other) for other in others) or any(
                own.intersects_bbox(box) for own in lines
            )
            if inside and not crossed and box.count_overlaps(taken) == 0:
                break
        text.set_position(tuple((corner - places[number]) / pixels))
        if radius <= 2 * MARKER:
            text.arrow_patch.set_visible(False)
        else:
            lines.append(line)
        taken.append(box)


def main() -> None:
    """Train what is missing, then the table and the figure."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("corpora", nargs=3, type=Path, metavar="CORPUS")
    options.add_argument("--output", type=Path, metavar="DIRECTORY")
    options.add_argument(
        "--only", nargs="*", choices=list(BY_NAME), metavar="NAME", help=" ".join(BY_NAME)
    )
    options.add_argument("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE")
    options.add_argument("--row", choices=list(BY_NAME), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.row:
        print(
            json.dumps(
                finite(measured(BY_NAME[given.row], given.corpora, given.set)), allow_nan=False
            )
        )
        return
    if given.output is None:
        options.error("expected --output DIRECTORY")
    try:
        load_config(None, given.set)  # what no row could be trained with is said at once
    except ConfigError as error:
        options.error(str(error))
    given.output.mkdir(parents=True, exist_ok=True)
    numbers = given.output / "second_order.json"
    facts: dict[str, Any] = {
        "machine": platform.processor() or platform.machine(),
        "versions": versions(),
        "corpora": [path.name for path in given.corpora],
    }
    known: dict[str, Any] = {**facts, "rows": {}}
    if numbers.exists():
        known = json.loads(numbers.read_text(encoding="utf-8"))
    if known["corpora"] != facts["corpora"]:
        options.error(f"{numbers} is of {', '.join(known['corpora'])}: expected another directory")
    if given.only is None:
        todo = [row for row in ROWS if not is_finished(row, given.set, known)]
    else:
        todo = [row for row in ROWS if row.name in given.only]
    for row in todo:
        print(f"{row.name} ...", file=sys.stderr, flush=True)
        known["rows"][row.name] = in_own_process(
            row, given.corpora, given.set, given.output / f"{row.name}.log"
        )
        known.update(facts)
        save(numbers, json.dumps(known, indent=1, ensure_ascii=False) + "\n")
    text = table(known)
    save(given.output / "second_order.md", text)
    save(given.output / "second_order.png", figure(known))
    print(text, end="")


if __name__ == "__main__":
    main()
