"""Learning the trees of other models: distillation on annotated text, self-training on raw text.

The teachers of a parser are one model or several. Their distribution over the trees of a sentence
is the mean of those of the teachers, each restricted to its most probable trees; so an ensemble is
taught as one model (Hinton et al. 2015; Kuncoro et al. 2016 for dependency parsers). On an
annotated sentence a share of the target is the teachers', the rest is the gold tree. Where there is
no annotation the target is the teachers' alone, and only sentences are used whose best tree is
probable enough.

Teachers that were trained on the same sentences are surer of them than they should be: what they
add there is little.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from egparse.config.sections import TeacherConfig
from egparse.errors import EgparseError
from egparse.features.word_table import Words
from egparse.fitting import interruption
from egparse.fitting.progress import Listener, Step, silent
from egparse.fitting.task import Part
from egparse.layers import HIDDEN, TAG_LAYERS
from egparse.parsing.arc_training import GoldHeads
from egparse.parsing.training_pieces import LONGEST_LEARNED
from egparse.parsing.tree_mixtures import TreeMixture, mixture_of, pooled, with_gold
from egparse.pipeline.annotate import predict_words
from egparse.pipeline.components import PARSER, Components
from egparse.pipeline.model import Model, ScoredSentence
from egparse.sentences import MISSING_HEAD, Sentence
from egparse.types import Ints

_BETWEEN_STEPS = 500  # sentences between two events of progress


class Taught(NamedTuple):
    """The part that a parser learns from, and its heads, with the targets of the teachers."""

    part: Part
    heads: GoldHeads


class _Lesson(NamedTuple):
    """A sentence as the first teacher annotates it, the distribution over trees, and the
    probability of the best one.
    """

    sentence: Sentence
    mixture: TreeMixture
    probability: float


@dataclass(frozen=True)
class Teachers:
    """Models whose trees a parser learns, and ``unlabelled`` sentences on which they alone say
    what is right.

    Raises:
        EgparseError: a teacher without a parser whose trees have probabilities.
    """

    models: Sequence[Model]
    unlabelled: Sequence[Sentence] = ()

    def __post_init__(self) -> None:
        for model in self.models:
            if PARSER not in model.components or "heads" not in model.probabilistic:
                raise EgparseError(
                    "expected teachers with a parser whose trees have probabilities, got a model "
                    f"of {', '.join(model.layers)}"
                )

    def teach(
        self,
        part: Part,
        heads: GoldHeads,
        tagging: Components,
        config: TeacherConfig,
        listener: Listener = silent,
    ) -> Taught:
        """The part with a target for each sentence that is annotated in full, then the unlabelled
        sentences of which the teachers are sure; these get the tags that ``tagging`` predicts.

        ``listener`` gets the number of sentences that the teachers have parsed.
        """
        mixtures: list[TreeMixture | None] = [None] * len(heads.train)
        whole = [
            i
            for i, of_sentence in enumerate(heads.train)
            if len(of_sentence) <= LONGEST_LEARNED and MISSING_HEAD not in of_sentence
        ]
        asked = [part.sentences[i] for i in whole] if config.share > 0 else []
        found = [one for one in self.unlabelled if 0 < len(one) <= LONGEST_LEARNED]
        progress = _Progress(len(asked) + len(found), listener)
        if config.share > 0:
            lessons = progress.counted(self._lessons(asked, config.trees))
            for i, lesson in zip(whole, lessons, strict=True):
                mixtures[i] = with_gold(lesson.mixture, heads.train[i], config.share)
        sure = [
            lesson
            for lesson in progress.counted(self._lessons(found, config.trees))
            if lesson.probability >= config.threshold
        ]
        if sure:
            sentences = [lesson.sentence for lesson in sure]
            part = joined(part, Part(sentences, tagged_words(sentences, tagging)))
        return Taught(
            part,
            heads._replace(
                train=[*heads.train, *(lesson.mixture.heads[0] for lesson in sure)],
                mixtures=[*mixtures, *(lesson.mixture for lesson in sure)],
            ),
        )

    def _lessons(self, sentences: Sequence[Sentence], trees: int) -> Iterator[_Lesson]:
        """What the teachers say of each sentence."""
        streams = [model.k_best(sentences, trees) for model in self.models]
        for ranked in zip(*streams, strict=True):
            mixture = pooled([_mixture(of_teacher) for of_teacher in ranked])
            best = int(np.argmax(mixture.shares))
            heads = [mixture.heads[best], *mixture.heads[:best], *mixture.heads[best + 1 :]]
            shares = np.concatenate([mixture.shares[[best]], np.delete(mixture.shares, best)])
            yield _Lesson(
                ranked[0][0].sentence,
                TreeMixture(heads, shares),
                float(np.mean([_probability(of_teacher, heads[0]) for of_teacher in ranked])),
            )


class _Progress:
    """Tells a listener how many of all sentences the teachers have parsed, now and then."""

    def __init__(self, total: int, listener: Listener) -> None:
        self.total, self.done, self._listener = total, 0, listener
        if total:
            listener(Step("teachers", total, 0))

    def counted(self, lessons: Iterator[_Lesson]) -> Iterator[_Lesson]:
        """The same lessons, counted."""
        for lesson in lessons:
            self.done += 1
            if self.done % _BETWEEN_STEPS == 0 or self.done == self.total:
                self._listener(Step("teachers", self.total, self.done))
                interruption.check()
            yield lesson


def _mixture(ranked: Sequence[ScoredSentence]) -> TreeMixture:
    """The distribution of one teacher over its most probable trees."""
    highest = ranked[0].log_probability
    return mixture_of((_heads(one), math.exp(one.log_probability - highest)) for one in ranked)


def _probability(ranked: Sequence[ScoredSentence], heads: Ints) -> float:
    """The probability of a tree; 0 if it is not among the most probable ones."""
    return sum(
        math.exp(one.log_probability) for one in ranked if np.array_equal(_heads(one), heads)
    )


def _heads(one: ScoredSentence) -> Ints:
    return np.array(one.sentence.heads, dtype=np.int32)


def tagged_words(sentences: Sequence[Sentence], tagging: Components) -> Words:
    """The words of sentences with the tags that are predicted, each from those before it; those of
    layers that are read from the input are the sentences' own.
    """
    columns = tagging.columns
    words = columns.words([sentence.forms for sentence in sentences])
    tagged = [layer for layer in tagging.layers if layer in TAG_LAYERS]
    words = columns.with_input(words, sentences, tagged)
    # as for trees, which the tagging does not predict: supertags are features of these
    return predict_words(tagging, words, {*tagged, *HIDDEN}, {}).words


def joined(first: Part, second: Part) -> Part:
    """Two parts over the same columns, one after the other."""
    a, b = first.words, second.words
    numbers: dict[str, int] = {form: number for number, form in enumerate(a.distinct)}
    places = np.array([numbers.setdefault(form, len(numbers)) for form in b.distinct], np.int32)
    words = Words(
        np.concatenate([a.starts, a.starts[-1] + b.starts[1:]]),
        list(numbers),
        np.concatenate([a.form_ids, places[b.form_ids]]),
        np.concatenate([a.values, b.values]),
    )
    return Part(list(itertools.chain(first.sentences, second.sentences)), words)
