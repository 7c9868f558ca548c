"""Enhanced dependencies, the column DEPS, of a sentence whose tree has changed.

They are not predicted, and an enhanced graph over another tree is wrong. Where DEPS only repeats
HEAD and DEPREL, as in corpora without enhanced dependencies, it is written anew; else the graph of
the sentence is dropped, with the edges of its empty nodes, because a graph that lacks words is
invalid.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import repeat

from egparse.sentences import MISSING

_EMPTY_NODE = re.compile(r"[0-9]+\.[0-9]+\t")


class DepsWarning(UserWarning):
    """The column DEPS was changed, because the tree was."""


def renewed_deps(
    deps: Sequence[str], before: Sequence[str], after: Sequence[str], lines: list[str]
) -> Sequence[str] | None:
    """The column DEPS for a tree that has changed, None if it is all ``_`` or the tree has not;
    ``before`` and ``after`` are the basic dependencies of each word, as ``2:nsubj``.

    It is ``_`` for all words if the graph had other edges, and for the empty nodes among ``lines``,
    all lines of the sentence, which are changed in place.
    """
    if deps.count(MISSING) == len(deps) or before == after:
        return None
    warnings.warn(
        "DEPS is left out (_) of sentences whose HEAD or DEPREL has changed, or written anew where "
        "it only repeats them",
        DepsWarning,
        stacklevel=2,
    )
    repeats = all(cell in (MISSING, basic) for cell, basic in zip(deps, before, strict=True))
    if repeats and not any(map(_EMPTY_NODE.match, lines)):
        return [
            MISSING if MISSING in (cell, *basic.split(":", 1)) else basic
            for cell, basic in zip(deps, after, strict=True)
        ]
    for k, line in enumerate(lines):
        if _EMPTY_NODE.match(line):
            cells = line.split("\t")
            cells[-2] = MISSING
            lines[k] = "\t".join(cells)
    return list(repeat(MISSING, len(deps)))
