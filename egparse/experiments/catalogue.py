"""The experiments by name, the papers that they are about, and the files that a run writes: the
numbers of each experiment (JSON), and one page with its figures.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.claims import Verdict
from egparse.experiments.figures import draw
from egparse.experiments.page import page
from egparse.experiments.papers import (
    collins2008,
    globerson2007,
    huang2009,
    martins2010,
    mcdonald2009,
)
from egparse.experiments.plans import (
    dca,
    lectures,
    losses,
    max_margin,
    maxent,
    multiclass,
    pairwise,
    parsing,
    second_order,
)
from egparse.experiments.quantities import Found
from egparse.experiments.record import Comparison
from egparse.experiments.request import Request
from egparse.experiments.running import Experiment, compare
from egparse.experiments.store import Results, encoded, machine, read_results, versions
from egparse.storage.files import write_atomically

EXPERIMENTS: dict[str, Experiment] = {
    "multiclass": multiclass.EXPERIMENT,
    "parsing": parsing.EXPERIMENT,
    "max-margin": max_margin.EXPERIMENT,
    "maxent": maxent.EXPERIMENT,
    "lectures": lectures.EXPERIMENT,
    "dca": dca.EXPERIMENT,
    "second-order": second_order.EXPERIMENT,
    "losses": losses.EXPERIMENT,
    "pairwise": pairwise.EXPERIMENT,
}
"""Name -> experiment."""

PAPERS = (
    globerson2007.PAPER,
    collins2008.PAPER,
    huang2009.PAPER,
    mcdonald2009.PAPER,
    martins2010.PAPER,
)
"""The papers in the order of their years."""

PAGE = "index.md"
"""The name of the page, which lies beside its figures and numbers."""


def perform(name: str, request: Request, directory: Path) -> Results:
    """Run an experiment, or go on with one that was interrupted, and write its numbers after each
    run.

    Raises:
        ConfigError: an unknown name, or missing data.
        EgparseError: data that cannot be read.
    """
    experiment = EXPERIMENTS[_checked(name)]
    for needed in experiment.needs:
        request.file(needed)  # report missing files before anything is computed
    path = directory / f"{name}.json"
    results = _begun(path, name, _made(request))
    before = results.seconds - time.process_time()
    directory.mkdir(parents=True, exist_ok=True)

    def written(results: Results) -> Results:
        results = results._replace(seconds=before + time.process_time())
        write_atomically(path, encoded(name, results))
        return results

    for key, plan in experiment.plans.items():
        request.tell(f"{name}: {key}")
        for found in compare(plan, request, results.comparisons.get(key)):
            results = written(_with(results, key, found))
        if not results.comparisons[key].machine:
            whole = results.comparisons[key]._replace(machine=machine())
            results = written(_with(results, key, whole))
    for key, probe in experiment.probes.items():
        if key not in results.numbers:
            request.tell(f"{name}: {key}")
            results = written(results._replace(numbers={**results.numbers, key: probe(request)}))
    written(results._replace(finished=True))
    return read_results(path, name)


def report(found: Found, directory: Path) -> list[tuple[str, Verdict]]:
    """Write the page and the figures of the results there are; each claim with its verdict.

    Raises OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    made = page(PAPERS, found)
    for name, section in made.figures.items():
        write_atomically(directory / f"{name}.png", draw(section.panels, found))
    write_atomically(directory / PAGE, made.text.encode())
    return made.verdicts


def results_in(directory: Path, names: Sequence[str]) -> dict[str, Results]:
    """The results of experiments whose numbers lie in a directory.

    Raises:
        ConfigError: an unknown name.
        EgparseError: no numbers of one of them.
    """
    return {_checked(name): read_results(directory / f"{name}.json", name) for name in names}


def copy(names: Sequence[str], source: Path, directory: Path) -> None:
    """Put the numbers of experiments into another directory, for the links of its page.

    Raises as ``results_in``, and OSError.
    """
    results_in(source, names)
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        write_atomically(directory / f"{name}.json", (source / f"{name}.json").read_bytes())


def _made(request: Request) -> dict[str, Any]:
    return {
        "quick": request.quick,
        "seed": request.seed,
        "seeds": request.seeds,
        "passes": request.iterations,
        "seconds": request.seconds,
        "constants": list(request.constants),
        "versions": versions(),
        "machine": machine(),
    }


def _begun(path: Path, name: str, made: dict[str, Any]) -> Results:
    """What an interrupted run with the same options of the same program left, or nothing. Of a run
    on another processor the comparisons are left that were whole: seconds of two processors are
    not compared.
    """
    with suppress(EgparseError):
        left = read_results(path, name)
        elsewhere = left.made["machine"] != made["machine"]
        if not left.finished and {**left.made, "machine": made["machine"]} == made:
            kept = {
                key: one for key, one in left.comparisons.items() if one.machine or not elsewhere
            }
            return left._replace(made=made, comparisons=kept)
    return Results(made, {}, {})


def _with(results: Results, key: str, found: Comparison) -> Results:
    return results._replace(comparisons={**results.comparisons, key: found})


def _checked(name: str) -> str:
    if name not in EXPERIMENTS:
        raise ConfigError(f"expected an experiment among {', '.join(EXPERIMENTS)}, got {name!r}")
    return name
