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
    """Write sentences as they come, in a corpus format or a piece in one of ``writers.formats``;
    returns how many.
    """
    from egparse.readers.corpus import write_corpus
    from egparse.writers.formats import FORMATS, piece

    if format in FORMATS:
        written = list(sentences)
        stream.write(piece(written, format))
        return Amount(len(written), sum(map(len, written)))
    words = 0

    def counted() -> Iterator[Sentence]:
        nonlocal words
        for sentence in sentences:
            words += len(sentence)
            yield sentence

    count = write_corpus(counted(), stream, format)
    return Amount(count, words)


def require_misc(format: str, name: str) -> None:
    """Check that an output format has a place for the probabilities of --marginals: the column
    MISC, or JSON.

    Raises:
        EgparseError: it has none; ``name`` is that of the input.
    """
    from egparse.writers.formats import FORMATS

    if format not in ("conllu", "json", "jsonl"):
        wanted = "CoNLL-U or text for --marginals, which writes to the column MISC"
        if format in FORMATS:
            wanted = "CoNLL-U or JSON for --marginals, which has a place for them"
        raise EgparseError(f"{name}: expected {wanted}, got {format}")


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
