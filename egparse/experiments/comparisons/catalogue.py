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
)
from egparse.experiments.data.samples import SPANISH_TREES, files_of
from egparse.experiments.report.artefacts import Written, write
from egparse.experiments.report.outcome import Outcome
from egparse.experiments.report.request import Request


class Experiment(NamedTuple):
    """``source`` names the figures and tables that it reproduces; ``needs`` are the files of the
    data directory that a full run reads.
    """

    run: Callable[[Request], Outcome]
    source: str
    needs: tuple[str, ...]


EXPERIMENTS = {
    multiclass_curves.NAME: Experiment(
        multiclass_curves.run,
        multiclass_curves.SOURCE,
        (multiclass_curves.IMAGES, multiclass_curves.LABELS),
    ),
    parsing_curves.NAME: Experiment(
        parsing_curves.run, parsing_curves.SOURCE, files_of(SPANISH_TREES)
    ),
    max_margin_curves.NAME: Experiment(
        max_margin_curves.run, max_margin_curves.SOURCE, files_of(SPANISH_TREES)
    ),
    dca_curves.NAME: Experiment(dca_curves.run, dca_curves.SOURCE, dca_curves.NEEDS),
    loss_grid.NAME: Experiment(loss_grid.run, loss_grid.SOURCE, dca_curves.NEEDS),
    maxent_curves.NAME: Experiment(maxent_curves.run, maxent_curves.SOURCE, maxent_curves.NEEDS),
}
"""Name -> experiment."""


class Done(NamedTuple):
    """An experiment that has been run."""

    name: str
    outcome: Outcome
    written: Written
    cpu_seconds: float


def perform(name: str, request: Request, directory: Path) -> Done:
    """Run an experiment and write its files into a directory.

    Raises:
        ConfigError: an unknown name, or missing data.
        EgparseError: data that cannot be read.
    """
    experiment = EXPERIMENTS.get(name)
    if experiment is None:
        raise ConfigError(f"expected an experiment among {', '.join(EXPERIMENTS)}, got {name!r}")
    for needed in experiment.needs:
        request.file(needed)  # report missing files before anything is computed
    begun = time.process_time()
    outcome = experiment.run(request)
    spent = time.process_time() - begun
    return Done(name, outcome, write(name, outcome, request, directory, spent), spent)
