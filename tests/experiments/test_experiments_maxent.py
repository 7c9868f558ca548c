"""The maximum-entropy comparison: how words become problems, that its curves end where they should,
and that its claims follow from the numbers.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from egparse.experiments.comparisons import maxent_curves, maxent_probes
from egparse.experiments.comparisons.maxent_curves import LEARNERS, measure, report
from egparse.experiments.data.samples import Sample
from egparse.experiments.report.claims import Claim
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results, read_results

from egparse.errors import EgparseError
from egparse.experiments.claims import maxent_races
from egparse.experiments.data import samples, words
from egparse.experiments.data.words import (
    BROWN,
    WordTask,
    attributes,
    classify,
    matrix_of,
    read_brown,
    reduced,
    split_brown,
)
from egparse.experiments.maxent.probes.costs import newton_costs, update_costs
from egparse.experiments.maxent.probes.rates import rate_of
from egparse.sentences import Sentence

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"

SENTENCES = [
    Sentence(
        forms=["The", "dog", "barks"], xpos=["at", "nn", "vbz"], spans=["B-NP", "I-NP", "B-VP"]
    ),
    Sentence(
        forms=["A", "cat", "sleeps"], xpos=["at", "nn", "vbz"], spans=["B-NP", "I-NP", "B-VP"]
    ),
    Sentence(forms=["Dogs", "bark"], xpos=["nns", "vb"], spans=["B-NP", "B-VP"]),
    Sentence(
        forms=["The", "cats", "sleep"], xpos=["at", "nns", "vb"], spans=["B-NP", "I-NP", "B-VP"]
    ),
]


def tags_of(sentence: Sentence) -> Sequence[str]:
    return sentence.xpos


def spans_of(sentence: Sentence) -> Sequence[str]:
    return sentence.spans


def tagging(
    train: Sequence[Sentence] = SENTENCES, test: Sequence[Sentence] = SENTENCES
) -> WordTask:
    return WordTask("Tags", Sample("some", train, test), tags_of, None, False)


@pytest.fixture(scope="module")
def results() -> Results:
    """The numbers of the full run that the page shows."""
    return read_results(ROOT / "docs" / "experiments" / "maxent.json", "maxent")[0]


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A quick run on generated sentences, of as many passes as it takes to end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "CORPORA", tmp_path_factory.mktemp("none"))
        return measure(Request(quick=True, seconds=0.25, constants=(0.1, 1.0)))


def claim_about(results: Results, words: str) -> Claim:
    found = [own for own in report(results).claims if words in own.text]
    assert len(found) == 1, words
    return found[0]


@pytest.mark.parametrize(
    ("tag", "short"),
    [
        ("nn", "nn"),
        ("nn-tl-hl", "nn"),
        ("fw-nn-tl", "nn"),
        ("md*", "md"),
        ("ppss+md", "ppss"),
        ("*", "*"),
        ("---hl", "--"),
        ("np$", "np$"),
    ],
)
def test_tags_lose_their_marks(tag: str, short: str) -> None:
    assert reduced(tag) == short


def test_brown_is_read_by_sentences(tmp_path: Path) -> None:
    path = tmp_path / "brown.tsv"
    path.write_text("The\tat-hl\ndog\tnn\n\n\nbarks\tvbz", encoding="utf-8")
    assert read_brown(path) == [
        Sentence(forms=["The", "dog"], xpos=["at", "nn"]),
        Sentence(forms=["barks"], xpos=["vbz"]),
    ]
    path.write_text("The\tat\ndog nn\n", encoding="utf-8")
    with pytest.raises(
        EgparseError, match=r"brown\.tsv:2: expected a word and a tag .* got 'dog nn\\n'"
    ):
        read_brown(path)


def test_the_parts_of_brown_are_drawn_at_random_and_do_not_overlap() -> None:
    sentences = [Sentence(forms=[f"w{place}"] * 2, xpos=["x"] * 2) for place in range(100)]
    parts = split_brown(sentences, 1000, 1)
    assert (len(parts.train), len(parts.dev)) == (80, 20)
    assert {own.forms[0] for own in (*parts.train, *parts.dev)} == {
        own.forms[0] for own in sentences
    }
    assert parts == split_brown(sentences, 1000, 1) != split_brown(sentences, 1000, 2)
    slice_of = split_brown(sentences, 50, 1)
    assert (len(slice_of.train), len(slice_of.dev)) == (20, 5)
    assert "25 of 100 sentences" in slice_of.name


def test_attributes_see_neighbours_and_given_tags_only() -> None:
    first, _, last = attributes(["The", "dog", "barks"], ["D", "N", "V"])
    assert {
        "w=The",
        "lower=the",
        "prefix=th",
        "suffix=he",
        "w-1=<>",
        "w+1=dog",
        "w+2=barks",
    } <= set(first)
    assert {"t-1=<>", "t+0=D", "t+0,+1=D N", "t+2=V"} <= set(first)
    assert {"w+1=<>", "t-1,+0=N V"} <= set(last)
    assert not any(own.startswith("t") for own in next(attributes(["The"], [])))
    assert all(len(set(own)) == len(own) for own in (first, last))


def test_attributes_that_training_does_not_know_are_left_out() -> None:
    vocabulary: dict[str, int] = {}
    train = matrix_of([["a", "b"], ["b", "c"]], vocabulary, grow=True)
    assert train.toarray().tolist() == [[1, 1, 0], [0, 1, 1]]
    assert matrix_of([["d"], ["c", "e"]], vocabulary, grow=False).toarray().tolist() == [
        [0, 0, 0],
        [0, 0, 1],
    ]
    assert list(vocabulary) == ["a", "b", "c"]


def test_labels_that_training_does_not_know_count_as_wrong() -> None:
    test = [Sentence(forms=["The", "dog", "barks"], xpos=["at", "nn", "zz"])]
    classified = classify(tagging(test=test))
    assert classified.score(np.zeros(classified.problem.feature_count)) <= 100 * 2 / 3 + 1e-9


def test_spans_are_scored_by_f1() -> None:
    parts = Sample("some", SENTENCES, SENTENCES)
    classified = classify(WordTask("Chunks", parts, spans_of, tags_of, True))
    expected = np.zeros(classified.problem.feature_count)
    counts = classified.outcomes(expected)
    assert counts[:, 1].tolist() == [2, 2, 2, 2]
    assert "F1" in classified.task.score_name
    features = classified.problem.features
    w = np.where(features.observed > 0, 5.0 * features.observed, 0.0)
    correct, gold, system = classified.outcomes(w).sum(axis=0)
    assert classified.score(w) == pytest.approx(200 * correct / (gold + system))


def test_words_are_counted_by_sentence() -> None:
    classified = classify(tagging())
    counts = classified.outcomes(np.zeros(classified.problem.feature_count))
    assert counts[:, 1].tolist() == counts[:, 2].tolist() == [3, 3, 2, 3]
    score = classified.score(np.zeros(classified.problem.feature_count))
    assert score == pytest.approx(100 * counts[:, 0].sum() / 11)


def test_words_without_labels_are_refused() -> None:
    bare = [Sentence(forms=["a", "b"])]
    with pytest.raises(EgparseError, match="some: expected sentences with a label for every word"):
        classify(tagging(test=bare))
    with pytest.raises(EgparseError, match="some: expected sentences with a label for every word"):
        classify(tagging(train=[]))


def test_a_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_TABLE_BYTES", 100)
    with pytest.raises(EgparseError, match=r"some: expected a table of at most 100 bytes, got \d+"):
        classify(tagging())


@pytest.mark.nightly
def test_every_learner_starts_alike_and_falls_to_the_optimum(quick_run: Results) -> None:
    found = maxent_races.runs(quick_run)
    assert [own.task for own in found] == ["Tags", "Chunks", "Chunks"]
    assert found[1].labels == tuple(LEARNERS)
    for own in found:
        assert len({round(curve.points[0].primal, 9) for curve in own.curves}) == 1
        for curve in own.curves:
            values = [point.primal for point in curve.points]
            assert min(values) >= own.optimum * (1 - 1e-9)
            assert not curve.stopped.startswith("failed")
            if curve.label == "dual CD":
                assert max(point.dual for point in curve.points) <= own.optimum * (1 + 1e-9)
            else:
                pairs = itertools.pairwise(values)
                assert all(b <= a + 1e-9 * abs(a) for a, b in pairs), curve.label
        assert own.after("CD", 1e9) <= 0.05
        assert own.after("L-BFGS", 1e9) <= 0.05


def test_learners_that_draw_run_with_every_seed_and_splits_with_all() -> None:
    races = maxent_curves.races(Request(data=Path("anywhere"), seed=4))
    assert [tuple(own.seeds) for own in races] == [(4,), (4, 5, 6), (4, 5, 6), (4,)]
    assert [own.splits for own in races] == [False, True, False, False]
    assert [tuple(own.constants) for own in races] == [(0.1,), (0.1,), (0.1,), (1.0, 0.01)]


def test_every_claim_has_a_verdict(results: Results) -> None:
    claims = report(results).claims
    sources = " ".join(claim.source for claim in claims)
    for place in ("Theorem 1", "Table 1", "eq. 14", "section 2.3", "section 3.2", "section 4"):
        assert place in sources
    for part in ("(a, b)", "(c)", "(d)"):
        assert f"Fig. 2 {part}" in sources
    assert len({(claim.source, claim.text) for claim in claims}) == len(claims)
    assert all(claim.evidence.endswith(".") for claim in claims)


def test_a_violated_bound_is_seen(results: Results) -> None:
    text = "A_CD <= A_SCGIS"
    assert claim_about(results, text).verdict == "reproduced"
    numbers = {**results.numbers, "bounds": {"tried": 100, "found": 1}}
    assert claim_about(results._replace(numbers=numbers), text).verdict == "not reproduced"


def test_the_order_of_the_learners_follows_their_curves(results: Results) -> None:
    """With the curves of CD and GIS exchanged, CD is no longer the fastest."""
    text = "the new CD is the fastest by objective"
    assert claim_about(results, text).verdict == "reproduced"
    names = {"CD": "GIS", "GIS": "CD"}
    exchanged = {
        key: own._replace(
            curves=tuple(c._replace(label=names.get(c.label, c.label)) for c in own.curves)
        )
        for key, own in results.comparisons.items()
    }
    assert claim_about(results._replace(comparisons=exchanged), text).verdict == "not reproduced"


def test_scores_that_may_differ_by_chance_do_not_reproduce_an_order(results: Results) -> None:
    by_chance = {
        key: own._replace(tests=tuple(test._replace(p=0.5) for test in own.tests))
        for key, own in results.comparisons.items()
    }
    same = results._replace(comparisons=by_chance)
    assert claim_about(same, "By accuracy, too").verdict == "not reproduced"
    assert claim_about(same, "By F1, too").verdict == "not reproduced"


def test_a_rate_is_the_slope_of_the_logarithm() -> None:
    passes = list(range(40))
    straight = rate_of(passes, [3.0 * 0.8**k for k in passes])
    assert straight is not None
    assert straight.is_linear
    assert (straight.factor, straight.r2) == (pytest.approx(0.8), pytest.approx(1.0))
    for power in (1, 2, 5):
        sublinear = rate_of(passes, [1.0 / (k + 1) ** power for k in passes])
        assert sublinear is not None
        assert not sublinear.is_linear
    assert rate_of(passes, [5.0] * 3 + [0.0] * 37) is None


def test_costs_are_counted_for_every_method_and_length() -> None:
    problem = classify(tagging()).problem
    w = np.zeros(problem.feature_count)
    costs = newton_costs(problem, w, sigma2=10.0)
    assert set(costs) == {"cd", "gis", "scgis", "iis"}
    by_length, anew = update_costs(problem, w)
    assert anew >= 0
    lengths = [row.length for row in by_length]
    assert lengths == sorted(lengths)


def test_a_share_of_full_steps_is_at_most_one() -> None:
    shares, w = maxent_probes.full_steps(classify(tagging()), 3)
    assert len(shares) == 3
    assert all(0 < share <= 1 for share in shares)
    assert w.any()


@pytest.mark.nightly
def test_generated_sentences_do_where_there_is_no_corpus(
    quick_run: Results, results: Results
) -> None:
    assert "generated" in json.dumps(dict(quick_run.facts))
    texts = [[claim.text for claim in report(own).claims] for own in (quick_run, results)]
    assert texts[0] == texts[1]


@pytest.mark.nightly
@pytest.mark.skipif(not DATA.is_dir(), reason="the development corpora are not here")
def test_a_quick_run_takes_slices_of_the_data_that_it_is_given() -> None:
    found = measure(
        Request(quick=True, data=DATA, iterations=2, seconds=0.1, constants=(1.0,), seeds=2)
    )
    assert BROWN in found.facts["Tags: data"]
    assert "conll2000" in found.facts["Chunks: data"]
    curves = [curve for own in found.comparisons.values() for curve in own.curves]
    assert {curve.c for curve in curves} == {1.0}
    eighth = found.comparisons[maxent_races.EIGHTH]
    assert eighth.split_by_seed
    assert {curve.seed for curve in eighth.curves} == {1, 2}
    drawn = found.comparisons[maxent_races.CHUNKS].runs("dual CD", 1.0)
    assert len(drawn) == 2
    assert drawn[0].points[-1].primal != drawn[1].points[-1].primal
