"""Memory and CPU time of processes, as Linux counts them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

Point = tuple[float, float]
"""Where it was measured, such as seconds or documents so far, and megabytes."""


def memory_of(process: int) -> float:
    """Resident memory in MB; 0 if the process is gone."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def cpu_seconds_of(process: int) -> float:
    """CPU seconds used so far; 0 if the process is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_of(process: int) -> list[int]:
    """The processes that a process has started and that are still there."""
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in path.read_text().split()]


def draw_memory(lines: Mapping[str, Sequence[Point]], axis: str, path: Path) -> None:
    """A figure with a line for each process or way of working; needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.2), layout="constrained")
    for name, points in lines.items():
        axes.plot(*zip(*points, strict=True), label=name, linewidth=1.2)
    axes.set_xlabel(axis)
    axes.set_ylabel("resident memory, MB")
    most = max(memory for points in lines.values() for _, memory in points)
    axes.set_ylim(0, 1.2 * most)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    figure.savefig(path, dpi=110)
