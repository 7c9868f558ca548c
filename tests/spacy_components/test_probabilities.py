"""Probabilities beside Docs, and the k best trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sample_treebank import quick_model, sample
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy_components.conftest import blank
from spacy_components.texts import annotate, made

from egparse.sentences import Sentence
from egparse.spacy_components.probabilities import ProbabilityWarning, put


@pytest.fixture
def sure(model_path: Path) -> Language:
    return blank(model_path, probabilities=True)


def told_of(doc: Doc) -> dict[str, tuple[float | None, ...]]:
    """Some probabilities of each word; every word occurs once."""
    return {
        t.text: (t._.egparse_head_prob, t._.egparse_tag_prob, t._.egparse_ent_prob) for t in doc
    }


def test_they_are_those_of_the_model(sure: Language) -> None:
    sentences = [Sentence(own.forms) for own in sample("test")[:25]]
    doc = annotate(sure, made(sure, sentences))
    found = list(quick_model().annotate(sentences, probabilities=True))
    layers = ("upos", "xpos", "feats", "spans", "heads", "deprels")
    names = ("pos", "tag", "morph", "ent", "head", "dep")
    for layer, name in zip(layers, names, strict=True):
        expected = [value for own in found for value in (own.probabilities or {})[layer]]
        told = [getattr(token._, f"egparse_{name}_prob") for token in doc]
        assert told == pytest.approx(expected, abs=1e-6), layer
    for entity in doc.ents:
        assert entity._.egparse_ent_prob == min(token._.egparse_ent_prob for token in entity)


def test_blanks_have_none_and_nothing_is_kept_unasked(sure: Language, nlp: Language) -> None:
    doc = sure("A dog  barks.")
    assert [token._.egparse_head_prob is None for token in doc] == [t.is_space for t in doc]
    plain = nlp("A dog  barks.")
    assert plain.user_data == {}
    with pytest.warns(ProbabilityWarning, match="egparse_head_prob, got one without any"):
        assert plain[0]._.egparse_head_prob is None
    assert sure("").user_data == {}


def test_they_survive_bytes_and_processes(sure: Language) -> None:
    doc = sure("A dog  barks in London.")
    (stored,) = DocBin(docs=[doc], store_user_data=True).get_docs(sure.vocab)
    (piped,) = sure.pipe(["A dog  barks in London."], n_process=2)
    for other in (Doc(sure.vocab).from_bytes(doc.to_bytes()), stored, piped):
        assert told_of(other) == told_of(doc)
    assert {values.dtype for _, values in doc.user_data.values()} == {np.dtype(np.float32)}


def test_kept_tags_have_none(model_path: Path) -> None:
    nlp = blank(model_path, "egparse_tagger", probabilities=True)
    doc = nlp.make_doc("The dog barks.")
    doc[1].tag_ = "FW"
    doc = nlp.get_pipe("egparse_tagger")(doc)
    assert [t._.egparse_tag_prob is None for t in doc] == [False, True, False, False]


def test_they_stay_with_the_tokens_that_are_not_merged_or_split(sure: Language) -> None:
    doc = sure("A dog  barks in London.")
    before = told_of(doc)
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
        retokenizer.split(doc[5], ["Lon", "don"], heads=[(doc[5], 1), doc[4]])
    after = told_of(doc)
    assert {after.pop(text)[:2] for text in ("A dog", "Lon", "don")} == {(None, None)}
    assert after
    assert after == {text: before[text] for text in after}
    again = Doc(sure.vocab).from_bytes(doc.to_bytes())
    assert told_of(again) == told_of(doc)


def test_a_merged_entity_has_the_probability_of_the_entity(model_path: Path) -> None:
    nlp = blank(model_path, "egparse_ner", "egparse_tagger", probabilities=True)
    words = [form for own in sample("test")[:30] for form in own.forms]
    doc = Doc(nlp.vocab, words=words)
    doc = nlp.get_pipe("egparse_ner")(doc)
    entities = [entity for entity in doc.ents if len(entity) > 1]
    assert entities
    expected = [entity._.egparse_ent_prob for entity in doc.ents]
    doc = nlp.create_pipe("merge_entities")(doc)
    assert [entity._.egparse_ent_prob for entity in doc.ents] == expected
    tagged = nlp.get_pipe("egparse_tagger")(doc)  # the merged tokens are seen by the tagger
    assert all(token._.egparse_tag_prob for token in tagged)
    assert [entity._.egparse_ent_prob for entity in tagged.ents] == expected


def test_they_go_with_spans_and_into_joined_docs(sure: Language) -> None:
    first, second = sure("A dog  barks in London."), sure("Two cats sleep here!")
    joined = Doc.from_docs([first, second])  # warnings are errors here
    assert told_of(joined) == {**told_of(first), **told_of(second)}
    assert told_of(Doc.from_docs([joined, sure("They ran")]))["sleep"] == told_of(second)["sleep"]
    span = joined[3:9]
    cut = span.as_doc(copy_user_data=True)
    assert told_of(cut) == {token.text: told_of(joined)[token.text] for token in span}
    with pytest.warns(ProbabilityWarning, match="copy_user_data=True"):
        assert told_of(span.as_doc())["cats"] == (None, None, None)


def test_new_probabilities_replace_old_ones(sure: Language) -> None:
    doc = Doc.from_docs([sure("A dog barks."), sure("Cats sleep.")])
    put(doc, "head", np.linspace(0.1, 0.8, len(doc)))
    assert [t._.egparse_head_prob for t in doc] == pytest.approx(np.linspace(0.1, 0.8, len(doc)))
    assert doc[:0]._.egparse_ent_prob is None


def test_k_best_trees_are_those_of_the_model(nlp: Language) -> None:
    sentences = [Sentence(own.forms) for own in sample("test")[:8]]
    doc = annotate(nlp, made(nlp, sentences))
    found = nlp.get_pipe("egparse_parser").k_best(doc, 3)
    expected = list(quick_model().k_best(sentences, 3))
    assert [len(own) for own in found] == [len(own) for own in expected]
    for own, scored in zip(found, expected, strict=True):
        for tree, (sentence, log_probability) in zip(own, scored, strict=True):
            heads = [
                0 if head == k else head - tree.start + 1
                for k, head in enumerate(tree.heads, tree.start)
            ]
            assert heads == list(sentence.heads)
            assert [label.replace("ROOT", "root") for label in tree.labels] == list(
                sentence.deprels
            )
            assert tree.log_probability == pytest.approx(log_probability)
    assert nlp.get_pipe("egparse_parser").k_best(nlp.make_doc(""), 2) == []


def test_k_best_trees_of_docs_with_blanks(nlp: Language) -> None:
    doc = nlp("  A dog  barks. \n It runs.")
    trees = nlp.get_pipe("egparse_parser").k_best(doc, 2)
    assert [(own[0].start, own[0].end) for own in trees] == [
        (span.start, span.end) for span in doc.sents
    ]
    assert all(len(tree.heads) == tree.end - tree.start for own in trees for tree in own)
