"""A Ray cluster, or a Ray that is started on this machine: the connection to it, and the results of
calls, while it may lose nodes.

Ray has no authentication: whoever reaches its ports may run programs there. A Ray that is started
here listens on the loopback interface only.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from egparse.errors import ConfigError, EgparseError, import_with_extra

TIMEOUT = 5.0
"""Seconds in which a cluster has to answer."""

PATIENCE = 600.0
"""Seconds for which a run waits for nodes in place of those that were lost."""

_LOOK_EVERY = 5.0
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "1",  # otherwise 20 attempts of a minute each
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # otherwise Ray warns that this will be the default
}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""With this, whatever its name says, Ray takes the loopback address for what it is, and not for
another name of the machine's address in its network.
"""


@contextmanager
def connected(workers: int, address: str | None = None) -> Iterator[None]:
    """Inside, Ray is connected to the cluster at ``address``, HOST:PORT or ``auto`` for one on this
    machine (None: RAY_ADDRESS, or without it a Ray that is started here for so many workers and
    ends with the context). A program that is connected already stays so.

    Raises:
        ConfigError: Ray is not installed, fewer than one worker, or an address of another form.
        EgparseError: no cluster answers there, or it has fewer processors than workers.
    """
    if workers < 1:
        raise ConfigError(f"--workers: expected at least 1, got {workers}")
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address not in (None, "auto"):
        _require_answer(address)
    here = address is None or address.startswith(("127.", "localhost:", "[::1]"))
    for name, value in (_SETTINGS | (_LOOPBACK if here else {})).items():
        os.environ.setdefault(name, value)
    import_with_extra("ray", "--engine ray")
    import ray

    if ray.is_initialized():
        _require_processors(workers, "the cluster")
        yield
        return
    terminated = signal.getsignal(signal.SIGTERM)
    try:
        if address is None:
            ray.init(
                num_cpus=workers,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        else:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = "here" if address is None else f"at {address}"
        raise EgparseError(f"expected a Ray cluster {where}, got: {error}") from None
    finally:
        with suppress(ValueError):  # not the main thread, in which Ray leaves signals alone
            signal.signal(signal.SIGTERM, terminated)  # Ray puts its own handler there
    try:
        _require_processors(workers, "Ray here" if address is None else f"the cluster at {address}")
        yield
    finally:
        ray.shutdown()


def processors() -> int:
    """The processors of the nodes that the cluster has now, as Ray counts them."""
    import ray

    return int(ray.cluster_resources().get("CPU", 0))  # type: ignore[no-untyped-call]


def _require_answer(address: str) -> None:
    """Raise unless something accepts connections at an address: Ray itself would try for long."""
    host, colon, port = address.rpartition(":")
    if not (colon and host and port.isdecimal() and "/" not in host):
        raise ConfigError(f"--ray-address: expected HOST:PORT or auto, got {address!r}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), TIMEOUT).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise EgparseError(
            f"--ray-address: expected a Ray cluster at {address}, got no connection: {reason}"
        ) from None


def _require_processors(workers: int, where: str) -> None:
    """Raise where workers would wait for processors that there are not."""
    found = processors()
    if found < workers:
        raise EgparseError(
            f"--workers: expected at most {found}, the processors of {where}, got {workers}"
        )


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
    import ray
    from ray.exceptions import RayError, RayTaskError

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
    import ray

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
