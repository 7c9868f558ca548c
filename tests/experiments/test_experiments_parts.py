"""The parts of experiments: requests, data, curves, tables, figures, and what each says when it
cannot go on.
"""

from __future__ import annotations

import gzip
import math
import struct
from pathlib import Path

import numpy as np
import pytest
from egparse.experiments.comparisons.catalogue import EXPERIMENTS, perform
from egparse.experiments.comparisons.comparison import SGD, Plan, compare
from egparse.experiments.data.digits import read_digits, read_idx
from egparse.experiments.data.generated import classes_of_points, sentences
from egparse.experiments.data.problems import Setup, classifier, entities, parser
from egparse.experiments.data.samples import SPANISH_TREES, Sample, sample
from egparse.experiments.report.curves import Budget, Run, trace
from egparse.experiments.report.figure import draw
from egparse.experiments.report.markdown import table_lines
from egparse.experiments.report.outcome import Line, Panel, Table
from egparse.experiments.report.record import Comparison, Curve, Point, best_bound
from egparse.experiments.report.request import Request
from egparse.experiments.report.summary import summary_table

from egparse.errors import ConfigError, EgparseError
from egparse.learners.learner import LearnerConfig
from egparse.sentences import Sentence


def small() -> Setup:
    x, y = classes_of_points(60, 1)
    return classifier("points", (x[:40], y[:40]), (x[40:], y[40:]))


def run_of(learner: str, **options: object) -> Run:
    return Run("test", learner, learner, options, LearnerConfig(c=2.0))


def test_a_full_run_says_which_file_it_needs(tmp_path: Path) -> None:
    for name, experiment in EXPERIMENTS.items():
        with pytest.raises(
            ConfigError,
            match=rf"expected --data DIRECTORY with {experiment.needs[0]} in it, or --quick",
        ):
            perform(name, Request(), tmp_path)
    with pytest.raises(
        ConfigError, match=r"esp\.train: expected a file of the data directory, got none"
    ):
        perform("parsing", Request(data=tmp_path), tmp_path)


def test_an_unknown_experiment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"expected an experiment among multiclass, .* got 'parse'"
    ):
        perform("parse", Request(quick=True), tmp_path)


@pytest.mark.parametrize(
    "wrong", [{"iterations": -1}, {"constants": (1.0, 0.0)}, {"constants": (math.nan,)}]
)
def test_a_request_out_of_range_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="expected iterations >= 0 and constants > 0"):
        Request(**wrong)  # type: ignore[arg-type]


def test_equal_figures_are_equal_files_even_without_a_line() -> None:
    panels = [
        Panel("a", "x", "y", [Line("one", [1.0, 2.0], [2.0, 1.0], 0, dashed=True)], log_y=True),
        Panel("b", "x", "y", []),
    ]
    assert draw("title", panels) == draw("title", panels)


def test_a_learner_that_fails_on_the_way_keeps_its_points() -> None:
    curve = trace(small(), run_of("sgd", eta0=1e9), Budget(5.0))
    assert curve.stopped.startswith("failed: ")
    assert all(math.isfinite(point.primal) for point in curve.points)


def test_a_curve_ends_with_its_budget_or_its_gap() -> None:
    setup = small()
    assert trace(setup, run_of("eg-online"), Budget(3.0)).stopped == "3 effective iterations"
    done = trace(setup, run_of("eg-online"), Budget(500.0, gap=0.01))
    assert done.stopped == "a relative duality gap of 0.01"
    assert done.points[-1].gap <= 0.01 * done.points[-1].dual
    assert len(trace(setup, run_of("eg-online"), Budget(500.0, cpu_seconds=0.0)).points) == 1


def test_points_may_lie_further_apart_as_passes_add_up() -> None:
    spaced = trace(small(), run_of("eg-online"), Budget(30.0, gap=0.0, spacing=1.5))
    numbers = [point.iteration for point in spaced.points]
    assert numbers[:6] == [1, 2, 3, 5, 8, 12]
    every = trace(small(), run_of("eg-online"), Budget(30.0, gap=0.0))
    for own in spaced.points:
        same = every.points[min(own.iteration, len(every.points)) - 1]
        if same.iteration == own.iteration:
            assert (own.primal, own.dual, own.score) == (same.primal, same.dual, same.score)


def test_options_of_no_use_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="eg-online"):
        trace(small(), run_of("eg-online", speed=3), Budget(1.0))


def test_the_first_learning_rate_is_the_one_that_scores_best_after_a_pass() -> None:
    setup = small()
    rates = SGD.tuned[1] if SGD.tuned else ()
    first = {eta0: trace(setup, run_of("sgd", eta0=eta0), Budget(1.0)).points[0] for eta0 in rates}
    found = compare(Plan("test", setup, (SGD,), (2.0,), Budget(2.0)), Request())
    (curve,) = found.curves
    best = min(point.score for point in first.values())
    assert first[curve.options["eta0"]].score == best


def test_the_table_says_what_it_took_to_come_near_the_bound() -> None:
    points = [(1.0, 200.0, 50.0), (2.0, 100.9, 99.0), (3.0, 100.05, 100.0)]
    curve = Curve(
        "e",
        "t",
        "EG",
        "eg-online",
        {},
        1.0,
        0.0,
        2.0,
        1,
        tuple(Point(k + 1, own[0], 0.5, own[1], own[2], 10.0 + k) for k, own in enumerate(points)),
        "",
    )
    assert best_bound((curve,)) == 100.0
    (row,) = summary_table("Learners", Comparison(small().task, (curve,))).rows
    assert row[:7] == ("2", "EG", "100.0", "0.05000", "0.05000", "2.000", "3.000")
    assert row[-2:] == ("12.00", "10.00")  # an error: the lowest is best


def test_columns_of_a_table_line_up() -> None:
    lines = list(table_lines(Table("t", ("name", "n"), "lr", [("a|b", "1,000"), ("c", "-")])))
    assert lines == [
        "| name |     n |",
        "| ---- | ----: |",
        "| a\\|b | 1,000 |",
        "| c    |     - |",
    ]
    with pytest.raises(ValueError, match="expected 2 cells a row"):
        list(table_lines(Table("t", ("a", "b"), "lr", [("c",)])))


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def test_digits_are_read_as_they_were_written(tmp_path: Path) -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    images, labels = tmp_path / "images.gz", tmp_path / "labels"
    images.write_bytes(gzip.compress(idx(pixels)))
    labels.write_bytes(idx(np.array([3, 1], dtype=np.uint8)))
    x, y = read_digits(images, labels)
    assert x == pytest.approx(pixels.reshape(2, 12) / 255)
    assert y.tolist() == [3, 1]
    with pytest.raises(EgparseError, match="expected a label for each of 2 images"):
        read_digits(images, images)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected an IDX file of bytes"),
        (b"\0\0\x0d\1\0\0\0\1\0", "expected an IDX file of bytes"),
        (b"\0\0\x08\2\0\0\0\1", "expected 2 sizes"),
        (b"\0\0\x08\1\xff\xff\xff\xff", "moderate array"),
        (b"\0\0\x08\1\0\0\0\4abc", "expected 4 bytes of data, got 3"),
        (b"\0\0\x08\1\0\0\0\1abc", "expected 1 bytes of data, got more"),
    ],
)
def test_what_are_no_digits_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "digits"
    path.write_bytes(content)
    with pytest.raises(EgparseError, match=message):
        read_idx(path)
    cut = tmp_path / "digits.gz"
    cut.write_bytes(gzip.compress(content or b"x")[:12])
    with pytest.raises(EgparseError, match="expected an IDX file"):
        read_idx(cut)


def test_generated_sentences_have_trees_and_names() -> None:
    drawn = sentences(50, 1)
    assert drawn == sentences(50, 1) != sentences(50, 2)
    for sentence in drawn:
        assert len(sentence.heads) == len(sentence.upos) == len(sentence.spans) == len(sentence)
        assert sum(head == 0 for head in sentence.heads) == 1
        assert has_no_cycle(sentence.heads)
    assert {tag for sentence in drawn for tag in sentence.spans} == {"O", "B-PER", "B-LOC", "I-LOC"}


def has_no_cycle(heads: object) -> bool:
    own = [0, *heads]  # type: ignore[misc]
    for word in range(1, len(own)):
        above, steps = word, 0
        while above and steps <= len(own):
            above, steps = own[above], steps + 1
        if above:
            return False
    return True


def test_sentences_without_what_is_learned_are_refused() -> None:
    bare = [Sentence(forms=["a", "b"], upos=["X", "X"])]
    with pytest.raises(EgparseError, match="expected a head for every word, got none in: a b"):
        parser(Sample("bare", bare, bare), trees="projective", bits=10)
    with pytest.raises(EgparseError, match="bare: expected sentences with entities, got a b"):
        entities(Sample("bare", bare, bare))


def test_a_projective_parser_does_not_learn_from_crossing_trees() -> None:
    crossing = Sentence(forms=list("abcd"), upos=["X"] * 4, heads=[3, 4, 0, 3])
    train = [*sentences(5, 1), crossing]
    setup = parser(Sample("some", train, train), trees="projective", bits=10)
    assert setup.n == 5
    assert setup.facts["training sentences left out"] == 1
    assert parser(Sample("some", train, train), trees="non-projective", bits=10).n == 6


def test_a_quick_run_without_data_takes_the_sample_treebank() -> None:
    found = sample(Request(quick=True), SPANISH_TREES, (3, 2))
    assert found.name == "sample treebank of the project (a slice)"
    assert (len(found.train), len(found.dev)) == (3, 2)
