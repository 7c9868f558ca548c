"""Tasks that classify each word by itself, as maximum-entropy problems: tags of the Brown corpus
and chunks of CoNLL-2000 (Huang et al. 2009, section 4).

The paper does not list its features; here they are attributes of the text around a word, for chunks
also of the tags that the corpus gives. We differ in the tags of Brown, which are stripped of the
marks of headlines, titles, citations, foreign words, negation and contractions: 92 instead of 472
labels, so that the table S that some algorithms keep for all words takes 0.66 GB, not 3.4 GB.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from egparse.errors import EgparseError
from egparse.evaluation.bootstrap import f1_of
from egparse.evaluation.spans import score_spans
from egparse.experiments.maxent.problem import MaxentProblem, build_maxent
from egparse.experiments.problems.samples import Corpus, Sample, files_of, sample
from egparse.experiments.request import Request
from egparse.features.forms import shape
from egparse.sentences import Sentence
from egparse.types import Floats, Longs

BROWN = "brown/brown.tsv"
CHUNKS = Corpus("conll2000/train.txt", "conll2000/test.txt")

_QUICK_SENTENCES = (60, 40)
_QUICK_WORDS = 1500
_TABLE_BYTES = 10**9
_PAD = "<>"
_MARKS = re.compile(r"(-(tl|hl|nc))+$")

Layer = Callable[[Sentence], Sequence[str]]


class WordTask(NamedTuple):
    """A label for each word. ``given`` is a column that attributes may use; with ``spans``, labels
    are scored by F1 of spans.
    """

    name: str
    parts: Sample
    labels: Layer
    given: Layer | None
    spans: bool

    @property
    def score_name(self) -> str:
        """The axis of the score."""
        return "test F1 of spans (%)" if self.spans else "test accuracy (%)"


class Classified(NamedTuple):
    """A task as a problem. ``outcomes`` counts what weights predict on the test part: correct, gold
    and system labels or spans of each sentence, (sentences, 3).
    """

    task: WordTask
    problem: MaxentProblem
    outcomes: Callable[[Floats], Longs]

    def score(self, w: Floats) -> float:
        """F1 in per cent, which is the accuracy where every word counts."""
        return f1(self.outcomes(w))

    @property
    def facts(self) -> dict[str, Any]:
        """The data in numbers."""
        train, test = self.task.parts.train, self.task.parts.dev
        return {
            "data": self.task.parts.name,
            "training words": sum(map(len, train)),
            "test words": sum(map(len, test)),
            "labels": self.problem.label_count,
            "contexts": self.problem.context_count,
            "features": self.problem.feature_count,
            "#nz": self.problem.nonzeros,
            "table S, MB": 8 * self.problem.label_count * self.problem.context_count // 10**6,
        }


def f1(outcomes: Longs) -> float:
    """F1 in per cent of counts (sentences, 3)."""
    return float(f1_of(outcomes.sum(axis=0, keepdims=True).astype(np.float64))[0])


def tagging(request: Request, seed: int, n_words: int = 0) -> WordTask:
    """Part-of-speech tags: Brown, split by ``seed``, all of it or about ``n_words`` words; or for a
    quick run without it the sample treebank.
    """
    path = request.file(BROWN)
    if path is None:
        return WordTask("Tags", _small_sample(request), lambda sentence: sentence.upos, None, False)
    sentences = read_brown(path)
    words = _QUICK_WORDS if request.quick else n_words or sum(map(len, sentences))
    parts = split_brown(sentences, words, seed)
    return WordTask("Tags", parts, lambda sentence: sentence.xpos, None, False)


def chunking(request: Request) -> WordTask:
    """Chunks in IOB2, given the tags of the corpus; names where a quick run has no chunks."""
    if all(request.file(name) for name in files_of(CHUNKS)):
        parts = sample(request, CHUNKS, _QUICK_SENTENCES)
        return WordTask(
            "Chunks", parts, lambda sentence: sentence.spans, lambda sentence: sentence.xpos, True
        )
    return WordTask(
        "Names",
        _small_sample(request),
        lambda sentence: sentence.spans,
        lambda sentence: sentence.upos,
        True,
    )


def _small_sample(request: Request) -> Sample:
    return sample(replace(request, data=None), CHUNKS, _QUICK_SENTENCES)


def read_brown(path: Path) -> list[Sentence]:
    """Sentences of ``word TAB tag`` lines with an empty line between them; the tags, reduced, are
    ``xpos``.

    Raises:
        EgparseError: a line of another form.
    """
    found: list[Sentence] = []
    rows: list[list[str]] = []
    with path.open(encoding="utf-8") as lines:
        for place, line in enumerate(itertools.chain(lines, [""]), 1):
            cells = line.rstrip("\n").split("\t")
            if len(cells) == 2 and all(cells):
                rows.append(cells)
                continue
            if cells != [""]:
                raise EgparseError(
                    f"{path}:{place}: expected a word and a tag with a tab between them, got "
                    f"{line!r}"
                )
            if rows:
                found.append(
                    Sentence(forms=[row[0] for row in rows], xpos=[reduced(row[1]) for row in rows])
                )
                rows = []
    return found


def reduced(tag: str) -> str:
    """A tag of Brown without the marks of headlines, titles, citations (-hl, -tl, -nc), foreign
    words (fw-), negation (*) and after a +.
    """
    first = _MARKS.sub("", tag).removeprefix("fw-").partition("+")[0]
    return first.rstrip("*") or first or tag


def split_brown(sentences: Sequence[Sentence], n_words: int, seed: int) -> Sample:
    """Sentences drawn at random with about ``n_words`` words, 4/5 of them for training and 1/5 for
    testing.
    """
    order = np.random.default_rng(seed).permutation(len(sentences))
    ends = np.cumsum([len(sentences[place]) for place in order])
    drawn = [sentences[place] for place in order[: np.searchsorted(ends, n_words) + 1]]
    cut = len(drawn) * 4 // 5
    part = "all" if len(drawn) == len(sentences) else f"{len(drawn)} of {len(sentences)} sentences"
    return Sample(f"{BROWN} ({part}, reduced tags)", drawn[:cut], drawn[cut:])


def classify(task: WordTask) -> Classified:
    """The problem of a task.

    Raises:
        EgparseError: no words to learn or to test, words without labels, or a table above 1 GB.
    """
    train, test = task.parts.train, task.parts.dev
    for part in (train, test):
        if not part or any(len(task.labels(sentence)) != len(sentence) for sentence in part):
            raise EgparseError(
                f"{task.parts.name}: expected sentences with a label for every word, got others "
                "or none"
            )
    numbers = {
        label: place
        for place, label in enumerate(
            sorted({tag for sentence in train for tag in task.labels(sentence)})
        )
    }
    vocabulary: dict[str, int] = {}
    x = matrix_of(_contexts(task, train), vocabulary, grow=True)
    problem = build_maxent(x, _numbered(task, train, numbers), label_count=len(numbers))
    size = 8 * problem.label_count * problem.context_count
    if size > _TABLE_BYTES:
        raise EgparseError(
            f"{task.parts.name}: expected a table of at most {_TABLE_BYTES:,} bytes, got {size:,}"
        )
    return Classified(task, problem, _counter(task, problem, vocabulary, numbers))


def _numbered(task: WordTask, part: Sequence[Sentence], numbers: dict[str, int]) -> Longs:
    """The labels of all words; -1 for those that training does not know."""
    return np.array(
        [numbers.get(tag, -1) for sentence in part for tag in task.labels(sentence)], dtype=np.int64
    )


def _counter(
    task: WordTask, problem: MaxentProblem, vocabulary: dict[str, int], numbers: dict[str, int]
) -> Callable[[Floats], Longs]:
    part = task.parts.dev
    x = matrix_of(_contexts(task, part), vocabulary, grow=False)
    lengths = np.array([len(sentence) for sentence in part], dtype=np.int64)
    starts = np.cumsum([0, *lengths])
    if not task.spans:
        y = _numbered(task, part, numbers)

        def words(w: Floats) -> Longs:
            correct = np.add.reduceat((problem.predict(w, x) == y).astype(np.int64), starts[:-1])
            return np.stack([correct, lengths, lengths], axis=1)

        return words
    names, gold = list(numbers), [list(task.labels(sentence)) for sentence in part]

    def spans(w: Floats) -> Longs:
        tags = [names[place] for place in problem.predict(w, x).tolist()]
        found = [tags[first:end] for first, end in itertools.pairwise(starts.tolist())]
        return score_spans(gold, found).by_sentence

    return spans


def _contexts(task: WordTask, part: Sequence[Sentence]) -> Iterator[list[str]]:
    for sentence in part:
        yield from attributes(sentence.forms, task.given(sentence) if task.given else ())


def attributes(forms: Sequence[str], tags: Sequence[str]) -> Iterator[list[str]]:
    """The attributes of each word: its form and those of two words on either side, lower case,
    affixes, shape; with ``tags``, also the tags around it.
    """
    words = [_PAD, _PAD, *forms, _PAD, _PAD]
    around = [_PAD, _PAD, *tags, _PAD, _PAD]
    for place, form in enumerate(forms, 2):
        lower = form.lower()
        before, after = words[place - 1], words[place + 1]
        found = ["bias", f"w={form}", f"lower={lower}", f"shape={shape(form)}"]
        found += [f"prefix={lower[:k]}" for k in range(1, min(4, len(lower)) + 1)]
        found += [f"suffix={lower[-k:]}" for k in range(1, min(4, len(lower)) + 1)]
        found += [
            f"w-2={words[place - 2]}",
            f"w-1={before}",
            f"w+1={after}",
            f"w+2={words[place + 2]}",
        ]
        if tags:
            found += [f"t{k:+d}={around[place + k]}" for k in range(-2, 3)]
            found += [
                f"t{k:+d},{k + 1:+d}={around[place + k]} {around[place + k + 1]}"
                for k in range(-2, 2)
            ]
        yield found


def matrix_of(
    contexts: Iterable[Sequence[str]], vocabulary: dict[str, int], *, grow: bool
) -> csr_matrix:
    """(contexts, attributes) of 0 and 1. Unknown attributes are added to the vocabulary if
    ``grow``, and else left out.
    """
    columns: list[int] = []
    starts = [0]
    for context in contexts:
        if grow:
            columns += [vocabulary.setdefault(attribute, len(vocabulary)) for attribute in context]
        else:
            columns += [vocabulary[attribute] for attribute in context if attribute in vocabulary]
        starts.append(len(columns))
    return csr_matrix(
        (np.ones(len(columns)), columns, starts), shape=(len(starts) - 1, len(vocabulary))
    )
