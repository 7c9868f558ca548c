"""Reading tables of word classes; the format of a file is recognised by its content.

Known are, with tabs between the cells of a line:

* paths, as Liang's programme writes them and as CMU's Twitter clusters have them: ``path word
  count``; the count may be missing, and the word may come first;
* integers, ``word integer``: the path from the highest bit on, with zeros to a common length, or,
  as in the tables of spaCy, from the lowest bit on.

Word vectors, with blanks between the cells, become classes (``egparse.classes.vectors``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from egparse.classes.table import MAX_BITS, MAX_CLASSES, VECTOR_CLASSES, ClassTable, Origin
from egparse.classes.vectors import are_vectors, classes_of_vectors, read_vectors
from egparse.errors import CorpusError
from egparse.io.compression import decompressed
from egparse.io.encodings import UTF_8, as_text

_SAMPLE = 1000
"""Lines from which the format is recognised."""

_PIECE = 1 << 18
_PATH = re.compile("[01]+")
_FORMATS = "path TAB word TAB count, word TAB path, word TAB integer, or word vectors"


def read_table(path: Path, n_classes: int = VECTOR_CLASSES) -> ClassTable:
    """The table of a file; of word vectors it has at most ``n_classes`` classes.

    Raises:
        CorpusError: a line that cannot be read, or a file in no known format.
        OSError: a file that cannot be opened.
    """
    origin = Origin(path.name)
    lines = lines_of(path)
    sample = list(islice(lines, _SAMPLE))
    if not sample:
        raise CorpusError(path, 1, "a table of word classes", "an empty file")
    if are_vectors([line for _, line in sample]):
        words, vectors = read_vectors(path, chain(sample, lines))
        return classes_of_vectors(words, vectors, n_classes, origin)
    rows = _rows(path, chain(sample, lines))
    place = _path_column([line.split("\t") for _, line in sample])
    if place is not None:
        return _of_paths(path, rows, place, origin)
    return _of_integers(path, rows, origin)


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that may be compressed, without line ends, and their numbers from 1 on;
    blank lines are left out.

    Raises:
        CorpusError: it is no text.
        OSError: it cannot be opened.
    """
    with open(path, "rb") as file:
        pieces = iter(lambda: file.read(_PIECE), b"")
        number, rest = 0, ""
        for text in chain(as_text(decompressed(pieces, str(path)), UTF_8, str(path)), ["\n"]):
            # only line feeds end lines: words may hold other separators
            *whole, rest = (rest + text).split("\n")
            for line in whole:
                number += 1
                if line.strip():
                    yield number, line.removesuffix("\r")


def _rows(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line."""
    width = 0
    for number, line in lines:
        cells = line.split("\t")
        width = width or len(cells)
        if len(cells) != width or not 2 <= width <= 3:
            expected = _FORMATS if not 2 <= width <= 3 else f"{width} cells as in the first line"
            got = f"{len(cells)} cells between tabs" if len(cells) > 1 else repr(line[:60])
            raise CorpusError(path, number, expected, got)
        yield number, cells


def _path_column(rows: Sequence[Sequence[str]]) -> int | None:
    """The column of paths; None if there is none."""
    for place in range(2):
        if all(len(row) > place and _PATH.fullmatch(row[place]) for row in rows):
            return place
    return None


class _Collected:
    """The paths of words so far, checked."""

    def __init__(self, path: Path) -> None:
        self.file = path
        self.paths: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.classes: dict[str, str] = {}

    def add(self, line: int, word: str, path: str) -> None:
        """Add a word.

        Raises:
            CorpusError: an empty word, one that has another path, or too many classes.
        """
        if not word:
            raise CorpusError(self.file, line, "a word", "an empty cell")
        path = self.classes.setdefault(path, path)
        if self.paths.setdefault(word, path) != path:
            raise CorpusError(self.file, line, "each word once", f"{word!r} with another class")
        if len(self.classes) > MAX_CLASSES:
            got = f"more than {MAX_CLASSES:,}"
            raise CorpusError(self.file, line, f"at most {MAX_CLASSES:,} classes", got)


def _of_paths(
    file: Path, rows: Iterator[tuple[int, list[str]]], place: int, origin: Origin
) -> ClassTable:
    found = _Collected(file)
    for number, cells in rows:
        path, word = cells[place], cells[1 - place]
        if not _PATH.fullmatch(path) or len(path) > MAX_BITS:
            raise CorpusError(file, number, f"a path of 1 to {MAX_BITS} bits", repr(path[:60]))
        found.add(number, word, path)
        if len(cells) == 3:
            if not cells[2].isascii() or not cells[2].isdigit():
                raise CorpusError(file, number, "a count", repr(cells[2][:60]))
            found.counts[word] = int(cells[2][:18])
    return ClassTable(found.paths, found.counts, origin)


def _of_integers(file: Path, rows: Iterator[tuple[int, list[str]]], origin: Origin) -> ClassTable:
    integers: dict[str, int] = {}
    found = _Collected(file)
    for number, cells in rows:
        text = cells[1]
        if len(cells) != 2 or not (text.isascii() and text.isdigit()):
            raise CorpusError(file, number, _FORMATS, repr("\t".join(cells)[:60]))
        value = int(text[:18])
        if value >> MAX_BITS:
            raise CorpusError(file, number, f"an integer of at most {MAX_BITS} bits", text[:60])
        found.add(number, cells[0], text)
        integers[text] = value
    paths = dict(zip(integers, paths_of_integers(list(integers.values())), strict=True))
    return ClassTable({word: paths[text] for word, text in found.paths.items()}, {}, origin)


def paths_of_integers(values: Sequence[int], *, lowest_first: bool = False) -> list[str]:
    """The paths of distinct integers, which hold them from the highest bit on or from the lowest
    one on, which is known if ``lowest_first``.

    Most paths of a tree are shorter than the longest, and zeros fill the rest: at the lower end, or
    at the upper end.
    """
    length = max(1, max(values).bit_length())
    texts = [f"{value:0{length}b}" for value in values]
    below = sum(len(text) - len(text.rstrip("0")) for text in texts)
    above = sum(len(text) - len(text.lstrip("0")) for text in texts)
    return [text[::-1] for text in texts] if lowest_first or above > below else texts
