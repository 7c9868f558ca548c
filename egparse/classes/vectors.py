"""Word vectors, and word classes made of them.

Vectors come as text (``word 0.1 -0.2 ...``, with or without a first line of two numbers, as
word2vec, fastText and GloVe write them) or from a spaCy pipeline. They are scaled to length 1 and
clustered by k-means; the centres are joined two by two into a tree
(``egparse.classes.clustering``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from egparse.classes.clustering import k_means, ward_paths
from egparse.classes.table import ClassTable, Origin
from egparse.errors import CorpusError, EgparseError
from egparse.types import Singles

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
