"""``egparse experiment``: reproduce the comparisons of the papers, as tables and figures."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egparse.cli import completion, options, tables
from egparse.cli.files import Kind, check_folder, check_output
from egparse.cli.notices import Say, reported, say, silence
from egparse.cli.options import examples
from egparse.errors import import_with_extra

if TYPE_CHECKING:
    from egparse.experiments.comparisons.catalogue import Done

_CATALOGUE = "egparse.experiments.comparisons.catalogue"

_KINDS = {".md": Kind.MARKDOWN, ".png": Kind.FIGURE, ".svg": Kind.FIGURE, ".json": Kind.JSON}

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

EPILOG = examples(
    "egparse experiment multiclass --quick",
    "egparse experiment all --quick --output reports",
    "egparse experiment parsing --data DIRECTORY --c 10 --iterations 20",
    "egparse experiment all --from docs/experiments --output reports",
)


def experiment(
    name: str,
    output: Path,
    *,
    data: Path | None = None,
    quick: bool = False,
    seed: int = 1,
    iterations: int = 0,
    seconds: float = 0.0,
    seeds: int = 0,
    constants: tuple[float, ...] = (),
    measured: Path | None = None,
    tell: Say = silence,
) -> list[Done]:
    """Run one experiment, or ``all``, and write its files into ``output``; see
    ``egparse.experiments.report.request.Request``. With ``measured``, a folder of the numbers of
    earlier runs, nothing is run: they are reported again.

    Raises EgparseError for an unknown name, missing data, or a missing package of the extra
    ``experiments``.
    """
    import_with_extra(_CATALOGUE, f"experiment {name}")
    from egparse.experiments.comparisons.catalogue import EXPERIMENTS, perform, report_again
    from egparse.experiments.report.request import Request

    names = EXPERIMENTS if name == completion.ALL else (name,)
    if measured is not None:
        return [report_again(each, measured, output) for each in names]
    request = Request(
        data=data,
        quick=quick,
        seed=seed,
        iterations=iterations,
        seconds=seconds,
        seeds=seeds,
        constants=constants,
        tell=tell,
    )
    return [perform(each, request, output) for each in names]


def experiment_cli(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help=f"{', '.join(completion.EXPERIMENTS)}, or all.",
            autocompletion=completion.experiments,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIRECTORY",
            help="Folder of the corpora; the report names the files that are read.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIRECTORY", help="Folder for the report.")
    ] = Path("experiments"),
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Small problems and few passes; takes seconds and needs no --data."
        ),
    ] = False,
    iterations: Annotated[
        int,
        typer.Option(
            "--iterations",
            metavar="N",
            min=0,
            help="Effective iterations of each curve (0: as in the experiment).",
        ),
    ] = 0,
    c: Annotated[
        list[float] | None,
        typer.Option(
            "--c",
            metavar="C",
            help="Regularisation constant instead of all of the experiment; may be repeated.",
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            metavar="S",
            min=0.0,
            help="CPU seconds of each curve (0: as in the experiment).",
        ),
    ] = 0.0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed.")] = 1,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds",
            metavar="N",
            min=0,
            help="Number of seeds, from --seed on (0: as in the experiment).",
        ),
    ] = 0,
    measured: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIRECTORY",
            help="Run nothing: report again the numbers (JSON) in this folder.",
        ),
    ] = None,
    force: options.ForceOption = False,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Reproduce the comparison of a paper.

    Writes a page with claims and tables (Markdown), a figure (PNG, SVG) and all numbers (JSON), of
    which --from makes page and figure again.

    Needs the packages of an extra: pip install 'egparse[experiments]'.
    """
    # Learners are compared by CPU time, on one thread. numpy reads the limits when it is imported.
    for limit in _THREADS:
        os.environ.setdefault(limit, "1")
    with reported():
        check_files(name, output, force=force)
        done = experiment(
            name,
            output,
            data=data,
            quick=quick,
            seed=seed,
            iterations=iterations,
            seconds=seconds,
            seeds=seeds,
            constants=tuple(c or ()),
            measured=measured,
            tell=silence if quiet else say,
        )
        if as_json:
            print(json.dumps([_summary(each) for each in done], ensure_ascii=False, indent=2))
        else:
            print("\n".join(_described(each) for each in done))


def check_files(name: str, output: Path, *, force: bool) -> None:
    """Check that the files of an experiment can be written, before it runs.

    Raises:
        EgparseError: they cannot, or would replace something else of value, unless ``force``.
    """
    check_folder(output)
    for each in completion.EXPERIMENTS if name == completion.ALL else (name,):
        for suffix, kind in _KINDS.items():
            path = output / f"{each}{suffix}"
            if path.exists():
                check_output(path, kind, {}, force=force)


def _summary(done: Done) -> dict[str, Any]:
    return {
        "experiment": done.name,
        "source": done.outcome.source,
        "cpu_seconds": done.facts.cpu_seconds,
        "files": {kind: str(path) for kind, path in done.written._asdict().items()},
        "notes": list(done.outcome.notes),
    }


def _described(done: Done) -> str:
    parts = [f"{done.outcome.title} ({done.outcome.source})"]
    parts += [
        f"\n{own.verdict}: {own.text} [{own.source}]\n    {own.evidence}"
        for own in done.outcome.claims
    ]
    parts += [
        tables.section(table.title, tables.table(table.headings, table.rows, table.align))
        for table in done.outcome.tables
    ]
    files = " ".join(str(path) for path in done.written)
    return "\n".join(
        [
            *parts,
            "",
            *done.outcome.notes,
            f"{files}: {tables.seconds(done.facts.cpu_seconds)} of CPU time",
            "",
        ]
    )
