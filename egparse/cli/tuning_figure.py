"""The figure of ``egparse tune --plot``: what each regularisation constant brings."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from egparse.training.tune import TunedTask

_SCORES = {
    **dict.fromkeys(("upos", "xpos", "feats", "lemmas"), "development accuracy (%)"),
    "morphology": "development words all right (%)",
    **dict.fromkeys(("pruner", "parser"), "development UAS (%)"),
    "labeller": "development LAS (%)",
    **dict.fromkeys(("spans", "tokeniser", "splitter", "expander"), "development F1 (%)"),
}


def figure(tasks: Sequence[TunedTask]) -> Figure:
    """A column for each task: development score above, relative gap below, over C from large to
    small.
    """
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
        above.set_ylabel(_SCORES[task.task])
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
