"""A cluster for all tests of this folder, where Ray is installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from learners.shards.nodes import Nodes, nodes

if TYPE_CHECKING:
    from egparse.learners.shards.on_cluster import Crew


@pytest.fixture(scope="session")
def cluster() -> Iterator[Nodes]:
    """Two nodes with a processor each, to which this process is connected."""
    if find_spec("ray") is None:  # not imported before its settings are made
        pytest.skip("Ray is not installed (the extra ray)")
    from egparse.learners.shards.cluster import connected

    with nodes(2) as found, connected(2, found.address):
        yield found


@pytest.fixture(scope="module")
def crew(cluster: Nodes) -> Iterator[Crew]:
    """Workers that serve one test after the other."""
    from egparse.learners.shards.on_cluster import Crew

    with Crew(snapshot_every=3) as found:
        yield found
