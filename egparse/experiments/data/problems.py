"""The training problems of the experiments, each with a validation score."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from egparse.config.sections import ORDER_1, TrainConfig
from egparse.errors import EgparseError
from egparse.evaluation.attachment import is_punctuation
from egparse.evaluation.scores import attachment
from egparse.evaluation.spans import score_spans
from egparse.experiments.classification import ClassifierProblem, error_rate
from egparse.experiments.data.risks import HeldOutSequences, HeldOutTrees, Risks
from egparse.experiments.data.samples import Sample
from egparse.experiments.report.record import Task
from egparse.features.default_templates import SPAN_TEMPLATES
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import columns_of, compile_templates
from egparse.features.word_table import Columns, Words
from egparse.fitting.task import Part
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.problem import Problem
from egparse.parsing.gold_trees import GoldHeads, crossing_arcs, training_pieces
from egparse.parsing.training import ARC_THETA, ArcParserTask
from egparse.parsing.tree_inference import Trees
from egparse.sentences import Sentence
from egparse.sequences.tagger import Tagger, forbid_invalid_spans
from egparse.sequences.task import GOLD_THETA as LABEL_THETA
from egparse.sequences.task import SequenceExamples, prepare_sequence
from egparse.training.columns import build_columns
from egparse.types import Floats, Ints, Longs, Mask

_CLASS_THETA = 5.0
"""The initial theta of correct classes is this plus the logarithm of the number of classes. The
papers do not give theirs; from 0, EG takes longer.
"""

Score = Callable[[float], float]
"""A function of the scale: the score of the model w = scale v, where the problem holds v."""


Outcomes = Callable[[float], Longs]
"""A function of the scale, as ``Score``: (correct, gold, system) of each sentence, (sentences, 3),
whose F1 is the score.
"""


class Setup(NamedTuple):
    """A problem. ``score`` rates its model on the validation part and ``test`` on the test part;
    ``sign`` is 1 where a greater score is better, else -1.

    ``gold_theta`` is the initial theta of correct parts, for learners in the dual; ``facts``
    describe the data. ``risks`` are measured on the validation part. ``outcomes`` are the counts of
    the test part, or else of the validation part, by sentence, for paired tests; ``figures`` are
    further scores of the same part, by name.
    """

    name: str
    problem: Problem
    score: Score
    score_name: str
    sign: int
    gold_theta: float | Floats
    facts: Mapping[str, Any]
    test: Score | None = None
    risks: Callable[[float], Risks] | None = None
    outcomes: Outcomes | None = None
    figures: Callable[[float], Mapping[str, float]] | None = None

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.problem.part_starts) - 1

    @property
    def task(self) -> Task:
        """What was learned, as plain data."""
        return Task(
            self.name, self.n, self.score_name, self.sign, self.facts, self.test is not None
        )


def classifier(name: str, train: tuple[Floats, Ints], dev: tuple[Floats, Ints]) -> Setup:
    """Vectors (n, d) with their classes (n,); scored by the error in per cent."""
    n_classes = int(max(train[1].max(), dev[1].max())) + 1
    problem = ClassifierProblem(*train, n_classes)
    facts = {
        "data": name,
        "training examples": len(train[0]),
        "validation examples": len(dev[0]),
        "classes": n_classes,
        "weights": problem.weights.size,
    }
    return Setup(
        "classes",
        problem,
        lambda scale: error_rate(problem, *dev),
        "validation error (%)",
        -1,
        _CLASS_THETA + float(np.log(n_classes)),
        facts,
        outcomes=lambda scale: sentence_counts(
            problem.predict(dev[0]) == dev[1], np.arange(len(dev[1]))
        ),
    )


def parser(
    sample: Sample, *, trees: Trees, bits: int, arc_share: float = 0.0, in_full: bool = False
) -> Setup:
    """An arc-factored parser with the tags of the corpus; scored by correct heads in per cent, of
    the best tree. Scores are those of weights rounded to a byte, as models are stored, unless
    ``in_full``.

    ``arc_share`` as in ``ParserConfig`` (0: every pair of words is an arc, as published). Training
    sentences whose tree is not of the kind asked for are left out: their loss has no lower bound of
    0.

    Raises:
        EgparseError: a sentence without a tree.
    """
    kept = [
        sentence
        for sentence in sample.train
        if trees == "non-projective" or not crossing_arcs(heads_of([sentence])[0])
    ]
    dropped = len(sample.train) - len(kept)
    sample = sample._replace(train=kept)
    heads = heads_of(sample.train)
    single_root = all(int(np.count_nonzero(sentence_heads == 0)) == 1 for sentence_heads in heads)
    config = replace(
        ORDER_1, bits=bits, arc_share=arc_share, single_root=single_root, mbr_scale=0.0
    )
    columns = build_columns(sample.train, ("heads",), TrainConfig(parser=config))
    words = tagged(columns, sample.train, ("heads",))
    part = Part(sample.train, words)
    gold = GoldHeads(heads, np.zeros(0, dtype=np.int32), is_scored=False)
    task = ArcParserTask(
        columns, part, Part((), words), gold, config, trees, seed=1, in_full=in_full
    )
    learner, _, snapshot = task.prepare()
    assert isinstance(learner, OnlineEG)
    problem: Any = learner.problem

    def scorer(part: Sequence[Sentence]) -> Score:
        dev_words, correct = tagged(columns, part, ("heads",)), np.concatenate(heads_of(part))
        return lambda scale: attachment(correct, snapshot(_Scaled(scale)).predict(dev_words))

    @cache
    def compared() -> tuple[Words, Ints]:
        part = sample.test or sample.dev
        return tagged(columns, part, ("heads",)), np.concatenate(heads_of(part))

    def outcomes(scale: float) -> Longs:
        words, correct = compared()
        found = snapshot(_Scaled(scale)).predict(words)
        return sentence_counts(np.asarray(found) == correct, words.starts[:-1])

    def figures(scale: float) -> Mapping[str, float]:
        words, correct = compared()
        right = np.asarray(snapshot(_Scaled(scale)).predict(words)) == correct
        return without_punctuation(sample.test or sample.dev, right)

    @cache
    def held_out() -> HeldOutTrees:
        return HeldOutTrees.of(
            snapshot(_Scaled(1.0)), tagged(columns, sample.dev, ("heads",)), heads_of(sample.dev)
        )

    lengths = np.maximum(1, np.diff(training_pieces(heads)[:, 1:]).ravel())
    return Setup(
        "parsing",
        problem,
        scorer(sample.dev),
        "validation accuracy (% of heads)",
        1,
        ARC_THETA + np.log(lengths),
        {
            **_facts(sample),
            "arcs": int(problem.part_starts[-1]),
            "trees": trees,
            "single root": single_root,
            "weights": problem.weights.size,
            "training sentences left out": dropped,
        },
        scorer(sample.test) if sample.test else None,
        lambda scale: held_out().risks(snapshot(_Scaled(scale))),
        outcomes,
        figures,
    )


def without_punctuation(part: Sequence[Sentence], right: Mask) -> dict[str, float]:
    """The UAS of words that are no punctuation, as ``eval.pl`` of CoNLL-X counts by default."""
    counts = np.array([not is_punctuation(form) for own in part for form in own.forms], dtype=bool)
    return {"without punctuation": 100.0 * float(right[counts].mean()) if counts.any() else 0.0}


def entities(sample: Sample) -> Setup:
    """A linear-chain tagger of entities with the tags of the corpus, in IOB2; scored by F1 of spans
    in per cent.

    Raises:
        EgparseError: a sentence whose entities are not annotated.
    """
    for sentence in (*sample.train, *sample.dev, *sample.test):
        if not sentence.spans:
            raise EgparseError(
                f"{sample.name}: expected sentences with entities, got "
                f"{' '.join(sentence.forms[:8])}"
            )
    config = TrainConfig(layers=("spans",), spans=replace(TrainConfig().spans, scheme="iob2"))
    columns = build_columns(sample.train, ("spans",), config)
    usable = {*columns.lexicon.names, *columns.input_layers(("spans",))}
    texts = [text for text in SPAN_TEMPLATES if usable.issuperset(columns_of([text]))]
    words, labels = tagged(columns, sample.train, ("spans",)), columns.labels["spans"]
    candidates = all_labels(len(words.form_ids), len(labels))
    gold = columns.label_numbers(sample.train, "spans")
    learner, _, snapshot = prepare_sequence(
        SequenceExamples(words.values, words.starts, gold, candidates, len(labels)),
        compile_templates(texts, columns.names, pads=True),
        lambda problem, _: OnlineEG(problem, EGConfig()),
        min_count=config.spans.min_count,
        full_row_min_count=config.spans.full_row_min_count,
        bigrams=True,
    )
    assert isinstance(learner, OnlineEG)
    problem: Any = learner.problem

    def tagger(part: Sequence[Sentence]) -> Callable[[float], list[list[str]]]:
        words = tagged(columns, part, ("spans",))

        def tags(scale: float) -> list[list[str]]:
            model = forbid_invalid_spans(snapshot(_Scaled(scale)), labels.strings, "iob2")
            numbers = Tagger(model, None, ("spans",)).choose(words).tolist()
            names = [labels.strings[number] for number in numbers]
            return [names[first:end] for first, end in itertools.pairwise(words.starts.tolist())]

        return tags

    def scorer(part: Sequence[Sentence]) -> Score:
        tags, correct = tagger(part), [list(sentence.spans) for sentence in part]
        return lambda scale: float(score_spans(correct, tags(scale)).micro.f1)

    @cache
    def compared() -> tuple[Callable[[float], list[list[str]]], list[list[str]]]:
        part = sample.test or sample.dev
        return tagger(part), [list(sentence.spans) for sentence in part]

    def outcomes(scale: float) -> Longs:
        tags, correct = compared()
        return score_spans(correct, tags(scale)).by_sentence

    @cache
    def held_out() -> HeldOutSequences:
        dev_words = tagged(columns, sample.dev, ("spans",))
        return HeldOutSequences(dev_words, columns.label_numbers(sample.dev, "spans"), len(labels))

    facts = {
        **_facts(sample),
        "labels": len(labels),
        "weights": sum(array.size for array in problem.vectors()),
    }
    theta = LABEL_THETA + float(np.log(len(labels)))
    return Setup(
        "entities",
        problem,
        scorer(sample.dev),
        "validation F1 (%)",
        1,
        theta,
        facts,
        scorer(sample.test) if sample.test else None,
        lambda scale: held_out().risks(snapshot(_Scaled(scale))),
        outcomes,
    )


def sentence_counts(right: Mask, starts: Ints | Longs) -> Longs:
    """(correct, gold, system) of each sentence, whose words begin at ``starts``: what is right of
    its words, and the number of its words twice.
    """
    correct = np.add.reduceat(right.astype(np.int64), starts)
    words = np.diff(np.append(starts, len(right))).astype(np.int64)
    return np.stack([correct, words, words], axis=1)


class _Scaled(NamedTuple):
    """The only field of a learner's state that a snapshot reads."""

    scale: float


def _facts(sample: Sample) -> dict[str, Any]:
    facts: dict[str, Any] = {"data": sample.name}
    for name, part in (
        ("training", sample.train),
        ("validation", sample.dev),
        ("test", sample.test),
    ):
        if part:
            facts[f"{name} sentences"] = len(part)
            facts[f"{name} words"] = sum(map(len, part))
    return facts


def tagged(columns: Columns, sentences: Sequence[Sentence], predicted: Sequence[str]) -> Words:
    """Words whose tag columns hold the tags of the corpus, except those of the predicted layers."""
    words = columns.words([sentence.forms for sentence in sentences])
    return columns.with_input(words, sentences, predicted)


def heads_of(sentences: Sequence[Sentence]) -> list[Ints]:
    """The heads of each sentence.

    Raises:
        EgparseError: a word without a head.
    """
    for sentence in sentences:
        if not sentence.heads or min(sentence.heads) < 0:
            raise EgparseError(
                f"expected a head for every word, got none in: {' '.join(sentence.forms[:8])}"
            )
    return [np.array(sentence.heads, dtype=np.int32) for sentence in sentences]
