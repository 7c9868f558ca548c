"""Training problems of real sentences: a chain, words by themselves, and trees of both kinds, from
the sample treebank.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from sample_treebank import sample

from egparse.config.sections import TrainConfig
from egparse.features.arcs import codes_for, compile_arc_templates, encode_arcs
from egparse.features.default_templates import ARC_TEMPLATES
from egparse.features.sequence import supported_rows
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import compile_templates
from egparse.learners.problem import Problem
from egparse.parsing.arc_problem import TreeProblem
from egparse.parsing.candidates import build_arc_filter, candidates_with_correct
from egparse.parsing.columns import BETWEEN, ArcColumns
from egparse.parsing.tree_inference import Trees
from egparse.sentences import Sentence
from egparse.sequences.model import build_index, keys_of
from egparse.sequences.problem import SequenceProblem
from egparse.training.columns import build_columns


def sentences(count: int, longest: int = 15) -> list[Sentence]:
    """The first short ones of the training part."""
    return list(
        itertools.islice((own for own in sample("train") if 3 <= len(own) <= longest), count)
    )


def sequence(bigrams: bool, count: int = 15) -> Problem:
    """Universal tags of the sentences, with the form, its neighbours and its suffix; with label
    bigrams or without.
    """
    chosen = sentences(count)
    columns = build_columns(chosen, ("upos",), TrainConfig(layers=("upos",)))
    words = columns.words([own.forms for own in chosen])
    labels = columns.labels["upos"]
    templates = compile_templates(
        ["form[0]", "form[-1]", "form[1]", "suffix3[0]"], columns.names, pads=True
    )
    gold = columns.label_numbers(chosen, "upos")
    candidates = all_labels(len(gold), len(labels))
    keys = keys_of(templates, words.values, words.starts)
    index = build_index(keys, 1)
    attributes = index.numbers(keys)
    inside = np.setdiff1d(np.arange(len(gold)), words.starts[:-1])
    support = np.zeros((len(labels), len(labels)), dtype=bool)
    support[gold[inside - 1], gold[inside]] = True
    return SequenceProblem(
        attributes=attributes,
        word_starts=words.starts,
        gold=gold,
        candidates=candidates.labels,
        candidate_starts=candidates.starts,
        rows=supported_rows(attributes, gold, len(index), len(labels)),
        n_labels=len(labels),
        support=support if bigrams else None,
    )


def tree(trees: Trees, count: int = 15) -> Problem:
    """Trees over the arcs that the filter leaves, with all built-in features and the tags of the
    corpus.
    """
    chosen = sentences(count)
    heads = [np.array(own.heads, dtype=np.int32) for own in chosen]
    columns = build_columns(chosen, ("heads",), TrainConfig(layers=("heads",)))
    words = columns.words([own.forms for own in chosen])
    words = columns.with_input(words, chosen, ("heads",))
    arc_columns = ArcColumns.build(words, columns, 2)
    templates = compile_arc_templates(ARC_TEMPLATES, arc_columns.names, BETWEEN)
    values = arc_columns.values(words)
    rows = [
        values[first + i : end + i + 1]
        for i, (first, end) in enumerate(itertools.pairwise(words.starts))
    ]
    codes = [codes_for(templates, len(own) - 1) for own in rows]
    for own, code in zip(rows, codes, strict=True):
        encode_arcs(own, templates, code)
    arc_filter = build_arc_filter(rows, heads, arc_columns.names.index("upos"), -1, 0.1)
    arcs = [
        candidates_with_correct(own, right, arc_filter)
        for own, right in zip(rows, heads, strict=True)
    ]
    return TreeProblem(
        codes=codes,
        arcs=arcs,
        heads=heads,
        templates=templates,
        bits=14,
        trees=trees,
        single_root=True,
    )


SLICES: dict[str, Callable[[], Problem]] = {
    "chain": lambda: sequence(bigrams=True),
    "words": lambda: sequence(bigrams=False),
    "projective": lambda: tree("projective"),
    "non-projective": lambda: tree("non-projective"),
}
"""Name -> a fresh problem with v = 0."""

EACH = [pytest.param(name, marks=[pytest.mark.nightly] * ("projective" in name)) for name in SLICES]
"""The names as parameters of a test; those of trees take long and are tried nightly."""
