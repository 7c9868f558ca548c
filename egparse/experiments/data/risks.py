"""The expected cost of a model on held-out sentences (Martins et al. 2010, footnote 1).

The cost is that of training: one for each wrong label or head. The problems here have no correct
structure, and the measures need none: a correct arc may not be among the candidates of the parser,
and a tag may be new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from egparse.features.arcs import codes_for, encode_arcs
from egparse.features.tag_dictionary import all_labels
from egparse.features.word_table import Words
from egparse.learners.losses import HINGE, SOFTMAX_MARGIN, expected_cost
from egparse.learners.problem import Problem
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.arc_problem import TreeProblem
from egparse.parsing.candidates import candidate_arcs
from egparse.sequences.model import SequenceModel
from egparse.structures.chains import chain
from egparse.types import Floats, Ints


class Risks(NamedTuple):
    """Per word. ``expected`` is the expected cost E[cost] and ``bound`` is log E[exp(cost)], an
    upper bound of it; both under the Gibbs distribution of the model.

    ``ramp`` is the structured ramp loss, an upper bound of the cost of the best structure.
    """

    expected: float
    bound: float
    ramp: float


def risks(problem: Problem, scores: Iterable[Floats], n_words: int) -> Risks:
    """The risks of a model that gives example i the i-th part scores of ``scores``. These are
    copied, so they may lie in scratch arrays of the problem.
    """
    totals = np.zeros(3)
    for i, drawn in enumerate(scores):
        copied = drawn.copy()
        marginals = np.empty_like(copied)
        totals += (
            expected_cost(problem, i, copied, marginals),
            SOFTMAX_MARGIN.difference(problem, i, copied, marginals),
            HINGE.difference(problem, i, copied, marginals),
        )
    return Risks(*(totals / n_words).tolist())


class HeldOutTrees(Problem):
    """Sentences of ``lengths`` words with the candidate arcs of a problem. A word whose correct
    head is no candidate costs one in every tree.
    """

    def __init__(self, problem: TreeProblem, lengths: Sequence[int]) -> None:
        self._problem, self._lengths = problem, lengths

    @classmethod
    def of(cls, parser: ArcParser, words: Words, heads: Sequence[Ints]) -> HeldOutTrees:
        """The candidate arcs are those of the parser."""
        values = parser.columns.values(words)
        codes, arcs = [], []
        for i, (first, end) in enumerate(zip(words.starts, words.starts[1:], strict=False)):
            word_values = values[first + i : end + i + 1]
            codes.append(codes_for(parser.templates, len(word_values) - 1))
            encode_arcs(word_values, parser.templates, codes[-1])
            room = np.empty((len(word_values) ** 2, 2), dtype=np.int16)
            arcs.append(room[: candidate_arcs(word_values, parser.arc_filter, room)].copy())
        problem = TreeProblem(
            codes=codes,
            arcs=arcs,
            heads=heads,
            templates=parser.templates,
            bits=0,
            trees=parser.trees,
            single_root=parser.single_root,
        )
        return cls(problem, [len(heads_of_sentence) for heads_of_sentence in heads])

    def cost(self, i: int) -> Floats:
        """Minus one on correct arcs."""
        return self._problem.cost(i)

    def cost_constant(self, i: int) -> float:
        """The number of words."""
        return float(self._lengths[i])

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """As in training."""
        return self._problem.marginals(i, potentials, out)

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """As in training."""
        return self._problem.argmax(i, potentials, out)

    def risks(self, parser: ArcParser) -> Risks:
        """The risks of a parser that differs from the one given to ``of`` only in its weights."""
        self._problem.weights = parser.weights
        return risks(self, map(self._problem.scores, range(len(self._lengths))), sum(self._lengths))


class HeldOutSequences(Problem):
    """Label sequences with bigrams, in which every word may have every label.

    ``gold`` (words,) are the correct labels; -1 is a label that the model does not have, and such a
    word costs one under any label.
    """

    def __init__(self, words: Words, gold: Ints, n_labels: int) -> None:
        self._words, self._gold, self._n_labels = words, gold, n_labels
        longest = int(np.diff(words.starts).max(initial=1))
        self._starts = np.arange(longest + 1, dtype=np.int32) * n_labels
        self._labels = np.tile(np.arange(n_labels, dtype=np.int32), longest)

    def cost(self, i: int) -> Floats:
        """Hamming cost: one for each wrong label."""
        gold = self._gold[self._words.starts[i] : self._words.starts[i + 1]]
        known = np.flatnonzero(gold >= 0)
        out = np.zeros((len(gold) + self._n_labels) * self._n_labels)
        out[: gold.size * self._n_labels] = 1.0
        out[known * self._n_labels + gold[known]] = 0.0
        return out

    def cost_constant(self, i: int) -> float:
        """0: the cost of the correct labels is 0 as it stands."""
        return 0.0

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Forward-backward."""
        result = chain.marginals(potentials, *self._sentence(i))
        out[:] = result.marginals
        return result.log_partition

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """Viterbi."""
        best = chain.argmax(potentials, *self._sentence(i))
        size, n = self._n_labels, len(best.choice)
        out[:] = 0.0
        out[np.arange(n) * size + best.choice] = 1.0
        np.add.at(out, n * size + best.choice[:-1] * size + best.choice[1:], 1.0)
        return best.score

    def risks(self, model: SequenceModel) -> Risks:
        """The risks of a model of label bigrams; no transition may be -inf."""
        return risks(self, self._scores(model), len(self._gold))

    def _scores(self, model: SequenceModel) -> Iterator[Floats]:
        words, size = self._words, self._n_labels
        candidates = all_labels(len(words.form_ids), size)
        unary = model.unary_scores(words.values, words.starts, candidates)
        bigrams = model.transitions.reshape(-1).astype(np.float64)
        for first, end in zip(words.starts, words.starts[1:], strict=False):
            yield np.concatenate([unary[first * size : end * size], bigrams])

    def _sentence(self, i: int) -> tuple[Ints, Ints, int]:
        n = int(self._words.starts[i + 1] - self._words.starts[i])
        return self._starts[: n + 1], self._labels[: n * self._n_labels], self._n_labels
