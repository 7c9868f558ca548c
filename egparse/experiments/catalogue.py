"""The experiments by name, the papers that they are about, and the files that a run writes: the
numbers of each experiment (JSON), and one page with its figures.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from egparse.errors import ConfigError, EgparseError
from egparse.experiments import page as pages
from egparse.experiments.claims import Verdict, judge
from egparse.experiments.figures import draw
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


class Report(NamedTuple):
    """What was written: the page, and each claim with its verdict."""

    page: Path
    verdicts: Sequence[tuple[str, Verdict]]


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
    before, begun = results.seconds, time.process_time()
    directory.mkdir(parents=True, exist_ok=True)

    def write(so_far: Results) -> Results:
        so_far = so_far._replace(seconds=before + time.process_time() - begun)
        write_atomically(path, encoded(name, so_far))
        return so_far

    for key, plan in experiment.plans.items():

        def keep(found: Comparison, key: str = key) -> None:
            nonlocal results
            results = write(results._replace(comparisons={**results.comparisons, key: found}))

        request.tell(f"{name}: {key}")
        compare(plan, request, results.comparisons.get(key), keep)
    for key, probe in experiment.probes.items():
        if key not in results.numbers:
            request.tell(f"{name}: {key}")
            results = write(results._replace(numbers={**results.numbers, key: probe(request)}))
    write(results._replace(finished=True))
    return read_results(path, name)


def report(found: Found, directory: Path) -> Report:
    """Write the page and the figures of the results there are.

    Raises OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    made = pages.page(PAPERS, found)
    for name, section in made.figures.items():
        write_atomically(directory / f"{name}.png", draw(section.panels, found))
    path = directory / PAGE
    write_atomically(path, made.text.encode())
    claims = [
        (paper, claim)
        for paper in PAPERS
        for claim in (*(c for one in paper.sections for c in one.claims), *paper.further)
    ]
    verdicts = [(f"{paper.key}: {own.says}", judge(own, found).verdict) for paper, own in claims]
    return Report(path, verdicts)


def results_in(directory: Path, names: Sequence[str]) -> dict[str, Results]:
    """The results of experiments whose numbers lie in a directory.

    Raises:
        ConfigError: an unknown name.
        EgparseError: no numbers of one of them.
    """
    return {_checked(name): read_results(directory / f"{name}.json", name) for name in names}


def copy(names: Sequence[str], source: Path, directory: Path) -> None:
    """Put the numbers of experiments into another directory, for the links of its page.

    Raises OSError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        numbers = (source / f"{name}.json").read_bytes()
        write_atomically(directory / f"{name}.json", numbers)


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
    """What an interrupted run with the same options of the same program left, or nothing."""
    try:
        left = read_results(path, name)
    except EgparseError:
        return Results(made, {}, {})
    same = not left.finished and dict(left.made) == made
    return left if same else Results(made, {}, {})


def _checked(name: str) -> str:
    if name not in EXPERIMENTS:
        raise ConfigError(f"expected an experiment among {', '.join(EXPERIMENTS)}, got {name!r}")
    return name
