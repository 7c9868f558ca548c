"""What parsers of both orders share: heads with probabilities, the k best trees, and how a model
holds a parser.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from egparse.errors import EgparseError
from egparse.features.request import Request, Values
from egparse.features.word_table import Columns, Words
from egparse.parsing.constraints import ArcConstraints
from egparse.parsing.long_sentences import LONGEST
from egparse.storage.arrays import quantise
from egparse.storage.ragged import Ragged
from egparse.structures.trees.dependency_trees import checked_count
from egparse.types import Floats, Ints, Singles


class HeadsWithProbabilities(NamedTuple):
    """The head of each word, and the marginal probability of its arc, nan where there is none; both
    of shape (words,).
    """

    heads: Ints
    probabilities: Floats


class ScoredTree(NamedTuple):
    """A tree, ``heads[d - 1]`` being the head of word d (0 for the root), shape (n,), and the log
    of its probability in nats.
    """

    heads: Ints
    log_probability: float


class AnyParser(ABC):
    """A parser of either order; immutable.

    Trees are decoded with scores multiplied by ``mbr_scale``; probabilities are those of scores
    divided by ``temperature``. The two differ: the distribution that decodes best is too
    overconfident for probabilities.
    """

    weights: Singles
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
    def k_best_of(self, values: Ints, k: int) -> list[ScoredTree]:
        """``k_best`` of one sentence with column values (n + 1, columns), the root's first."""

    @abstractmethod
    def _parse(
        self, words: Words, constraints: ArcConstraints | None, with_probabilities: bool
    ) -> HeadsWithProbabilities: ...

    def predict(self, words: Words, constraints: ArcConstraints | None = None) -> Ints:
        """The head of each word: its position in the sentence from 1 on, 0 for the root.

        The tree has the most expected correct heads under the distribution over trees with scores
        times ``mbr_scale`` (minimum Bayes risk, as Goodman 1996 decodes constituents); if
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
        """See ``pipeline.components.Component``."""
        limits = request.limits.get("heads")
        if not request.asked:
            return {"heads": Values(self.predict(request.words, limits))}
        return {"heads": Values(*self.predict_with_probabilities(request.words, limits))}

    @property
    def bits(self) -> int:
        """The number of bits of an index into the hashed table of weights."""
        return len(self.weights).bit_length() - 1

    def with_temperature(self, temperature: float) -> Self:
        """The same parser with probabilities from scores divided by a temperature."""
        changed: Self = replace(cast(Any, self), temperature=temperature)
        return changed

    def with_weights(self, weights: Singles) -> Self:
        """The same parser with other weights."""
        changed: Self = replace(cast(Any, self), weights=weights)
        return changed

    def reduced(self, config: Any = None, columns: Columns | None = None) -> Self:
        """The parser as a model file holds it, with quantised weights."""
        return self.with_weights(quantise(self.weights))

    def size(self) -> dict[str, int]:
        """The number of its weights, see ``SequenceModel.size``."""
        return {
            "labels": 0,
            "attributes": self.weights.size,
            "weights": int(np.count_nonzero(self.weights)),
            "bytes": self.weights.nbytes,
        }


def sentence_values(values: Ints, words: Words) -> Ragged[Ints]:
    """The rows of column values of each sentence, the root's first."""
    return Ragged(values, words.starts + np.arange(len(words.starts)))
