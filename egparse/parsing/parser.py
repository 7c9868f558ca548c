"""What parsers of both orders share: heads with probabilities, the k best trees, constraints and
long sentences, and how a model holds a parser.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from egparse.errors import EgparseError
from egparse.features.request import Request, Values
from egparse.features.word_table import Columns, Words
from egparse.parsing.constraints import FREE, ArcConstraints, SentenceArcs
from egparse.parsing.long_sentences import LONGEST, parse_in_pieces
from egparse.storage.arrays import Weights, quantise
from egparse.storage.ragged import Ragged
from egparse.structures.trees.dependency_trees import NO_HEAD, checked_count
from egparse.types import Floats, Ints, Mask, Singles


class HeadsWithProbabilities(NamedTuple):
    """The head of each word, and the marginal probability of its arc, nan where there is none; both
    of shape (words,).
    """

    heads: Ints
    probabilities: Floats

    @classmethod
    def none(cls, n: int) -> HeadsWithProbabilities:
        """No heads for n words."""
        return cls(np.full(n, NO_HEAD, dtype=np.int32), np.full(n, np.nan))


class ScoredTree(NamedTuple):
    """A tree, ``heads[d - 1]`` being the head of word d (0 for the root), shape (n,), and the log
    of its probability in nats.
    """

    heads: Ints
    log_probability: float


class Decoder(ABC):
    """Parses sentences with one parser, in buffers and workspaces for up to ``longest`` words.

    Sentences are given by their column values (n + 1, columns), the root's first.
    """

    single_root: bool

    @abstractmethod
    def whole(self, values: Ints, limits: SentenceArcs | None) -> HeadsWithProbabilities | None:
        """The tree of a sentence of up to ``LONGEST`` words, within its constraints if there are
        any; None if there is none.
        """

    def without_tree(self, values: Ints, limits: SentenceArcs | None) -> HeadsWithProbabilities:
        """What a sentence gets that has no tree."""
        return HeadsWithProbabilities.none(len(values) - 1)

    def together(self, values: Ragged[Ints], chosen: Mask, out: HeadsWithProbabilities) -> Mask:
        """Parse those of the ``chosen`` sentences of a batch that can be parsed in one call, which
        have no constraints; returns which were.
        """
        return np.zeros_like(chosen)

    def parse(self, values: Ints, limits: SentenceArcs | None = None) -> HeadsWithProbabilities:
        """The tree of a sentence; fixed heads have probability 1."""
        if limits is None:
            is_short = len(values) <= LONGEST + 1
            tree = self.whole(values, None) if is_short else self._in_pieces(values)
            return tree or self.without_tree(values, None)
        fixed = limits.fixed_heads[1:]
        if np.all(fixed != FREE):
            return HeadsWithProbabilities(fixed, np.ones(len(fixed)))
        tree = self.whole(values, limits) or self.without_tree(values, limits)
        tree.probabilities[(fixed != FREE) & (tree.heads == fixed)] = 1.0
        return tree

    def _in_pieces(self, values: Ints) -> HeadsWithProbabilities | None:
        """The tree of a long sentence; None if a piece has none."""
        probabilities, lost = np.full(len(values) - 1, np.nan), False

        def parse(first: int, end: int) -> Ints:
            nonlocal lost
            tree = self.whole(np.concatenate([values[:1], values[first + 1 : end + 1]]), None)
            if tree is None:
                lost = True
                return np.zeros(end - first, dtype=np.int32)
            # a piece is parsed after the windows that contain it: its probabilities remain
            probabilities[first:end] = tree.probabilities
            return tree.heads

        heads = parse_in_pieces(len(values) - 1, parse, single_root=self.single_root)
        return None if lost else HeadsWithProbabilities(heads, probabilities)


class AnyParser(ABC):
    """A parser of either order; immutable.

    Trees are decoded with scores multiplied by ``mbr_scale``; probabilities are those of scores
    divided by ``temperature``. The two differ: the distribution that decodes best is too
    overconfident for probabilities.
    """

    table: Weights
    mbr_scale: float  # "sharpness" in model files
    temperature: float

    name: ClassVar[str] = "parser"
    layers: ClassVar[tuple[str, ...]] = ("heads",)

    @abstractmethod
    def sentences(self, words: Words) -> Ragged[Ints]:
        """The column values that are read of each sentence, (n + 1, columns), the root's first."""

    @abstractmethod
    def over(self, columns: Columns) -> Self:
        """The same over columns in which the columns that it reads keep their numbers."""

    @abstractmethod
    def decoder(self, longest: int, with_probabilities: bool) -> Decoder:
        """What parses sentences of up to ``longest`` words; without ``with_probabilities`` all
        probabilities of trees without constraints are nan.
        """

    @abstractmethod
    def k_best_of(self, values: Ints, k: int) -> list[ScoredTree]:
        """``k_best`` of one sentence with column values (n + 1, columns), the root's first."""

    def predict(self, words: Words, constraints: ArcConstraints | None = None) -> Ints:
        """The head of each word: its position in the sentence from 1 on, 0 for the root.

        The tree has the most expected correct heads under the distribution over trees with scores
        times ``mbr_scale`` (minimum Bayes risk, as Goodman 1996 decodes constituents), or, where
        arcs are scored with their labels, the most that have their most probable label too; if
        ``mbr_scale`` is 0, it is the tree of highest score. Sentences of more than ``LONGEST``
        words are parsed in pieces (see ``long_sentences``).

        With ``constraints`` the tree is one that they allow: a projective one if it exists, else a
        non-projective one; if there is none, all words have the head -1. Sentences of more than
        ``LONGEST`` words must have all heads fixed or no constraints.
        """
        return self._parse(words, constraints, with_probabilities=False).heads

    def predict_with_probabilities(
        self, words: Words, constraints: ArcConstraints | None = None
    ) -> HeadsWithProbabilities:
        """The heads of ``predict``, and the marginal probability of each predicted arc under scores
        divided by ``temperature``.

        With ``constraints``, marginals are over the trees that these allow; fixed heads have
        probability 1. In a sentence that is parsed in pieces, marginals are over the trees of the
        word's piece.
        """
        return self._parse(words, constraints, with_probabilities=True)

    def _parse(
        self, words: Words, constraints: ArcConstraints | None, with_probabilities: bool
    ) -> HeadsWithProbabilities:
        values, starts, out = (
            self.sentences(words),
            words.starts,
            HeadsWithProbabilities.none(words.n_words),
        )
        lengths = np.diff(starts)
        is_free = np.ones(len(lengths), dtype=np.bool_)
        if constraints is not None:
            is_free = ~constraints.constrained
        longest = min(int(lengths.max(initial=1)), LONGEST)
        decoder = self.decoder(longest, with_probabilities)
        short = (lengths > 0) & (lengths <= LONGEST)
        left = (lengths > 0) & ~decoder.together(values, short & is_free, out)
        for i in left.nonzero()[0].tolist():
            first, end = int(starts[i]), int(starts[i + 1])
            free = constraints is None or is_free[i]
            limits = None if constraints is None or free else constraints.arcs(i, first, end)
            out.heads[first:end], out.probabilities[first:end] = decoder.parse(values[i], limits)
        return out

    def k_best(self, words: Words, k: int) -> list[list[ScoredTree]]:
        """For each sentence its ``k`` most probable trees over the candidate arcs, best first;
        fewer where fewer exist.

        Probabilities are those of scores divided by ``temperature``, as in
        ``predict_with_probabilities``: the probabilities of all trees with an arc add up to the
        arc's. The first tree has the highest score; with ``mbr_scale`` 0, ``predict`` returns it
        too. After max-margin or perceptron training, log probabilities are only scores minus a
        constant. A sentence without words has one tree, without heads.

        Raises:
            ValueError: k < 1.
            EgparseError: a sentence of more than ``LONGEST`` words.
        """
        checked_count(k)
        longest = int(np.diff(words.starts).max(initial=0))
        if longest > LONGEST:
            raise EgparseError(
                f"k best trees: expected sentences of at most {LONGEST} words, got one of {longest}"
            )
        return [self.k_best_of(values, k) for values in self.sentences(words)]

    def annotate(self, request: Request) -> dict[str, Values]:
        limits = request.limits.get("heads")
        if not request.asked:
            return {"heads": Values(self.predict(request.words, limits))}
        return {"heads": Values(*self.predict_with_probabilities(request.words, limits))}

    @property
    def weights(self) -> Singles:
        """The hashed table in full, (2^bits,)."""
        return self.table.in_full()

    @property
    def bits(self) -> int:
        """The number of bits of an index into the hashed table of weights."""
        return len(self.table.cells).bit_length() - 1

    def with_temperature(self, temperature: float) -> Self:
        """The same parser with probabilities from scores divided by a temperature."""
        return cast(Self, replace(cast(Any, self), temperature=temperature))

    def with_weights(self, table: Weights) -> Self:
        """The same parser with other weights."""
        return cast(Self, replace(cast(Any, self), table=table))

    def reduced(self, config: Any = None, columns: Columns | None = None) -> Self:
        """The parser as a model file holds it, with quantised weights."""
        return self.with_weights(quantise(self.weights))

    def size(self) -> dict[str, int]:
        """The number of its weights, see ``SequenceModel.size``."""
        return {
            "labels": 0,
            "attributes": self.table.cells.size,
            "weights": int(np.count_nonzero(self.table.cells)),
            "bytes": self.table.cells.nbytes,
        }


def sentence_values(values: Ints, words: Words) -> Ragged[Ints]:
    """The rows of column values of each sentence, the root's first."""
    return Ragged(values, words.starts + np.arange(len(words.starts)))
