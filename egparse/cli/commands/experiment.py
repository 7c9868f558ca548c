"""``egparse experiment``: reproduce the comparisons of the papers, as tables and figures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from egparse.cli import completion, tables
from egparse.cli.completion import ALL, EXPERIMENTS
from egparse.cli.files import Kind, check_folder, check_output
from egparse.cli.notices import say, silence
from egparse.cli.options import FROM_0
from egparse.errors import import_with_extra

_CATALOGUE = "egparse.experiments.catalogue"

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
    """Reproduce the comparisons of the papers.

    Writes all numbers of each experiment (NAME.json), after every run, and of all the numbers in
    the folder one page (index.md) with a figure for each figure of the papers. A run that was
    interrupted goes on where it was. --from makes page and figures again without running anything.

    Needs the packages of an extra: pip install 'egparse[experiments]'.

    Arguments:
        NAME: {EXPERIMENTS}, or all.

    Options:
        --data DIRECTORY: Folder of the corpora; the page names the files that are read.
        --output, -o DIRECTORY: Folder for numbers, page and figures.
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
    names: Sequence[str] = EXPERIMENTS if name == ALL else (name,)
    _check_files(names, output, force)
    import_with_extra(_CATALOGUE, f"experiment {name}")
    from egparse.experiments.catalogue import copy, perform, report, results_in
    from egparse.experiments.request import Request

    if from_ is not None:
        if name == ALL:
            names = [each for each in names if (from_ / f"{each}.json").is_file()] or names
        copy(names, from_, output)
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
        for each in names:
            perform(each, request, output)
    found = results_in(output, [one for one in EXPERIMENTS if (output / f"{one}.json").is_file()])
    verdicts, page = report(found, output), output / "index.md"
    seconds_of = {each: found[each].seconds for each in names}
    if json_:
        claims = [{"claim": text, "verdict": verdict} for text, verdict in verdicts]
        print(tables.as_json({"page": str(page), "cpu_seconds": seconds_of, "claims": claims}))
        return
    rows = [(verdict, text) for text, verdict in verdicts if verdict != "not tested"]
    print(tables.table(("verdict", "claim"), rows, "ll"))
    print(f"{page}: {tables.seconds(sum(seconds_of.values()))} of CPU time")


def _check_files(names: Sequence[str], output: Path, force: bool) -> None:
    """Raise EgparseError if the files of an experiment cannot be written, or would replace
    something else of value, unless ``force``.
    """
    check_folder(output)
    numbers = {output / f"{each}.json": Kind.JSON for each in names}
    for path, kind in {output / "index.md": Kind.MARKDOWN, **numbers}.items():
        if path.exists():
            check_output(path, kind, {}, force=force)
