"""Several treebanks that are annotated differently: one model learns what they share, and annotates
like each of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sample_treebank import sample

import egparse
from egparse import Model, Sentence
from egparse.errors import ConfigError
from egparse.io.corpus import write_corpus
from egparse.schemes import OUTSIDE
from egparse.training.corpus import together, treebank_of

TRAIN, DEV = sample("train")[:60], sample("dev")[:30]

SETTINGS: dict[str, Any] = {
    "layers": ["upos", "spans", "heads", "deprels"],
    "splitter": {"train": False},
    "tokeniser": {"train": False},
    "supertags": {"train": False},
    "jackknife": {"folds": 0},
    "parser": {"order": 1, "bits": 14},
}


def otherwise(sentence: Sentence) -> Sentence:
    """The sentence in a treebank that has another tag and relation for determiners, and no
    entities.
    """
    tags = tuple("PRON" if tag == "DET" else tag for tag in sentence.upos)
    pairs = zip(sentence.upos, sentence.deprels, strict=True)
    relations = tuple("nmod" if tag == "DET" else one for tag, one in pairs)
    misc = tuple("_" for _ in sentence.misc)
    return replace(sentence, upos=tags, deprels=relations, misc=misc, spans=("O",) * len(sentence))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A model of both treebanks, from files, and as a file holds it."""
    folder = tmp_path_factory.mktemp("treebanks")
    write_corpus(TRAIN, folder / "en_one-ud-train.conllu")
    write_corpus(map(otherwise, TRAIN), folder / "en_two-ud-train.conllu")
    corpora = [folder / "en_one-ud-train.conllu", folder / "en_two-ud-train.conllu"]
    made = egparse.train(corpora, DEV, **SETTINGS)
    made.save(folder / "model.msgpack")
    loaded = egparse.load(folder / "model.msgpack")
    assert loaded(DEV) == made(DEV)
    return loaded


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("en_ewt-ud-train.conllu", "en_ewt"),
        ("en_ewt-ud-dev.conllu.xz", "en_ewt"),
        ("sequoia-test.conllu", "sequoia"),
        ("en_gumopen.conllu", "en_gumopen"),
        ("train.conllu", "train"),
    ],
)
def test_parts_of_a_treebank_have_its_name(file: str, name: str) -> None:
    assert treebank_of(Path("somewhere") / file) == name


def test_a_treebank_lacks_what_it_does_not_annotate() -> None:
    bare = [replace(one, feats=("_",) * len(one), spans=(OUTSIDE,) * len(one)) for one in TRAIN[:5]]
    first, second = together([("one", TRAIN), ("two", bare)])[:5], together([("two", bare)])
    assert [one.treebank for one in (*first, *second)] == ["one"] * 5 + ["two"] * 5
    assert all(one.spans and one.feats for one in first)
    assert not any(one.spans or one.feats for one in second)


def test_a_model_annotates_like_each_of_its_treebanks(model: Model) -> None:
    assert model.columns.treebanks == ("en_one", "en_two")
    assert model.record["treebanks"] == dict.fromkeys(("en_one", "en_two"), sum(map(len, TRAIN)))
    as_one, as_two = model, model.in_treebank("en_two")
    pairs = Counter(
        pair
        for one, two in zip(as_one(DEV), as_two(DEV), strict=True)
        for pair in zip(one.upos, two.upos, strict=True)
    )
    changed = {pair: count for pair, count in pairs.items() if pair[0] == "DET"}
    assert changed["DET", "PRON"] > 20
    assert changed["DET", "PRON"] >= 0.9 * sum(changed.values())
    assert as_two.in_treebank("en_one")(DEV) == as_one(DEV)
    # both annotate entities, which only one of them has in its files
    assert any(set(sentence.spans) - {OUTSIDE} for sentence in as_two(DEV))


def test_a_file_keeps_the_treebank_that_the_model_annotates_like(
    model: Model, tmp_path: Path
) -> None:
    as_two = model.in_treebank("en_two")
    as_two.save(tmp_path / "two.msgpack")
    loaded = egparse.load(tmp_path / "two.msgpack")
    assert loaded(DEV) == as_two(DEV) != model(DEV)
    assert loaded.columns.treebank == "en_two"
    assert loaded.columns.treebanks == model.columns.treebanks
    assert loaded.in_treebank("en_one")(DEV) == model(DEV)


def test_other_names_are_refused(model: Model) -> None:
    with pytest.raises(ConfigError, match=r"learned from \(en_one, en_two\), got 'en_three'"):
        model.in_treebank("en_three")
    alone = egparse.train(TRAIN, [], layers=["upos"], splitter={"train": False})
    assert alone.columns.treebanks == ()
    with pytest.raises(ConfigError, match="one alone"):
        alone.in_treebank("en_one")


def test_training_goes_on_with_the_treebanks_of_the_base(model: Model) -> None:
    more = [replace(otherwise(one), treebank="en_two") for one in sample("train")[60:80]]
    continued = egparse.train(more, [], base=model)
    assert continued.columns.treebanks == model.columns.treebanks
    as_two = continued.in_treebank("en_two")
    counts = [sum(one.upos.count("DET") for one in way(DEV)) for way in (continued, as_two)]
    assert counts[0] > 20 > counts[1]
    # what is of no treebank that the model knows is learned like the first
    plain = egparse.train(TRAIN, [], base=model)
    assert plain.record["treebanks"] == {"en_one": sum(map(len, TRAIN)), "en_two": 0}
