"""``egparse experiment``: the comparisons of the papers, as tables and figures."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egparse.cli import tables
from egparse.cli.exit_codes import reported
from egparse.cli.options import JsonOption, QuietOption, examples

if TYPE_CHECKING:
    from egparse.experiments.comparisons.catalogue import Done

NAMES = ("multiclass", "parsing", "max-margin", "dca", "losses", "maxent")
"""Those of ``experiments.catalogue``: help should not need to import it."""

ALL = "all"

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

EPILOG = examples(
    "egparse experiment multiclass --quick",
    "egparse experiment all --quick --output reports",
    "egparse experiment parsing --data DIRECTORY --c 10 --iterations 20",
)


def experiment(
    name: str,
    output: Path,
    *,
    data: Path | None = None,
    quick: bool = False,
    seed: int = 1,
    iterations: int = 0,
    constants: tuple[float, ...] = (),
    tell: Callable[[str], None] = lambda text: None,
) -> list[Done]:
    """Run one experiment, or ``all``, and write its files into ``output``; see
    ``experiments.request.Request``.

    Raises EgparseError for an unknown name, missing data, or missing matplotlib.
    """
    from egparse.experiments.comparisons.catalogue import EXPERIMENTS, perform
    from egparse.experiments.report.request import Request

    request = Request(
        data=data, quick=quick, seed=seed, iterations=iterations, constants=constants, tell=tell
    )
    return [perform(own, request, output) for own in (EXPERIMENTS if name == ALL else (name,))]


def experiment_cli(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"{', '.join(NAMES)}, or all.")],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIRECTORY",
            help="Where the corpora are; the report says which files are read.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIRECTORY", help="Where the report is written."),
    ] = Path("experiments"),
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Small problems and few passes, in seconds; needs no --data."),
    ] = False,
    iterations: Annotated[
        int,
        typer.Option(
            "--iterations",
            metavar="N",
            min=0,
            help="Effective iterations of each curve; 0: its own number.",
        ),
    ] = 0,
    c: Annotated[
        list[float] | None,
        typer.Option(
            "--c", metavar="C", help="A regularisation constant instead of all; may be repeated."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Of everything random.")
    ] = 1,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run the comparison of a paper: a Markdown page with tables, a figure (PNG, SVG) and all
    numbers (JSON).

    Figures need matplotlib: pip install egparse[experiments].
    """
    for (
        limit
    ) in _THREADS:  # learners are compared by CPU time; numpy reads this when it is imported
        os.environ.setdefault(limit, "1")
    with reported():
        done = experiment(
            name,
            output,
            data=data,
            quick=quick,
            seed=seed,
            iterations=iterations,
            constants=tuple(c or ()),
            tell=(lambda text: None) if quiet else _say,
        )
        if as_json:
            print(json.dumps([_summary(own) for own in done], ensure_ascii=False, indent=2))
        else:
            print("\n".join(_described(own) for own in done))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _summary(done: Done) -> dict[str, Any]:
    return {
        "experiment": done.name,
        "source": done.outcome.source,
        "cpu_seconds": round(done.cpu_seconds, 3),
        "files": {kind: str(path) for kind, path in done.written._asdict().items()},
        "notes": list(done.outcome.notes),
    }


def _described(done: Done) -> str:
    parts = [f"{done.outcome.title} ({done.outcome.source})"]
    parts += [
        tables.section(own.title, tables.table(own.headings, own.rows, own.align))
        for own in done.outcome.tables
    ]
    files = " ".join(str(path) for path in done.written)
    return "\n".join(
        [
            *parts,
            "",
            *done.outcome.notes,
            f"{files}: {tables.seconds(done.cpu_seconds)} of CPU time",
            "",
        ]
    )
