"""Tables of word classes by file or language code; files are recognised by their content.

Known are, with tabs between the cells of a line:

* paths, as Liang's programme writes them and as CMU's Twitter clusters have them: ``path word
  count``; the count may be missing, and the word may come first;
* integers, ``word integer``: the path from the highest bit on, with zeros to a common length, or,
  as in the tables of spaCy, from the lowest bit on.

Word vectors, with blanks between the cells (``word 0.1 -0.2 ...``, with or without a first line of
two numbers, as word2vec, fastText and GloVe write them), or those of a spaCy pipeline, become
classes. They are scaled to length 1 and clustered by k-means (Lloyd 1982), which starts from
centres drawn far from each other (k-means++: Arthur and Vassilvitskii 2007) with a fixed seed, so
that equal vectors give equal classes. The tree above joins the two clusters whose union has the
smallest increase of the sum of squared distances (Ward 1963), and the distances to the union follow
from those to its parts (Lance and Williams 1967).

The package spacy-lookups-data registers the tables of each language as an entry point of the group
``spacy_lookups``: a map from the names of tables to files in JSON. The table ``lexeme_cluster`` has
the class of each form as an integer, the first bit of its path being the lowest; 0 stands for none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from egparse.classes.limits import MAX_CLASSES, VECTOR_CLASSES
from egparse.classes.tables import (
    MAX_BITS,
    ClassTable,
    Origin,
    PackedTable,
)
from egparse.errors import CorpusError, EgparseError
from egparse.io.blocks import texts_of
from egparse.io.compression import decompressed
from egparse.io.encodings import UTF_8
from egparse.types import Floats, Longs, Singles

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
    cells = [line.split("\t") for _, line in sample]
    columns = (
        k for k in range(2) if all(len(row) > k and _PATH.fullmatch(row[k]) for row in cells)
    )
    return _table(path, _rows(path, chain(sample, lines)), next(columns, None), origin)


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that may be compressed, without line ends, and their numbers from 1 on;
    blank lines are left out.

    Raises:
        CorpusError: it is no text.
        OSError: it cannot be opened.
    """
    with open(path, "rb") as file:
        number, rest = 0, ""
        for text in chain(texts_of(file, str(path), UTF_8), ["\n"]):
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


def _table(
    file: Path, rows: Iterator[tuple[int, list[str]]], column: int | None, origin: Origin
) -> ClassTable:
    """The table of rows with paths in a column; None: with integers in the second of two."""
    found: dict[str, str] = {}
    counts: dict[str, int] = {}
    classes: dict[str, str] = {}  # each text once
    for number, cells in rows:
        text, word = (cells[1], cells[0]) if column is None else (cells[column], cells[1 - column])
        if column is not None:
            if not _PATH.fullmatch(text) or len(text) > MAX_BITS:
                expected = f"a path of 1 to {MAX_BITS} bits"
                raise CorpusError(file, number, expected, repr(text[:60]))
        elif len(cells) != 2 or not _is_number(text):
            raise CorpusError(file, number, _FORMATS, repr("\t".join(cells)[:60]))
        elif int(text[:18]) >> MAX_BITS:
            raise CorpusError(file, number, f"an integer of at most {MAX_BITS} bits", text[:60])
        if not word:
            raise CorpusError(file, number, "a word", "an empty cell")
        text = classes.setdefault(text, text)
        if found.setdefault(word, text) != text:
            raise CorpusError(file, number, "each word once", f"{word!r} with another class")
        if len(classes) > MAX_CLASSES:
            got = f"more than {MAX_CLASSES:,}"
            raise CorpusError(file, number, f"at most {MAX_CLASSES:,} classes", got)
        if len(cells) == 3:
            if not _is_number(cells[2]):
                raise CorpusError(file, number, "a count", repr(cells[2][:60]))
            counts[word] = int(cells[2][:18])
    if column is None:
        paths = paths_of_integers([int(text[:18]) for text in classes])
        of_text = dict(zip(classes, paths, strict=True))
        found = {word: of_text[text] for word, text in found.items()}
    return ClassTable(found, counts, origin)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


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


PACKAGE = "spacy-lookups-data"
_GROUP = "spacy_lookups"
_TABLE = "lexeme_cluster"


def read_lookups(code: str) -> ClassTable:
    """spaCy's table of word classes for a language.

    Raises:
        EgparseError: the package is not installed, or it has no such table for the language.
    """
    points = {point.name: point for point in entry_points(group=_GROUP)}
    if not points:
        raise EgparseError(
            f"{code}: expected a file, or the package {PACKAGE}, which has tables of word classes "
            f"for English, German and Spanish, installed: pip install {PACKAGE}"
        )
    file = _file_of(points.get(code))
    if file is None:
        having = [name for name in sorted(points) if _file_of(points[name]) is not None]
        raise EgparseError(
            f"{code}: expected a file, or a language for which {PACKAGE} has word classes "
            f"({', '.join(having) or 'none'})"
        )
    package, licence = PACKAGE, ""
    if (dist := points[code].dist) is not None:
        package = f"{dist.name} {dist.version}"
        licence = str(dist.metadata.json.get("license", ""))
    origin = Origin(code, f"{package}, table {code}_{_TABLE}", licence)
    return ClassTable(_paths(Path(file)), {}, origin)


def _file_of(point: EntryPoint | None) -> Any:
    files = None if point is None else point.load()
    return files.get(_TABLE) if isinstance(files, dict) else None


def _paths(file: Path) -> dict[str, str]:
    """The paths of a table in JSON; spaCy's are compressed beside the names that it gives."""
    if not file.exists():
        file = file.with_name(file.name + ".gz")
    with open(file, "rb") as stream:
        text = b"".join(decompressed(iter(lambda: stream.read(_PIECE), b""), str(file)))
    try:
        table = json.loads(text)
    except ValueError as error:
        raise EgparseError(f"{file}: expected a table in JSON, got: {error}") from error
    if not isinstance(table, dict) or not all(
        type(value) is int and 0 <= value < 1 << MAX_BITS for value in table.values()
    ):
        raise EgparseError(f"{file}: expected integers of at most {MAX_BITS} bits by form")
    values = sorted({value for value in table.values() if value})
    paths = dict(zip(values, paths_of_integers(values, lowest_first=True), strict=True))
    return {form: paths[value] for form, value in table.items() if value}


_CODE = re.compile("[a-z]{2,3}")
_PIPELINE = re.compile("[a-z]{2,3}_[a-z0-9_]+")


def read_tables(
    names: Sequence[str],
    licences: Sequence[str] = (),
    sources: Sequence[str] = (),
    min_count: int = 1,
    n_classes: int = VECTOR_CLASSES,
) -> list[PackedTable]:
    """The tables of these names, as a model holds them, with the licence and the source of each, if
    they are given; see ``find_table``.

    Raises:
        EgparseError: see ``find_table``; also a table without a word that is frequent enough.
    """
    packed = []
    for k, name in enumerate(names):
        table = find_table(name, n_classes)
        origin = table.origin
        if licences and licences[k]:
            origin = replace(origin, licence=licences[k])
        if sources and sources[k]:
            origin = replace(origin, source=sources[k])
        table = replace(table, origin=origin).frequent(min_count)
        if not table.paths:
            raise EgparseError(f"{name}: expected words of at least {min_count} occurrences")
        packed.append(PackedTable.of(table.generalised()))
    return packed


def find_table(name: str, n_classes: int = VECTOR_CLASSES) -> ClassTable:
    """The table that is meant by a name: that of a file; that of spaCy for the code of a language;
    or classes made of the vectors of a spaCy pipeline, in a folder or installed. Of vectors at most
    ``n_classes`` classes are made.

    Raises:
        EgparseError: there is none, or it cannot be read.
    """
    path = Path(name).expanduser()
    if path.is_dir() or (not path.exists() and _is_installed(name)):
        words, vectors = pipeline_vectors(str(path) if path.is_dir() else name)
        return classes_of_vectors(
            words, vectors, n_classes, Origin(path.name, f"vectors of {path.name}")
        )
    if not path.exists() and _CODE.fullmatch(name):
        return read_lookups(name)
    try:
        return read_table(path, n_classes)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise EgparseError(f"{name}: expected a table of word classes: {reason}") from error


def _is_installed(name: str) -> bool:
    """Whether a package of this name is installed, as spaCy's pipelines are."""
    if not _PIPELINE.fullmatch(name):
        return False
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


MOST_WORDS = 200_000
"""Words of which classes are made: the first ones, which are the most frequent in usual files."""

_LARGEST = 1e9
_NUMBERS = frozenset("0123456789.+-eE")


def are_vectors(lines: Sequence[str]) -> bool:
    """Whether the first lines of a file hold word vectors: a word and at least two numbers."""
    line = lines[1] if _is_head(lines[0]) and len(lines) > 1 else lines[0]
    cells = line.rstrip().split(" ")
    return len(cells) > 2 and all(cell and not set(cell) - _NUMBERS for cell in cells[-2:])


def read_vectors(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[list[str], Singles]:
    """The first words of a file and their vectors, (words, dimensions).

    Raises:
        CorpusError: a line without a word, or without as many numbers as the first.
    """
    words: dict[str, int] = {}
    rows: list[Singles] = []
    dimensions = 0
    for number, line in lines:
        line = line.rstrip()
        if number == 1 and _is_head(line):
            continue
        dimensions = dimensions or len(line.split(" ")) - 1
        cells = line.rsplit(" ", dimensions)
        try:
            row = np.array(cells[1:], dtype=np.float64)
        except ValueError:
            row = np.empty(0)
        if len(row) != dimensions or not (abs(row) < _LARGEST).all():  # NaN is refused too
            expected = f"a word and {dimensions} numbers, with blanks between them"
            raise CorpusError(path, number, expected, repr(line[:60]))
        if words.setdefault(cells[0], len(rows)) == len(rows):
            rows.append(row.astype(np.float32))
        if len(rows) == MOST_WORDS:
            break
    if not rows:
        raise CorpusError(path, 1, "word vectors", "none")
    return list(words), np.stack(rows)


def pipeline_vectors(name: str) -> tuple[list[str], Singles]:
    """The words of a spaCy pipeline, installed or in a folder, and their vectors.

    Raises:
        EgparseError: it cannot be loaded, or has no vectors of words.
    """
    import spacy

    try:
        vocab = spacy.load(name).vocab
    except (OSError, ValueError, ImportError) as error:
        raise EgparseError(f"{name}: expected a spaCy pipeline with vectors: {error}") from error
    rows = {} if vocab.vectors.mode != "default" else vocab.vectors.key2row
    table = np.asarray(vocab.vectors.data, dtype=np.float32)
    known = {vocab.strings[key]: row for key, row in rows.items() if key in vocab.strings}
    # rows are in the order of frequency, as in the file that they were made of
    words = sorted(known, key=lambda word: (known[word], word))[:MOST_WORDS]
    if not words or not table.shape[1]:
        raise EgparseError(f"{name}: expected a spaCy pipeline with vectors of words, got none")
    return words, table[[known[word] for word in words]]


def classes_of_vectors(
    words: Sequence[str], vectors: Singles, n_classes: int, origin: Origin
) -> ClassTable:
    """At most ``n_classes`` classes of words by their vectors, (words, dimensions)."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.maximum(lengths, np.float32(1e-12))
    centres, classes = k_means(vectors, min(n_classes, len(words)))
    paths = ward_paths(centres, np.bincount(classes, minlength=len(centres)))
    return ClassTable(
        {word: paths[k] for word, k in zip(words, classes.tolist(), strict=True)}, {}, origin
    )


def _is_head(line: str) -> bool:
    """Whether a line holds the numbers of words and dimensions, as the first of word2vec's."""
    cells = line.split()
    return len(cells) == 2 and all(cell.isascii() and cell.isdigit() for cell in cells)


_PASSES = 25
_SETTLED = 0.001
"""The share of vectors that may change their cluster in the last pass."""

_DRAWN_FROM = 20_000
"""The first vectors, of which the first centres are drawn."""

_CHUNK = 4096


def k_means(vectors: Singles, k: int) -> tuple[Singles, Longs]:
    """At most k centres, (centres, dimensions), and the centre of each vector, (vectors,); every
    centre has a vector. ``vectors`` is (n, dimensions), 1 <= k <= n.
    """
    centres = _first_centres(vectors[:_DRAWN_FROM], min(k, len(vectors), _DRAWN_FROM))
    nearest = _nearest(vectors, centres)
    for _ in range(_PASSES):
        _, before, counts = np.unique(nearest, return_inverse=True, return_counts=True)
        order = np.argsort(before, kind="stable")
        ends = np.cumsum(counts)
        centres = np.stack(
            [
                vectors[order[end - count : end]].mean(axis=0, dtype=np.float64)
                for end, count in zip(ends, counts, strict=True)
            ]
        ).astype(np.float32)
        nearest = _nearest(vectors, centres)
        if np.count_nonzero(nearest != before) <= _SETTLED * len(vectors):
            break
    used, nearest = np.unique(nearest, return_inverse=True)
    return centres[used], nearest


def _first_centres(vectors: Singles, k: int) -> Singles:
    """k vectors, each drawn in proportion to its squared distance to the nearest before it."""
    random = np.random.default_rng(0)
    chosen = [0]
    distances = _squared_distances(vectors, vectors[0])
    while len(chosen) < k:
        total = np.cumsum(distances)
        if total[-1] <= 0.0:  # fewer than k distinct vectors
            break
        place = int(np.searchsorted(total, random.random() * total[-1], side="right"))
        chosen.append(min(place, len(vectors) - 1))
        np.minimum(distances, _squared_distances(vectors, vectors[chosen[-1]]), out=distances)
    return vectors[chosen]


def _squared_distances(vectors: Singles, centre: Singles) -> Floats:
    differences = vectors - centre
    squares: Floats = np.einsum("ij,ij->i", differences, differences).astype(np.float64)
    return squares


def _nearest(vectors: Singles, centres: Singles) -> Longs:
    """The nearest centre of each vector, the first of equally near ones."""
    half = 0.5 * np.einsum("ij,ij->i", centres, centres)
    nearest = np.empty(len(vectors), dtype=np.int64)
    for first in range(0, len(vectors), _CHUNK):
        piece = vectors[first : first + _CHUNK]
        nearest[first : first + _CHUNK] = np.argmax(piece @ centres.T - half, axis=1)
    return nearest


def ward_paths(centres: Singles, sizes: Longs) -> list[str]:
    """The path of each cluster in the tree, from its root; clusters below a depth of ``MAX_BITS``
    share one. ``centres`` is (clusters, dimensions), ``sizes`` the number of members of each.
    """
    n = len(centres)
    counts = sizes.astype(np.float64)
    exact = centres.astype(np.float64)
    squares = np.einsum("ij,ij->i", exact, exact)
    distances = np.maximum(squares[:, None] + squares[None, :] - 2.0 * exact @ exact.T, 0.0)
    distances *= counts[:, None] * counts[None, :] / (counts[:, None] + counts[None, :])
    np.fill_diagonal(distances, np.inf)
    members = [[k] for k in range(n)]
    bits = [""] * n  # from the leaf upwards
    for _ in range(n - 1):
        i, j = divmod(int(np.argmin(distances)), n)
        for bit, side in (("0", i), ("1", j)):
            for leaf in members[side]:
                bits[leaf] += bit
        joined = (
            (counts[i] + counts) * distances[i]
            + (counts[j] + counts) * distances[j]
            - counts * distances[i, j]
        ) / (counts[i] + counts[j] + counts)
        joined[i] = np.inf
        distances[i], distances[:, i] = joined, joined
        distances[j], distances[:, j] = np.inf, np.inf
        counts[i] += counts[j]
        members[i] += members[j]
        members[j] = []
    return [path[::-1][:MAX_BITS] or "0" for path in bits]
