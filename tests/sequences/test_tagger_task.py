"""The task of a tagger: words are values, sentences can be selected, calibration changes no tag."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sample_treebank import quick, quick_model, sample

from egparse.config.sections import TaggerConfig
from egparse.features.word_table import Words
from egparse.fitting.progress import silent
from egparse.fitting.task import Part, calibrated, fit
from egparse.sequences.training import TaggerTask


def part_of(name: str, count: int) -> Part:
    sentences = sample(name)[:count]
    return Part(sentences, quick_model().columns.words([own.forms for own in sentences]))


def task_of(layer: str, **settings: object) -> TaggerTask:
    config = replace(getattr(quick(), layer), **settings)
    assert isinstance(config, TaggerConfig)
    model = quick_model()
    return TaggerTask(
        layer, model.columns, part_of("train", 40), part_of("dev", 20), config=config, seed=1
    )


def copied(words: Words) -> list[object]:
    return [words.starts.copy(), list(words.distinct), words.form_ids.copy(), words.values.copy()]


def unchanged(words: Words, before: list[object]) -> bool:
    return all(np.array_equal(own, known) for own, known in zip(words, before, strict=True))


def test_tags_make_new_words_and_leave_the_old_ones() -> None:
    columns, words = quick_model().columns, part_of("train", 5).words
    before = copied(words)
    tags = np.arange(words.n_words, dtype=np.int32) % 4 - 1
    tagged = columns.with_tags(words, "upos", tags)
    assert unchanged(words, before)
    column = columns.number("upos")
    assert not words.values[:, column].any()
    assert (tagged.values[tags < 0, column] == 0).all()
    known = tags >= 0
    assert (np.diff(np.unique(tagged.values[known, column])) == 1).all()
    others = np.arange(len(columns.names)) != column
    np.testing.assert_array_equal(tagged.values[:, others], words.values[:, others])
    again = columns.with_tags(tagged, "upos", np.full(words.n_words, -1, dtype=np.int32))
    np.testing.assert_array_equal(again.values, words.values)


def test_words_of_input_and_of_statistics_are_new_too() -> None:
    model = quick_model()
    columns, part = model.columns, part_of("train", 5)
    before = copied(part.words)
    assert columns.input_layers(model.layers) == []
    assert columns.input_layers(["upos"]) == ["xpos", "feats", "spans"]
    filled = columns.with_input(part.words, part.sentences, ["upos", "feats", "spans"])
    assert unchanged(part.words, before)
    gold = columns.with_tags(part.words, "xpos", columns.label_numbers(part.sentences, "xpos"))
    np.testing.assert_array_equal(filled.values, gold.values)
    assert columns.statistics is not None
    few = np.arange(part.words.n_words) % 2 == 0
    counted = columns.with_statistics(part.words, columns.statistics, few)
    assert unchanged(part.words, before)
    np.testing.assert_array_equal(counted.values, part.words.values)  # the same statistics


def test_selected_sentences_keep_their_rows() -> None:
    part = part_of("train", 6)
    chosen = np.array([False, True, True, False, False, True])
    selected, rows = part.select(chosen)
    assert list(selected.sentences) == [sample("train")[k] for k in (1, 2, 5)]
    forms = [form for own in selected.sentences for form in own.forms]
    assert [selected.words.distinct[k] for k in selected.words.form_ids] == forms
    assert np.diff(selected.words.starts).tolist() == [len(own) for own in selected.sentences]
    np.testing.assert_array_equal(selected.words.values, part.words.values[rows])
    nobody = part.select(np.zeros(6, dtype=bool)).part
    assert (nobody.words.n_sentences, nobody.words.n_words) == (0, 0)


@pytest.mark.parametrize("layer", ["upos", "spans"])
def test_a_fitted_tagger_is_calibrated_without_another_tag(layer: str) -> None:
    task = task_of(layer)
    before = copied(task.train.words), copied(task.dev.words)
    best = fit(task, silent)
    at_best = calibrated(task, best.predictor)
    assert at_best.temperature != 1.0
    np.testing.assert_array_equal(
        at_best.choose(task.dev.words), best.predictor.choose(task.dev.words)
    )
    score = task.score()
    assert score is not None
    assert score(at_best) == best.record.score
    assert unchanged(task.train.words, before[0])
    assert unchanged(task.dev.words, before[1])


def test_what_has_no_probabilities_is_not_calibrated() -> None:
    task = task_of("upos", learner="mira")
    tagger = fit(task, silent).predictor
    assert calibrated(task, tagger) is tagger
    unscored = replace(task_of("upos"), dev=part_of("dev", 0))
    assert unscored.score() is None
    assert calibrated(unscored, tagger).temperature == 1.0
    warm = replace(unscored, base=tagger.with_temperature(1.5))
    assert calibrated(warm, tagger).temperature == 1.5


@pytest.mark.parametrize("layer", ["upos", "spans"])
def test_what_is_known_of_all_words_says_nothing_of_the_others(layer: str) -> None:
    task = task_of(layer)
    chosen = np.arange(40) % 3 > 0
    alone = replace(task, train=task.train.select(chosen).part).prepare().after(2)
    of_all = task.with_known_words().on_sentences(chosen).prepare().after(2)
    np.testing.assert_array_equal(of_all.model.index.keys, alone.model.index.keys)
    for own, other in zip(of_all.model.rows, alone.model.rows, strict=True):
        np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(of_all.model.transitions, alone.model.transitions)
