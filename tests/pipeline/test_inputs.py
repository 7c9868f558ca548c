"""What a model can be called with, and what it says of anything else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import conllu
import pytest
from sample_treebank import quick_model, sample

from egparse.errors import EgparseError
from egparse.features.word_table import Columns
from egparse.pipeline.constraints import Constraints
from egparse.sentences import Sentence

TEXTS = ["A dog barks. The cat runs away!", "", "Mary sees it."]


def test_several_texts_are_annotated_as_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    model = quick_model()
    alone = [model(text) for text in TEXTS]
    assert [len(document) for document in alone] == [2, 0, 1]
    calls = Counter[str]()
    words = Columns.words

    def counted(self: Columns, sentences: Any) -> Any:
        calls["batches"] += 1
        return words(self, sentences)

    monkeypatch.setattr(Columns, "words", counted)
    assert model(TEXTS) == model(iter(TEXTS)) == alone
    assert calls["batches"] == 2
    assert model([TEXTS[2]], probabilities=["heads"])[0][0].probabilities is not None
    assert model([]) == []


def test_constraints_are_for_the_sentences_of_all_texts() -> None:
    head = Constraints().fix("heads", 1, 2)
    documents = quick_model()(TEXTS, constraints=[Constraints(), head, head])
    assert [document[-1].heads[0] for document in (documents[0], documents[2])] == [2, 2]
    with pytest.raises(EgparseError, match="expected constraints for 3 sentences, got more"):
        quick_model()(TEXTS, constraints=[head] * 4)


@pytest.mark.parametrize(
    ("given", "got"),
    [(Constraints(), "type Constraints"), ([{"heads": {1: 2}}], "type dict"), ([None], "None")],
)
def test_what_are_no_constraints_is_refused(given: Any, got: str) -> None:
    expected = "^constraints: expected a list with Constraints for each sentence, got .*"
    with pytest.raises(EgparseError, match=f"{expected}{got}$"):
        quick_model()(sample("test")[:1], constraints=given)


def test_probabilities_may_be_those_of_one_layer() -> None:
    (found,) = quick_model()(sample("test")[:1], probabilities="heads")
    assert found.probabilities is not None
    assert list(found.probabilities) == ["heads"]


@pytest.mark.parametrize("k", [0, 1.5, "2"])
def test_the_number_of_trees_is_checked(k: Any) -> None:
    with pytest.raises(EgparseError, match=rf"^k best trees: expected .* 1 on, got {k!r}$"):
        quick_model().k_best(sample("test")[:1], k)


def test_token_lists_are_sentences() -> None:
    model, sentences = quick_model(), sample("test")[:3]
    lists = conllu.parse("".join(one.to_conllu() for one in sentences))
    expected = list(model.annotate(sentences))
    assert model(lists) == list(model.annotate(lists)) == expected
    assert (
        model(lists[0])
        == model(sentences[0])
        == list(model.annotate(sentences[0]))
        == [expected[0]]
    )
    assert next(model.k_best(lists[0], 1))[0].sentence.forms == sentences[0].forms
    assert model(lists)[0].to_token_list()[0]["upos"] == expected[0].upos[0]


@pytest.mark.parametrize(
    ("source", "got"),
    [
        (None, "None"),
        (3, "a value of type int"),
        (b"a b.", "a value of type bytes"),
        ({"a": "b"}, "a value of type dict"),
        (Path("text"), "a value of type P"),
        ([1], "a value of type int"),
        ([["a", "b"]], "a value of type list"),
    ],
)
def test_what_is_neither_text_nor_sentences_is_refused(source: Any, got: str) -> None:
    model = quick_model()
    with pytest.raises(EgparseError, match=rf"^model: expected a text, several .*, got {got}"):
        model(source)
    for method in (model.annotate, lambda given: model.k_best(given, 1)):
        with pytest.raises(EgparseError, match=rf"^\w+: expected sentences, got {got}"):
            next(method(source))


def test_texts_are_for_calls() -> None:
    model = quick_model()
    hint = r"got a text; model\(text\) makes sentences of it$"
    with pytest.raises(EgparseError, match=rf"^annotate: expected sentences, {hint}"):
        model.annotate("She saw.")  # type: ignore[arg-type]
    with pytest.raises(EgparseError, match=rf"^k_best: expected sentences, {hint}"):
        model.k_best("She saw.", 2)  # type: ignore[arg-type]
    with pytest.raises(EgparseError, match=rf"^annotate: expected sentences, {hint}"):
        list(model.annotate(["She saw."]))  # type: ignore[list-item]
    with pytest.raises(EgparseError, match=rf"^annotate: expected sentences, {hint}"):
        model([Sentence(("a",)), "She saw."])  # type: ignore[list-item]
    with pytest.raises(EgparseError, match=r"^model: expected texts, got a value of type Sentence"):
        model(["She saw.", Sentence(("a",))])  # type: ignore[list-item]
