"""The report: what is in it, what is null, and what it costs."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from evaluation.corpora import corrupt, parse, resegment, treebank, write
from lines_run import lines_run

from egparse.errors import EgparseError
from egparse.evaluation.bootstrap import Units
from egparse.evaluation.report import (
    METRICS,
    aligned_accuracy,
    annotated_layers,
    evaluate,
    report_as_json,
)
from egparse.evaluation.scores import total
from egparse.evaluation.spans import score_spans
from egparse.evaluation.ud import score
from egparse.sentences import Sentence


def test_a_whole_report_holds_what_the_parts_say() -> None:
    gold = treebank("en_ewt-ud-dev.conllu")[:200]
    system = corrupt(gold, seed=7)
    found = json.loads(json.dumps(report_as_json(evaluate(gold, system, bootstrap=100))))
    totals = score(gold, system).totals
    spans = score_spans([s.spans for s in gold], [s.spans for s in system])
    assert {name: found[name] for name in METRICS} == {name: totals[name].f1 for name in METRICS}
    assert (found["NE"]["p"], found["NE"]["r"]) == (spans.micro.precision, spans.micro.recall)
    assert found["NE"]["f"] == spans.micro.f1
    person = spans.per_type["PER"]
    rates = {"p": person.precision, "r": person.recall, "f": person.f1}
    assert found["NE"]["per_type"]["PER"] == {**rates, **person._asdict()}
    assert found["counts"]["words"] == found["counts"]["system_words"] == totals["UAS"].gold
    assert found["counts"]["CLAS"] == totals["CLAS"]._asdict()
    assert found["conventions"]["ud18"] == {"UAS": found["UAS"], "LAS": found["LAS"]}
    assert set(found["conventions"]) == {"ud18", "conllx06", "conll07", "spacy"}
    assert found["segmentation"] is None
    assert "details" not in found
    for name, (low, high) in found["intervals"].items():
        middle = found["NE"]["f"] if name == "NE" else found[name]
        assert low < middle < high
    assert set(found["intervals"]) == {*METRICS, "NE"}


def test_layers_that_gold_does_not_annotate_are_null() -> None:
    gold = [Sentence(forms=["a", "b"], upos=["X", "Y"], xpos=["_", "_"], spans=["O", "O"])]
    found = report_as_json(evaluate(gold, gold))
    assert found["UPOS"] == 100.0
    nothing = ("XPOS", "UFeats", "AllTags", "UAS", "LAS", "CLAS", "MLAS", "NE", "segmentation")
    assert {name: found[name] for name in nothing} == dict.fromkeys(nothing)
    assert set(found["intervals"]) == {"UPOS"}
    assert found["conventions"] == dict.fromkeys(["ud18", "conllx06", "conll07", "spacy"])


def test_heads_without_labels_give_unlabelled_scores_only() -> None:
    gold = [Sentence(forms=["a", "b"], heads=[0, 1], deprels=["_", "_"])]
    found = report_as_json(evaluate(gold, gold, bootstrap=0))
    assert (found["UAS"], found["LAS"], found["CLAS"], found["MLAS"]) == (100.0, None, None, None)
    assert found["conventions"]["conll07"] == {"UAS": 100.0, "LAS": None}
    assert found["intervals"] == {}


def test_layers_restrict_what_is_scored() -> None:
    gold = treebank("fr_sequoia-ud-dev.conllu")[:20]
    found = evaluate(gold, gold, layers={"upos", "heads", "deprels"}, bootstrap=0)
    # features are annotated, so MLAS would need them
    assert set(found.metrics) == {"UPOS", "UAS", "LAS", "CLAS"}
    with pytest.raises(EgparseError, match=r"expected layers among upos, .*, got forms"):
        evaluate(gold, gold, layers={"forms"})


def test_other_words_leave_out_what_compares_word_by_word() -> None:
    gold = treebank("fr_sequoia-ud-dev.conllu")[:100]
    system = resegment(gold, seed=8)
    found = report_as_json(evaluate(gold, system, details=True, bootstrap=50))
    assert found["NE"] is None
    assert found["conventions"]["ud18"] is None
    assert 0.0 < found["segmentation"]["Words"] < 100.0
    assert found["counts"]["words"] != found["counts"]["system_words"]
    assert "details" not in found
    segments, tags = {"Tokens", "Sentences", "Words"}, {"UPOS", "UFeats", "AllTags", "Lemmas"}
    measured = segments | tags | {"UAS", "LAS", "CLAS", "MLAS", "BLEX"}
    assert set(found["intervals"]) == set(found["alignment"]) == measured


def test_aligned_words_have_the_rates_of_the_official_script() -> None:
    udeval = pytest.importorskip("udtools.udeval")
    gold = treebank("en_ewt-ud-dev.conllu")[:150]
    system = resegment(gold, seed=3)
    sides = [udeval.load_conllu(io.StringIO(write(side)), "x", {}) for side in (gold, system)]
    official = udeval.evaluate(*sides)
    found = report_as_json(evaluate(gold, system, bootstrap=0))["alignment"]
    assert list(found) == [name for name in official if name not in ("ELAS", "EULAS")]
    for name, rates in found.items():
        theirs = official[name]
        assert rates["precision"] == pytest.approx(100 * theirs.precision, abs=1e-9)
        assert rates["recall"] == pytest.approx(100 * theirs.recall, abs=1e-9)
        assert rates["f1"] == pytest.approx(100 * theirs.f1, abs=1e-9)
        accuracy = theirs.aligned_accuracy
        expected = None if accuracy is None else pytest.approx(100 * accuracy, abs=1e-9)
        assert rates.get("aligned_accuracy") == expected


def test_equal_words_are_aligned_on_request() -> None:
    gold = treebank("en_ewt-ud-dev.conllu")[:20]
    report = evaluate(gold, gold, from_text=True, bootstrap=0)
    assert (report["Tokens"], report["Sentences"], report["Words"]) == (100.0, 100.0, 100.0)
    assert aligned_accuracy(report, "LAS") == 100.0
    assert aligned_accuracy(report, "Words") is None
    assert aligned_accuracy(evaluate(gold, gold, bootstrap=0), "LAS") is None


def test_units_are_resampled_as_wholes() -> None:
    gold = treebank("en_ewt-ud-dev.conllu")[:60]
    system = corrupt(gold, seed=5)
    units = Units("paragraph", np.arange(60) // 6)
    report = evaluate(gold, system, units=units, bootstrap=50)
    assert report.unit == report_as_json(report)["unit"] == "paragraph"
    assert report.by_sentence["LAS"].shape == (10, 3)
    alone = evaluate(gold, system, bootstrap=50)
    assert report.scores == alone.scores
    assert total(report.by_sentence["LAS"]) == total(alone.by_sentence["LAS"])
    assert report.by_sentence["LAS"][1].tolist() == alone.by_sentence["LAS"][6:12].sum(0).tolist()
    assert report.intervals != alone.intervals


def test_spans_are_compared_by_characters_where_words_differ() -> None:
    gold = [
        Sentence(forms=["Anna", "May", "left"], spans=["B-PER", "I-PER", "O"]),
        Sentence(forms=["In", "Rome"], spans=["O", "B-LOC"]),
    ]
    tags = ["B-PER", "I-PER", "O", "B-LOC"]
    system = [Sentence(forms=["Anna", "May", "leftIn", "Rome"], spans=tags)]
    report = evaluate(gold, system, bootstrap=0)
    assert report["NE"] == 100.0
    assert report.by_sentence["NE"].tolist() == [[1, 1, 1], [1, 1, 1]]
    assert report_as_json(report)["NE"]["accuracy"] is None
    other = [Sentence(forms=["AnnaM", "ay", "leftIn", "Rome"], spans=["B-PER", "O", "O", "B-LOC"])]
    assert evaluate(gold, other, bootstrap=0).by_sentence["NE"].tolist() == [[0, 1, 1], [1, 1, 1]]
    unannotated = [gold[0].with_layers(spans=()), gold[1]]
    found = evaluate(unannotated, other, bootstrap=0).by_sentence["NE"]
    assert found.tolist() == [[0, 0, 0], [1, 1, 1]]


def test_all_tags_are_those_that_gold_and_system_have() -> None:
    """Two kinds of tags at least, all of them in gold and among the layers that are scored."""
    both = [Sentence(forms=["a", "b"], upos=["X", "Y"], feats=["_", "A=1"])]
    other = [both[0].with_layers(upos=("X", "X"))]
    found = evaluate(both, other, bootstrap=0)
    assert found["AllTags"] == score(both, other).totals["AllTags"].f1 == 50.0
    tagged = [both[0].with_layers(xpos=("N", "V"))]
    assert "AllTags" not in evaluate(both, tagged, bootstrap=0).scores
    assert evaluate(tagged, tagged, bootstrap=0)["AllTags"] == 100.0
    assert evaluate(tagged, both, bootstrap=0)["AllTags"] == 0.0
    assert "AllTags" not in evaluate(tagged, tagged, layers={"upos", "xpos"}, bootstrap=0).scores


def test_details_on_request() -> None:
    gold = treebank("en_ewt-ud-dev.conllu")[:50]
    found = json.loads(
        json.dumps(
            report_as_json(evaluate(gold, gold, details=True, vocabulary={"the"}, bootstrap=0))
        )
    )
    assert found["details"]["labels"]["root"] == {
        "p": 100.0,
        "r": 100.0,
        "f": 100.0,
        "correct": 50,
        "gold": 50,
        "system": 50,
    }
    assert set(found["details"]["vocabulary"]) == {"known", "unknown"}
    details = {"labels", "tags", "arc_lengths", "sentence_lengths", "vocabulary"}
    assert set(found["details"]) == details


def test_the_same_seed_gives_the_same_report() -> None:
    gold = treebank("fr_sequoia-ud-dev.conllu")[:50]
    system = corrupt(gold, seed=9)
    first, again, other = (report_as_json(evaluate(gold, system, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first["intervals"] != other["intervals"]


def test_a_report_is_read_by_metric() -> None:
    gold = treebank("en_ewt-ud-dev.conllu")[:60]
    report = evaluate(gold, corrupt(gold, seed=4), bootstrap=100)
    assert list(report) == list(report.scores) == list(report.intervals) == [*METRICS, "NE"]
    assert report["LAS"] == report.metrics["LAS"].f1
    assert report.spans is not None
    assert report["NE"] == report.spans.micro.f1
    low, high = report.interval_bounds["LAS"]
    assert report.intervals["LAS"] == pytest.approx((high - low) / 2)
    assert "LAS" in report
    assert "Sentences" not in report
    with pytest.raises(
        KeyError, match=r"expected a metric among UPOS, XPOS, .*, NE, got 'Sentences'"
    ):
        report["Sentences"]


def test_a_report_shows_its_scores() -> None:
    gold = [Sentence(forms=["a", "b"], upos=["X", "Y"], heads=[0, 1])] * 3
    system = [gold[0].with_layers(upos=["X", "X"])] * 3
    report = evaluate(gold, system, bootstrap=10)
    assert repr(report) == "<Report: UPOS 50.00, UAS 100.00, 3 sentences, 6 words>"
    assert str(report).splitlines() == [
        "3 sentences, 6 words",
        "UPOS   50.00 +- 0.00",
        "UAS   100.00 +- 0.00",
    ]
    without = evaluate(gold, system, bootstrap=0, layers=set())
    assert str(without) == "3 sentences, 6 words"
    with pytest.raises(KeyError, match="expected a metric among none, got 'UAS'"):
        without["UAS"]


def test_counts_by_sentence_add_up_to_the_scores() -> None:
    gold = treebank("fr_sequoia-ud-dev.conllu")[:40]
    for system in (corrupt(gold, seed=1), resegment(gold, seed=2)):
        report = evaluate(gold, system, bootstrap=0)
        sums = {name: total(counts).f1 for name, counts in report.by_sentence.items()}
        assert sums == report.scores


def test_the_sentences_of_a_splitter_are_scored_beside_the_layers() -> None:
    gold = [Sentence(forms=["a"], upos=["X"]), Sentence(forms=["b"], upos=["X"])]
    counts = np.array([[0, 1, 1], [1, 1, 1]])
    report = evaluate(gold, gold, bootstrap=0, sentence_counts=counts)
    assert report.scores == {"Sentences": 50.0, "UPOS": 100.0}
    assert report_as_json(report)["segmentation"] == {"Sentences": 50.0}


def test_annotated_layers_need_one_value() -> None:
    assert annotated_layers([Sentence(forms=["a"])]) == set()
    assert annotated_layers([Sentence(forms=["a"], heads=[-1], spans=["O"], feats=["_"])]) == set()
    assert annotated_layers([Sentence(forms=["a"]), Sentence(forms=["b"], heads=[0])]) == {"heads"}
    assert annotated_layers(parse("1\ta\ta\tX\tY\tA=b\t0\troot\t_\tNE=B-Z")) == {
        *("lemmas", "upos", "xpos", "feats", "heads", "deprels", "spans")
    }


def test_no_gold_is_an_error() -> None:
    with pytest.raises(EgparseError, match="expected gold sentences to evaluate against, got none"):
        evaluate([], [])


def test_the_work_grows_as_the_words_do() -> None:
    gold = treebank("en_ewt-ud-dev.conllu")
    system = corrupt(gold, seed=10)
    once = lines_run(lambda: evaluate(gold, system, details=True, vocabulary={"the"}))
    twice = lines_run(lambda: evaluate(gold * 2, system * 2, details=True, vocabulary={"the"}))
    assert twice < 2.05 * once
    assert once < 200 * sum(map(len, gold))
