"""The metrics of the IWPT 2021 shared task on enhanced dependencies.

An edge of an enhanced graph leads from a head to a word, with a label. A path through empty nodes,
which systems need not predict, is one edge, whose label joins those of the path: ``conj>nsubj``.

    ELAS     F1 of the edges between aligned words with equal labels
    EULAS    likewise, with each relation cut at its first colon

Source: ``iwpt20_xud_eval.py`` and ``enhanced_collapse_empty_nodes.pl`` of the shared task; Bouma et
al. (2021), "From raw text to enhanced Universal Dependencies: The parsing shared task at IWPT
2021". A path that returns to an empty node is left out. Equal edges of a word count once. As there,
edges that EULAS makes equal stay several, and each of them is correct with each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from egparse.errors import EgparseError
from egparse.evaluation.alignment import Alignment
from egparse.evaluation.scores import universal_deprel
from egparse.evaluation.words import place_of
from egparse.sentences import MISSING, Sentence
from egparse.types import Longs

ENHANCED_METRICS = ("ELAS", "EULAS")
"""The metrics on enhanced dependencies, by their official names."""

Edge = tuple[int, int, str]
"""A word and its head, numbers among all words (-1: the root), and the label."""

_ROOT, _NONE = -1, -2
_ID, _DEPS = 0, 8


def edge_counts(
    gold: Sequence[Sentence],
    system: Sequence[Sentence],
    alignment: Alignment,
    gold_places: Longs,
    system_places: Longs,
) -> dict[str, Longs]:
    """``counts[gold sentence] = (correct, gold, system)`` edges for each metric.

    ``gold_places[w]`` and ``system_places[w]`` are the gold sentence in which word ``w`` counts.

    Raises:
        EgparseError: gold or system has no enhanced dependencies, or a cell of DEPS is faulty.
    """
    gold_edges, system_edges = _edges(gold, "the gold corpus"), _edges(system, "the predictions")
    to_gold = dict(zip(alignment.system.tolist(), alignment.gold.tolist(), strict=True))
    to_gold[_ROOT] = _ROOT
    counts = {}
    for name in ENHANCED_METRICS:
        if name == "EULAS":
            gold_edges, system_edges = _universal(gold_edges), _universal(system_edges)
        correct: Counter[Edge] = Counter()
        for (word, head, label), times in system_edges.items():
            edge = (to_gold.get(word, _NONE), to_gold.get(head, _NONE), label)
            correct[edge] += times * gold_edges.get(edge, 0)
        columns = (correct, gold_places), (gold_edges, gold_places), (system_edges, system_places)
        counts[name] = np.stack(
            [_by_sentence(edges, places, len(gold)) for edges, places in columns], axis=1
        )
    return counts


def _by_sentence(edges: Counter[Edge], places: Longs, n: int) -> Longs:
    found = np.zeros(n, dtype=np.int64)
    for (word, _, _), times in edges.items():
        if times:
            found[places[word]] += times
    return found


def _edges(sentences: Sequence[Sentence], name: str) -> Counter[Edge]:
    """The edges of all sentences, once each."""
    edges: set[Edge] = set()
    first = 0
    for number, sentence in enumerate(sentences):
        try:
            edges |= {
                (first + word - 1, first + head - 1 if head else _ROOT, label)
                for word, head, label in _collapsed(_graph(sentence))
            }
        except (KeyError, ValueError):
            raise EgparseError(
                f"{place_of(sentence, number)}: expected HEAD:LABEL|HEAD:LABEL... in the column "
                "DEPS, with heads of the sentence"
            ) from None
        first += len(sentence)
    if not edges:
        raise EgparseError(f"expected enhanced dependencies in the column DEPS of {name}, got none")
    return Counter(edges)


def _graph(sentence: Sentence) -> dict[str, list[tuple[str, str]]]:
    """The heads and labels of each word and empty node, by ID."""
    source = sentence.source
    if sentence.deps:
        rows: Iterable[tuple[str, str]] = (
            (str(word), cell) for word, cell in enumerate(sentence.deps, 1)
        )
    elif source is not None and source.format == "conllu":
        lines = (line.split("\t") for line in source.lines if not line.startswith("#"))
        rows = ((cells[_ID], cells[_DEPS]) for cells in lines if "-" not in cells[_ID])
    else:
        rows = ()
    graph: dict[str, list[tuple[str, str]]] = {}
    for node, cell in rows:
        graph[node] = []
        for edge in cell.split("|") if cell != MISSING else ():
            head, label = edge.split(":", 1)
            graph[node].append((head, label))
    return graph


def _collapsed(graph: Mapping[str, list[tuple[str, str]]]) -> Iterator[Edge]:
    """Word, head and label of each edge between words, numbers from 1, and of each path through
    empty nodes; the root has the number 0.
    """
    for node, edges in graph.items():
        if "." in node:
            continue
        paths: list[tuple[str, str, tuple[str, ...]]] = [(*edge, ()) for edge in edges]
        for head, label, passed in paths:
            if "." not in head:
                if head != "0" and head not in graph:
                    raise KeyError(head)
                yield int(node), int(head), label
            elif head not in passed:
                paths += [
                    (above, f"{first}>{label}", (*passed, head)) for above, first in graph[head]
                ]


def _universal(edges: Counter[Edge]) -> Counter[Edge]:
    cut: Counter[Edge] = Counter()
    for (word, head, label), times in edges.items():
        cut[word, head, ">".join(map(universal_deprel, label.split(">")))] += times
    return cut
