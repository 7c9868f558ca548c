"""What is refused before anything is trained, with what to write instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sample_treebank import quick, sample

import egparse
from egparse.config.reading import check_config, load_config
from egparse.config.sections import TaggerConfig, TrainConfig
from egparse.errors import ConfigError, EgparseError
from egparse.fitting.progress import Iteration, Step
from egparse.training.checks import check_settings
from egparse.training.run import train
from egparse.training.tune import path_around, tune

TEMPLATES = [
    ("upos.templates", '"form[0]", "form["', "expected 'bias' or at most 3 cells"),
    ("upos.templates", '"form[0]|form[1]|form[2]|form[3]"', "at most 3 cells"),
    ("upos.templates", '"form[99999999999999999999]"', "offsets from -999 to 999"),
    ("upos.templates", '"form[-2147483649]"', "offsets from -999 to 999"),
    ("upos.templates", '"fromm[0]"', "expected one of the columns form, .*; did you mean form?"),
    ("xpos.templates", '""', "expected 'bias'"),
    ("spans.templates", '"suffix11[0]"', "did you mean suffix"),
    ("feats.templates", '"head_upos[0]"', "expected one of the columns"),
    ("labeller.templates", '"head_upso[0]"', "did you mean head_upos?"),
    ("splitter.templates", '"shpae[0]"', "did you mean shape?"),
    ("parser.templates", '"h.xpos[+99999999999] + d.xpos", "h.upos + d.upos"', "-999 to 999"),
    ("parser.templates", '"h.xpos + d.xpos"', "at least two arc templates without form, stem"),
    ("parser.label_templates", '"h.xpsos + d.xpos", "h.upos + d.upos"', "did you mean xpos?"),
    ("parser.sibling_templates", '"g.upos d.upos"', "at s, h, d"),
    ("parser.grandparent_templates", '"g.upos[99999999999]"', "-999 to 999"),
]


@pytest.mark.parametrize(("key", "templates", "expected"), TEMPLATES)
def test_templates_that_cannot_be_are_refused(key: str, templates: str, expected: str) -> None:
    config = load_config(None, [f"{key}=[{templates}]"])
    with pytest.raises(ConfigError, match=f"^{key}: .*{expected}"):
        check_settings(config)


def test_too_many_templates_are_refused() -> None:
    for key, most in (("upos.templates", 126), ("parser.sibling_templates", 256)):
        many = ["h.upos d.upos" if "sibling" in key else "bias"] * (most + 1)
        section, _, name = key.partition(".")
        learning = replace(getattr(TrainConfig(), section), **{name: tuple(many)})
        with pytest.raises(ConfigError, match=f"{key}: expected at most {most} .*templates"):
            check_settings(TrainConfig(**{section: learning}))


@pytest.mark.parametrize(
    ("language", "hint"),
    [
        ("xx_yy", "did you mean xx?"),
        ("en_US", "did you mean en?"),
        ("pt-br", "did you mean pt?"),
        ("French", "did you mean fr?"),
        ("qqq", "for rules of no language, got 'qqq'"),
        ("", "got ''"),
        ("../../x", "got '../../x'"),
    ],
)
def test_a_language_without_rules_is_refused(language: str, hint: str) -> None:
    config = replace(load_config(), language=language)
    with pytest.raises(ConfigError, match=r"^language: expected the code of a language") as fault:
        check_settings(config)
    assert hint in str(fault.value)


@pytest.mark.parametrize("language", ["en", "xx", "ja", "auto"])
def test_languages_of_spacy_are_known(language: str) -> None:
    assert check_settings(replace(load_config(), language=language)).language == language


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["jackknife.folds=999"], "jackknife.folds: expected at most the number of sentences"),
        (['upos.templates=["xpos[-1]"]'], "upos.templates: expected layers that are predicted"),
        (['xpos.templates=["xpos[-1]"]'], "xpos.templates: expected layers that are predicted"),
        (["upos.loss=perceptron"], "exponentiated gradient expects a loss"),
        (["splitter.loss=perceptron"], "^splitter: exponentiated gradient expects a loss"),
        (["pruner.options.order=cyclic"], "expected published = true with the options .*order"),
        (["splitter.learner=gis"], "splitter.learner: expected one that learns label sequences"),
    ],
)
def test_what_does_not_fit_the_corpus_is_said_before_the_first_pass(
    overrides: list[str], expected: str
) -> None:
    events: list[Iteration | Step] = []
    config = load_config(None, ["hold_out=0", *overrides])
    with pytest.raises(ConfigError, match=expected):
        train(sample("train"), [], config, events.append)
    assert events == []


def test_tuning_refuses_the_same() -> None:
    config = load_config(None, ["hold_out=0", "splitter.loss=perceptron"])
    with pytest.raises(ConfigError, match="exponentiated gradient expects a loss"):
        tune(sample("train"), [], config, {"upos": path_around("upos", config)})


def test_few_sentences_need_no_setting() -> None:
    """The default of five folds is for larger corpora."""
    config = quick('layers=["upos"]', "splitter.train=false")
    assert train(sample("train")[:3], None, config).held_out == 0


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"c": -5.0}, "settings: upos.c: expected a number from 1e-9 to 1e9, got -5"),
        ({"cc": 5}, "settings: upos.cc: .*did you mean upos.c?"),
        ({"learner": "egg"}, "settings: upos.learner: expected a learner .*; did you mean eg-"),
        (7, "settings: upos: expected a section with settings such as upos.learner, got 7"),
    ],
)
def test_sections_made_in_python_are_checked(section: Any, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        check_config({"upos": section}, "settings")


def test_a_section_made_in_python_may_be_a_table() -> None:
    config = check_config({"upos": {"c": 5}})
    assert config == replace(TrainConfig(), upos=replace(TrainConfig().upos, c=5.0))
    assert check_settings(config) == config


def test_values_made_in_python_are_checked_in_training() -> None:
    config = replace(quick(), upos=TaggerConfig(c=float("nan")))
    with pytest.raises(ConfigError, match=r"upos\.c: expected a number from 1e-9 to 1e9, got nan"):
        train(sample("train")[:5], [], config)
    with pytest.raises(EgparseError, match="expected a section"):
        egparse.train(sample("train")[:5], [], upos=3)
    section = replace(quick().upos, min_count=10**12)
    with pytest.raises(ConfigError, match=r"upos\.min_count: expected an integer from 1 to 1e9"):
        egparse.train(sample("train")[:5], [], upos=section)


@pytest.mark.parametrize(
    ("layer", "title"), [("upos", "UPOS"), ("xpos", "XPOS"), ("deprels", "dependency labels")]
)
def test_labels_of_blanks_are_refused(layer: str, title: str) -> None:
    first, second, *others = sample("train")[:20]
    labels = ("\u00a0", *getattr(second, layer)[1:])
    corpus = [first, replace(second, **{layer: labels}), *others]
    with pytest.raises(ConfigError) as caught:
        train(corpus, sample("dev")[:3], quick())
    place = f"{second.source.path}:{second.source.first_line}: sentence {second.sentence_id}"
    said = f"{place}: expected a label or _ in {title} of every word, got '\\xa0'"
    assert str(caught.value) == said
