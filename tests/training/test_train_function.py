"""``egparse.train``: corpora as paths or sentences, settings nested or by full key, a base."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sample_treebank import CORPORA, quick, quick_model, sample

import egparse
from egparse.api import load_base, settings_table
from egparse.config.reading import config_of_model, load_config
from egparse.errors import ConfigError, CorpusError, EgparseError, ModelFileError
from egparse.fitting.progress import Iteration, Step
from egparse.pipeline.model import Model
from egparse.training.run import train as train_sentences

SETTINGS: dict[str, Any] = {
    "layers": ["upos", "heads"],
    "hold_out": 0,
    "splitter": {"train": False},
    "jackknife": {"folds": 0},
    "upos": {"stop": {"iterations": 2}},
    "parser": {"order": 1, "bits": 14, "stop": {"iterations": 2}},
}
TRAIN = list(sample("train")[:30])


def predictions(model: Model) -> list[egparse.Sentence]:
    return model(sample("dev")[:10])


def test_sentences_and_settings_make_a_model() -> None:
    model = egparse.train(TRAIN, sample("dev")[:10], **SETTINGS)
    assert isinstance(model, egparse.Model)
    assert model.layers == ("upos", "heads")
    table = model.config_table
    assert (table["parser"]["order"], table["parser"]["bits"]) == (1, 14)
    assert table["upos"]["stop"] == {"iterations": 2, "gap": 0.001, "patience": 3}
    assert model.record["development_sentences"] == 10


def test_full_keys_and_nested_tables_say_the_same() -> None:
    dotted = {
        "layers": ["upos", "heads"], "hold_out": 0, "splitter.train": False, "jackknife.folds": 0,
        "upos.stop.iterations": 2, "parser": {"order": 1, "bits": 14}, "parser.stop.iterations": 2,
        "seed": 7,
    }  # fmt: skip
    assert settings_table(dotted) == {**SETTINGS, "seed": 7}
    nested = egparse.train(TRAIN, [], **SETTINGS, seed=7)
    by_key = egparse.train(TRAIN, [], **dotted)
    assert nested.config_table == by_key.config_table
    assert nested.config_table["seed"] == 7
    assert predictions(nested) == predictions(by_key)


def test_it_trains_what_the_run_trains() -> None:
    config = load_config(None, ["parser.order=1", "parser.bits=14", "parser.stop.iterations=2"])
    config = replace(
        config,
        layers=("upos", "heads"),
        hold_out=0.0,
        splitter=replace(config.splitter, train=False),
        jackknife=replace(config.jackknife, folds=0),
        upos=replace(config.upos, stop=replace(config.upos.stop, iterations=2)),
    )
    direct = train_sentences(TRAIN, [], config).model
    model = egparse.train(TRAIN, [], **SETTINGS)
    assert model.config_table == config_of_model(replace(config, language="en"))
    assert predictions(model) == predictions(direct)


def test_paths_are_read_and_a_part_is_held_out(tmp_path: Path) -> None:
    path = tmp_path / "train.conllu"
    egparse.write_corpus(sample("train")[:60], path)
    settings = {**SETTINGS, "hold_out": 0.2}
    held = egparse.train(path, **settings)
    assert (held.record["sentences"], held.record["development_sentences"]) == (48, 12)
    named = egparse.train(str(path), dev=CORPORA / "en_sample-dev.conllu", **settings)
    assert (named.record["sentences"], named.record["development_sentences"]) == (60, 85)


def test_events_come_from_each_pass() -> None:
    events: list[Iteration | Step] = []
    egparse.train(TRAIN, [], listener=events.append, **SETTINGS)
    assert {event.task for event in events} == {"tokeniser", "upos", "parser"}


def test_with_a_base_training_continues(tmp_path: Path) -> None:
    base = quick_model()
    new = sample("train")[100:130]
    from_model = egparse.train(new, [], base=base, upos={"c": 1.0}, base_strength=1.0)
    assert from_model.layers == base.layers
    assert from_model.config_table["upos"]["c"] == 1.0
    assert from_model.config_table["parser"]["bits"] == 16  # as in the base
    (record,) = from_model.record["bases"]
    assert (record["name"], record["record"]["sentences"]) == ("", 60)
    path = tmp_path / "base.msgpack"
    base.save(path)
    from_path = egparse.train(new, [], base=path, upos={"c": 1.0}, base_strength=1.0)
    assert predictions(from_path) == predictions(from_model)
    assert from_path.record["bases"][0]["name"] == "base.msgpack"
    assert from_path.record["bases"][0]["payload_sha256"] == load_base(path).checksum
    assert len(load_base(path).checksum) == 64
    with pytest.raises(ConfigError, match=r"settings: parser\.bits: expected 16 as in the base"):
        egparse.train(new, [], base=base, parser={"bits": 15})


def test_several_roots_are_read_where_the_settings_allow_them(tmp_path: Path) -> None:
    lines = ["1\ta\t_\tX\t_\t_\t0\troot\t_\t_", "2\tb\t_\tX\t_\t_\t0\troot\t_\t_", "", ""]
    path = tmp_path / "roots.conllu"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(CorpusError, match="root"):
        egparse.train(path, [], **SETTINGS)
    several = {**SETTINGS, "parser": {**SETTINGS["parser"], "single_root": False}}
    assert egparse.train(path, [], **several).layers == ("upos", "heads")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"parsers": {"c": 1.0}}, "settings: parsers: "),
        ({"upos.c": "much"}, "settings: upos.c: "),
        ({"seed": 2, "seed.x": 1}, "settings: seed: "),
        ({"base_strength": 2.0}, "settings: base_strength: expected a base model beside it"),
        ({"parser.order": 1, "pruner.c": 2.0}, "settings: pruner: a parser of order 1"),
    ],
    ids=str,
)
def test_faulty_settings_are_named(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        egparse.train(TRAIN, [], **settings)


def test_what_cannot_be_trained_on_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EgparseError, match="expected at least one sentence to train on"):
        egparse.train([], **SETTINGS)
    with pytest.raises(EgparseError, match=r"missing\.conllu"):
        egparse.train(tmp_path / "missing.conllu", **SETTINGS)
    with pytest.raises(ModelFileError, match="no_such_model"):
        egparse.train(TRAIN, [], base="no_such_model", **SETTINGS)


def test_the_quick_configuration_is_a_table_of_settings() -> None:
    """A whole configuration as a table can be given, too."""
    table = config_of_model(quick('layers=["upos"]', "hold_out=0", "splitter.train=false"))
    assert egparse.train(TRAIN, [], **table).config_table == table | {"language": "en"}
