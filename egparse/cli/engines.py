"""Where the work of a command is done: on this machine, or on a cluster by Ray."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from egparse.cli.options import Engine
from egparse.errors import EgparseError

if TYPE_CHECKING:
    from egparse.cli.annotating.bulk.annotation import Annotated, Annotation
    from egparse.cli.annotating.bulk.passages import Passage
    from egparse.cli.annotating.ray_annotation import SentAnnotation
    from egparse.cli.annotating.run import MapPieces
    from egparse.cli.workers import Answer


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
    from egparse.cluster.connection import connected
    from egparse.fitting.jobs import Jobs, working_with

    with connected(workers, address):
        from egparse.cluster.shards import Crew

        with Crew() as crew, working_with(Jobs(workers, crew, crew.gather)):
            yield


@contextmanager
def annotators_of(
    engine: Engine, workers: int | None, address: str | None, jobs: int
) -> Iterator[MapPieces]:
    """What annotates pieces: so many processes here (0: one for each processor), or workers of a
    cluster, which is connected within the context.

    Raises:
        EgparseError: no cluster, or too small a one.
    """
    if engine is Engine.LOCAL or workers is None:
        yield partial(_map_here, jobs=jobs)
        return
    from egparse.cluster.connection import connected

    with connected(workers, address):
        yield partial(_map_on_cluster, workers=workers)


def _map_here(
    work: Annotation, pieces: Iterable[list[Passage]], jobs: int
) -> Generator[Annotated, None, None]:
    from egparse.cli.workers import all_cores, map_pieces

    return map_pieces(work, pieces, jobs or all_cores())


def _map_on_cluster(
    work: Annotation, pieces: Iterable[list[Passage]], workers: int
) -> Generator[Annotated, None, None]:
    from egparse.cli.annotating.ray_annotation import SentAnnotation
    from egparse.cli.annotating.ray_stream import map_in_order
    from egparse.cli.workers import opened

    make = partial(_answering, SentAnnotation(work))
    with closing(map_in_order(make, pieces, workers)) as answers:
        for answer in answers:
            yield opened(answer)


def _answering(sent: SentAnnotation) -> Callable[[list[Passage]], Answer]:
    """The work in a process of the cluster, with its warnings."""
    from egparse.cli.workers import answer_of

    return partial(answer_of, sent.unpacked())
