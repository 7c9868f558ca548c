"""``--memory``: work within a limit of memory, with the rest in temporary files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from egparse.cli.notices import Say

if TYPE_CHECKING:
    from egparse.sentences import Sentence
    from egparse.storage.scratch import Scratch

_BYTES_OF_WORD = 1500
"""Of the arrays of a tagger or an arc-factored parser in training, roughly
(docs/decisions/larger-than-memory.md).
"""


@contextmanager
def limited_memory(limit: int | None, say: Say) -> Iterator[None]:
    """Within the block sentences and large arrays lie in temporary files, if there is a limit; says
    where, and at the end how much it was.

    Raises:
        EgparseError: the limit, or the room for the files, does not suffice.
    """
    if limit is None:
        yield
        return
    from egparse.storage.scratch import described, limited

    with limited(limit) as scratch:
        say(
            f"memory       at most {described(limit)} beside temporary files in {scratch.folder} "
            "(TMPDIR), of sentences and large arrays"
        )
        yield
        say(f"memory       {_used(scratch)}")


def size_of(memory: str | None) -> int | None:
    """The value of the option in bytes.

    Raises:
        EgparseError: no size, or too small a one.
    """
    if memory is None:
        return None
    from egparse.storage.scratch import require_enough, size_of

    return require_enough(size_of(memory))


def in_files(sentences: Sequence[Sentence]) -> str | None:
    """What of a training corpus lies in files and will, None where it is in memory."""
    from egparse.io.whole_corpus import StoredSentences

    if not isinstance(sentences, StoredSentences):
        return None
    from egparse.storage.scratch import described

    arrays = _BYTES_OF_WORD * sum(map(len, sentences))
    return (
        f"{described(sentences.nbytes)} of sentences; the arrays of a task will take about "
        f"{described(arrays)}"
    )


def _used(scratch: Scratch) -> str:
    from egparse.storage.scratch import described

    files = f"{described(scratch.most_in_files)} lay in temporary files at most"
    most = scratch.most_anonymous
    return f"{described(most)} at most beside files; {files}" if most else files
