"""The whole path: train on a slice of the sample treebank, annotate, save, load, and do it
again.
"""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from plain_reading import read_text
from sample_treebank import (
    CORPORA,
    quick,
    quick_model,
    sample,
)
from sample_treebank import (
    without as drop,
)

from egparse.config.reading import check_config
from egparse.errors import EgparseError, ModelFileError
from egparse.evaluation.report import METRICS, evaluate, report_as_json
from egparse.evaluation.scores import total
from egparse.fitting.progress import Iteration, Step
from egparse.io.trees import find_tree_fault
from egparse.pipeline.conversion import batches
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.service.hub.resolve import find_model, load
from egparse.storage.model_file import read_header, read_model, write_model
from egparse.text.training import splitter_counts
from egparse.training.corpus import annotated_layers, hold_out
from egparse.training.run import train

ALL = ("upos", "xpos", "feats", "lemmas", "spans", "heads", "deprels")


def accuracy(found: list[Sentence], layer: str) -> float:
    pairs = [
        (a, b)
        for gold, system in zip(sample("train")[:60], found, strict=True)
        for a, b in zip(getattr(gold, layer), getattr(system, layer), strict=True)
    ]
    return float(np.mean([a == b for a, b in pairs]))


def test_every_annotated_layer_is_learned() -> None:
    model = quick_model()
    assert model.layers == ALL
    found = list(model.annotate(sample("train")[:60]))
    for layer in ALL:
        assert accuracy(found, layer) > 0.85, layer


def test_trees_are_valid_and_spans_are_iob2() -> None:
    for sentence in quick_model().annotate(sample("test")):
        assert find_tree_fault(sentence.heads, single_root=True) is None
        for previous, tag in zip(("O", *sentence.spans), sentence.spans, strict=False):
            assert not tag.startswith("I-") or previous in (tag, "B-" + tag[2:])


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    model = quick_model()
    model.save(tmp_path / "a.msgpack")
    loaded = Model.load(tmp_path / "a.msgpack")
    before, after = list(model.annotate(sample("test"))), list(loaded.annotate(sample("test")))
    assert before == after
    loaded.save(tmp_path / "b.msgpack")
    assert (tmp_path / "a.msgpack").read_bytes() == (tmp_path / "b.msgpack").read_bytes()
    assert loaded.record["sentences"] == 60
    assert loaded.strongest("upos", 3) == model.strongest("upos", 3)
    assert loaded.sizes() == model.sizes()


def test_a_model_is_pickled_as_its_file(tmp_path: Path) -> None:
    model, path = quick_model(), tmp_path / "a.msgpack"
    model.save(path)
    loaded, file = Model.load(path), path.read_bytes()
    expected = list(model.annotate(sample("test")))
    for one in (model, loaded, replace(loaded)):
        copied = pickle.loads(pickle.dumps(one))
        assert list(copied.annotate(sample("test"))) == expected
        assert one.to_bytes() == copied.to_bytes() == file
        assert copy.copy(one) is copy.deepcopy(one) is one
    assert replace(loaded, language="fr").to_bytes() != file
    path.write_bytes(file[:-1])
    assert loaded.to_bytes() == file
    with pytest.raises(ModelFileError, match=r"^<bytes>: truncated"):
        Model.from_bytes(file[:-1])


def test_the_bytes_of_the_file_that_a_model_was_loaded_from_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    quick_model().save("a.msgpack")
    loaded = Model.load("a.msgpack")
    monkeypatch.chdir("/")
    monkeypatch.setattr(Model, "_content", None)  # nothing is packed anew
    assert loaded.to_bytes() == (tmp_path / "a.msgpack").read_bytes()


def test_equal_seeds_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        model = train(sample("train")[:25], sample("dev")[:5], quick()).model
        replace(model, record={**model.record, "cpu_seconds": 0, "tasks": {}}).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_threads_share_a_model() -> None:
    model = quick_model()
    expected = list(model.annotate(sample("test")))
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: list(model.annotate(sample("test"))), range(8)))
    assert all(run == expected for run in runs)


def test_predictions_do_not_depend_on_the_batch() -> None:
    model = quick_model()
    together = list(model.annotate(sample("test")))
    alone = [next(model.annotate([sentence])) for sentence in sample("test")]
    assert together == alone


def test_gold_tags_are_kept_and_used_where_they_are_given() -> None:
    gold = sample("test")[:10]
    stripped = [sentence.with_layers(xpos=()) for sentence in gold]
    found = list(quick_model().annotate(stripped, gold_tags=True))
    assert [sentence.upos for sentence in found] == [sentence.upos for sentence in gold]
    assert all(len(sentence.xpos) == len(sentence) for sentence in found)


def test_odd_words_are_annotated() -> None:
    odd = [
        Sentence(("☃",)),
        Sentence(()),
        Sentence(("\u202eאב", "x" * 5000, "1,000.5", "😀")),
        Sentence(("a",) * 300),
    ]
    for given, found in zip(odd, quick_model().annotate(odd), strict=True):
        assert len(found.upos) == len(found.heads) == len(given)


def test_training_reports_every_pass_with_its_certificate() -> None:
    events: list[Iteration | Step] = []
    train(
        sample("train")[:25],
        sample("dev")[:5],
        quick('layers=["upos", "heads"]', "jackknife.folds=2"),
        events.append,
    )
    passes = [event for event in events if isinstance(event, Iteration)]
    assert {event.task for event in passes} == {"tokeniser", "upos", "parser"}
    for event in passes:
        assert event.gap == pytest.approx(event.primal - event.dual)
        assert event.gap >= -1e-6 * abs(event.dual)
        assert event.score is not None
    steps = [event for event in events if isinstance(event, Step)]
    assert [step.done for step in steps if step.task == "upos jackknife"] == [0, 1, 2]


def test_ctrl_c_keeps_what_has_been_trained() -> None:
    def interrupt(event: Iteration | Step) -> None:
        if isinstance(event, Iteration) and event.task == "xpos" and event.iteration == 2:
            raise KeyboardInterrupt

    trained = train(sample("train")[:25], None, quick(), interrupt)
    assert trained.interrupted
    assert trained.model.layers == ("upos", "xpos")
    assert list(trained.model.annotate(sample("test")[:3]))

    def at_once(event: Iteration | Step) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(sample("train")[:25], None, quick(), at_once)


def test_a_development_part_is_held_out_in_corpus_order() -> None:
    kept, held = hold_out(sample("train"), 0.1, seed=1)
    assert len(held) == len(sample("train")) // 10
    assert sorted([*kept, *held], key=lambda s: s.sentence_id or "") == sorted(
        sample("train"), key=lambda s: s.sentence_id or ""
    )
    assert hold_out(sample("train")[:10], 0.5, 1) == (list(sample("train")[:10]), [])


def test_tags_that_are_used_but_not_trained_are_inputs() -> None:
    corpus = [
        Sentence(s.forms, xpos=s.xpos, spans=tuple("B-" + tag for tag in s.upos))
        for s in sample("train")[:40]
    ]
    config = quick('layers=["spans"]', 'spans.templates=["xpos[0]", "form[0]"]')
    model = train(corpus, corpus[:5], config).model
    assert model.layers == ("spans",)
    with_tags = list(model.annotate(corpus))
    without = list(model.annotate([Sentence(sentence.forms) for sentence in corpus]))
    assert with_tags != without


@pytest.mark.parametrize("trees", ["projective", "non-projective"])
@pytest.mark.parametrize("loss", ["log-linear", "max-margin"])
def test_both_kinds_of_trees_and_both_losses_train(trees: str, loss: str) -> None:
    config = quick(
        'layers=["upos", "heads"]',
        f'parser.trees="{trees}"',
        f'parser.loss="{loss}"',
        f'upos.loss="{loss}"',
        "parser.c=5",
        "parser.stop.iterations=25",
    )
    model = train(sample("train")[:60], None, config).model
    # the parser has learned from correct tags, and is asked with correct tags
    found = list(model.annotate(sample("train")[:60], gold_tags=True))
    assert accuracy(found, "heads") > 0.75


def test_layers_are_found_by_what_the_words_say() -> None:
    assert annotated_layers(sample("train")[:30]) == ALL
    assert (
        annotated_layers([Sentence(("a",), upos=("_",), heads=(-1,), deprels=("_",), spans=("O",))])
        == ()
    )


@pytest.mark.parametrize(
    ("sentences", "overrides", "text"),
    [
        ([], [], "expected at least one sentence to train on, got none"),
        (
            [Sentence(("a",))],
            [],
            "expected a corpus with tags, lemmas, entities or trees, got words alone",
        ),
        (
            [Sentence(("a",), upos=("X",))],
            ['layers=["heads"]'],
            "expected layers that the corpus annotates (upos), got 'heads'",
        ),
    ],
)
def test_a_corpus_that_cannot_be_trained_on_is_refused(
    sentences: list[Sentence], overrides: list[str], text: str
) -> None:
    with pytest.raises(EgparseError) as fault:
        train(sentences, None, quick(*overrides))
    assert text in str(fault.value)


def test_a_model_file_with_missing_parts_is_refused(tmp_path: Path) -> None:
    quick_model().save(tmp_path / "m")
    header, payload = read_model(tmp_path / "m")
    write_model(
        tmp_path / "n", header, {name: part for name, part in payload.items() if name != "forms"}
    )
    with pytest.raises(ModelFileError, match="expected the field forms, got only"):
        Model.load(tmp_path / "n")


def test_layers_with_probabilities_are_stored(tmp_path: Path) -> None:
    config = quick('layers=["upos", "xpos"]', "hold_out=0", "upos.loss=max-margin", "upos.c=5")
    model = train(sample("train")[:25], None, config).model
    assert model.probabilistic == ("xpos",)
    path = tmp_path / "model.msgpack"
    model.save(path)
    header, payload = read_model(path)
    assert (header["version"], header["needs_egparse"]) == (2, "0.2.0")
    assert header["probabilistic"] == ["xpos"]
    assert Model.load(path).probabilistic == ("xpos",)
    write_model(path, {**header, "probabilistic": []}, payload)
    assert Model.load(path).probabilistic == ()


@pytest.mark.parametrize("name", ["en_ewt", "fr_sequoia"])
def test_the_shipped_models_have_probabilities_and_settings_of_today(name: str) -> None:
    model = load(name)
    assert model.probabilistic == model.layers
    assert check_config(model.config_table).parser.order == 2
    assert "second_order" not in model.config_table


def test_a_shipped_model_is_written_again(tmp_path: Path) -> None:
    model = load("fr_sequoia")
    model.save(tmp_path / "again.msgpack")
    again = Model.load(tmp_path / "again.msgpack")
    assert again.config_table == model.config_table
    assert again.probabilistic == model.probabilistic
    assert again(sample("dev")[:5]) == model(sample("dev")[:5])
    assert read_header(tmp_path / "again.msgpack")["version"] == 2


@pytest.mark.parametrize("name", ["fr_sequoia", "new"])
def test_a_loaded_file_is_saved_to_the_same_bytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / "new.msgpack"
    if name == "new":
        quick_model().save(path)
    else:
        path = find_model(name)
    Model.load(path).save(tmp_path / "again.msgpack")
    assert (tmp_path / "again.msgpack").read_bytes() == path.read_bytes()


def test_a_call_annotates_a_text() -> None:
    model, text = quick_model(), "A dog barks at the cat. The cat runs away!\n\nMary sees it."
    found = model(text)
    assert [sentence.forms for sentence in found] == [
        ("A", "dog", "barks", "at", "the", "cat", "."),
        ("The", "cat", "runs", "away", "!"),
        ("Mary", "sees", "it", "."),
    ]
    assert found == list(model.annotate(model.text_reader().sentences(StringIO(text))))
    no_tokens = drop(model, "tokeniser", "expander")
    by_spacy = read_text(text, "en", splitter=model.components.get("splitter"))
    assert no_tokens(text) == list(no_tokens.annotate(by_spacy))
    assert all(find_tree_fault(own.heads, single_root=True) is None for own in found)
    (one,) = model("A dog barks.", probabilities=["heads"])
    assert one.probabilities is not None
    assert list(one.probabilities) == ["heads"]
    assert model("") == model(" \n ") == []
    by_rule = drop(no_tokens, "splitter")
    assert by_rule(text) == list(by_rule.annotate(read_text(text, "en")))


def test_a_call_annotates_sentences() -> None:
    model = quick_model()
    assert model(sample("test")[:5]) == list(model.annotate(sample("test")[:5]))
    assert model(iter(sample("test")[:5]), gold_tags=True) == list(
        model.annotate(sample("test")[:5], gold_tags=True)
    )
    assert model([]) == []


def test_a_model_says_in_a_line_what_it_is() -> None:
    model = quick_model()
    words = sum(map(len, sample("train")[:60]))
    assert repr(model) == (
        "<egparse model, language en: upos, xpos, feats, lemmas, spans, heads, deprels, "
        f"trained on {words:,} words>"
    )
    bare = replace(drop(model, "parser", "labeller"), record={}, language="fr")
    assert repr(bare) == "<egparse model, language fr: upos, xpos, feats, lemmas, spans>"


def test_evaluating_a_path_or_sentences() -> None:
    model, path = quick_model(), CORPORA / "en_sample-dev.conllu"
    report = model.evaluate(path)
    for same in (model.evaluate(str(path)), model.evaluate(sample("dev"))):
        assert report_as_json(same) == report_as_json(report)
    found = list(model.annotate(sample("dev")))
    direct = evaluate(list(sample("dev")), found, layers=set(model.layers))
    assert set(METRICS) <= set(report)
    for metric in report.metrics:
        assert report[metric] == direct[metric]
    assert report["NE"] == direct["NE"]
    assert 0.0 < report.intervals["LAS"] < 20.0
    assert report.intervals == direct.intervals
    right = [
        a == b
        for own, other in zip(sample("dev"), found, strict=True)
        for a, b in zip(own.heads, other.heads, strict=True)
    ]
    assert report["UAS"] == pytest.approx(100.0 * float(np.mean(right)))
    assert model.evaluate(path, bootstrap=0).intervals == {}
    assert model.evaluate(path, gold_tags=True, bootstrap=0)["UPOS"] == 100.0


def test_evaluating_with_details_and_with_a_splitter() -> None:
    model = quick_model()
    report = model.evaluate(sample("dev"), details=True, bootstrap=0)
    assert report.details is not None
    assert set(report.calibration) >= set(model.layers)
    counts = splitter_counts(model.components["splitter"], sample("dev"))
    assert counts is not None
    assert report["Sentences"] == total(counts).f1
    without = drop(model, "splitter").evaluate(sample("dev"), bootstrap=0)
    assert without.segmentation is None


def test_what_cannot_be_evaluated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EgparseError, match="expected gold sentences to evaluate against"):
        quick_model().evaluate([])
    with pytest.raises(EgparseError, match=r"missing\.conllu"):
        quick_model().evaluate(tmp_path / "missing.conllu")


def test_batches_hold_about_so_many_words() -> None:
    sizes = [sum(map(len, batch)) for batch in batches(sample("train"), 100)]
    assert sum(sizes) == sum(map(len, sample("train")))
    assert all(100 <= size < 140 for size in sizes[:-1])
