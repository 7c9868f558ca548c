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
    """The results of calls of as many workers, all of which run at once.

    Raises:
        EgparseError: raised by a call; or a worker was lost and not replaced.
    """
    needed, since = len(references), time.monotonic()
    while True:
        done, rest = ray.wait(list(references), num_returns=needed, timeout=_LOOK_EVERY)
        if not rest:
            return result_of(list(references))
        if processors() >= needed:
            since = time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            raise EgparseError(
                f"expected {needed} processors in the cluster, one for each worker, got "
                f"{processors()} for {PATIENCE:g} seconds; start more nodes and continue with "
                "--resume"
            )


def result_of(reference: Any) -> Any:
    """What a call returns, or a list of calls.

    Raises:
        EgparseError: raised by a call; or its worker was lost and not replaced.
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
