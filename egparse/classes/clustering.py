"""Clusters of vectors and the binary tree above them.

k-means (Lloyd 1982) starts from centres drawn far from each other (k-means++: Arthur and
Vassilvitskii 2007) with a fixed seed, so that equal vectors give equal classes. The tree joins the
two clusters whose union has the smallest increase of the sum of squared distances (Ward 1963), and
the distances to the union follow from those to its parts (Lance and Williams 1967).
"""

from __future__ import annotations

import numpy as np

from egparse.classes.table import MAX_BITS
from egparse.types import Floats, Longs, Singles

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
