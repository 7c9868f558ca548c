"""The tasks of the experiment: digits, tags of words in sequence, the language of a word, and the
language of a tree.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from egparse.config.sections import TrainConfig
from egparse.experiments.data.digits import digits_or_points
from egparse.experiments.data.generated import sentences
from egparse.experiments.data.samples import Sample
from egparse.experiments.kernels.trees import Tree
from egparse.experiments.report.request import Request
from egparse.features.default_templates import WORD_TEMPLATES
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import columns_of, compile_templates
from egparse.io.corpus import read_corpus
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.sentences import Sentence
from egparse.sequences.problem import SequenceProblem
from egparse.sequences.tagger import Tagger
from egparse.sequences.task import SequenceExamples, prepare_sequence
from egparse.training.columns import build_columns
from egparse.types import Floats, Ints, Longs

LANGUAGES = {
    "English": "ud/en_ewt-ud-train.conllu",
    "French": "ud/fr_sequoia-ud-train.conllu",
    "Latin": "ud/la_perseus-ud-train.conllu",
    "Portuguese": "ud/pt_bosque-ud-train.conllu",
}

WORD_ALONE = ("bias", "form[0]")
"""The templates of a hidden Markov model: what is emitted is the word."""

ALL_TEMPLATES = WORD_TEMPLATES


class Objects(NamedTuple):
    """Objects of one ``kind`` with their classes (n,), which have names; ``data`` says where they
    come from.
    """

    data: str
    kind: str
    train: tuple[Sequence[Any], Ints]
    dev: tuple[Sequence[Any], Ints]
    classes: tuple[str, ...]


class Digits(NamedTuple):
    """Vectors (n, d) with their classes (n,). The last component is 1, for the bias."""

    data: str
    train: tuple[Floats, Ints]
    dev: tuple[Floats, Ints]
    test: tuple[Floats, Ints]


def read_vectors(request: Request, sizes: tuple[int, int, int]) -> Digits:
    """So many digits of each part in the order of the file, or points around centres."""
    data, x, y = digits_or_points(request, sum(sizes), request.seed)
    x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    ends = np.cumsum((0, *sizes)).tolist()
    train, dev, test = ((x[first:end], y[first:end]) for first, end in itertools.pairwise(ends))
    return Digits(data, train, dev, test)


class Tags(NamedTuple):
    """A tagging problem. ``correct(scale)`` is (sentences, 2) for w = ``scale`` v: how many words
    of each validation sentence are right, of how many.
    """

    problem: SequenceProblem
    correct: Callable[[float], Longs]
    test: Callable[[float], Longs]
    facts: dict[str, Any]

    def accuracy(self, scale: float) -> float:
        """The share of validation words with the correct tag, in per cent."""
        return accuracy(self.correct(scale))


def accuracy(counts: Longs) -> float:
    """The share that is right, in per cent, of counts (..., 2) of right and all."""
    right, all_of_them = counts.reshape(-1, 2).sum(axis=0)
    return 100.0 * float(right) / max(1.0, float(all_of_them))


def tags(sample: Sample, *, templates: Sequence[str] = ALL_TEMPLATES, bigrams: bool = True) -> Tags:
    """A first-order tagger of UPOS, every word with every label; without ``bigrams`` each word
    chooses alone.
    """
    config = TrainConfig(layers=("upos",))
    columns = build_columns(sample.train, ("upos",), config)
    usable = {*columns.lexicon.names}
    texts = [text for text in templates if usable.issuperset(columns_of([text]))]
    words = columns.words([sentence.forms for sentence in sample.train])
    labels = columns.labels["upos"]
    examples = SequenceExamples(
        words.values,
        words.starts,
        columns.label_numbers(sample.train, "upos"),
        all_labels(len(words.form_ids), len(labels)),
        len(labels),
    )
    learner, _, snapshot = prepare_sequence(
        examples,
        compile_templates(texts, columns.names, pads=True),
        lambda problem, _: OnlineEG(problem, EGConfig()),
        min_count=config.upos.min_count,
        full_row_min_count=config.upos.full_row_min_count,
        bigrams=bigrams,
        in_full=True,
    )
    assert isinstance(learner, OnlineEG)
    problem: Any = learner.problem

    def counter(part: Sequence[Sentence]) -> Callable[[float], Longs]:
        own = columns.words([sentence.forms for sentence in part])
        gold = columns.label_numbers(part, "upos")
        starts = own.starts

        def count(scale: float) -> Longs:
            found = Tagger(snapshot(_Scaled(scale)), None, ("upos",)).choose(own)
            right = np.concatenate([[0], np.cumsum(found == gold)])
            return np.stack([np.diff(right[starts]), np.diff(starts)], axis=1).astype(np.int64)

        return count

    facts = {
        "data": sample.name,
        "training sentences": len(sample.train),
        "training words": sum(map(len, sample.train)),
        "validation words": sum(map(len, sample.dev)),
        "labels": len(labels),
        "weights": sum(array.size for array in problem.vectors()),
    }
    return Tags(problem, counter(sample.dev), counter(sample.test), facts)


class _Scaled(NamedTuple):
    """The only field of a learner's state that a snapshot reads."""

    scale: float


def words_of_languages(request: Request, train: int, dev: int) -> Objects:
    """So many words of each language, whose forms no other one of the languages has: the same words
    in lower case, of letters alone, between marks of their ends. Types are drawn at random.
    """
    files = {name: request.file(path) for name, path in LANGUAGES.items()}
    if all(files.values()):
        data = "words of English, French, Latin and Portuguese (UD)"
        forms = {
            name: {
                form.lower()
                for sentence in read_corpus(path)
                for form in sentence.forms
                if form.isalpha() and len(form) > 2
            }
            for name, path in files.items()
            if path is not None
        }
    else:
        data, forms = "generated words", _invented_words(request.seed)
    random = np.random.default_rng(request.seed)
    chosen = []
    for name, own in forms.items():
        others = set[str]().union(*(forms[other] for other in forms if other != name))
        kept = sorted(own - others)
        picked = random.permutation(len(kept))[: train + dev]
        chosen.append([f"^{kept[place]}$" for place in picked.tolist()])
    return _split(data, "strings", chosen, tuple(forms), random, train)


def trees_of_languages(request: Request, train: int, dev: int) -> Objects:
    """So many trees of each language, of 5 to 15 words, as UPOS alone: the forms are taken out."""
    files = {name: request.file(path) for name, path in LANGUAGES.items()}
    random = np.random.default_rng(request.seed)
    if all(files.values()):
        data = "trees of English, French, Latin and Portuguese (UD)"
        found = {
            name: [sentence for sentence in read_corpus(path) if 5 <= len(sentence) <= 15]
            for name, path in files.items()
            if path is not None
        }
    else:
        data = "generated trees: does a phrase belong to a noun?"
        drawn = sentences(8 * (train + dev), request.seed)
        found = {
            name: [sentence for sentence in drawn if _has_phrase_on_noun(sentence) is wanted]
            for name, wanted in (("noun", True), ("verb", False))
        }
    chosen = []
    for own in found.values():
        picked = random.permutation(len(own))[: train + dev].tolist()
        chosen.append([tree_of(own[place]) for place in picked])
    return _split(data, "trees", chosen, tuple(found), random, train)


def tree_of(sentence: Sentence) -> Tree:
    """The dependency tree as an ordered one: a node for each word, labelled by its UPOS, whose
    children are its dependents in the order of the words, with ``*`` at its own place. A crossing
    arc loses its place: dependents are ordered among themselves only.
    """
    dependents: list[list[int]] = [[] for _ in range(len(sentence) + 1)]
    for word, head in enumerate(sentence.heads, start=1):
        dependents[head].append(word)

    def node(word: int) -> Tree:
        left = [node(child) for child in dependents[word] if child < word]
        right = [node(child) for child in dependents[word] if child > word]
        return Tree(sentence.upos[word - 1], (*left, Tree("*"), *right))

    return Tree("ROOT", tuple(node(word) for word in dependents[0]))


def _split(
    data: str,
    kind: str,
    chosen: Sequence[Sequence[Any]],
    names: tuple[str, ...],
    random: np.random.Generator,
    train: int,
) -> Objects:
    """The first ``train`` objects of each class for training, the others for validation; each part
    in random order.
    """
    parts = []
    for part in (slice(train), slice(train, None)):
        objects = [item for own in chosen for item in own[part]]
        y = np.concatenate([np.full(len(own[part]), k) for k, own in enumerate(chosen)])
        order = random.permutation(len(objects))
        parts.append(([objects[place] for place in order.tolist()], y[order].astype(np.int32)))
    return Objects(data, kind, parts[0], parts[1], names)


def _has_phrase_on_noun(sentence: Sentence) -> bool:
    """Whether the head of a prepositional phrase depends on something else than the verb."""
    for word, upos in enumerate(sentence.upos):
        if upos == "ADP":
            noun = sentence.heads[word]
            if sentence.upos[sentence.heads[noun - 1] - 1] != "VERB":
                return True
    return False


def _invented_words(seed: int) -> dict[str, set[str]]:
    """Words of three languages, which prefer other pairs of letters."""
    random = np.random.default_rng(seed)
    letters = np.array(list("abdeiklmorstu"))
    found = {}
    for name in ("first", "second", "third"):
        chances = random.dirichlet(np.full(len(letters), 0.3), size=len(letters))
        own = set()
        for _ in range(2000):
            place = int(random.integers(len(letters)))
            form = letters[place]
            for _ in range(int(random.integers(3, 9))):
                place = int(random.choice(len(letters), p=chances[place]))
                form += letters[place]
            own.add(str(form))
        found[name] = own
    return found


def subset(sample: Sample, n: int, seed: int) -> Sample:
    """``n`` training sentences drawn at random; the same seed draws the smaller sets from the
    larger ones.
    """
    order = np.random.default_rng(seed).permutation(len(sample.train))[:n].tolist()
    return sample._replace(train=[sample.train[place] for place in order])
