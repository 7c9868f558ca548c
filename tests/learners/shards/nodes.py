"""A Ray cluster of several nodes on this machine, on the loopback interface."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SETTINGS = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # addresses are those of the loopback interface
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "1",
    # A node that is gone refuses connections, which is noticed within two seconds; one that is
    # slow, as on a busy machine, has long to answer.
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "20000",
    "RAY_health_check_failure_threshold": "3",
}
_NODE = {"object_store_memory": 100 << 20, "include_log_monitor": False}


class Nodes:
    """A cluster with a node without processors, on which drivers run, and others to be lost."""

    def __init__(self, cluster: Any, workers: int) -> None:
        self._cluster = cluster
        self.workers = [self.add() for _ in range(workers)]

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return str(self._cluster.address)

    def add(self) -> Any:
        """One more node with a processor."""
        return self._cluster.add_node(num_cpus=1, **_NODE)

    def lose(self) -> None:
        """Kill the first node with processors, and put a new one in its place."""
        self._cluster.remove_node(self.workers.pop(0), allow_graceful=False)
        self.workers.append(self.add())


@contextmanager
def nodes(workers: int) -> Iterator[Nodes]:
    """A cluster that ends with the context."""
    os.environ.update(SETTINGS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        head = {**_NODE, "num_cpus": 0, "include_dashboard": False, "no_monitor": True}
        cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        yield Nodes(cluster, workers)
    finally:
        cluster.shutdown()
