"""Images and labels in the IDX format of MNIST (LeCun et al. 1998), compressed or not, and the
vectors of the experiments: those digits, or generated points where the files are missing.
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from egparse.errors import EgparseError
from egparse.experiments.problems.classification import ClassifierProblem
from egparse.experiments.problems.generated import classes_of_points
from egparse.experiments.problems.setup import Setup, sentence_counts
from egparse.experiments.request import Request
from egparse.types import Floats, Ints, UInt8s

IMAGES, LABELS = "mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"
"""The 10,000 test digits of MNIST, below the directory of data."""

_UNSIGNED_BYTE = 8
_MAX_CELLS = 1 << 30


def read_idx(path: Path) -> UInt8s:
    """The array of bytes that an IDX file holds.

    Raises:
        EgparseError: no IDX file of bytes, or one that is cut off.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            magic = file.read(4)
            if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] != _UNSIGNED_BYTE:
                raise EgparseError(
                    f"{path}: expected an IDX file of bytes, got one that begins with {magic!r}"
                )
            shape = np.frombuffer(file.read(4 * magic[3]), dtype=">u4").astype(np.int64)
            size = math.prod(shape.tolist())
            if len(shape) != magic[3] or size > _MAX_CELLS:
                raise EgparseError(
                    f"{path}: expected {magic[3]} sizes of a moderate array, got {shape.tolist()}"
                )
            content = file.read(size + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise EgparseError(f"{path}: expected an IDX file, got: {error}") from error
    if len(content) != size:
        raise EgparseError(
            f"{path}: expected {size} bytes of data, got "
            f"{'more' if len(content) > size else len(content)}"
        )
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def read_digits(images: Path, labels: Path) -> tuple[Floats, Ints]:
    """Pixels between 0 and 1, (n, height times width), and classes (n,).

    Raises:
        EgparseError: files that do not belong together.
    """
    pixels, classes = read_idx(images), read_idx(labels)
    if pixels.ndim != 3 or classes.shape != pixels.shape[:1]:
        raise EgparseError(
            f"{labels}: expected a label for each of {len(pixels)} images, got {classes.shape}"
        )
    return pixels.reshape(len(pixels), -1) / 255.0, classes.astype(np.int32)


def digits_or_points(request: Request, n: int, seed: int) -> tuple[str, Floats, Ints]:
    """What they are called, vectors (m, d) of values of at least 0, and classes (m,).

    They are all digits, in the order of the files; without the files, ``n`` generated points around
    the centres of classes, moved so that the least value is 0, as of pixels.
    """
    images, labels = request.file(IMAGES), request.file(LABELS)
    if images is None or labels is None:
        x, y = classes_of_points(n, seed)
        return "points around the centres of classes, generated", x - x.min(), y
    return ("MNIST test digits", *read_digits(images, labels))


CLASS_THETA = 5.0
"""The initial theta of correct classes is this plus the logarithm of the number of classes. The
papers do not give theirs.
"""


def classifier(name: str, train: tuple[Floats, Ints], dev: tuple[Floats, Ints]) -> Setup:
    """Vectors (n, d) with their classes (n,); scored by the error in per cent."""
    n_classes = int(max(train[1].max(), dev[1].max())) + 1
    problem = ClassifierProblem(*train, n_classes)
    facts = {
        "data": name,
        "training examples": len(train[0]),
        "validation examples": len(dev[0]),
        "classes": n_classes,
        "weights": problem.weights.size,
    }
    return Setup(
        problem,
        lambda scale: 100.0 * float(np.mean(problem.predict(dev[0]) != dev[1])),
        "validation error (%)",
        -1,
        CLASS_THETA + float(np.log(n_classes)),
        facts,
        outcomes=lambda scale: sentence_counts(
            problem.predict(dev[0]) == dev[1], np.arange(len(dev[1]))
        ),
    )
