"""The output of a command: standard output, or a file that is replaced atomically."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from egparse.errors import EgparseError
from egparse.storage.atomic import open_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable

    from egparse.sentences import Sentence


class Amount(NamedTuple):
    """How much has been written."""

    sentences: int
    words: int


def write(sentences: Iterable[Sentence], stream: TextIO, format: str) -> Amount:
    """Write sentences as they come, in a corpus format; returns how many."""
    from egparse.readers.corpus import write_corpus

    words = 0

    def counted() -> Iterator[Sentence]:
        nonlocal words
        for sentence in sentences:
            words += len(sentence)
            yield sentence

    count = write_corpus(counted(), stream, format)
    return Amount(count, words)


def require_misc(format: str, name: str) -> None:
    """Check that a corpus format has the column MISC, where --marginals writes probabilities.

    Raises:
        EgparseError: it has none; ``name`` is that of the input.
    """
    if format != "conllu":
        raise EgparseError(
            f"{name}: expected CoNLL-U or text for --marginals, which writes to the column MISC, "
            f"got {format}"
        )


@contextmanager
def opened(path: Path | None) -> Iterator[TextIO]:
    """A text stream in UTF-8 with LF line ends; None is standard output, which is never closed.

    A file is replaced when the block ends without an error; see ``storage.atomic``. Raises OSError.
    """
    if path is None:
        from egparse.readers.corpus import standard_output

        yield standard_output()
    else:
        with open_atomically(path) as stream:
            yield stream
