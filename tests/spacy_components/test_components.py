"""Docs as they come: what components set, keep and refuse."""

from __future__ import annotations

import gc
import logging
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from sample_treebank import quick_model, sample
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy_components.conftest import blank, without_trees
from spacy_components.texts import TEXTS, annotate, check_sound, everything, made, said

from egparse.errors import EgparseError
from egparse.layers import WORD_TAGS
from egparse.parsing.long_sentences import LongSentenceWarning
from egparse.pipeline import annotate as pipeline
from egparse.sentences import Sentence
from egparse.spacy_components.documents import read
from egparse.spacy_components.label_tables import span_tags
from egparse.spacy_components.pipes import entity_columns
from egparse.spacy_components.shared_models import LanguageWarning
from egparse.text.rules import RuleSplitter


@pytest.mark.parametrize("text", TEXTS)
def test_docs_of_all_kinds_are_sound(nlp: Language, text: str) -> None:
    doc = nlp(text)
    assert doc.text == text
    check_sound(doc)


def test_docs_say_what_the_model_says(nlp: Language) -> None:
    sentences = list(sample("test"))
    doc = annotate(nlp, made(nlp, sentences))
    found = list(quick_model().annotate([Sentence(own.forms) for own in sentences]))
    assert [len(span) for span in doc.sents] == [len(own) for own in found]
    for span, own in zip(doc.sents, found, strict=True):
        assert [token.pos_ for token in span] == list(own.upos)
        assert [token.tag_ for token in span] == list(own.xpos)
        assert [str(token.morph) or "_" for token in span] == [
            _in_spacys_order(nlp, feats) for feats in own.feats
        ]
        assert heads_in(span) == list(own.heads)
        assert [t.dep_.replace("ROOT", "root") for t in span] == list(own.deprels)
        assert "root" not in {t.dep_ for t in span}
        assert entity_tags(span) == list(own.spans)


def tagged(nlp: Language, gold: list[Sentence]) -> Doc:
    """A Doc with the tags of some sentences."""
    doc = made(nlp, gold)
    flat = [[tag for own in gold for tag in getattr(own, layer)] for layer in WORD_TAGS]
    for token, upos, xpos, feats in zip(doc, *flat, strict=True):
        token.pos_, token.tag_ = upos, xpos
        token.set_morph("" if feats == "_" else feats)
    return doc


def tags_alone(count: int) -> list[Sentence]:
    """Sentences of the sample treebank with nothing but tags."""
    return [
        Sentence(own.forms, upos=own.upos, xpos=own.xpos, feats=own.feats)
        for own in sample("test")[:count]
    ]


def heads_in(span: Any) -> list[int]:
    return [0 if t.head == t else t.head.i - span.start + 1 for t in span]


def entity_tags(span: Any) -> list[str]:
    return [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type else "O" for t in span]


def test_docs_with_tags_say_what_the_model_says_of_them(model_path: Path) -> None:
    """Components and model predict by one path: tags that are given, the layers after them, and
    their probabilities.
    """
    gold = tags_alone(20)
    nlp = blank(model_path, "egparse_ner", "egparse_parser", probabilities=True)
    doc = annotate(nlp, tagged(nlp, gold))
    found = list(quick_model().annotate(gold, gold_tags=True, probabilities=True))
    for span, own in zip(doc.sents, found, strict=True):
        assert heads_in(span) == list(own.heads)
        assert [t.dep_.replace("ROOT", "root") for t in span] == list(own.deprels)
        assert entity_tags(span) == list(own.spans)
        assert own.probabilities is not None
        for layer, name in (("spans", "ent"), ("heads", "head"), ("deprels", "dep")):
            sure = [getattr(token._, f"egparse_{name}_prob") for token in span]
            assert sure == pytest.approx(list(own.probabilities[layer]), abs=1e-6)


@pytest.mark.parametrize("name", ["egparse_tagger", "egparse_ner", "egparse_parser"])
def test_components_and_models_predict_by_the_same_function(
    model_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    predict_words = pipeline.predict_words

    def watched(*arguments: Any) -> pipeline.PredictedWords:
        called.append(name)
        return predict_words(*arguments)

    monkeypatch.setattr(pipeline, "predict_words", watched)
    blank(model_path, name)("A dog barks.")
    assert called == [name]
    list(quick_model().annotate([Sentence(("A", "dog", "barks", "."))]))
    assert called == [name, name]


def _in_spacys_order(nlp: Language, feats: str) -> str:
    return nlp.vocab.strings[nlp.vocab.morphology.add("" if feats == "_" else feats)]


def test_a_parser_alone_tags_for_itself(nlp: Language, model_path: Path) -> None:
    parser = blank(model_path, "egparse_parser")
    for text in TEXTS:
        alone = parser(text)
        whole = nlp(text)
        assert [t.head.i for t in alone] == [t.head.i for t in whole]
        assert [t.dep_ for t in alone] == [t.dep_ for t in whole]
        assert not any(t.tag for t in alone)


def test_one_model_does_not_tag_twice(nlp: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    from egparse.sequences.tagger import Tagger

    choose, runs = Tagger.choose, []
    monkeypatch.setattr(
        Tagger, "choose", lambda self, *rest: runs.append(self) or choose(self, *rest)
    )
    nlp("A dog barks at  the cat.")
    assert len(runs) == 5  # UPOS, XPOS, FEATS, spans, supertags


def test_components_read_and_number_a_doc_once(
    nlp: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    from egparse.features.word_table import Columns
    from egparse.text.splitter import Splitter

    runs: list[str] = []
    for kind, name in ((Columns, "words"), (Splitter, "split")):
        method = getattr(kind, name)

        def counted(self: Any, *rest: Any, method: Any = method, name: str = name) -> Any:
            runs.append(name)
            return method(self, *rest)

        monkeypatch.setattr(kind, name, counted)
    nlp("A dog barks at  the mat. It sleeps.")
    assert sorted(runs) == ["split", "words"]


def test_docs_with_equal_words_are_told_apart_by_their_sentences(nlp: Language) -> None:
    words = ["A", "dog", "barks", "the", "cat", "sleeps"]
    whole, split = ([1, -1, -1, -1, -1, -1], [1, -1, -1, 1, -1, -1])

    def read(starts: list[int]) -> list[list[int]]:
        return said(annotate(nlp, Doc(nlp.vocab, words=words, sent_starts=starts)))

    expected = [read(whole), said(nlp("Another text.")), read(split)]
    assert expected[0] != expected[2]
    assert [read(whole), read(split)] == [expected[0], expected[2]]
    halves = [Doc(nlp.vocab, words=words[:3]), Doc(nlp.vocab, words=words[3:])]
    alone = [said(annotate(nlp, Doc(nlp.vocab, words=half))) for half in (words[:3], words[3:])]
    assert [said(doc) for doc in nlp.pipe(halves)] == alone


def test_pipe_says_what_calls_say(nlp: Language) -> None:
    texts = TEXTS * 3
    assert [said(doc) for doc in nlp.pipe(texts)] == everything(nlp) * 3
    assert [said(doc) for doc in nlp.pipe(texts, batch_size=2)] == everything(nlp) * 3


def test_threads_share_a_pipeline(nlp: Language) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert [said(doc) for doc in pool.map(nlp, TEXTS * 8)] == everything(nlp) * 8


def test_blanks_belong_to_words(nlp: Language) -> None:
    doc = nlp("  One dog  barks.\n\nTwo \n cats sleep. ")
    words, blanks = [t for t in doc if not t.is_space], [t for t in doc if t.is_space]
    assert len(blanks) == 4 or len(blanks) == 5
    assert doc[0].head == doc[1].head or doc[0].head == doc[1]
    assert all(t.tag_ == "_SP" and t.pos_ == "SPACE" and not t.ent_type for t in blanks)
    assert all(t.dep_ == "dep" and not t.head.is_space for t in blanks)
    assert all(not t.head.is_space for t in words)
    assert all(t.head.i == t.i - 1 for t in blanks[1:])


def test_a_blank_line_ends_a_sentence(nlp: Language) -> None:
    assert [span.text.strip() for span in nlp("the dog\n\nthe cat").sents] == ["the dog", "the cat"]


@pytest.mark.parametrize("name", ["egparse_parser", "egparse_senter"])
def test_given_boundaries_are_kept(model_path: Path, name: str) -> None:
    nlp = blank(model_path, name)
    words = ["One", "dog", ".", "  ", "Two", "cats", ".", "Three"]
    doc = Doc(nlp.vocab, words=words, sent_starts=[1, -1, -1, 1, -1, 1, -1, -1])
    annotate(nlp, doc)
    assert [t.i for t in doc if t.is_sent_start] == [0, 3, 5]
    doc = Doc(nlp.vocab, words=words, sent_starts=[0, 1, 0, 0, -1, 0, 0, -1])
    annotate(nlp, doc)
    starts = {t.i for t in doc if t.is_sent_start}
    assert {0, 1} <= starts
    assert not {4, 7} & starts


def test_the_senter_and_the_parser_agree(nlp: Language, model_path: Path) -> None:
    senter = blank(model_path, "egparse_senter")
    for text in TEXTS:
        assert [t.is_sent_start for t in senter(text)] == [t.is_sent_start for t in nlp(text)]


def test_the_senter_overwrites_if_told_but_never_a_parse(nlp: Language, model_path: Path) -> None:
    text = "One dog barks. Two cats sleep."
    senter = blank(model_path, "egparse_senter", overwrite=True)
    doc = senter.make_doc(text)
    for token in doc:
        token.is_sent_start = True
    annotate(senter, doc)
    assert [t.is_sent_start for t in doc] == [
        t.is_sent_start for t in blank(model_path, "egparse_senter")(text)
    ]
    parsed = Doc(nlp.vocab, words=["a", "b"], heads=[0, 1], deps=["ROOT", "ROOT"])
    annotate(senter, parsed)
    assert [t.is_sent_start for t in parsed] == [True, True]


def test_given_tags_are_kept_or_replaced(model_path: Path) -> None:
    for overwrite in (False, True):
        nlp = blank(model_path, "egparse_tagger", overwrite=overwrite)
        doc = nlp.make_doc("The dog barks.")
        doc[1].tag_, doc[1].pos_ = "FW", "X"
        annotate(nlp, doc)
        assert (doc[1].tag_ == "FW", doc[1].pos_ == "X") == (not overwrite, not overwrite)
        assert all(t.tag_ and t.pos_ for t in doc)


def test_given_tags_feed_the_parser_or_do_not(model_path: Path) -> None:
    gold = tags_alone(20)
    with_tags = list(quick_model().annotate(gold, gold_tags=True))
    without = list(quick_model().annotate(gold))
    assert [own.heads for own in with_tags] != [own.heads for own in without]
    for use_tags, expected in ((True, with_tags), (False, without)):
        nlp = blank(model_path, "egparse_parser", use_tags=use_tags)
        doc = annotate(nlp, tagged(nlp, gold))
        assert [*map(heads_in, doc.sents)] == [list(own.heads) for own in expected]


def test_given_entities_are_kept_or_replaced(model_path: Path) -> None:
    words = [form for own in sample("test")[:30] for form in own.forms]
    free = annotate(nlp := blank(model_path, "egparse_ner"), Doc(nlp.vocab, words=words))
    assert len(free.ents) > 3
    taken = free.ents[1]
    doc = Doc(nlp.vocab, words=words)
    doc.ents = [Span(doc, taken.start, taken.end + 1, label="MINE")]
    annotate(nlp, doc)
    assert [e.label_ for e in doc.ents if e.start == taken.start] == ["MINE"]
    others = {
        (e.start, e.end, e.label_) for e in free.ents if not taken.start <= e.start <= taken.end
    }
    assert others <= {(e.start, e.end, e.label_) for e in doc.ents}
    doc.ents = [Span(doc, taken.start, taken.end + 1, label="MINE")]
    annotate(blank(model_path, "egparse_ner", overwrite=True), doc)
    assert said_entities(doc) == said_entities(free)


def test_entities_go_over_blanks_inside_of_them(nlp: Language) -> None:
    words = ["  ", "New", " ", "York", " ", "Times", "  "]
    doc = Doc(nlp.vocab, words=words)
    tags = span_tags(["O", "B-X", "I-X", "E-X", "S-X"], nlp.vocab.strings.add)
    batch = read([doc], RuleSplitter())
    for labels, entities in (
        ([1, 3, 4], [(1, 4, "X"), (5, 6, "X")]),
        ([2, 2, 2], [(1, 6, "X")]),  # nothing that it could be inside of
        ([0, 1, 0], [(3, 4, "X")]),
    ):
        columns = entity_columns(batch, np.array(labels, dtype=np.int32), tags)
        batch.put(dict(zip(("ENT_IOB", "ENT_TYPE"), columns, strict=True)))
        assert said_entities(doc) == entities


def said_entities(doc: Doc) -> list[tuple[int, int, str]]:
    return [(e.start, e.end, e.label_) for e in doc.ents]


def test_a_parse_is_replaced_or_kept(model_path: Path) -> None:
    for overwrite in (True, False):
        nlp = blank(model_path, "egparse_parser", overwrite=overwrite)
        doc = Doc(
            nlp.vocab, words=["The", "dog", "barks"], heads=[0, 0, 0], deps=["ROOT", "old", "old"]
        )
        annotate(nlp, doc)
        assert ("old" in {t.dep_ for t in doc}) is not overwrite
        assert len(list(doc.sents)) == 1


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::egparse.parsing.long_sentences.LongSentenceWarning")
def test_documents_of_a_hundred_thousand_tokens(model_path: Path) -> None:
    nlp = blank(model_path)
    words = [form for own in sample("train")[:200] for form in own.forms]
    words = (words * (100_000 // len(words) + 1))[:100_000]
    doc = annotate(nlp, Doc(nlp.vocab, words=words))
    assert len(list(doc.sents)) > 1000
    heads = np.array([t.head.i for t in doc])
    starts = np.array([bool(t.is_sent_start) for t in doc])
    assert np.array_equal(np.cumsum(starts)[heads], np.cumsum(starts))
    assert int((heads == np.arange(len(heads))).sum()) == int(starts.sum())


def test_sentences_without_end_are_cut_unless_they_are_given(model_path: Path) -> None:
    nlp = blank(model_path, "egparse_parser")
    words = ["dog"] * 700
    found = annotate(nlp, Doc(nlp.vocab, words=words))
    assert max(len(span) for span in found.sents) <= 300
    given = Doc(nlp.vocab, words=words, sent_starts=[1] + [-1] * 699)
    with pytest.warns(LongSentenceWarning):
        annotate(nlp, given)
    assert len(list(given.sents)) == 1


def test_errors_go_to_the_handler_and_the_batch_is_not_lost(
    nlp: Language, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kind = type(nlp.get_pipe("egparse_parser"))
    annotate_docs = kind.annotate

    def fail(self: Any, docs: list[Doc]) -> None:
        if any("bad" in doc.text for doc in docs):
            raise KeyError("bad")
        annotate_docs(self, docs)

    monkeypatch.setattr(kind, "annotate", fail)
    failed: list[tuple[str, list[str], Exception]] = []
    nlp.set_error_handler(
        lambda name, proc, docs, e: failed.append((name, [doc.text for doc in docs], e))
    )
    with caplog.at_level(logging.ERROR):
        found = [doc.text for doc in nlp.pipe(["one", "bad", "two", "three"])]
    assert found == ["one", "two", "three"]
    ((name, texts, error),) = failed
    assert (name, texts, type(error)) == ("egparse_parser", ["bad"], RuntimeError)
    with pytest.raises(RuntimeError, match="egparse_parser: KeyError"):
        nlp.get_pipe("egparse_parser")(nlp.make_doc("bad"))


def test_a_model_that_is_not_there_fails_when_the_component_is_added(tmp_path: Path) -> None:
    with pytest.raises(EgparseError, match=r"^egparse_tagger: .*no\.msgpack"):
        blank(tmp_path / "no.msgpack", "egparse_tagger")
    with pytest.raises(EgparseError, match=r"egparse_tagger: .*en_ewtt.*did you mean.*en_ewt"):
        spacy.blank("en").add_pipe("egparse_tagger", config={"model": "en_ewtt"})
    empty = blank(tmp_path, "egparse_ner", model=None)
    with pytest.raises(EgparseError, match="expected a model, by the setting 'model'"):
        empty("A dog.")


def test_a_component_that_is_added_again_must_have_its_model(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "saved")
    for made_of in (nlp, spacy.load(tmp_path / "saved")):
        made_of.remove_pipe("egparse_tagger")
        with pytest.raises(EgparseError, match=r"egparse_tagger: .*no\.msgpack"):
            made_of.add_pipe("egparse_tagger", config={"model": str(tmp_path / "no.msgpack")})


def test_a_configuration_with_a_misspelt_model_fails(model_path: Path, tmp_path: Path) -> None:
    config = blank(model_path, "egparse_tagger").config
    config["components"]["egparse_tagger"]["model"] = str(tmp_path / "no.msgpack")
    with pytest.raises(EgparseError, match=r"egparse_tagger: .*no\.msgpack"):
        spacy.util.load_model_from_config(config)


def test_a_model_without_the_layer_is_refused(tmp_path: Path) -> None:
    without_trees().save(tmp_path / "tagger.msgpack")
    message = "^egparse_parser: expected a model with heads or deprels, got one with upos"
    with pytest.raises(EgparseError, match=message):
        blank(tmp_path / "tagger.msgpack", "egparse_parser")


def test_a_model_without_probabilities_is_refused(tmp_path: Path) -> None:
    replace(quick_model(), probabilistic=("upos",)).save(tmp_path / "sure.msgpack")
    with pytest.raises(EgparseError, match=r"^egparse_ner: probabilities: expected"):
        blank(tmp_path / "sure.msgpack", "egparse_ner", probabilities=True)


def test_a_model_of_another_language_warns_once(tmp_path: Path) -> None:
    path = tmp_path / "latin.msgpack"
    replace(quick_model(), language="la", record={"sentences": 1}).save(path)
    with pytest.warns(LanguageWarning, match="of the pipeline, 'en', got one of 'la'") as caught:
        nlp = blank(path)
    assert len(caught) == 1
    nlp.to_disk(tmp_path / "saved")
    del nlp
    gc.collect()
    with pytest.warns(LanguageWarning):
        spacy.load(tmp_path / "saved")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spacy.blank("xx").add_pipe("egparse_tagger", config={"model": str(path)})


def test_what_a_component_sets_is_declared(nlp: Language) -> None:
    overview = nlp.analyze_pipes(keys=["assigns", "requires", "scores"])
    assert overview["summary"]["egparse_parser"]["assigns"] == [
        "token.dep",
        "token.head",
        "token.is_sent_start",
        "doc.sents",
    ]
    assert overview["problems"] == {name: [] for name in nlp.pipe_names}
    assert "conll_las" in overview["summary"]["egparse_parser"]["scores"]
    with nlp.select_pipes(disable=["egparse_parser"]):
        assert not nlp("A dog barks.").has_annotation("DEP")


def test_labels(nlp: Language) -> None:
    assert "ROOT" in nlp.get_pipe("egparse_parser").labels
    assert "root" not in nlp.get_pipe("egparse_parser").labels
    assert "NN" in nlp.get_pipe("egparse_tagger").labels
    types = nlp.get_pipe("egparse_ner").labels
    assert types
    assert not any("-" in kind for kind in types)
    assert set(nlp.get_pipe("egparse_tagger").label_data) == {"upos", "xpos", "feats"}


def test_strings_die_with_their_zone_but_labels_live(nlp: Language) -> None:
    with nlp.memory_zone():
        first = [t.dep_ for t in nlp("A snargleblarg barks.")]
    strings = len(nlp.vocab.strings)
    with nlp.memory_zone():
        assert [t.dep_ for t in nlp("A snargleblarg barks.")] == first
    assert len(nlp.vocab.strings) == strings
