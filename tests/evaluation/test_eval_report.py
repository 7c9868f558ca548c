"""The report: what is in it, what is null, and what it costs."""

from __future__ import annotations

import json

import pytest
from evaluation.corpora import corrupt, parse, resegment, treebank
from lines_run import lines_run

from egparse.errors import EgparseError
from egparse.evaluation.report import METRICS, annotated_layers, evaluate, report_as_json
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
    nothing = ("XPOS", "UFeats", "UAS", "LAS", "CLAS", "MLAS", "NE", "segmentation")
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
    assert set(found.metrics) == {
        "UPOS",
        "UAS",
        "LAS",
        "CLAS",
    }  # features are annotated, so MLAS would need them
    with pytest.raises(EgparseError, match=r"expected layers among upos, .*, got lemmas"):
        evaluate(gold, gold, layers={"lemmas"})


def test_other_words_leave_out_what_compares_word_by_word() -> None:
    gold = treebank("fr_sequoia-ud-dev.conllu")[:100]
    system = resegment(gold, seed=8)
    found = report_as_json(evaluate(gold, system, details=True, bootstrap=50))
    assert found["NE"] is None
    assert found["conventions"]["ud18"] is None
    assert 0.0 < found["segmentation"]["Words"] < 100.0
    assert found["counts"]["words"] != found["counts"]["system_words"]
    assert "details" not in found
    assert set(found["intervals"]) == {"UPOS", "UFeats", "UAS", "LAS", "CLAS", "MLAS"}


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
    assert set(found["details"]) == {
        "labels",
        "tags",
        "arc_lengths",
        "sentence_lengths",
        "vocabulary",
    }


def test_the_same_seed_gives_the_same_report() -> None:
    gold = treebank("fr_sequoia-ud-dev.conllu")[:50]
    system = corrupt(gold, seed=9)
    first, again, other = (report_as_json(evaluate(gold, system, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first["intervals"] != other["intervals"]


def test_annotated_layers_need_one_value() -> None:
    assert annotated_layers([Sentence(forms=["a"])]) == set()
    assert annotated_layers([Sentence(forms=["a"], heads=[-1], spans=["O"], feats=["_"])]) == set()
    assert annotated_layers([Sentence(forms=["a"]), Sentence(forms=["b"], heads=[0])]) == {"heads"}
    assert annotated_layers(parse("1\ta\ta\tX\tY\tA=b\t0\troot\t_\tNE=B-Z")) == {
        *("upos", "xpos", "feats", "heads", "deprels", "spans")
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
