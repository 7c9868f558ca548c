"""A maximum-entropy classifier of words: iterative scaling, coordinate descent and L-BFGS over time
(Huang et al. 2009, Fig. 2).

The paper tags the Brown corpus, split at random into 4/5 and 1/5, and chunks CoNLL-2000. It does
not list its features; here both tasks classify each word by itself, by attributes of the text
alone. We differ in the data, a random part of Brown, whose tags are stripped of the marks of
headlines, titles, citations, foreign words, negation and contractions: so the table S of the
algorithms (8 bytes for each label and context) stays well below 1 GB. IIS runs too.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from egparse.errors import EgparseError
from egparse.evaluation.spans import score_spans
from egparse.experiments.data.samples import Corpus, Sample, files_of, sample
from egparse.experiments.maxent.lbfgs import maxent_optimum
from egparse.experiments.maxent.problem import MaxentProblem, build_maxent
from egparse.experiments.maxent.registry import train_maxent
from egparse.experiments.maxent.run import MaxentStop, Record
from egparse.experiments.report.outcome import Line, Outcome, Panel, Table
from egparse.experiments.report.panels import SECONDS, lines
from egparse.experiments.report.record import Comparison, Curve, Point, Task
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import NOTHING, number
from egparse.features.forms import shape
from egparse.sentences import Sentence
from egparse.types import Floats, Longs

NAME = "maxent"
BROWN = "brown/brown.tsv"
CHUNKS = Corpus("conll2000/train.txt", "conll2000/test.txt")
NEEDS = (BROWN, *files_of(CHUNKS))
SOURCE = "Huang et al. 2009, Fig. 2"

LEARNERS = {"CD": "cd", "SCGIS": "scgis", "GIS": "gis", "L-BFGS": "lbfgs", "IIS": "iis"}
"""Label -> name of the learner, in the order of the paper's legend; IIS is ours."""

BROWN_WORDS = 125_000  # of training and test together
_C = (0.1,)  # 1 / sigma^2 of the paper
_PASSES, _QUICK_PASSES = 200, 60
_SECONDS, _QUICK_SECONDS = 240.0, 0.4  # of CPU time in training, for each curve
_QUICK_SENTENCES = (60, 40)
_QUICK_WORDS = 1500
_TOLERANCE = 1e-5  # relative difference at which a curve ends
_TABLE_BYTES = 10**9
_WITHIN = (0.1, 0.01, 0.001)
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
    """A task as a problem. ``score`` rates weights on the test part, in per cent."""

    task: WordTask
    problem: MaxentProblem
    score: Callable[[Floats], float]

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


class Found(NamedTuple):
    """The curves of one task at one C, and the optimum L(w*) in nats."""

    title: str
    score_name: str
    optimum: float
    curves: tuple[Curve, ...]

    def difference(self, point: Point) -> float:
        """(L(w) - L(w*)) / L(w*) (ibid., eq. 17), or the tolerance where it is lower."""
        return max(_TOLERANCE, (point.primal - self.optimum) / self.optimum)


def measure(request: Request) -> Results:
    """Tags, then chunks."""
    stop = MaxentStop(
        passes=request.budget(_PASSES, _QUICK_PASSES),
        tolerance=_TOLERANCE,
        seconds=request.seconds_of(_SECONDS, _QUICK_SECONDS),
    )
    found, optima = {}, {}
    for task in (tagging(request), chunking(request)):
        classified = classify(task)
        for c in request.values_of_c(_C, _C):
            title = f"{task.name}, sigma^2 = {1 / c:g}"
            optima[title], found[title] = race(classified, c, stop, request)
    curves = tuple(curve for result in found.values() for curve in result.curves)
    notes = (
        *(f"{title}: L(w*) = {optimum:,.3f} nats, by L-BFGS." for title, optimum in optima.items()),
        *(
            f"{curve.task}, {curve.label}: {curve.stopped}."
            for curve in curves
            if curve.stopped.startswith("failed")
        ),
        "CPU seconds are those of training on one thread, without measuring objective and score, "
        "after all kernels have been compiled.",
        "A pass visits every weight once; one of L-BFGS is an iteration, of one or a few "
        "evaluations.",
        f"A curve ends at a relative difference of {_TOLERANCE:g}, after {stop.passes} passes or "
        f"after {stop.seconds:g} CPU seconds.",
    )
    return Results(found, {"optimum": optima}, notes, request.quick)


def report(results: Results) -> Outcome:
    """Table and figure of each task and variance."""
    found = [
        Found(title, own.task.score_name, results.numbers["optimum"][title], own.curves)
        for title, own in results.comparisons.items()
    ]
    return Outcome(
        "Maximum entropy",
        SOURCE,
        results.facts,
        (),
        [table_of(result) for result in found],
        [panel for result in found for panel in panels_of(result)],
        results.notes,
    )


def tagging(request: Request) -> WordTask:
    """Part-of-speech tags: Brown, or for a quick run without it the sample treebank."""
    path = request.file(BROWN)
    if path is None:
        return WordTask("Tags", _small_sample(request), lambda sentence: sentence.upos, None, False)
    parts = split_brown(
        read_brown(path), _QUICK_WORDS if request.quick else BROWN_WORDS, request.seed
    )
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
    return Classified(task, problem, _scorer(task, problem, vocabulary, numbers))


def _numbered(task: WordTask, part: Sequence[Sentence], numbers: dict[str, int]) -> Longs:
    """The labels of all words; -1 for those that training does not know."""
    return np.array(
        [numbers.get(tag, -1) for sentence in part for tag in task.labels(sentence)], dtype=np.int64
    )


def _scorer(
    task: WordTask, problem: MaxentProblem, vocabulary: dict[str, int], numbers: dict[str, int]
) -> Callable[[Floats], float]:
    part = task.parts.dev
    x = matrix_of(_contexts(task, part), vocabulary, grow=False)
    if not task.spans:
        y = _numbered(task, part, numbers)
        return lambda w: 100.0 * problem.accuracy(w, x, y)
    names, correct = list(numbers), [list(task.labels(sentence)) for sentence in part]
    starts = np.cumsum([0, *map(len, part)]).tolist()

    def score(w: Floats) -> float:
        tags = [names[place] for place in problem.predict(w, x).tolist()]
        found = [tags[first:end] for first, end in itertools.pairwise(starts)]
        return float(score_spans(correct, found).micro.f1)

    return score


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


def race(
    classified: Classified, c: float, stop: MaxentStop, request: Request
) -> tuple[float, Comparison]:
    """The optimum, and the curve of every learner from w = 0."""
    _compile()
    optimum = maxent_optimum(classified.problem, sigma2=1 / c)
    curves = []
    for label, learner in LEARNERS.items():
        curve = _trace(classified, (label, learner), c, replace(stop, optimum=optimum), request)
        curves.append(curve)
        last = curve.points[-1]
        request.tell(
            f"{curve.task}, {label}, C = {c:g}: {last.iteration} passes, {last.cpu_seconds:.1f} "
            "CPU seconds, "
            f"score {last.score:.2f}; {curve.stopped}"
        )
    task = Task(
        classified.task.name,
        classified.problem.context_count,
        classified.task.score_name,
        1,
        classified.facts,
        False,
    )
    return optimum, Comparison(task, tuple(curves))


def _compile() -> None:
    """Two passes of every learner on a tiny problem, so that no curve includes the time to load or
    compile kernels.
    """
    problem = build_maxent(csr_matrix(np.eye(3) + 1.0), [0, 1, 0])
    for learner in LEARNERS.values():
        train_maxent(learner, problem, MaxentStop(passes=2))


def _trace(
    classified: Classified, who: tuple[str, str], c: float, stop: MaxentStop, request: Request
) -> Curve:
    label, learner = who
    points: list[Point] = []

    def observe(record: Record, w: Floats) -> None:
        score = classified.score(w)
        points.append(
            Point(
                record.passes,
                float(record.passes),
                record.seconds,
                record.objective,
                -math.inf,
                score,
            )
        )

    try:
        done = train_maxent(
            learner, classified.problem, replace(stop, observe=observe), sigma2=1 / c
        )
        stopped = (
            f"a relative difference of {stop.tolerance:g}"
            if done.converged
            else "passes or CPU seconds are spent"
        )
    except EgparseError as error:
        stopped = f"failed: {error}"
    options = {"sigma2": 1 / c}
    return Curve(
        NAME,
        classified.task.name.lower(),
        label,
        learner,
        options,
        1.0,
        0.0,
        c,
        request.seed,
        tuple(points),
        stopped,
    )


def table_of(found: Found) -> Table:
    """CPU seconds and passes to within 10 %, 1 % and 0.1 % of the optimum, and the end of each
    run.
    """
    near = [f"{100 * limit:g} %" for limit in _WITHIN]
    headings = (
        "learner",
        *(f"s to {limit}" for limit in near),
        *(f"passes to {limit}" for limit in near),
        "passes",
        "s",
        "difference",
        "last",
        "best",
    )
    rows = []
    for curve in found.curves:
        last = curve.points[-1]
        reached = [_first(found, curve, limit) for limit in _WITHIN]
        rows.append(
            (
                curve.label,
                *(NOTHING if point is None else f"{point.cpu_seconds:.3g}" for point in reached),
                *(NOTHING if point is None else str(point.iteration) for point in reached),
                str(last.iteration),
                f"{last.cpu_seconds:.3g}",
                number(found.difference(last)),
                f"{last.score:.2f}",
                f"{max(point.score for point in curve.points):.2f}",
            )
        )
    return Table(
        f"{found.title}: {found.score_name}, last and best",
        headings,
        "l" + "r" * 11,
        rows,
    )


def _first(found: Found, curve: Curve, within: float) -> Point | None:
    return next((point for point in curve.points if found.difference(point) <= within), None)


def panels_of(found: Found) -> list[Panel]:
    """Relative difference over time (Fig. 2, a-b), score over time (c-d), and relative difference
    over passes. Time is on a logarithmic scale.
    """
    timed = [
        curve._replace(points=tuple(point for point in curve.points if point.cpu_seconds > 0))
        for curve in found.curves
    ]
    seconds, effort = "CPU seconds", "passes"
    scores = lines(timed, lambda point: point.score, x=SECONDS)
    apart = "relative difference to the optimum"
    return [
        Panel(
            found.title,
            seconds,
            apart,
            lines(timed, found.difference, x=SECONDS),
            log_x=True,
            log_y=True,
        ),
        Panel(
            found.title,
            seconds,
            found.score_name,
            scores,
            log_x=True,
            bounds=_end_range(scores),
        ),
        Panel(found.title, effort, apart, lines(timed, found.difference), log_y=True),
    ]


def _end_range(drawn: Sequence[Line]) -> tuple[float, float] | None:
    """From a little below the worst score at which a curve ends to the best of all; first passes,
    which are far off, are cut.
    """
    if not drawn:
        return None
    top, worst = max(max(line.y) for line in drawn), min(line.y[-1] for line in drawn)
    margin = 0.5 * (top - worst) + 0.5
    return worst - margin, top + 0.2 * margin
