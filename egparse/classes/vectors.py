"""Word vectors, and word classes made of them.

Vectors come as text (``word 0.1 -0.2 ...``, with or without a first line of two numbers, as
word2vec, fastText and GloVe write them) or from a spaCy pipeline. They are scaled to length 1 and
clustered by k-means (Lloyd 1982), which starts from centres drawn far from each other (k-means++:
Arthur and Vassilvitskii 2007) with a fixed seed, so that equal vectors give equal classes. The tree
above joins the two clusters whose union has the smallest increase of the sum of squared distances
(Ward 1963), and the distances to the union follow from those to its parts (Lance and Williams
1967).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from egparse.classes.table import MAX_BITS, ClassTable, Origin
from egparse.errors import CorpusError, EgparseError
from egparse.types import Floats, Longs, Singles

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

_SAMPLE = 20_000
"""The first vectors, of which the first centres are drawn."""

_CHUNK = 4096


def k_means(vectors: Singles, k: int) -> tuple[Singles, Longs]:
    """At most k centres, (centres, dimensions), and the centre of each vector, (vectors,); every
    centre has a vector. ``vectors`` is (n, dimensions), 1 <= k <= n.
    """
    centres = _first_centres(vectors[:_SAMPLE], min(k, len(vectors), _SAMPLE))
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
