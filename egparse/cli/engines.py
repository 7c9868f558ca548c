"""Where the work of a command is done: on this machine, or on a cluster by Ray."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from egparse.cli.options import Engine
from egparse.errors import EgparseError


def check_engine(
    engine: Engine, workers: int | None, address: str | None, jobs: int | None
) -> None:
    """Check options before anything is read; ``jobs`` is None where it was not given.

    Raises:
        EgparseError: options of another engine, or a cluster without a number of workers.
    """
    if engine is Engine.LOCAL:
        for option, value in (("--workers", workers), ("--ray-address", address)):
            if value is not None:
                raise EgparseError(f"{option}: expected --engine ray beside it")
    elif workers is None:
        raise EgparseError("--engine ray: expected --workers N beside it")
    elif jobs is not None:
        raise EgparseError("--jobs: expected --workers alone with --engine ray, got both")


@contextmanager
def shards_of(engine: Engine, workers: int | None, address: str | None) -> Iterator[None]:
    """Inside, the shards of training are where the engine has them.

    Raises:
        EgparseError: no cluster, or too small a one.
    """
    if engine is Engine.LOCAL or workers is None:
        yield
        return
    from egparse.fitting.jobs import Jobs, working_with
    from egparse.learners.shards.cluster import connected

    with connected(workers, address):
        from egparse.learners.shards.on_cluster import Crew

        with Crew() as crew, working_with(Jobs(workers, crew, crew.gather)):
            yield
