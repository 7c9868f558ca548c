"""Trees of sentences too long to be parsed whole: cut into pieces, each parsed exactly, the pieces
joined under one root.

The time of exact inference grows with the cube of the length, its memory with the square. A
sentence of such a length nearly always consists of several sentences that were not split, or of a
list or a table, and few arcs cross the boundaries between them. The parser itself finds these
boundaries. From the end of the last piece, a window of ``WINDOW`` words is parsed as if it were a
sentence. The piece ends at the position in the second half of the window that the fewest arcs
cross. The piece is parsed again, as if it were a sentence, and the next window starts after it.
Time is linear in the length, memory constant.

The tree is valid by construction. Each piece is a tree; for a single root, the roots of the others
become dependents of the first one's root, as UD attaches side-by-side sentences (parataxis:
https://universaldependencies.org/u/dep/parataxis.html). These arcs cross no others, because all
words between their ends descend from roots of pieces. So the tree is projective if the pieces are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from egparse.types import Ints

LONGEST = 500
"""Words of the longest sentence that is parsed as a whole, which takes 0.25 s and 25 MB with
marginals; twice as many words take eight times the time and four times the memory. Must be below
2^15: arcs hold positions in 16 bits.
"""

WINDOW = 200
"""Words of a longer sentence that are parsed at a time, at 0.1 ms a word. On UD English EWT (dev)
with sentences joined into ones of 480 words, windows of 60, 100, 150, 200 and 300 words attach as
many words correctly as parsing the whole (72.0 to 72.1 %); longer arcs fit into larger windows.
"""

MARGIN = 10
"""Words at the end of a window that belong to no piece: their heads may be after it."""


class LongSentenceWarning(UserWarning):
    """A sentence was parsed in pieces."""


def parse_in_pieces(
    n: int, parse: Callable[[int, int], Ints], *, single_root: bool, window: int = WINDOW
) -> Ints:
    """The heads of ``n`` words, shape (n,): positions from 1 on, 0 for the root.

    ``parse(first, end)`` returns the heads, shape (end - first,), of the words ``first`` to ``end -
    1`` (from 0 on) as if they were a sentence: positions among them from 1 on, 0 for the root. It
    is called for at most ``window`` words. Warns with ``LongSentenceWarning``.

    Raises:
        ValueError: a window of less than four margins.
    """
    if window < 4 * MARGIN:
        raise ValueError(f"expected a window of at least {4 * MARGIN} words, got {window}")
    warnings.warn(
        f"sentences of more than {LONGEST} words are parsed in pieces of at most {window}",
        LongSentenceWarning,
        stacklevel=2,
    )
    heads = np.empty(n, dtype=np.int32)
    first, root = 0, 0
    while first < n:
        piece = parse(first, min(first + window, n))
        if first + window < n:
            piece = parse(first, first + least_crossed(piece))
        end = first + len(piece)
        heads[first:end] = np.where(piece > 0, piece + first, root)
        if single_root and root == 0:
            root = int(np.argmin(piece)) + 1
        first = end
    return heads


def least_crossed(heads: Ints) -> int:
    """The number of words of a window before the boundary that the fewest arcs cross, the last such
    boundary in the second half.
    """
    n = len(heads)
    positions = np.arange(1, n + 1)
    below_words = heads > 0
    left = np.minimum(heads, positions)[below_words]
    right = np.maximum(heads, positions)[below_words]
    # an arc between the positions l < r crosses the boundaries after l, ..., r - 1
    changes = np.bincount(left, minlength=n + 1) - np.bincount(right, minlength=n + 1)
    crossing = np.cumsum(changes)
    boundaries = np.arange(n // 2, n - MARGIN + 1)
    return int(boundaries[::-1][np.argmin(crossing[boundaries][::-1])])
