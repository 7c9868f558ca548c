"""Supertags: what the tagger can say of the place of a word in the tree, before there is a tree.

The supertag of a word is the label of its arc, the side of its head, and whether it has dependents
on its left and on its right (Ouchi et al. 2014, "Improving dependency parsers with supertags";
Falenska et al. 2015, "Stacking or supertagging for dependency parsing: what's the difference?").
They are predicted from words, tags and word classes like other tags, jackknifed in training, and
are features of the parser and the labeller; they are not written to the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from egparse.evaluation.quick import tag_accuracy
from egparse.features.vocabulary import FIRST_VALUE
from egparse.fitting.task import Outcomes
from egparse.layers import SUPERTAGS
from egparse.sentences import MISSING_HEAD, Sentence
from egparse.sequences.tagger import Tagger
from egparse.sequences.tagger_task import TaggerTask
from egparse.types import Ints


def supertags_of(sentence: Sentence) -> list[str]:
    """The supertag of each word: label, side of the head (``L``, ``R``, ``0`` for the root), and
    ``<`` and ``>`` for dependents on the left and on the right; empty strings without a whole tree.
    """
    n = len(sentence)
    if len(sentence.heads) != n or len(sentence.deprels) != n or MISSING_HEAD in sentence.heads:
        return [""] * n
    has_left, has_right = [False] * (n + 1), [False] * (n + 1)
    for word, head in enumerate(sentence.heads, 1):
        (has_left if word < head else has_right)[head] = True
    return [
        f"{label} {'0' if head == 0 else 'L' if head < word else 'R'}"
        f"{'<' * has_left[word]}{'>' * has_right[word]}"
        for word, (head, label) in enumerate(zip(sentence.heads, sentence.deprels, strict=True), 1)
    ]


@dataclass(frozen=True)
class SupertagTask(TaggerTask):
    """The task of supertags; all training sentences have whole trees."""

    @property
    def gold(self) -> Ints:
        """The correct supertags of the training part."""
        return self._numbers(self.train.sentences)

    def _numbers(self, sentences: Sequence[Sentence]) -> Ints:
        values = self.columns.labels[SUPERTAGS].values
        return np.array(
            [
                values.get(tag, FIRST_VALUE - 1) - FIRST_VALUE
                for sentence in sentences
                for tag in supertags_of(sentence)
            ],
            dtype=np.int32,
        )

    def score(self) -> Callable[[Tagger], float] | None:
        """The accuracy in per cent; None without development trees."""
        sentences, words = self.dev
        if not any(tag for sentence in sentences for tag in supertags_of(sentence)):
            return None
        gold = self._numbers(sentences)
        gold = np.where(gold < 0, len(self.labels), gold)
        return lambda tagger: tag_accuracy(gold, tagger.predict(words))

    def outcomes(self, predictor: Tagger) -> Outcomes[Tagger]:
        """Right is the correct supertag, in sentences with whole trees."""
        words, gold = self.dev.words, self._numbers(self.dev.sentences)
        return Outcomes(
            gold == predictor.predict(words),
            gold >= 0,
            lambda tagger: tagger.predict_with_probabilities(words).probabilities,
        )
