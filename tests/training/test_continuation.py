"""Training that goes on from a model: near the base where it is held to it, and old numbers keep
their meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_treebank import (
    changed,
    quick,
    quick_model,
    sample,
    taggers,
)
from training.continued import accuracy, gone_on

from egparse.errors import ConfigError, EgparseError
from egparse.features.form_statistics import FormStatistics
from egparse.features.tag_dictionary import TagDictionary
from egparse.fitting.progress import Iteration
from egparse.learners.registry import CONTINUING
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.candidates import build_arc_filter, build_dictionary
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.sequences.warm_start import with_seen
from egparse.training.continuation import Base, configure, continue_training
from egparse.training.run import train

NEW = 100
SECOND = (
    "parser.order=2", "parser.bits=15", "parser.c=20", "parser.stop.iterations=2", "pruner.bits=14",
    "pruner.c=2", "pruner.stop.iterations=2", "labeller.stop.iterations=2",
    'layers=["upos", "heads", "deprels"]',
)  # fmt: skip


def others(count: int = 40) -> list[Sentence]:
    """Sentences that the quick model has not seen."""
    return list(sample("train")[NEW : NEW + count])


@cache
def second_order_model() -> Model:
    return train(sample("train")[:40], [], quick(*SECOND)).model


@cache
def gone_on_quick() -> Model:
    return gone_on(quick_model(), others())


def renamed(sentence: Sentence, layer: str, old: str, new: str) -> Sentence:
    values = tuple(new if value == old else value for value in getattr(sentence, layer))
    return sentence.with_layers(**{layer: values})


def test_held_infinitely_close_the_model_is_the_base() -> None:
    """Words that both know, so that only the weights could make a difference; tags are compared,
    then weights.
    """
    base = quick_model()
    near = gone_on(base, sample("train")[:30], base_strength=1e9)
    for layer, tagger in taggers(base).items():
        old, new = tagger.model, near.components[layer].model
        known = new.index.numbers(old.index.keys)
        assert (known >= 0).all()
        finite = np.isfinite(old.transitions)
        np.testing.assert_allclose(new.transitions[finite], old.transitions[finite], atol=1e-3)
    assert isinstance(base.components["parser"], ArcParser)
    assert isinstance(near.components["parser"], ArcParser)
    weights, moved = (one.components["parser"].weights for one in (base, near))
    assert np.abs(moved - weights).max() < 1e-3 * np.abs(weights).max()
    sentences = sample("train")[:30]
    for layer in ("upos", "xpos", "feats", "spans"):
        before, after = list(base.annotate(sentences)), list(near.annotate(sentences))
        assert [getattr(own, layer) for own in before] == [getattr(own, layer) for own in after]


def test_it_learns_the_new_sentences_and_does_not_forget_the_old_ones() -> None:
    base, model = quick_model(), gone_on_quick()
    old = sample("train")[:60]
    for layer in ("upos", "xpos", "heads", "deprels"):
        assert accuracy(model, others(), layer) > accuracy(base, others(), layer)
        assert accuracy(model, old, layer) > accuracy(base, old, layer) - 0.1


def test_gaps_close() -> None:
    """On few sentences, with passes enough, each task comes near the optimum of its problem around
    the base.
    """
    heard: list[Iteration] = []
    stop = {"stop": {"iterations": 60, "gap": 0.01}}
    gone_on(
        quick_model(),
        others(12),
        lambda event: heard.append(event) if isinstance(event, Iteration) else None,
        **dict.fromkeys(("upos", "xpos", "feats", "lemmas", "spans", "parser", "labeller"), stop),
    )
    last = {event.task: event for event in heard}
    assert set(last) == {"upos", "xpos", "feats", "lemmas", "spans", "parser", "labeller"}
    for event in last.values():
        assert event.gap >= -1e-3 * abs(event.dual), event
        assert event.relative_gap <= 0.011, event


def test_old_strings_keep_their_numbers_and_new_ones_come_behind_them() -> None:
    base, model = quick_model(), gone_on_quick()
    for layer, labels in base.columns.labels.items():
        assert model.columns.labels[layer].strings[: len(labels)] == labels.strings
    for name, vocabulary in base.columns.lexicon.vocabularies.items():
        now = model.columns.lexicon.vocabularies[name].strings
        assert now[: len(vocabulary)] == vocabulary.strings
        assert len(set(now)) == len(now)
    assert base.forms < model.forms
    assert {form for own in others() for form in own.forms} <= model.forms


def test_new_labels_of_tags_spans_and_arcs_are_learned() -> None:
    sentences = [
        renamed(
            renamed(renamed(own, "upos", "DET", "ARTICLE"), "deprels", "det", "article"),
            "spans",
            "B-PER",
            "B-WHO",
        )
        for own in others()
    ]
    sentences = [renamed(own, "spans", "I-PER", "I-WHO") for own in sentences]
    model = gone_on(quick_model(), sentences, base_strength=0.3)
    assert "ARTICLE" in model.columns.labels["upos"].values
    assert "article" in model.columns.labels["deprels"].values
    assert any(label.endswith("-WHO") for label in model.columns.labels["spans"].strings)
    found = list(model.annotate(sentences))
    upos = [tag for own in found for tag in own.upos]
    assert upos.count("ARTICLE") > 10 * upos.count("DET")
    labels = [label for own in found for label in own.deprels]
    assert labels.count("article") > 10 * labels.count("det")


def test_layers_that_the_corpus_lacks_stay_as_they_are(tmp_path: Path) -> None:
    base = quick_model()
    sentences = [own.with_layers(spans=(), feats=()) for own in others()]
    model = gone_on(base, sentences)
    assert model.layers == base.layers
    for layer in ("feats", "spans"):
        old, new = base.components[layer].model, model.components[layer].model
        np.testing.assert_array_equal(old.index.keys, new.index.keys)
        np.testing.assert_array_equal(old.rows.weights, new.rows.weights)
        np.testing.assert_array_equal(old.transitions, new.transitions)
    assert "spans" not in model.record["tasks"]
    changed_section = gone_on(base, sentences, spans={"c": 99.0})
    assert changed_section.config_table["spans"]["c"] == base.config_table["spans"]["c"]


def test_the_file_holds_it_and_says_what_the_base_was(tmp_path: Path) -> None:
    for model in (gone_on_quick(), gone_on(gone_on_quick(), others(60)[40:])):
        path = tmp_path / "model.msgpack"
        model.save(path)
        again = Model.load(path)
        assert list(again.annotate(sample("dev"))) == list(model.annotate(sample("dev")))
    first, second = model.record["bases"]
    assert (first["name"], first["payload_sha256"]) == ("base", "0123")
    assert first["record"]["sentences"] == 60
    assert second["record"]["sentences"] == 40
    assert "bases" not in second["record"]


def test_rare_words_become_known_to_the_parser_and_the_rest_of_them_do_not() -> None:
    model = gone_on_quick()
    payload = model.components["parser"].to_payload()["columns"]
    beyond = payload["beyond"]["lower"]
    assert len(beyond)
    assert min(beyond) > payload["limits"]["lower"]
    vocabulary = model.columns.lexicon.vocabularies["lower"]
    counts = [
        sum(
            own.forms.count(form)
            for own in others()
            for form in {f for f in own.forms if f.lower() == vocabulary.string(value)}
        )
        for value in beyond
    ]
    assert min(counts) >= 2


@pytest.mark.parametrize("base_strength", [1e9, 1.0])
def test_the_second_order_parser_goes_on(base_strength: float, tmp_path: Path) -> None:
    base = second_order_model()
    assert isinstance(base.components["parser"], SecondOrderParser)
    sentences = [renamed(own, "deprels", "det", "article") for own in others(20)]
    model = gone_on(base, sentences, base_strength=base_strength)
    old, new = (one.components["parser"] for one in (base, model))
    assert isinstance(new, SecondOrderParser)
    assert new.labels[: len(old.labels)] == old.labels
    assert "article" in new.labels[len(old.labels) :]
    difference = np.abs(new.weights - old.weights).max() / np.abs(old.weights).max()
    assert (difference < 1e-3) == (base_strength > 1)
    model.save(tmp_path / "model.msgpack")
    again = Model.load(tmp_path / "model.msgpack")
    assert list(again.annotate(sentences)) == list(model.annotate(sentences))
    if base_strength == 1:
        before, after = (
            accuracy(own, sentences, "heads", with_input=True) for own in (base, model)
        )
        assert after > before


def test_a_layer_that_nothing_of_the_base_reads_is_learned_anew() -> None:
    base = train(sample("train")[:40], [], quick('layers=["upos"]')).model
    assert gone_on(base, others(), layers=["upos", "spans"]).layers == ("upos", "spans")
    assert gone_on(base, others()).layers == ("upos",)
    with_tree = train(
        [own.with_layers(xpos=(), feats=()) for own in sample("train")[:40]],
        [],
        quick('layers=["upos", "heads"]'),
    ).model
    with pytest.raises(EgparseError, match="or does not read, got 'xpos'"):
        gone_on(with_tree, others(), layers=["upos", "xpos", "heads"])


def test_a_corpus_without_layers_of_the_base_is_refused() -> None:
    base = train(sample("train")[:40], [], quick('layers=["upos"]')).model
    words = [
        own.with_layers(lemmas=(), upos=(), xpos=(), feats=(), spans=(), heads=(), deprels=())
        for own in others()
    ]
    with pytest.raises(EgparseError, match="words alone"):
        gone_on(base, words)


BUILT_IN = {"parser": {"label_templates": ["bias"]}}
REFUSED: list[tuple[Callable[[], Model], dict[str, Any], str]] = [
    # what the weights of the base are for
    (quick_model, {"parser": {"bits": 17}}, "parser.bits: expected 16 as in the base model"),
    (quick_model, {"parser": {"order": 2}}, "parser.order: expected 1"),
    (quick_model, {"upos": {"templates": ["bias"]}}, "upos.templates: expected"),
    (quick_model, {"spans": {"scheme": "iob2"}}, "spans.scheme: expected iobes"),
    (quick_model, {"upos": {"bigrams": False}}, "upos.bigrams: expected true"),
    (second_order_model, {"pruner": {"bits": 13}}, "pruner.bits: expected 14 as in the base model"),
    (second_order_model, {"parser": {"siblings": False}}, "parser.siblings: expected true"),
    (second_order_model, BUILT_IN, "parser.label_templates: expected the built-in"),
    (second_order_model, {"parser": {"inference": "loopy"}}, "parser.inference: expected auto"),
    # what has no effect, or is no setting
    (second_order_model, {"parser": {"order": 1}}, "pruner: a parser of order 1 has no pruner"),
    (quick_model, {"pruner": {"c": 3.0}}, "pruner: a parser of order 1 has no pruner"),
    (quick_model, {"upos": {"learner": "dca", "anneal_from": 3.0}}, "expected learner = .eg-onl"),
    (quick_model, {"parser": {"loss": "hinge"}}, "parser.loss"),
    (quick_model, {"upos": {"bigram": False}}, "upos.bigram"),
]


@pytest.mark.parametrize(("base", "table", "text"), REFUSED)
def test_settings_that_do_not_fit_a_base_are_refused(
    base: Callable[[], Model], table: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        configure(base(), table)


def test_settings_are_those_of_the_base_where_nothing_is_said() -> None:
    config = configure(quick_model(), {"parser": {"c": 7.0}})
    assert config.parser.c == 7.0
    assert config.parser.stop.iterations == 14
    assert config.parser.bits == 16


def test_learners_that_start_from_nothing_are_refused() -> None:
    base = train(sample("train")[:10], [], quick('layers=["upos"]', "upos.bigrams=false")).model
    with pytest.raises(ConfigError, match=r"continue from a base model .*'gis'"):
        gone_on(base, others(), upos={"learner": "gis"})


@pytest.mark.parametrize(
    "settings",
    [
        (
            "upos.loss=max-margin",
            "parser.loss=max-margin",
            "parser.c=25",
            'layers=["upos", "xpos", "heads"]',
        ),
        ("parser.trees=non-projective", 'layers=["heads", "deprels"]'),
    ],
    ids=["max-margin", "non-projective"],
)
def test_models_of_every_kind_go_on(settings: tuple[str, ...], tmp_path: Path) -> None:
    """Held close they are their base, otherwise they learn; what is written is what was trained."""
    base = train(sample("train")[:40], [], quick(*settings)).model
    layer = base.layers[-1]
    near, far = (gone_on(base, others(30), base_strength=strength) for strength in (1e9, 1.0))
    before, close, after = (
        accuracy(own, others(30), layer, with_input=True) for own in (base, near, far)
    )
    assert close == pytest.approx(before, abs=0.05)
    assert after > before + 0.03
    far.save(tmp_path / "model.msgpack")
    again = Model.load(tmp_path / "model.msgpack")
    assert list(again.annotate(others(30))) == list(far.annotate(others(30)))


def test_learners_that_use_a_problem_by_its_contract_alone_continue() -> None:
    dual = {"eg-online", "eg-cyclic", "eg-2007", "eg-batch", "dca", "sdca"}
    dual |= {"n-slack", "frank-wolfe"}
    primal = {"mira", "perceptron", "sgd", "lbfgs", "cg"}
    assert set(CONTINUING) == dual | primal


def test_few_sentences_are_all_learned_from_and_of_many_some_are_held_out() -> None:
    base = quick_model()
    config = configure(base, {"hold_out": 0.5, "layers": ["upos"]})
    few = continue_training(Base(base), others(60), None, config)
    assert (few.held_out, few.model.record["sentences"]) == (0, 60)
    many = continue_training(Base(base), sample("train")[:110], None, config)
    assert (many.held_out, many.model.record["sentences"]) == (55, 55)
    assert len(many.dev) == 55
    assert "temperature" in many.model.record["tasks"]["upos"]


def test_without_a_development_part_temperatures_stay() -> None:
    base = quick_model()
    warm = replace(
        base.components["upos"], model=replace(base.components["upos"].model, temperature=1.7)
    )
    model = gone_on(changed(base, warm), others(20), layers=["upos"])
    assert model.components["upos"].model.temperature == 1.7


@pytest.mark.parametrize("learner", ["dca", "mira", "perceptron", "lbfgs"])
def test_other_learners_go_on_too(learner: str) -> None:
    model = gone_on(quick_model(), others(20), layers=["upos"], upos={"learner": learner})
    assert accuracy(model, others(20), "upos") > accuracy(quick_model(), others(20), "upos")


def test_statistics_of_seldom_forms_come_from_the_new_corpus() -> None:
    old = FormStatistics(
        ["a", "b", "c"],
        ["PER"],
        np.array([1, 2, 0], dtype=np.uint16),
        np.array([1, 3, 0], dtype=np.uint16),
    )
    # types: 0 = LOC (new), 1 = PER; a code is 3 + 6 * type + ...
    new = FormStatistics(
        ["a", "b", "c", "d"],
        ["LOC", "PER"],
        np.array([3, 5, 7, 9], dtype=np.uint16),
        np.array([3, 9, 9, 2], dtype=np.uint16),
    )
    both = old.extended(new, ["a", "b", "c", "d"])
    assert both.types == ["PER", "LOC"]
    assert both.casing.tolist() == [1, 5, 7, 9]
    assert both.history.tolist() == [9, 3, 3, 2]
    assert old.extended(None, ["a", "b", "c", "d"]).casing.tolist() == [1, 2, 0, 0]


def test_a_tag_dictionary_learns_the_labels_that_were_seen() -> None:
    """A suffix gets a label if it has room, or if the label is new everywhere."""
    old = TagDictionary({"dog": (0,)}, {"": (0, 1), "x": (0, 1), "xg": (0,)})
    assert with_seen(old, ["dog", "fog"], [0, 1], 2) is old
    both = with_seen(old, ["dog", "dog", "hut"], [0, 1, 0], 2)
    assert both.by_form == {"dog": (0, 1)}
    assert both.by_suffix == {"": (0, 1), "x": (0, 1), "xg": (0, 1), "xog": (1,), "xdog": (1,)}
    new = with_seen(old, ["cat"], [3], 2)
    assert new.by_form == {"dog": (0,), "cat": (0, 1, 3)}
    assert new.by_suffix["x"] == (0, 1, 3)
    assert new.by_suffix["xg"] == (0,)
    assert new.by_suffix["xcat"] == (3,)


def test_arc_filters_and_label_dictionaries_keep_what_the_base_knows() -> None:
    random = np.random.default_rng(1)
    values = [random.integers(0, 4, size=(8, 1)).astype(np.int32) for _ in range(30)]
    heads = [np.arange(7, dtype=np.int32) for _ in values]
    ranks = [random.integers(0, 3, size=7).astype(np.int32) for _ in values]
    wider = [np.where(own == 3, 5, own).astype(np.int32) for own in values]
    base = build_arc_filter(values, heads, 0, 1, 0.01)
    both = build_arc_filter(wider, heads, 0, 1, 0.01, base)
    assert both.frequency.shape[:2] == (6, 6)
    unseen = np.pad(base.frequency[3], ((0, 2), (0, 0)), constant_values=0.01)
    np.testing.assert_allclose(both.frequency[3], unseen, rtol=1e-6)
    labels = build_dictionary(values, heads, ranks, 3, 0)
    more = build_dictionary(wider, heads, [own + 2 for own in ranks], 5, 0, labels)
    assert more.n_tags == 6
    for head in range(4):
        for dependent in range(4):
            for direction in range(2):
                old, new = (
                    2 * (head * 4 + dependent) + direction,
                    2 * (head * 6 + dependent) + direction,
                )
                own = labels.labels[labels.starts[old] : labels.starts[old + 1]].tolist()
                assert (
                    more.labels[more.starts[new] : more.starts[new + 1]].tolist()[: len(own)] == own
                )
