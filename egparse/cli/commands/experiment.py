"""``egparse experiment``: reproduce the comparisons of the papers, as tables and figures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egparse.cli import completion, tables
from egparse.cli.completion import ALL, EXPERIMENTS
from egparse.cli.files import Kind, check_folder, check_output
from egparse.cli.notices import say, silence
from egparse.cli.options import FROM_0
from egparse.errors import import_with_extra

if TYPE_CHECKING:
    from egparse.experiments.comparisons.catalogue import Done
_CATALOGUE = "egparse.experiments.comparisons.catalogue"
_KINDS = {".md": Kind.MARKDOWN, ".png": Kind.FIGURE, ".svg": Kind.FIGURE, ".json": Kind.JSON}

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def experiment(
    name: Annotated[str, typer.Argument(autocompletion=completion.experiments)],
    data: Path | None = None,
    output: Path = Path("experiments"),
    quick: bool = False,
    iterations: Annotated[int, FROM_0] = 0,
    c: list[float] | None = None,
    seconds: Annotated[float, typer.Option(min=0.0)] = 0.0,
    seed: Annotated[int, FROM_0] = 1,
    seeds: Annotated[int, FROM_0] = 0,
    from_: Path | None = None,
    force: bool = False,
    json_: bool = False,
    quiet: bool = False,
) -> None:
    """Reproduce the comparison of a paper.

    Writes a page with claims and tables (Markdown), a figure (PNG, SVG) and all numbers (JSON), of
    which --from makes page and figure again.

    Needs the packages of an extra: pip install 'egparse[experiments]'.

    Arguments:
        NAME: {EXPERIMENTS}, or all.

    Options:
        --data DIRECTORY: Folder of the corpora; the report names the files that are read.
        --output, -o DIRECTORY: Folder for the report.
        --quick: Small problems and few passes; takes seconds and needs no --data.
        --iterations N: Effective iterations of each curve (0: as in the experiment).
        --c C: Regularisation constant instead of all of the experiment; may be repeated.
        --seconds S: CPU seconds of each curve (0: as in the experiment).
        --seed N: Random seed.
        --seeds N: Number of seeds, from --seed on (0: as in the experiment).
        --from DIRECTORY: Run nothing: report again the numbers (JSON) in this folder.

    Examples:
        egparse experiment multiclass --quick
        egparse experiment all --quick --output reports
        egparse experiment parsing --data DIRECTORY --c 10 --iterations 20
        egparse experiment all --from docs/experiments --output reports
    """
    # Learners are compared by CPU time, on one thread. numpy reads the limits when it is imported.
    for limit in _THREADS:
        os.environ.setdefault(limit, "1")
    names = EXPERIMENTS if name == ALL else (name,)
    _check_files(names, output, force)
    import_with_extra(_CATALOGUE, f"experiment {name}")
    from egparse.experiments.comparisons.catalogue import perform, report_again
    from egparse.experiments.report.request import Request

    if from_ is not None:
        done = [report_again(each, from_, output) for each in names]
    else:
        request = Request(
            data=data,
            quick=quick,
            seed=seed,
            iterations=iterations,
            seconds=seconds,
            seeds=seeds,
            constants=tuple(c or ()),
            tell=silence if quiet else say,
        )
        done = [perform(each, request, output) for each in names]
    if json_:
        print(tables.as_json([_summary(each) for each in done]))
    else:
        print("\n".join(_described(each) for each in done))


def _check_files(names: Sequence[str], output: Path, force: bool) -> None:
    """Raise EgparseError if the files of an experiment cannot be written, or would replace
    something else of value, unless ``force``.
    """
    check_folder(output)
    for each in names:
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
        f"\n{claim.verdict}: {claim.text} [{claim.source}]\n    {claim.evidence}"
        for claim in done.outcome.claims
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
