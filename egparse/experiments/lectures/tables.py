"""The tables and panels of the experiment ``lectures``, from its results alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from egparse.experiments.lectures.kernel_tasks import LINEAR_OF
from egparse.experiments.lectures.linear import (
    ASCENT,
    AVERAGED,
    EG,
    MIRA_1,
    MIRA_5,
    PERCEPTRON,
    SLACK,
    STOCHASTIC,
    SVM_PLANES,
    TRAINING_ERROR,
)
from egparse.experiments.report.outcome import Line, Panel, Table
from egparse.experiments.report.panels import score_panel
from egparse.experiments.report.record import Comparison, Curve
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import NOTHING, number, score

LINEAR_TASKS = ("digits", "tags", "trees")

_LOSSES = {(math.inf, 0.0): "perceptron", (math.inf, 1.0): "max-margin", (1.0, 0.0): "log-linear"}
_SHOWN = (PERCEPTRON, AVERAGED, MIRA_1, MIRA_5, SVM_PLANES, ASCENT, STOCHASTIC, EG)


def training_error(found: Comparison, label: str, c: float) -> float:
    """The share of training examples with any mistake in the end, in per cent, the mean over
    seeds; nan where it was not measured.
    """
    own = [
        run.details["training_error"]
        for run in found.runs(label, c)
        if "training_error" in run.details
    ]
    return fmean(own) if own else math.nan


def tables(results: Results) -> list[Table]:
    """Learners, margins, generative models, kernels, mixing."""
    numbers = results.numbers
    return [
        *(_learners(name, results.comparisons[name]) for name in LINEAR_TASKS),
        _theorem(numbers["theorem"]),
        _generative(numbers["generative"]),
        *(_learners(name, results.comparisons[name]) for name in LINEAR_OF),
        _distances(numbers["mixing"]["distances"]),
        _means("Accuracy by shards (%)", numbers["mixing"]["accuracy"]),
        _gradients(numbers["mixing"]["gradients"]),
    ]


def panels(results: Results) -> list[Panel]:
    """Scores over passes, learning curves, and distances of mixed weights."""
    found = [results.comparisons[name].first_seed for name in LINEAR_TASKS]
    drawn = [
        score_panel(
            f"Learners: {name}",
            own,
            [curve for curve in own.at(SLACK) if curve.label in _SHOWN],
            colours=_SHOWN,
        )
        for name, own in zip(LINEAR_TASKS, found, strict=True)
    ]
    curves = results.numbers["generative"]["curves"]
    for title, wanted in (("tags", "tags"), ("digits", "digits")):
        own_lines = [
            Line(
                name.removesuffix(", digits"),
                own["sizes"],
                [fmean(row) for row in own["accuracy"]],
                place,
                marked=True,
            )
            for place, (name, own) in enumerate(
                (name, own)
                for name, own in curves.items()
                if ("digits" in name) == (wanted == "digits")
            )
        ]
        drawn.append(
            Panel(
                f"Generative and discriminative: {title}",
                "training sentences" if wanted == "tags" else "training examples",
                "test accuracy (%)",
                own_lines,
                log_x=True,
            )
        )
    for name in LINEAR_OF:
        own = results.comparisons[name].first_seed
        drawn.append(score_panel(name.capitalize(), own, own.curves))
    drawn.append(_distance_panel(results.numbers["mixing"]["distances"]))
    return drawn


def _learners(name: str, found: Comparison) -> Table:
    """The end of each run; the gap is that of the learner's own objective."""
    fitted = any("training_error" in curve.details for curve in found.curves)
    headings = ["C", "learner", "loss", "passes", "CPU s", "gap %"]
    headings += [TRAINING_ERROR] if fitted else []
    headings += ["last", "sd", "best", *(["test"] if found.task.has_test else [])]
    rows = []
    for c in found.constants:
        for label in found.labels:
            runs = [run for run in found.runs(label, c) if run.points]
            if not runs:
                continue
            rows.append(
                [
                    f"{c:g}",
                    label,
                    _LOSSES.get((runs[0].beta, runs[0].gamma), NOTHING),
                    f"{fmean(run.points[-1].effective_iterations for run in runs):.1f}",
                    f"{fmean(run.points[-1].cpu_seconds for run in runs):.2f}",
                    number(_gap(runs)),
                    *([score(training_error(found, label, c))] if fitted else []),
                    score(found.score(label, c)),
                    score(found.spread(label, c)),
                    score(found.best_score(label, c)),
                    *([score(found.test(label, c))] if found.task.has_test else []),
                ]
            )
    title = f"{name.capitalize()}: {found.task.score_name}"
    return Table(title, headings, "rll" + "r" * (len(headings) - 3), rows)


def _gap(runs: Sequence[Curve]) -> float:
    """The relative duality gap at the end, in per cent of the dual."""
    last = [run.points[-1] for run in runs]
    return fmean(100.0 * point.gap / abs(point.dual) if point.dual else math.inf for point in last)


def _theorem(theorem: Any) -> Table:
    rows = []
    for name, own in theorem.items():
        runs = own["perceptrons"]
        rows.append(
            [
                name,
                f"{own['examples']}",
                f"{own['margin']:.4g}",
                f"{own['support vectors']}",
                f"{fmean(run['mistakes'] for run in runs):.1f}",
                f"{fmean(run['bound'] for run in runs):,.0f}",
                *(
                    f"{100 * fmean(run[kind] for run in runs) / own['margin']:.1f}"
                    for kind in ("margin", "margin, averaged", "margin, MIRA 1", "margin, MIRA 5")
                ),
            ]
        )
    return Table(
        "Separable data: mistakes, and margins in per cent of the greatest (means over seeds)",
        [
            *("task", "examples", "margin", "support vectors", "mistakes", "R^2 / gamma^2"),
            *("perceptron", "averaged", "MIRA, 1 best", "MIRA, 5 best"),
        ],
        "lrrrrrrrrr",
        rows,
    )


def _generative(generative: Any) -> Table:
    rows = []
    for name, own in generative["curves"].items():
        for n, values, chosen in zip(own["sizes"], own["accuracy"], own["chosen"], strict=True):
            spread = stdev(values) if len(values) > 1 else math.nan
            rows.append([name, f"{n:,}", f"{fmean(values):.2f}", score(spread), f"{chosen:g}"])
    return Table(
        "Generative and discriminative models: test accuracy (%) by training examples",
        ["model", "examples", "accuracy", "sd", "smoothing or C"],
        "lrrrr",
        rows,
    )


def _distances(distances: Any) -> Table:
    groups: dict[tuple[float, int, int], list[tuple[float, float]]] = {}
    for strength, n, count, _, apart, norm in distances["rows"]:
        groups.setdefault((strength, n, count), []).append((apart, norm))
    rows = [
        [
            f"{strength:g}",
            f"{n:,}",
            f"{count}",
            f"{fmean(apart for apart, _ in own):.4f}",
            f"{fmean(norm for _, norm in own):.3f}",
        ]
        for (strength, n, count), own in groups.items()
    ]
    return Table(
        "Weights mixed once: their distance from the weights of all examples (means over seeds)",
        ["C / examples", "examples", "shards", "distance", "norm of w"],
        "rrrrr",
        rows,
    )


def _distance_panel(distances: Any) -> Panel:
    groups: dict[tuple[float, int], dict[int, list[float]]] = {}
    for strength, n, count, _, apart, _ in distances["rows"]:
        groups.setdefault((strength, count), {}).setdefault(n, []).append(apart)
    strengths = list(dict.fromkeys(strength for strength, _ in groups))
    fewest = min(count for _, count in groups)
    most = max(count for _, count in groups)
    drawn = [
        Line(
            f"{count} shards, C / n = {strength:g}",
            list(own),
            [fmean(each) for each in own.values()],
            strengths.index(strength),
            dashed=count != fewest,
            marked=True,
        )
        for (strength, count), own in groups.items()
        if count in (fewest, most)
    ]
    return Panel(
        "Mixed weights against those of all examples",
        "training examples",
        "distance",
        drawn,
        log_x=True,
        log_y=True,
    )


def _means(title: str, found: Any) -> Table:
    groups: dict[int, list[list[float]]] = {}
    for row in found["rows"]:
        groups.setdefault(row[0], []).append(row[2:])
    rows = [
        [f"{count}", *(f"{fmean(column):.2f}" for column in zip(*own, strict=True))]
        for count, own in groups.items()
    ]
    headings = [found["columns"][0], *found["columns"][2:]]
    return Table(title, headings, "r" * len(headings), rows)


def _gradients(found: Any) -> Table:
    rows = [
        [f"{count}", f"{apart:.1e}", f"{clock:.2f}", f"{cpu:.2f}"]
        for count, apart, clock, cpu, _ in found["rows"]
    ]
    return Table(
        "Ten gradients, summed over shards in as many processes",
        ["shards", "relative distance", "seconds by the clock", "CPU seconds"],
        "rrrr",
        rows,
    )
