"""A cluster for all tests of this folder, where Ray is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cluster.nodes import Nodes, nodes


@pytest.fixture(scope="session")
def cluster() -> Iterator[Nodes]:
    """Two nodes with a processor each, to which this process is connected."""
    pytest.importorskip("ray", reason="Ray is not installed (the extra ray)")
    from egparse.cluster.connection import connected

    with nodes(2) as found, connected(2, found.address):
        yield found
