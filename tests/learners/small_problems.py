"""Problems of the tasks, small enough for tests of learners: random sentences, and a slice of the
sample treebank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from full_rows import full_rows
from learners.enumerated import random_problem

from egparse.features.arcs import ArcCodes, ArcTemplates, compile_arc_templates, encode_arcs
from egparse.io.corpus import read_corpus
from egparse.learners.problem import Problem
from egparse.parsing.arc_problem import TreeProblem
from egparse.parsing.tree_inference import Trees
from egparse.sequences.problem import SequenceProblem

Ints = npt.NDArray[np.int32]

TEMPLATES = ("h.upos + d.upos", "h.upos h.upos[1] + d.upos", "h.form + d.upos", "h.upos + d.form")
N_TAGS = 18
CORPUS = Path(__file__).resolve().parents[2] / "corpora" / "en_sample-train.conllu"


def sequences(
    seed: int = 1,
    *,
    bigrams: bool = True,
    listed: bool = True,
    constant: bool = False,
    lengths: Sequence[int] = (3, 1, 5, 4, 2),
) -> SequenceProblem:
    """Sentences of so many words, four labels; ``listed``: some words have fewer candidates;
    ``constant``: every word has attribute 0, and none twice.
    """
    random, n_labels = np.random.default_rng(seed), 4
    starts = np.cumsum([0, *lengths])
    words = int(starts[-1])
    gold = random.integers(0, n_labels, size=words).astype(np.int32)
    allowed = (random.random((words, n_labels)) < 0.6) | (not listed)
    allowed[np.arange(words), gold] = True
    attributes = random.integers(-1, 8, size=(words, 3)).astype(np.int32)
    if constant:
        attributes %= np.array([1, 3, 4], dtype=np.int32)
        attributes += np.array([0, 1, 4], dtype=np.int32)
    return SequenceProblem(
        attributes=attributes,
        word_starts=starts,
        gold=gold,
        candidates=np.nonzero(allowed)[1].astype(np.uint16),
        candidate_starts=np.concatenate([[0], np.cumsum(allowed.sum(axis=1))]),
        rows=full_rows(8, n_labels),
        n_labels=n_labels,
        support=random.random((n_labels, n_labels)) < 0.7 if bigrams else None,
    )


def trees(
    seed: int = 1, *, kind: Trees = "projective", single_root: bool = True, chains: bool = True
) -> TreeProblem:
    """Five sentences of one to five words; all arcs; in the correct trees each word hangs from the
    word before.

    Without ``chains`` the third sentence has a tree with crossing arcs.
    """
    random = np.random.default_rng(seed)
    columns = [
        np.stack(
            [random.integers(0, 6, size=n + 1), random.integers(0, N_TAGS, size=n + 1)], axis=1
        )
        for n in (3, 1, 4, 5, 2)
    ]
    heads = [np.arange(len(own) - 1, dtype=np.int32) for own in columns]
    if not chains:
        heads[2] = np.array([3, 0, 2, 2], dtype=np.int32)  # 3 -> 1 crosses 0 -> 2
    return _tree_problem([own.astype(np.int32) for own in columns], heads, kind, single_root, 12)


@cache
def _sample(count: int) -> tuple[tuple[Ints, ...], tuple[Ints, ...]]:
    forms: dict[str, int] = {}
    tags: dict[str, int] = {}
    values, heads = [], []
    for sentence in list(read_corpus(CORPUS))[:count]:
        rows = [(0, 0)] + [
            (forms.setdefault(form, len(forms) + 1), tags.setdefault(tag, len(tags) + 1))
            for form, tag in zip(sentence.forms, sentence.upos, strict=True)
        ]
        values.append(np.array(rows, dtype=np.int32))
        heads.append(np.array(sentence.heads, dtype=np.int32))
    return tuple(values), tuple(heads)


def sample_trees(count: int = 30, kind: Trees = "non-projective") -> TreeProblem:
    """The first sentences of the sample treebank, with few features."""
    values, heads = _sample(count)
    return _tree_problem(list(values), list(heads), kind, True, 16)


def _tree_problem(
    values: list[Ints], heads: list[Ints], kind: Trees, single_root: bool, bits: int
) -> TreeProblem:
    templates = compile_arc_templates(TEMPLATES, ("form", "upos"), "upos")
    codes, arcs = [], []
    for own in values:
        codes.append(_encoded(own, templates))
        size = len(own)
        every = [(h, d) for d in range(1, size) for h in range(size) if h != d]
        arcs.append(np.array(every, dtype=np.int16))
    return TreeProblem(
        codes=codes,
        arcs=arcs,
        heads=heads,
        templates=templates,
        bits=bits,
        trees=kind,
        single_root=single_root,
    )


def _encoded(values: Ints, templates: ArcTemplates) -> ArcCodes:
    size = len(values)
    codes = ArcCodes(
        np.empty((size, len(templates.head_columns)), dtype=np.uint64),
        np.empty((size, len(templates.dependent_columns)), dtype=np.uint64),
        np.empty(size, dtype=np.int32),
        np.zeros((size, N_TAGS), dtype=np.int16),
    )
    encode_arcs(values, templates, codes)
    return codes


FAMILY = [(1.0, 0.0), (math.inf, 1.0), (1.0, 1.0), (3.0, 2.0)]
"""(beta, gamma) of losses: log-linear, max-margin, softmax-margin, and one in between."""

PROBLEMS: dict[str, Callable[[], Problem]] = {
    "enumerated": lambda: random_problem(1),
    "chain": sequences,
    "words": lambda: sequences(bigrams=False),
    "projective": trees,
    "non-projective": lambda: trees(kind="non-projective", single_root=False),
}
"""A problem of each structure."""
