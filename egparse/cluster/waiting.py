"""Waiting for the results of a cluster that may lose its nodes meanwhile."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from egparse.cluster.connection import processors
from egparse.errors import EgparseError

PATIENCE = 600.0
"""Seconds for which a run waits for nodes in place of those that were lost."""

_LOOK_EVERY = 5.0
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def results_of(references: Sequence[Any]) -> list[Any]:
    """The results of calls of as many workers.

    Raises:
        EgparseError: raised by a call; or a worker was lost and not replaced.
    """
    _wait(references, len(references), len(references))
    return [result_of(reference) for reference in references]


def first_of(references: Sequence[Any], workers: int) -> list[Any]:
    """Those of some calls of ``workers`` workers that are done, at least one.

    Raises:
        EgparseError: all workers were lost and not replaced.
    """
    return _wait(references, 1, workers)


def result_of(reference: Any) -> Any:
    """What a call returns.

    Raises:
        EgparseError: raised by the call; or its worker was lost and not replaced.
    """
    try:
        return ray.get(reference)
    except RayTaskError as error:
        if isinstance(error.cause, EgparseError):
            raise EgparseError(str(error.cause)) from None
        raise
    except RayError as error:
        first = _COLOURS.sub("", str(error)).strip().partition("\n")[0]
        raise EgparseError(f"the cluster lost a worker and could not replace it: {first}") from None


def _wait(references: Sequence[Any], count: int, workers: int) -> list[Any]:
    """At least ``count`` calls that are done. It waits as long as there are processors for all
    workers, and otherwise for new nodes.
    """
    since = time.monotonic()
    while True:
        done, _ = ray.wait(list(references), num_returns=count, timeout=_LOOK_EVERY)
        if len(done) >= count:
            return list(done)
        found = processors()
        if found >= workers:
            since = time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            raise EgparseError(
                f"expected {workers} processors in the cluster, one for each worker, got {found} "
                f"for {PATIENCE:g} seconds"
            )
