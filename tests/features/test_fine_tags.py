"""Fine tags: which features they are made of, by likelihoods that are compared with sums over arcs
taken one by one; what stands for tags not seen; and models that have them.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import spacy
from cli.program import run_process
from hypothesis import given
from hypothesis import strategies as st
from sample_treebank import quick, sample
from spacy.tokens import Doc

from egparse.config.sections import TrainConfig
from egparse.errors import ModelFileError
from egparse.features import fine_tags
from egparse.features.fine_tags import (
    FineTags,
    _left_one_out,
    _shares,
    arcs_of,
    choose_for_tags,
    features_of,
    likelihood_of_arcs,
    numbered,
)
from egparse.features.forms import Lexicon
from egparse.features.vocabulary import FIRST_VALUE, Vocabulary
from egparse.features.word_table import Columns
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.storage.model_file import read_model, write_model
from egparse.storage.schema import Allowance, Misfit, Stored
from egparse.training.columns import build_columns
from egparse.training.continuation import Base, configure, continue_training
from egparse.training.run import train

LAYERS = 'layers=["upos", "feats", "heads", "deprels"]'
FINE = FineTags(
    {"NOUN": ("Case", "Number"), "VERB": ("VerbForm",)},
    ("VERB|VerbForm=Fin", "NOUN|Case=Nom", "NOUN", "VERB", "X", "NOUN|Case=Acc|Number=Sing"),
)


@pytest.mark.parametrize(
    ("bundle", "features"),
    [
        ("_", {}),
        ("", {}),
        ("Case=Nom|Number=Sing", {"Case": "Nom", "Number": "Sing"}),
        ("PronType=Int,Rel", {"PronType": "Int,Rel"}),
        ("sg|Case=Nom", {"sg": "", "Case": "Nom"}),
        ("Case=Nom=Acc", {"Case": "Nom=Acc"}),
    ],
)
def test_a_bundle_is_taken_apart(bundle: str, features: dict[str, str]) -> None:
    assert features_of(bundle) == features


def test_a_fine_tag_names_the_features_of_its_upos_in_their_order() -> None:
    features = {"Number": "Sing", "Case": "Acc", "Gender": "Fem"}
    assert FINE.tag("NOUN", features) == "NOUN|Case=Acc|Number=Sing"
    assert FINE.tag("VERB", features) == "VERB"
    assert FINE.tag("X", features) == "X"


def test_a_tag_not_seen_is_the_most_frequent_one_of_its_upos() -> None:
    bundles = ("_", "Case=Nom", "Case=Dat", "Number=Sing|Case=Acc", "VerbForm=Fin")
    table = FINE.table(("NOUN", "VERB", "X", "ADJ"), bundles)
    assert table.tolist() == [
        [2, 1, 1, 5, 2, 1],
        [3, 3, 3, 3, 0, 0],
        [4, 4, 4, 4, 4, 4],
        [-1, -1, -1, -1, -1, -1],
    ]


def test_only_a_new_upos_brings_more_tags() -> None:
    more = [
        Sentence(("a", "b", "c"), upos=("NOUN", "NOUN", "VERB"), feats=("Case=Gen", "_", "_")),
        Sentence(("a",), upos=("ADJ",)),
    ]
    extended = FINE.extended(more)
    assert extended.tags == (*FINE.tags, "ADJ")
    assert extended.features == FINE.features


def columns() -> Columns:
    labels = {
        "upos": Vocabulary(("NOUN", "VERB")),
        "feats": Vocabulary(("Case=Nom", "VerbForm=Fin")),
    }
    return Columns(Lexicon.build(Counter("a"), ["lower"], {}), labels, fine_tags=FINE)


@pytest.mark.parametrize("order", [("upos", "feats"), ("feats", "upos")])
def test_the_column_follows_from_those_of_upos_and_feats(order: tuple[str, str]) -> None:
    table = columns()
    words = table.words([["a", "a", "a", "a"]])
    labels = {"upos": np.array([0, 1, 0, -1]), "feats": np.array([0, 1, -1, 0])}
    for layer in order:
        words = table.with_tags(words, layer, labels[layer])
    values = words.values[:, table.number("xpos")].tolist()
    assert values == [1 + FIRST_VALUE, 0 + FIRST_VALUE, 1 + FIRST_VALUE, 0]
    assert table.describe("xpos", values[0]) == "NOUN|Case=Nom"


@cache
def without_xpos(count: int) -> tuple[Sentence, ...]:
    return tuple(one.with_layers(xpos=()) for one in sample("train")[:count])


@cache
def model_without_xpos() -> Model:
    return train(without_xpos(60), None, quick("hold_out=0", LAYERS)).model


def test_a_treebank_without_xpos_gets_fine_tags_and_no_layer_more() -> None:
    model = model_without_xpos()
    fine = model.columns.fine_tags
    assert fine is not None
    assert len(fine.tags) > len(model.columns.labels["upos"])
    assert model.layers == ("upos", "feats", "heads", "deprels")
    annotated = next(model.annotate(without_xpos(1)))
    assert annotated.xpos == ()


def columns_of(sentences: Sequence[Sentence]) -> Columns:
    return build_columns(sentences, ("upos", "xpos", "feats", "heads"), TrainConfig())


def test_an_xpos_that_is_as_informative_stays() -> None:
    assert columns_of(sample("train")).fine_tags is None


def test_an_xpos_that_repeats_upos_is_replaced() -> None:
    copied = [one.with_layers(xpos=one.upos) for one in sample("train")]
    assert columns_of(copied).fine_tags is not None


def test_an_xpos_of_too_many_values_is_replaced() -> None:
    rich = [
        one.with_layers(
            xpos=[f"{tag}-{form}" for tag, form in zip(one.xpos, one.forms, strict=False)]
        )
        for one in sample("train")
    ]
    assert columns_of(rich).fine_tags is not None


def test_an_xpos_stays_where_words_are_too_few_to_judge_it() -> None:
    copied = [one.with_layers(xpos=one.upos) for one in sample("train")[:60]]
    assert columns_of(copied).fine_tags is None


def test_xpos_is_predicted_where_fine_tags_replace_it_for_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fine_tags, "ENOUGH_WORDS", 0)
    copied = [one.with_layers(xpos=one.upos) for one in sample("train")[:60]]
    model = train(copied, None, quick("hold_out=0", "parser.stop.iterations=2")).model
    assert model.columns.fine_tags is not None
    found = next(model.annotate(copied[:1]))
    assert set(found.xpos) <= set(model.columns.labels["xpos"].strings)
    model.save(tmp_path / "m.msgpack")
    assert next(Model.load(tmp_path / "m.msgpack").annotate(copied[:1])) == found


def test_fine_tags_are_stored_with_the_model(tmp_path: Path) -> None:
    model = model_without_xpos()
    model.save(tmp_path / "m.msgpack")
    loaded = Model.load(tmp_path / "m.msgpack")
    assert loaded.columns.fine_tags == model.columns.fine_tags
    sentences = without_xpos(80)[60:]
    for gold_tags in (False, True):
        found = list(loaded.annotate(sentences, gold_tags=gold_tags))
        assert found == list(model.annotate(sentences, gold_tags=gold_tags))


def test_inspect_shows_fine_tags(tmp_path: Path) -> None:
    path = tmp_path / "m.msgpack"
    model_without_xpos().save(path)
    shown = run_process("inspect", path, "--features", 1).stdout
    fine = model_without_xpos().columns.fine_tags
    assert fine is not None
    assert f"\nFine tags in the place of XPOS ({len(fine.tags)})\n" in shown
    found = json.loads(run_process("inspect", path, "--json").stdout)["fine_tags"]
    assert tuple(found["tags"]) == fine.tags
    assert {upos: tuple(names) for upos, names in found["features"].items()} == fine.features


def test_gold_tags_and_fixed_input_lead_to_the_same_trees() -> None:
    """The same tags, given in two ways or read from the input, are the same fine tags."""
    model = model_without_xpos()
    sentences = [one.with_layers(heads=(), deprels=(), spans=()) for one in without_xpos(80)[60:]]
    given = list(model.annotate(sentences, gold_tags=True))
    fixed = list(model.annotate(sentences, respect_input=True))
    assert [one.heads for one in given] == [one.heads for one in fixed]
    assert [one.deprels for one in given] == [one.deprels for one in fixed]


def test_docs_with_tags_have_the_trees_of_these_tags(tmp_path: Path) -> None:
    model = model_without_xpos()
    model.save(tmp_path / "m.msgpack")
    nlp = spacy.blank("en")
    nlp.add_pipe("egparse_parser", config={"model": str(tmp_path / "m.msgpack")})
    gold = [one.with_layers(heads=(), deprels=(), spans=()) for one in without_xpos(80)[60:]]
    expected = list(model.annotate(gold, gold_tags=True))
    for sentence, wanted in zip(gold, expected, strict=True):
        doc = Doc(nlp.vocab, words=list(sentence.forms), sent_starts=None)
        doc[0].is_sent_start = True
        for token in doc[1:]:
            token.is_sent_start = False
        for token, upos, feats in zip(doc, sentence.upos, sentence.feats, strict=True):
            token.pos_ = upos
            token.set_morph("" if feats == "_" else feats)
        for _, component in nlp.pipeline:
            doc = component(doc)
        assert [0 if t.head == t else t.head.i + 1 for t in doc] == list(wanted.heads)


def test_continued_training_keeps_the_numbers_of_fine_tags() -> None:
    base = model_without_xpos()
    config = configure(base, {"hold_out": 0})
    new = [one.with_layers(xpos=()) for one in sample("train")[60:80]]
    model = continue_training(Base(base, "base", "0"), new, None, config).model
    before, after = base.columns.fine_tags, model.columns.fine_tags
    assert before is not None
    assert after is not None
    assert after.features == before.features
    assert after.tags[: len(before.tags)] == before.tags


def test_a_base_without_fine_tags_stays_without() -> None:
    components = model_without_xpos().components
    columns = _without_fine_tags(components.columns)
    base = replace(model_without_xpos(), components=replace(components, columns=columns))
    config = configure(base, {"hold_out": 0})
    new = [one.with_layers(xpos=()) for one in sample("train")[60:80]]
    model = continue_training(Base(base, "base", "0"), new, None, config).model
    assert model.columns.fine_tags is None


def _without_fine_tags(columns: Columns) -> Columns:
    return Columns(columns.lexicon, columns.labels, columns.scheme, columns.statistics)


@pytest.mark.parametrize(
    "change",
    [
        {"upos": ["NOUN", "NOUN"]},
        {"upos": ["NOUN"]},
        {"features": ["a|" * 60, "b"]},
        {"tags": ["NOUN", "NOUN"]},
        {"tags": "NOUN"},
        {"tags": ["a\tb"]},
        {"more": 1},
    ],
)
def test_faulty_content_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(Misfit):
        FineTags.from_payload(Stored(FINE.to_payload() | change, "fine_tags"), 2, 2)


def test_a_table_out_of_proportion_is_refused() -> None:
    stored = Stored(FINE.to_payload(), "fine_tags", Allowance(1000))
    with pytest.raises(Misfit, match="takes at most"):
        FineTags.from_payload(stored, 2, 1_000_000)


def test_fine_tags_need_the_labels_that_they_are_made_of(tmp_path: Path) -> None:
    path = tmp_path / "m.msgpack"
    model = train(
        without_xpos(20), None, quick("hold_out=0", 'layers=["upos"]', "upos.stop.iterations=1")
    ).model
    model.save(path)
    header, payload = read_model(path)
    write_model(path, dict(header), {**payload, "fine_tags": FINE.to_payload()})
    with pytest.raises(ModelFileError, match="fine_tags: expected labels of UPOS and FEATS"):
        Model.load(path)


def left_one_out(contexts: Sequence[object], outcomes: Sequence[object]) -> float:
    """Each outcome predicted from all others in its context, as the definition says."""
    total = 0.0
    for k, (context, outcome) in enumerate(zip(contexts, outcomes, strict=True)):
        others = [outcomes[i] for i, other in enumerate(contexts) if other == context and i != k]
        share = sum(one == outcome for one in outcomes) / len(outcomes)
        total += math.log((others.count(outcome) + share) / (len(others) + 1))
    return total


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=12))
def test_the_likelihood_is_that_of_its_definition(pairs: list[tuple[int, int]]) -> None:
    contexts, outcomes = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    contexts, outcomes = numbered(contexts), numbered(outcomes)
    found = _left_one_out(contexts, outcomes, _shares(outcomes))
    assert found == pytest.approx(left_one_out(contexts.tolist(), outcomes.tolist()))


def treebank(n: int) -> list[Sentence]:
    """Nouns before and after a verb: the case says which is the object, the colour says nothing."""
    random = np.random.default_rng(3)
    sentences = []
    for _ in range(n):
        labels = ["nsubj", "obj"] if random.integers(2) else ["obj", "nsubj"]
        feats = [
            f"Case={'Nom' if label == 'nsubj' else 'Acc'}|Colour={random.choice(['a', 'b'])}"
            for label in labels
        ]
        sentences.append(
            Sentence(
                forms=("x", "y", "z"),
                upos=("NOUN", "VERB", "NOUN"),
                feats=(feats[0], f"Colour={random.choice(['a', 'b'])}", feats[1]),
                heads=(2, 0, 2),
                deprels=(labels[0], "root", labels[1]),
            )
        )
    return sentences


def test_a_feature_that_tells_arcs_apart_refines_its_upos_and_no_other_does() -> None:
    assert FineTags.learn(treebank(60)).features == {"NOUN": ("Case",)}


def test_a_treebank_without_features_has_its_upos_as_fine_tags() -> None:
    plain = [sentence.with_layers(feats=()) for sentence in treebank(5)]
    assert FineTags.learn(plain) == FineTags({}, ("NOUN", "VERB"))


def test_what_gains_less_than_asked_for_is_not_taken() -> None:
    arcs, values, _ = arcs_of(treebank(60))
    assert choose_for_tags(arcs, values, 0.01) == {0: ("Case",)}
    assert choose_for_tags(arcs, values, 100.0) == {}


def test_tags_that_tell_arcs_apart_predict_them_better() -> None:
    arcs, values, _ = arcs_of(treebank(60))
    cases = numbered(arcs.upos, values["Case"][arcs.bundles])
    colours = numbered(arcs.upos, values["Colour"][arcs.bundles])
    plain = likelihood_of_arcs(arcs, arcs.upos)
    assert likelihood_of_arcs(arcs, colours) < plain < likelihood_of_arcs(arcs, cases) < 0
