"""The vectors of the experiments: digits of MNIST (LeCun et al. 1998), or generated points where
the files are missing.
"""

from __future__ import annotations

import gzip

import numpy as np

from egparse.experiments.problems.classification import ClassifierProblem
from egparse.experiments.problems.generated import classes_of_points
from egparse.experiments.problems.setup import Setup, sentence_counts
from egparse.experiments.request import Request
from egparse.types import Floats, Ints

IMAGES, LABELS = "mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"
"""The 10,000 test digits of MNIST, below the directory of data."""

CLASS_THETA = 5.0
"""The initial theta of correct classes is this plus the logarithm of the number of classes. The
papers do not give theirs.
"""


def digits_or_points(request: Request, n: int, seed: int) -> tuple[str, Floats, Ints]:
    """What they are called, vectors (m, d) of values of at least 0, and classes (m,).

    They are all digits, in the order of the files, with pixels between 0 and 1; without the files,
    ``n`` generated points around the centres of classes, moved so that the least value is 0.
    """
    images, labels = request.file(IMAGES), request.file(LABELS)
    if images is None or labels is None:
        x, y = classes_of_points(n, seed)
        return "points around the centres of classes, generated", x - x.min(), y
    # headers have 16 and 8 bytes
    pixels = np.frombuffer(gzip.decompress(images.read_bytes()), dtype=np.uint8, offset=16)
    classes = np.frombuffer(gzip.decompress(labels.read_bytes()), dtype=np.uint8, offset=8)
    return "MNIST test digits", pixels.reshape(len(classes), -1) / 255.0, classes.astype(np.int32)


def classifier(name: str, train: tuple[Floats, Ints], dev: tuple[Floats, Ints]) -> Setup:
    """Vectors (n, d) with their classes (n,); scored by the error in per cent."""
    n_classes, (x, y) = int(max(train[1].max(), dev[1].max())) + 1, dev
    problem = ClassifierProblem(*train, n_classes)
    return Setup(
        problem,
        lambda scale: 100.0 * float(np.mean(problem.predict(x) != y)),
        "validation error (%)",
        -1,
        CLASS_THETA + float(np.log(n_classes)),
        {
            "data": name,
            "training examples": len(train[0]),
            "validation examples": len(y),
            "classes": n_classes,
            "weights": problem.weights.size,
        },
        outcomes=lambda scale: sentence_counts(problem.predict(x) == y, [1] * len(y)),
    )
