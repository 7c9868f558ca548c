"""Taggers whose labels look back at more than one label: trained, saved, loaded, and refused where
they cannot be.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from cli.program import CONFIGS, CORPORA, complaint, first_sentences, run
from sample_treebank import (
    changed,
    quick,
    sample,
)

from egparse.config.reading import load_config
from egparse.config.sections import JackknifeConfig
from egparse.errors import ConfigError, ModelFileError
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import compile_templates
from egparse.fitting.optimise import Prepared
from egparse.fitting.progress import silent
from egparse.fitting.task import Part
from egparse.io.corpus import read_corpus
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.sequences import fit_sequence
from egparse.sequences.fit_sequence import SequenceExamples, SequenceSettings, prepare_sequence
from egparse.sequences.tagger import Tagger
from egparse.sequences.tagger_task import TaggerTask
from egparse.service.hub.resolve import load
from egparse.storage.model_file import read_model, write_model
from egparse.training.jackknife import jackknife
from egparse.training.run import train

WAVE = "AABB"
"""Tags repeated without end: the next one follows from the last two, and not from the last."""


@cache
def tagged(layer: str, order: int) -> Model:
    """A model of one layer, trained on 60 sentences."""
    config = quick(f'layers=["{layer}"]', "hold_out=0", f"{layer}.order={order}")
    return train(sample("train")[:60], None, config).model


def predicted(model: Model, layer: str = "upos") -> list[tuple[str, ...]]:
    return [getattr(sentence, layer) for sentence in model.annotate(sample("test")[:40])]


def waves() -> list[Sentence]:
    """The tags of a wave from each of its four phases; words tell the first two tags and no
    others.
    """
    sentences = []
    for phase in range(4):
        for length in (6, 9, 14):
            tags = tuple(WAVE[(phase + k) % 4] for k in range(length))
            forms = (f"is{tags[0]}", f"is{tags[1]}", *("so",) * (length - 2))
            sentences.append(Sentence(forms=forms, upos=tags))
    return sentences


def right(sentences: list[Sentence], order: int, **options: object) -> float:
    """The share of tags that a tagger gets right on what it was trained on."""
    own = [f"upos.{name}={value}" for name, value in options.items()]
    settings = [
        'templates=["form[0]"]',
        "min_count=1",
        "weight_threshold=0",
        *(["c=0.01"] if "learner" not in options else []),  # the perceptron has no C
        "stop.iterations=40",
    ]
    config = load_config(
        None,
        [
            'layers=["upos"]',
            "hold_out=0",
            f"upos.order={order}",
            *(f"upos.{text}" for text in settings),
            *own,
        ],
    )
    model = train(sentences, None, config).model
    pairs = [
        (tag, found)
        for sentence, other in zip(sentences, model.annotate(sentences), strict=True)
        for tag, found in zip(sentence.upos, other.upos, strict=True)
    ]
    return sum(tag == found for tag, found in pairs) / len(pairs)


@pytest.mark.parametrize("loss", ["log-linear", "max-margin"])
def test_order_two_learns_what_order_one_cannot(loss: str) -> None:
    assert right(waves(), 2, loss=f'"{loss}"') == 1.0
    assert right(waves(), 1, loss=f'"{loss}"') < 0.9


def test_order_three_and_another_learner_learn_it_too() -> None:
    assert right(waves(), 3) == 1.0
    assert right(waves(), 2, learner='"perceptron"') == 1.0


@pytest.mark.parametrize("layer", ["upos", "spans"])
def test_a_saved_model_is_the_same(layer: str, tmp_path: Path) -> None:
    model = tagged(layer, 2)
    own = model.components[layer].model
    (table,) = own.longer
    assert table.shape == (own.n_labels,) * 3
    assert np.count_nonzero(table)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.components[layer].model.longer[0], table)
    assert predicted(loaded, layer) == predicted(model, layer)
    sizes = model.sizes()[layer]
    assert sizes == loaded.sizes()[layer]
    short = replace(own, longer=())
    without = changed(model, replace(model.components[layer], model=short)).sizes()[layer]
    assert sizes["bytes"] - without["bytes"] == table.nbytes
    assert sizes["weights"] - without["weights"] == np.count_nonzero(table)


def test_tags_are_as_good_as_with_order_one() -> None:
    gold = [sentence.upos for sentence in sample("test")[:40]]
    words = sum(map(len, gold))
    shares = [
        sum(
            a == b
            for own, tags in zip(gold, predicted(tagged("upos", order)), strict=True)
            for a, b in zip(own, tags, strict=True)
        )
        / words
        for order in (1, 2)
    ]
    assert shares[1] > shares[0] - 0.03


def test_a_file_without_longer_ngrams_still_loads(tmp_path: Path) -> None:
    model, path = tagged("upos", 1), tmp_path / "model"
    model.save(path)
    header, payload = read_model(path)
    assert payload["taggers"]["upos"]["model"].pop("longer") == []
    write_model(path, header, payload)
    assert predicted(load(path)) == predicted(model)


def test_a_file_with_tables_of_other_shapes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    tagged("upos", 2).save(path)
    header, payload = read_model(path)
    own = payload["taggers"]["upos"]["model"]
    own["longer"] = [own["longer"][0][:-1].copy()]
    write_model(path, header, payload)
    with pytest.raises(ModelFileError, match=r"model\.longer\.0: expected \d+ labels, got \d+"):
        load(path)


def test_predicted_spans_are_valid_whatever_the_weights() -> None:
    model = tagged("spans", 2)
    own, names = model.components["spans"].model, model.columns.labels["spans"].strings
    random = np.random.default_rng(1)
    weights = random.normal(scale=5.0, size=own.rows.weights.shape).astype(np.float32)
    longer = tuple(
        random.normal(scale=5.0, size=table.shape).astype(np.float32) for table in own.longer
    )
    wild = replace(own, rows=own.rows._replace(weights=weights), longer=longer)
    words = model.columns.words([sentence.forms for sentence in sample("test")])
    found = [names[label] for label in Tagger(wild, None).predict(words)]
    assert len(set(found)) > 3
    for first, end in zip(words.starts, words.starts[1:], strict=False):
        before = "O"
        for tag in found[first:end]:
            inside = before[0] in "BI"
            assert (tag[0] in "IE") == inside, (before, tag)
            assert not inside or tag[2:] == before[2:]
            before = tag


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_model_chooses_what_the_problem_holds_best(order: int) -> None:
    random = np.random.default_rng(order)
    starts, n_labels = np.array([0, 5, 6, 10, 17]), 3
    words = int(starts[-1])
    values = random.integers(1, 5, size=(words, 1)).astype(np.int32)
    gold = random.integers(0, n_labels, size=words).astype(np.int32)
    examples = SequenceExamples(values, starts, gold, all_labels(words, n_labels), n_labels)
    settings = SequenceSettings(
        compile_templates(["bias", "a[0]", "a[-1]"], ["a"], True),
        1,
        0,
        True,
        lambda problem, _: OnlineEG(problem, EGConfig(c=0.1)),
        order,
    )
    learner, state, snapshot = prepare_sequence(examples, settings)
    for _ in range(20):
        learner.iterate(state)
    problem = learner.problem  # type: ignore[attr-defined]
    chosen = snapshot(state).choose(values, starts, examples.candidates)
    for i, first in enumerate(starts[:-1]):
        scores = problem.scores(i) * state.scale
        best = np.empty_like(scores)
        score = problem.argmax(i, scores, best)
        own = chosen[first : starts[i + 1]]
        path = np.zeros_like(best)
        begin = len(own) * n_labels
        path[np.arange(len(own)) * n_labels + own] = 1
        for m in range(1, order + 1):
            for end in range(m, len(own)):
                path[
                    begin + np.ravel_multi_index(own[end - m : end + 1], (n_labels,) * (m + 1))
                ] += 1
            begin += n_labels ** (m + 1)
        assert path @ scores == pytest.approx(
            score, abs=0.01
        )  # weights are stored in half precision


def test_jackknifed_tags_come_from_taggers_of_the_same_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, sentences, orders = tagged("upos", 2), sample("train")[:20], []
    after = Prepared.after

    def watched(prepared: Prepared[Tagger], passes: int) -> Tagger:
        tagger = after(prepared, passes)
        orders.append((1 + len(tagger.model.longer), passes))
        return tagger

    monkeypatch.setattr(Prepared, "after", watched)
    columns, config = model.columns, quick("upos.order=2").upos
    part = Part(sentences, columns.words([sentence.forms for sentence in sentences]))
    task = TaggerTask("upos", columns, part, Part([], columns.words([])), config, seed=1)
    folds = JackknifeConfig(folds=2, passes=3)
    tags = jackknife(task, np.arange(20) % 2, folds, silent)
    assert orders == [(2, 3), (2, 3)]
    assert tags.shape == task.gold.shape
    assert 0.5 < np.mean(tags == task.gold) < 1.0
    assert jackknife(
        task, np.zeros(20, dtype=np.int64), JackknifeConfig(folds=1), silent
    ).tolist() == (task.gold.tolist())


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        (
            ["upos.order=0"],
            "configuration: upos.order: expected an integer from 1 to 3, got 0",
        ),
        (
            ["spans.order=4"],
            "configuration: spans.order: expected an integer from 1 to 3, got 4",
        ),
        (
            ["xpos.order=2", "xpos.bigrams=false"],
            "configuration: xpos.order: expected 1 where xpos.bigrams is false, got 2",
        ),
    ],
)
def test_an_order_that_cannot_be_is_refused_by_name(overrides: list[str], text: str) -> None:
    with pytest.raises(ConfigError) as fault:
        load_config(None, overrides)
    assert str(fault.value) == text


def test_a_configuration_made_in_python_is_refused_in_training() -> None:
    config = quick('layers=["upos"]', "hold_out=0")
    config = replace(config, upos=replace(config.upos, order=2, bigrams=False))
    with pytest.raises(ConfigError, match=r"order: expected 1 where upos\.bigrams is false, got 2"):
        train(sample("train")[:5], None, config)


def test_what_needs_too_much_memory_is_refused_with_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    overrides = ['layers=["upos"]', "hold_out=0", "upos.order=3", "upos.stop.iterations=1"]
    for limit, what in ((1 << 20, "label n-grams of "), (1 << 24, "the duals of 40 sentences")):
        monkeypatch.setattr(fit_sequence, "MAX_BYTES", limit)
        expected = (
            rf"order = 3: expected {what}.* to take at most .* GiB of memory in training, got "
        )
        with pytest.raises(ConfigError, match=expected):
            train(sample("train")[:40], None, quick(*overrides))
    train(sample("train")[:40], None, quick(*overrides, "upos.learner=perceptron"))  # has no duals


def test_the_command_line_trains_and_parses_with_order_two(tmp_path: Path) -> None:
    corpus = first_sentences(CORPORA / "en_sample-train.conllu", 30, tmp_path / "corpus.conllu")
    model, parsed = tmp_path / "model.msgpack", tmp_path / "parsed.conllu"
    layers = ("--set", 'layers=["upos"]')
    run(
        "train",
        corpus,
        "--dev",
        corpus,
        "--output",
        model,
        "--config",
        CONFIGS / "quick.toml",
        "--quiet",
        *layers,
        "--set",
        "upos.order=2",
    )
    assert len(load(model).components["upos"].model.longer) == 1
    parsed.write_text(run("parse", model, corpus).stdout, encoding="utf-8")
    read = [sentence for path in (corpus, parsed) for sentence in [list(read_corpus(path))]]
    agree = [
        a == b
        for old, new in zip(*read, strict=True)
        for a, b in zip(old.upos, new.upos, strict=True)
    ]
    assert np.mean(agree) > 0.9
    said = complaint("train", corpus, "-o", tmp_path / "m", *layers, "--set", "upos.order=4")
    assert said == "configuration: upos.order: expected an integer from 1 to 3, got 4"
