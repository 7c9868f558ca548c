"""Write the tables and the figure of docs/scale.md anew from the numbers that were measured.

    python benchmarks/scale_page.py            # docs/scale.png, and docs/scale.md between the marks
    python benchmarks/scale_page.py --check    # say whether the tables are up to date; exit code 1

Nothing is measured: docs/scale.json is what ``benchmarks/growth.py`` wrote, and
docs/cluster.json what is known and assumed of a cluster (``benchmarks/cluster_cost.py``).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cluster_cost
import numpy as np

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, FIGURE, MEASURED = DOCS / "scale.md", DOCS / "scale.png", DOCS / "scale.json"
LINEAR_FROM = 200
"""Words of the shortest sentences of the second slope against length."""
TITLES = {"sentences": "the number of sentences", "length": "the length of a sentence"}


class Slope(NamedTuple):
    """The exponent of a power law, and its standard error."""

    exponent: float
    error: float

    def __str__(self) -> str:
        return f"{self.exponent:.2f} ± {self.error:.2f}"


class Curve(NamedTuple):
    """What a work costs at ascending sizes: CPU seconds without those of the start, against length
    of one sentence; megabytes of anonymous memory at its peak, against sentences without those of
    the start.
    """

    sizes: list[int]
    seconds: list[float]
    anonymous: list[float]


def slope(x: Sequence[float], y: Sequence[float]) -> Slope | None:
    """The least-squares slope of log y over log x, of the points where y is positive; None of fewer
    than three.
    """
    both = [(a, b) for a, b in zip(x, y, strict=True) if b > 0]
    if len(both) < 3:
        return None
    log_x, log_y = np.log(np.array(both)).T
    design = np.stack([log_x, np.ones_like(log_x)], axis=1)
    solution, *_ = np.linalg.lstsq(design, log_y, rcond=None)
    variance = float(np.sum((log_y - design @ solution) ** 2)) / (len(both) - 2)
    spread = float(np.sum((log_x - log_x.mean()) ** 2))
    return Slope(float(solution[0]), (variance / spread) ** 0.5)


def curve(points: Mapping[str, Any], axis: str) -> Curve:
    """The curve of one work; ``points`` are those of the file, by axis and size."""
    start = next(iter(points["start"].values()))
    rows = sorted(
        ((int(size), point) for size, point in points.get(axis, {}).items()),
        key=lambda row: row[0],
    )
    shares = [point["sentences"] if axis == "length" else 1 for _, point in rows]
    return Curve(
        [size for size, _ in rows],
        [
            (point["seconds"] - start["seconds"]) / share
            for (_, point), share in zip(rows, shares, strict=True)
        ],
        [
            point["anonymous"] - (start["anonymous"] if axis == "sentences" else 0)
            for _, point in rows
        ],
    )


def growth_lines(measured: Mapping[str, Any]) -> list[str]:
    """The table of time and memory against sentences."""
    lines = [
        "| sentences | words | work | CPU s | words a CPU s | peak MB | of it anonymous |",
        "|---:|---:|---|---:|---:|---:|---:|",
    ]
    works = measured["curves"]
    sizes = sorted({int(size) for points in works.values() for size in points.get("sentences", {})})
    for size in sizes:
        for work, points in works.items():
            point = points.get("sentences", {}).get(str(size))
            if point is not None:
                net = point["seconds"] - next(iter(points["start"].values()))["seconds"]
                speed = f"{point['words'] / net:,.0f}" if net > 0 else ""
                lines.append(
                    f"| {size:,} | {point['words']:,} | {work} | {point['seconds']:,.1f} | {speed} "
                    f"| {point['megabytes']:,.0f} | {point['anonymous']:,.0f} |"
                )
    lines += ["", "| work | exponent of time | exponent of memory |", "|---|---:|---:|"]
    for work, points in works.items():
        if "sentences" in points:
            sizes, seconds, anonymous = curve(points, "sentences")
            of_time, of_memory = slope(sizes, seconds), slope(sizes, anonymous)
            lines.append(f"| {work} | {of_time or ''} | {of_memory or ''} |")
    return lines


def length_lines(measured: Mapping[str, Any]) -> list[str]:
    """The table of the time of a sentence against its length."""
    works = {work: own for work, own in measured["curves"].items() if "length" in own}
    lengths = sorted({int(size) for points in works.values() for size in points["length"]})
    lines = [
        "| words of a sentence |" + "".join(f" {work} |" for work in works),
        "|---:|" + "---:|" * len(works),
    ]
    for length in lengths:
        cells = []
        for points in works.values():
            point = points["length"].get(str(length))
            start = next(iter(points["start"].values()))
            if point is None:
                cells.append("")
            else:
                micro = (point["seconds"] - start["seconds"]) / point["words"] * 1e6
                cells.append(f"{micro:,.0f} µs, {point['anonymous']:,.0f} MB")
        lines.append(f"| {length:,} |" + "".join(f" {cell} |" for cell in cells))
    lines += [
        "",
        "| work | exponent of the time of a sentence: up to "
        f"{LINEAR_FROM} words | from {LINEAR_FROM} words on |",
        "|---|---:|---:|",
    ]
    for work, points in works.items():
        sizes, seconds, _ = curve(points, "length")
        split = [size <= LINEAR_FROM for size in sizes]
        below = slope(
            [s for s, low in zip(sizes, split, strict=True) if low],
            [t for t, low in zip(seconds, split, strict=True) if low],
        )
        above = slope(
            [s for s in sizes if s >= LINEAR_FROM],
            [t for s, t in zip(sizes, seconds, strict=True) if s >= LINEAR_FROM],
        )
        lines.append(f"| {work} | {below or ''} | {above or ''} |")
    return lines


def machine_line(measured: Mapping[str, Any]) -> list[str]:
    """One sentence about what the numbers were measured on."""
    about = measured["machine"]
    return [
        f"One core of {about['cores']} of an {about['processor']}, {about['memory']}, Python "
        f"{about['python']}, commit {about['commit']}, {about['date']}.",
        about.get("note", ""),
        "",
    ]


def parts(measured: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, str]:
    """What stands between the marks, by name."""
    made = {
        "growth": [*machine_line(measured), *growth_lines(measured)],
        "length": length_lines(measured),
        "cluster": cluster_cost.lines(cluster_cost.figures(cluster, measured)),
    }
    return {name: "\n".join(lines) + "\n" for name, lines in made.items()}


def with_parts(page: str, made: Mapping[str, str]) -> str:
    """The page with each part between its marks replaced."""
    for name, text in made.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        head, _, rest = page.partition(begin)
        _, found, tail = rest.partition(end)
        if not found:
            raise SystemExit(f"{PAGE}: no marks of the part {name}")
        page = f"{head}{begin}\n{text}\n{end}{tail}"
    return page


def draw(measured: Mapping[str, Any], path: Path) -> None:
    """Time and memory against sentences, and against the length of a sentence."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8.5), layout="constrained")
    axes = figure.subplots(2, 2)
    texts = {"sentences": "sentences", "length": "words of a sentence"}
    for row, axis in zip(axes, texts, strict=True):
        for number, (work, points) in enumerate(measured["curves"].items()):
            if axis not in points:
                continue
            sizes, seconds, anonymous = curve(points, axis)
            for panel, values in zip(row, (seconds, anonymous), strict=True):
                shown = [(x, y) for x, y in zip(sizes, values, strict=True) if y > 0]
                if axis == "length":
                    far = [pair for pair in shown if pair[0] >= LINEAR_FROM]
                    found = slope(*zip(*far, strict=True)) if far else None
                    note = f" from {LINEAR_FROM} words"
                else:
                    found, note = (slope(*zip(*shown, strict=True)) if shown else None), ""
                label = work if found is None else f"{work}: slope {found}{note}"
                panel.loglog(*zip(*shown, strict=True), f"C{number}o-", markersize=4, label=label)
        row[0].set_ylabel("CPU seconds" + (" of a sentence" if axis == "length" else ""))
        row[1].set_ylabel(
            "peak of anonymous memory, MB" + (", above start" if axis == "sentences" else "")
        )
        for panel, what in zip(row, ("Time", "Memory"), strict=True):
            panel.set_xlabel(texts[axis])
            panel.set_title(f"{what} against {TITLES[axis]}")
            panel.grid(visible=True, which="major", alpha=0.3)
            if panel.lines:
                low, high = panel.get_ylim()
                panel.set_ylim(low, 5 * high)  # room for the legend
                panel.legend(fontsize=8, loc="upper left")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Write or check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    cluster = json.loads((DOCS / "cluster.json").read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    new = with_parts(page, parts(measured, cluster))
    if options.check:
        sys.exit(0 if new == page else f"{PAGE}: run python benchmarks/scale_page.py")
    PAGE.write_text(new, encoding="utf-8")
    draw(measured, FIGURE)


if __name__ == "__main__":
    main()
