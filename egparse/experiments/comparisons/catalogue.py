"""The experiments by name: what each reproduces, which files it needs, and how it is run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from egparse.errors import ConfigError
from egparse.experiments.comparisons import (
    dca_curves,
    loss_grid,
    max_margin_curves,
    maxent_curves,
    multiclass_curves,
    parsing_curves,
    successors,
)
from egparse.experiments.report.artefacts import Written, machine, versions, write
from egparse.experiments.report.outcome import Outcome
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Facts, Results, encoded, read_results
from egparse.storage.files import write_atomically


class Experiment(NamedTuple):
    """``measure`` runs everything; ``report`` makes claims, tables and figures of what was
    measured. ``source`` names the figures and tables that it reproduces; ``needs`` are the files of
    the data directory that a full run reads, ``instead`` a file that may take their place.
    """

    measure: Callable[[Request], Results]
    report: Callable[[Results], Outcome]
    source: str
    needs: tuple[str, ...]
    instead: str = ""


EXPERIMENTS = {
    module.NAME: Experiment(
        module.measure,
        module.report,
        module.SOURCE,
        module.NEEDS,
        getattr(module, "INSTEAD", ""),
    )
    for module in (
        multiclass_curves,
        parsing_curves,
        max_margin_curves,
        dca_curves,
        loss_grid,
        maxent_curves,
        successors,
    )
}
"""Name -> experiment."""


class Done(NamedTuple):
    """An experiment that has been run, or reported again."""

    name: str
    outcome: Outcome
    written: Written
    facts: Facts


def perform(name: str, request: Request, directory: Path) -> Done:
    """Run an experiment and write its files into a directory.

    Raises:
        ConfigError: an unknown name, or missing data.
        EgparseError: data that cannot be read.
    """
    experiment = _known(name)
    if not (experiment.instead and request.data and (request.data / experiment.instead).is_file()):
        for needed in experiment.needs:
            request.file(needed)  # report missing files before anything is computed
    begun = time.process_time()
    results = experiment.measure(request)
    spent = round(time.process_time() - begun, 3)
    facts = Facts(request.seed, spent, versions(), machine())
    directory.mkdir(parents=True, exist_ok=True)
    return _reported(name, encoded(name, results, facts), directory)


def report_again(name: str, source: Path, directory: Path) -> Done:
    """Write the files of an experiment into a directory, from the numbers in another.

    Raises:
        ConfigError: an unknown name.
        EgparseError: no numbers of this experiment.
    """
    _known(name)
    path = source / f"{name}.json"
    read_results(path, name)  # say what is wrong before anything is written
    directory.mkdir(parents=True, exist_ok=True)
    return _reported(name, path.read_bytes(), directory)


def _reported(name: str, numbers: bytes, directory: Path) -> Done:
    """The report is made of the numbers as they are written, so that it can be made again."""
    path = directory / f"{name}.json"
    write_atomically(path, numbers)
    results, facts = read_results(path, name)
    outcome = EXPERIMENTS[name].report(results)
    return Done(name, outcome, write(name, outcome, facts, directory, quick=results.quick), facts)


def _known(name: str) -> Experiment:
    experiment = EXPERIMENTS.get(name)
    if experiment is None:
        raise ConfigError(f"expected an experiment among {', '.join(EXPERIMENTS)}, got {name!r}")
    return experiment
