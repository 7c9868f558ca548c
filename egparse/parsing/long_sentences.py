"""Trees of sentences too long to be parsed whole: cut into pieces, each parsed exactly, the pieces
joined under one root.

Exact inference takes time with the cube of the length and memory with its square. What is that long
is nearly always several sentences that nobody has split, a list or a table: few arcs cross its
boundaries. We find them with the parser itself. From where the last piece ended, a window of
``WINDOW`` words is parsed as if it were a sentence; in its second half, the place that the fewest
arcs cross ends the piece; the piece is parsed anew, as if it were a sentence, and the next window
begins behind it. Time is linear in the length, memory constant.

The tree is valid by construction. Each piece is a tree; for a single root, the roots of the others
become dependents of the first one's root, as UD has side-by-side sentences (parataxis:
https://universaldependencies.org/u/dep/parataxis.html). Those arcs cross none: what lies below them
descends from the roots at their ends. So the tree is projective where the pieces are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from egparse.types import Ints

LONGEST = 500
"""Words of the longest sentence that is parsed whole: 0.25 s and 25 MB with marginals, and eight
times the time and four times the memory for twice as many. Must stay below 2^15: arcs hold
positions in 16 bits.
"""

WINDOW = 200
"""Words parsed at a time of a longer one, at 0.1 ms a word. On UD English EWT (dev), its sentences
joined into ones of 480 words, windows of 60, 100, 150, 200 and 300 words attach as many words
correctly as the sentence whole (72.0 to 72.1 %); the larger, the more arcs fit in.
"""

MARGIN = 10
"""Words at the end of a window that belong to no piece: their heads may lie behind it."""


class LongSentenceWarning(UserWarning):
    """A sentence was parsed in pieces."""


def parse_in_pieces(
    n: int, parse: Callable[[int, int], Ints], *, single_root: bool, window: int = WINDOW
) -> Ints:
    """The heads of ``n`` words, shape (n,): positions from 1 on, 0 for the root.

    ``parse(first, end)`` gives the heads, shape (end - first,), of the words ``first`` to ``end -
    1`` (from 0 on) as if they were a sentence: positions among them from 1 on, 0 for the root. It
    is asked for ``window`` words at most. Warns with ``LongSentenceWarning``.

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
        own = parse(first, min(first + window, n))
        if first + window < n:
            own = parse(first, first + _least_crossed(own))
        piece = np.where(own > 0, own + first, root)
        heads[first : first + len(own)] = piece
        if single_root and root == 0:
            root = int(np.argmin(own)) + 1
        first += len(own)
    return heads


def _least_crossed(heads: Ints) -> int:
    """How many words of a window the piece takes: the last of the places in the second half that
    the fewest arcs cross.
    """
    n = len(heads)
    positions = np.arange(1, n + 1)
    below_words = heads > 0
    left = np.minimum(heads, positions)[below_words]
    right = np.maximum(heads, positions)[below_words]
    # an arc between the positions l < r crosses the places behind l, ..., r - 1
    changes = np.bincount(left, minlength=n + 1) - np.bincount(right, minlength=n + 1)
    crossing = np.cumsum(changes)
    places = np.arange(n // 2, n - MARGIN + 1)
    return int(places[::-1][np.argmin(crossing[places][::-1])])
