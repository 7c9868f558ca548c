"""The best non-projective tree: Chu-Liu-Edmonds on a dense score matrix, O(n^2).

Every component (at first, every word) picks its best head. A cycle of picks is contracted to one
component; its arcs are scored by their gain over the pick that they would replace (Georgiadis 2003,
"Arborescence optimization problems solvable by Edmonds' algorithm"). One path of picks is grown at
a time, as in Gabow et al. (1986, sec. 2), so that no search for cycles is needed, and rows and
columns are merged in place, in O(n) for each component. Where no tree exists, some component has no
candidate head.

A single root needs no second search. If a component picks the root only where no other head is
left, the result is the best among the trees with the fewest arcs from the root: this is the same
algorithm over pairs (-arcs from the root, score), compared lexicographically. A pick on a cycle
never comes from the root, so the first number of every remaining arc stays what it was and need not
be stored. No large constant is added to any score, so that ties and small differences are kept
(Zmigrod et al. 2020, "Please mind the root", search instead).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.structures.trees.dependency_trees import NO_HEAD
from egparse.types import Floats, Ints

NONE = -1


class SearchWorkspace(NamedTuple):
    """Buffers for sentences of up to ``n_max`` words, which the search overwrites.

    ``gains`` and ``origins`` are flat, used as charts [dependent, head] of stride n+1 over
    components, each named by one of its words. ``origins`` holds head * (n+1) + dependent, the
    words of that arc. ``values`` (n+1,) is the gain of the component's pick. ``lists`` has rows of
    2 (n_max + 1): see ``_NodeLists``.
    """

    gains: Floats
    origins: Ints
    values: Floats
    lists: Ints


def search_workspace(n_max: int) -> SearchWorkspace:
    """Buffers for ``chu_liu_edmonds``."""
    m = n_max + 1
    return SearchWorkspace(
        np.empty(m * m),
        np.empty(m * m, dtype=np.int32),
        np.empty(m),
        np.empty((6, 2 * m), dtype=np.int32),
    )


class _NodeLists(NamedTuple):
    """Views of the rows of ``SearchWorkspace.lists``.

    ``path`` is the path of components that picks are followed along. By component, ``place`` is its
    index on the path (``NONE``: not on it), ``reaches_root`` whether its picks are known to lead to
    the root, and ``node`` its node. Nodes are words (1..n) and cycles (n+1.., in the order of
    contraction); by node, ``parent`` is the cycle that it is on, ``pick`` the arc into it.
    """

    path: Ints
    place: Ints
    reaches_root: Ints
    node: Ints
    parent: Ints
    pick: Ints


@njit(separate=True)
def chu_liu_edmonds(scores: Floats, single_root: bool, heads: Ints, work: SearchWorkspace) -> float:
    """Write the heads (n+1,) of a best tree and return its score; where no tree exists ``-inf`` and
    -1 for all heads.

    Allocates nothing.
    """
    size = scores.shape[0]
    heads[:size] = NO_HEAD
    gains = work.gains[: size * size].reshape((size, size))
    origins = work.origins[: size * size].reshape((size, size))
    rows = work.lists
    lists = _NodeLists(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5])
    _start(scores, gains, origins, lists)
    next_node = size
    for word in range(1, size):
        if not lists.reaches_root[word]:
            next_node = _follow(word, next_node, single_root, gains, origins, work.values, lists)
            if next_node == NONE:
                return -np.inf
    _expand(size, next_node, heads, lists)
    if single_root and not _has_single_root(heads):
        heads[:size] = NO_HEAD
        return -np.inf
    total = 0.0
    for dependent in range(1, size):
        total += scores[heads[dependent], dependent]
    return total


@njit
def _start(scores: Floats, gains: Floats, origins: Ints, lists: _NodeLists) -> None:
    """Make each word a component without a pick."""
    size = scores.shape[0]
    for dependent in range(size):
        for head in range(size):
            gains[dependent, head] = scores[head, dependent]
            origins[dependent, head] = head * size + dependent
        gains[dependent, dependent] = -np.inf
        lists.place[dependent] = NONE
        lists.reaches_root[dependent] = dependent == 0
        lists.node[dependent] = dependent
    lists.parent[: 2 * size] = NONE


@njit
def _follow(
    word: int,
    next_node: int,
    single_root: bool,
    gains: Floats,
    origins: Ints,
    values: Floats,
    lists: _NodeLists,
) -> int:
    """Follow picks from ``word`` to the root, contracting cycles; returns the next unused node,
    ``NONE`` if a component has no candidate head.
    """
    path, place, reaches_root = lists.path, lists.place, lists.reaches_root
    path[0] = word
    place[word] = 0
    length = 1
    while True:
        component = path[length - 1]
        head = _best_head(gains[component], single_root)
        if gains[component, head] == -np.inf:
            return NONE
        values[component] = gains[component, head]
        lists.pick[lists.node[component]] = origins[component, head]
        if reaches_root[head]:
            break
        if place[head] == NONE:
            path[length] = head
            place[head] = length
            length += 1
        else:
            first = place[head]
            _contract(path[first:length], next_node, gains, origins, values, lists)
            next_node += 1
            length = first + 1
    for step in range(length):
        reaches_root[path[step]] = 1
    return next_node


@njit
def _best_head(gain: Floats, single_root: bool) -> int:
    """The head of largest gain; for a single root, 0 only if no other gain is above ``-inf``."""
    best = -np.inf if single_root else gain[0]
    head = 0
    for candidate in range(1, gain.size):
        if gain[candidate] > best:
            best, head = gain[candidate], candidate
    return head


@njit
def _contract(
    cycle: Ints, node: int, gains: Floats, origins: Ints, values: Floats, lists: _NodeLists
) -> None:
    """Contract the components of ``cycle`` to one, named by the first of them."""
    size = gains.shape[0]
    name = cycle[0]
    gains[name] -= values[name]
    for member in cycle[1:]:
        for head in range(size):
            gain = gains[member, head] - values[member]
            if gain > gains[name, head]:
                gains[name, head] = gain
                origins[name, head] = origins[member, head]
    for dependent in range(1, size):
        for member in cycle[1:]:
            if gains[dependent, member] > gains[dependent, name]:
                gains[dependent, name] = gains[dependent, member]
                origins[dependent, name] = origins[dependent, member]
            gains[dependent, member] = -np.inf
    gains[name, name] = -np.inf
    for member in cycle:
        lists.parent[lists.node[member]] = node
        lists.reaches_root[member] = 1  # the path that it was on ends at the root, or nothing does
    lists.reaches_root[name] = 0
    lists.node[name] = node


@njit
def _expand(size: int, n_nodes: int, heads: Ints, lists: _NodeLists) -> None:
    """Expand the cycles, newest first, and write ``heads``: the arc into a cycle replaces the pick
    of the node that it enters.
    """
    for cycle in range(n_nodes - 1, size - 1, -1):
        node = lists.pick[cycle] % size
        while lists.parent[node] != cycle:
            node = lists.parent[node]
        lists.pick[node] = lists.pick[cycle]
    for word in range(1, size):
        heads[word] = lists.pick[word] // size


@njit
def _has_single_root(heads: Ints) -> bool:
    roots = 0
    for word in range(1, heads.size):
        roots += heads[word] == 0
    return bool(roots == 1)
