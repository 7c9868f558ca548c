"""Models with tables of word classes: what they learn from them, and that the tables stay with
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sample_treebank import SECOND_ORDER, quick, quick_model, sample, taggers

import egparse
from egparse.config.reading import load_config, read_config
from egparse.config.sections import ClassesConfig
from egparse.errors import ConfigError, EgparseError, ModelFileError
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.storage.model_file import read_model, write_model
from egparse.text.treebank_text import as_text, paragraphs_of
from egparse.training.checks import check_settings
from egparse.training.continuation import Base, configure, continue_training
from egparse.training.run import train
from egparse.training.steps import StepLearner, untrained_model

LAYERS = ("upos", "xpos", "feats", "lemmas", "spans", "heads", "deprels")
ONE_LAYER = ('layers=["upos"]', "hold_out=0", "splitter.train=false")


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that tells the UPOS of every form of the sample treebank, the last one that it
    has.
    """
    sentences = [one for part in ("train", "dev", "test") for one in sample(part)]
    tags = sorted({tag for one in sentences for tag in one.upos})
    classes = {
        form: f"{tags.index(tag):05b}"
        for one in sentences
        for form, tag in zip(one.forms, one.upos, strict=True)
    }
    path = tmp_path_factory.mktemp("classes") / "telling.tsv"
    path.write_text("".join(f"{path}\t{form}\t1\n" for form, path in classes.items()), "utf-8")
    return path


def with_tables(*tables: Path) -> str:
    return f"classes.tables={[str(one) for one in tables]}"


@pytest.fixture(scope="session")
def whole(table: Path) -> Model:
    """A model of all layers with two tables, of which the splitter sees one too."""
    settings = (
        with_tables(table, table),
        'classes.licences=["CC0", ""]',
        'splitter.class_templates=["class[0]", "class2[-1]|kind[0]"]',
        "hold_out=0",
        *SECOND_ORDER,
    )
    return train(sample("train")[:60], None, quick(*settings)).model


def accuracy(model: Model, sentences: Sequence[Sentence], layer: str) -> float:
    found = model.annotate([Sentence(forms=one.forms) for one in sentences])
    pairs = [
        (gold, said)
        for one, other in zip(sentences, found, strict=True)
        for gold, said in zip(getattr(one, layer), getattr(other, layer), strict=True)
    ]
    return sum(gold == said for gold, said in pairs) / len(pairs)


def forms_only(part: str) -> list[Sentence]:
    return [Sentence(forms=one.forms) for one in sample(part)[:40]]


def test_unseen_words_are_tagged_by_their_classes(table: Path) -> None:
    sentences = sample("train")[:40]
    plain = train(sentences, None, quick(*ONE_LAYER)).model
    model = train(sentences, None, quick(*ONE_LAYER, with_tables(table))).model
    assert accuracy(plain, sample("test"), "upos") < 0.9
    assert accuracy(model, sample("test"), "upos") > 0.95


def test_every_task_names_its_columns(whole: Model) -> None:
    templates = {layer: set(one.model.templates.texts) for layer, one in taggers(whole).items()}
    for layer, texts in templates.items():
        assert {"class[0]", "class_2[0]", "class6_2[-1]"} <= texts, layer
    assert "class8_2[-1]|shape[0]" in templates["spans"]
    labels = whole.components["labeller"].model.templates.texts
    assert {"class[0]|head_class[0]", "class6_2[0]|head_class6_2[0]|side[0]"} <= set(labels)
    parser = whole.components["parser"]
    assert isinstance(parser, SecondOrderParser)
    assert "h.class6_2 h.xpos + d.class6_2 d.xpos" in parser.texts["arcs"]
    assert "h.class_2 + d.class_2" in parser.texts["labels"]
    assert "h.class6_2 s.class6_2 d.class6_2" in parser.texts["siblings"]
    assert "g.class6_2 h.class6_2 d.class6_2" in parser.texts["grandparents"]
    starts = whole.components["splitter"].model.templates.texts
    assert {"class_2[0]", "class2_2[-1]|kind[0]"} <= set(starts)
    shown = [attribute for attribute, _, _ in whole.strongest("upos", 300)]
    assert any(text.startswith("class[0]=0") for text in shown)


def test_a_model_keeps_its_tables(whole: Model, tmp_path: Path) -> None:
    path = tmp_path / "model.msgpack"
    whole.save(path)
    again = Model.load(path)
    texts = forms_only("test")
    assert list(again.annotate(texts)) == list(whole.annotate(texts))
    paragraphs = [one.paragraph for one in as_text(paragraphs_of(sample("test")))]
    splits = [own.components["splitter"].split(paragraphs) for own in (again, whole)]
    for one, other in zip(*splits, strict=True):
        assert (one == other).all()
    first, second = again.record["classes"]
    assert (first["name"], first["licence"], second["licence"]) == ("telling.tsv", "CC0", "")
    assert first["forms"] == len(whole.columns.class_tables[0])
    assert again.config_table["classes"]["tables"] == ["telling.tsv"] * 2  # without the folder
    again.save(tmp_path / "again.msgpack")
    assert (tmp_path / "again.msgpack").read_bytes() == path.read_bytes()


def test_equal_tables_give_equal_models(table: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        model = train(sample("train")[:20], None, quick(*ONE_LAYER, with_tables(table))).model
        model.save(tmp_path / name)
    _, one = read_model(tmp_path / "one")
    _, two = read_model(tmp_path / "two")
    assert repr(one) == repr(two)


def test_without_tables_nothing_of_them_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.msgpack"
    quick_model().save(path)
    header, payload = read_model(path)
    assert "classes" not in payload
    assert "classes" not in header["record"]
    assert set(payload["splitter"]) == {"model", "spacing", "casings"}
    # the column of the splitter is stored by its first name, which older files have
    assert "class[-1]|class[0]" in payload["splitter"]["model"]["templates"]
    assert not any("kind[" in text for text in payload["splitter"]["model"]["templates"])
    loaded = Model.load(path).components["splitter"]
    assert "kind[-1]|kind[0]" in loaded.model.templates.texts


def test_training_continues_with_the_tables_of_the_base(whole: Model, tmp_path: Path) -> None:
    path = tmp_path / "base.msgpack"
    whole.save(path)
    base = Model.load(path)
    new = sample("train")[100:130]
    config = configure(base, {"hold_out": 0})
    model = continue_training(Base(base), new, None, config).model
    tables, of_base = model.columns.class_tables, base.columns.class_tables
    assert [one.origin for one in tables] == [one.origin for one in of_base]
    assert model.record["classes"] == base.record["classes"]
    assert accuracy(model, new, "upos") >= accuracy(base, new, "upos")
    model.save(tmp_path / "new.msgpack")
    texts = forms_only("test")
    assert list(Model.load(tmp_path / "new.msgpack").annotate(texts)) == list(model.annotate(texts))


def test_a_layer_that_is_new_to_the_base_sees_its_tables(table: Path) -> None:
    sentences = sample("train")[:40]
    base = train(sentences, None, quick(*ONE_LAYER, with_tables(table))).model
    config = configure(base, {"hold_out": 0, "layers": ["upos", "spans"]})
    model = continue_training(Base(base), sentences, None, config).model
    assert model.layers == ("upos", "spans")
    assert "class12[0]" in model.components["spans"].model.templates.texts
    assert accuracy(model, sample("test"), "upos") > 0.9


@pytest.mark.parametrize("given", [{"tables": ["en"]}, "en", ["en"]])
def test_a_base_gets_no_other_tables(given: Any) -> None:
    with pytest.raises(ConfigError, match="classes: expected none beside a base model"):
        configure(quick_model(), {"classes": given})
    configure(quick_model(), {"classes": {"tables": []}})  # as in a file with all settings


def test_learning_in_steps_with_tables(table: Path, tmp_path: Path) -> None:
    sentences = sample("train")[:30]
    settings = ('splitter.class_templates=["class[0]"]', with_tables(table), "hold_out=0")
    learner = StepLearner(untrained_model(sentences, LAYERS, quick(*settings)))
    for _ in range(3):
        for first in range(0, 30, 10):
            learner.update(sentences[first : first + 10], LAYERS)
    model = learner.model
    assert accuracy(model, sample("test"), "upos") > 0.8
    assert len(model.record["classes"]) == 1
    model.save(tmp_path / "model.msgpack")


def test_tables_as_python_says_them(table: Path) -> None:
    wanted = ClassesConfig(tables=(str(table),))
    for given in (table, str(table), [table], {"tables": [str(table)]}, wanted):
        assert read_config({"classes": given}).classes == wanted
    settings: dict[str, Any] = {"layers": ["upos"], "hold_out": 0, "splitter": {"train": False}}
    for named in ({"tables": [str(table)]}, table, [str(table)]):
        model = egparse.train(sample("train")[:20], [], **settings, classes=named)
        assert len(model.columns.class_tables) == 1
        assert model.config_table["classes"]["tables"] == (table.name,)
    assert load_config(None, ['classes="en"']).classes.tables == ("en",)
    with pytest.raises(ConfigError, match=r"classes\.tables: expected a list of strings, got 3"):
        read_config({"classes": [3]})


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        (['upos.templates=["class6[0]"]'], "upos.templates: expected a table of word classes "),
        (['labeller.templates=["head_class_2[0]"]', "T"], "for the column 'class_2', got 1"),
        (['parser.templates=["h.class + d.upos"]'], "parser.templates: expected a table of word"),
        (['splitter.templates=["class[0]"]'], "splitter.templates: expected a table of word"),
        (['upos.class_templates=["klass[0]"]', "T"], "upos.class_templates: template 'klass"),
        (['parser.class_templates=["h.clas + d.upos"]', "T"], "parser.class_templates: arc templ"),
        (['parser.class_siblings=["g.class"]', "T"], "parser.class_siblings: p"),
        (['spans.class_templates=["class40[0]"]', "T"], "spans.class_templates: template 'class4"),
        (["upos.class_templates=[]"], "upos.class_templates: has no effect where there are no tab"),
        (["parser.class_labels=[]"], "parser.class_labels: has no effect where"),
        (["classes.min_count=2"], "classes.min_count: has no effect where there are no tables"),
        (["classes.tables=['a']", "classes.licences=['x', 'y']"], "expected one for each of 1 tab"),
        (["classes.tables=['a']", "classes.sources=['x', 'y']"], "expected one for each of 1 tabl"),
        ([f"classes.tables={['a'] * 9}"], "classes.tables: expected at most 8 tables, got 9"),
        (["classes.tables=3"], "classes.tables: expected a list of strings, got 3"),
        (["classes.vector_classes=1"], "classes.vector_classes: expected an integer from 2 to"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: list[str], fault: str) -> None:
    given = ["classes.tables=['x.tsv']" if text == "T" else text for text in settings]
    with pytest.raises(ConfigError) as raised:
        check_settings(load_config(None, given))
    assert fault in str(raised.value)


def test_too_many_columns_and_missing_tables_are_refused_before_training(table: Path) -> None:
    many = [f"class{bits}[0]" for bits in range(1, 29)]
    config = quick(*ONE_LAYER, with_tables(table, table, table), f"upos.class_templates={many}")
    with pytest.raises(ConfigError, match="at most 64 columns of word classes, got 81"):
        train(sample("train")[:20], None, config)
    with pytest.raises(EgparseError, match=r"none\.tsv: expected a table of word classes"):
        train(sample("train")[:20], None, quick(*ONE_LAYER, "classes.tables=['/no/none.tsv']"))


def test_crafted_files_are_refused(whole: Model, tmp_path: Path) -> None:
    path = tmp_path / "model.msgpack"
    whole.save(path)
    header, payload = read_model(path)

    def refused(change: dict[str, Any], fault: str) -> None:
        write_model(path, header, payload | change)
        with pytest.raises(ModelFileError, match=fault):
            Model.load(path)

    classes = payload["classes"]
    refused({"classes": classes | {"tables": []}}, "classes.tables: expected a list of at least 1")
    refused({"classes": classes | {"tables": classes["tables"] * 5}}, "a list of at most 8")
    refused({"classes": classes | {"columns": ["class"] * 2}}, "expected texts that differ")
    refused({"classes": classes | {"columns": ["class_3"]}}, "expected columns of 2 tables")
    refused({"classes": classes | {"columns": []}}, "expected templates for this model")
    refused({"classes": None}, "classes: expected a map")
    without = {key: value for key, value in payload.items() if key != "classes"}
    write_model(path, header, without)
    with pytest.raises(ModelFileError, match=r"expected templates for this model|columns of 0 tab"):
        Model.load(path)
    splitter = payload["splitter"] | {"classes": ["class_9"]}
    refused({"splitter": splitter}, "splitter.classes: expected columns of 2 tables")
