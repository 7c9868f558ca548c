"""Multiword tokens as one token a word: what is written for spaCy's own tokens works on them."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from spacy.language import Language
from spacy.matcher import DependencyMatcher, Matcher
from spacy.symbols import NORM, ORTH
from spacy.tokens import Doc, DocBin
from spacy.training import Example

import egparse
from egparse.io.corpus import write_corpus
from egparse.spacy_components.doc_conversion import sentences_to_learn
from egparse.spacy_components.multiword import pieces_of

MODELS = {"en": "en_ewt", "fr": "fr_sequoia", "es": "es_gsd"}
COMPONENTS = ("egparse_tagger", "egparse_lemmatizer", "egparse_parser")


def new(language: str, *, split: bool = True) -> Language:
    model = MODELS[language]
    tokenizer = {"@tokenizers": "egparse.Tokenizer.v1", "model": model, "split_multiword": split}
    nlp = spacy.blank(language, config={"nlp": {"tokenizer": tokenizer}})
    for name in COMPONENTS:
        nlp.add_pipe(name, config={"model": model})
    return nlp


@cache
def pipeline(language: str) -> Language:
    return new(language)


def described(doc: Doc) -> list[tuple[object, ...]]:
    return [
        (token.text, token.norm_, token.tag_, token.lemma_, token.head.i, token.dep_)
        for token in doc
    ]


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("en", "They can't, I don't; we cannot.", "They ca n't , I do n't ; we can not ."),
        ("en", "It's John's book. CAN'T!", "It 's John 's book . CA N'T !"),
        ("fr", "Il parle du chat des voisins.", "Il parle d u chat d es voisins ."),
        ("fr", "Elle va au bal, aux fêtes.", "Elle va a u bal , au x fêtes ."),
        ("es", "Quiero darle pan del día.", "Quiero dar le pan d el día ."),
    ],
)
def test_a_multiword_token_is_a_token_a_word(language: str, text: str, tokens: str) -> None:
    doc = pipeline(language)(text)
    assert doc.text == text
    assert " ".join(token.text for token in doc) == tokens


@pytest.mark.parametrize(
    ("text", "forms", "pieces"),
    [
        ("cannot", ["can", "not"], ["can", "not"]),
        ("Dámelo", ["da", "me", "lo"], ["Dá", "me", "lo"]),
        ("fazê-lo", ["fazer", "lo"], ["fazê-", "lo"]),
        ("zum", ["zu", "dem"], ["zu", "m"]),
        ("des", ["de", "les"], ["d", "es"]),
        ("aux", ["à", "les"], ["au", "x"]),
        ("à", ["a", "a"], None),
        ("a b", ["x", "y", "b"], None),
    ],
)
def test_the_pieces_are_the_words_as_far_as_they_lie_in_the_text(
    text: str, forms: list[str], pieces: list[str] | None
) -> None:
    assert pieces_of(text, forms) == pieces


@examples(100)
@given(
    text=st.text(alphabet="abcé", min_size=1, max_size=8),
    forms=st.lists(st.text(alphabet="abcE", min_size=1, max_size=4), min_size=2, max_size=4),
)
def test_pieces_spell_the_text_and_none_is_empty(text: str, forms: list[str]) -> None:
    found = pieces_of(text, forms)
    assert (found is None) == (len(text) < len(forms))
    assert found is None or (all(found) and "".join(found) == text and len(found) == len(forms))
    assert pieces_of("".join(forms), forms) == forms


@examples(30)
@given(text=st.text(alphabet=st.sampled_from("Ican'tdo.,\u2019s \n"), max_size=60))
def test_the_text_is_unchanged(text: str) -> None:
    assert pipeline("en").make_doc(text).text == text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "You can't say that. It's John's, isn't it?\n\nI'd rather cannot go. Don't!"),
        ("fr", "Le maire du village parle aux gens des îles.  Du pain ? Il n'est pas au lit."),
        ("es", "Tienes que darle pan. Vamos al parque del centro para verlos."),
    ],
)
def test_the_annotation_is_that_of_the_words(language: str, text: str, tmp_path: Path) -> None:
    """So the pieces are of no account for the model, and ranges of CoNLL-U are written."""
    found = egparse.sentences_from_doc(pipeline(language)(text))
    expected = list(egparse.load(MODELS[language])(text))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for layer in ("forms", "upos", "lemmas", "heads", "deprels"):
            assert tuple(getattr(one, layer)) == tuple(getattr(other, layer)), layer
        assert [token[:3] for token in one.tokens] == [token[:3] for token in other.tokens]
        assert one.text == other.text
    write_corpus(found, tmp_path / "found.conllu")
    written = (tmp_path / "found.conllu").read_text(encoding="utf-8")
    for first, last, form, _ in (token for one in found for token in one.tokens):
        assert f"\n{first + 1}-{last + 1}\t{form}\t" in written


def test_the_norm_is_that_of_the_word() -> None:
    doc = pipeline("en")("We can't.")
    assert [(token.norm_, token.lemma_) for token in doc[1:3]] == [("can", "can"), ("not", "not")]
    doc = pipeline("fr")("Du pain")
    assert [(token.text, token.norm_) for token in doc[:2]] == [("D", "de"), ("u", "le")]
    assert [token.lemma_ for token in doc[:2]] == ["de", "le"]
    assert [token.pos_ for token in doc[:2]] == ["ADP", "DET"]


NEGATED = [
    {"RIGHT_ID": "verb", "RIGHT_ATTRS": {"POS": {"IN": ["VERB", "AUX"]}}},
    {
        "LEFT_ID": "verb",
        "REL_OP": ">",
        "RIGHT_ID": "negation",
        "RIGHT_ATTRS": {"DEP": "advmod", "MORPH": {"IS_SUPERSET": ["Polarity=Neg"]}},
    },
]


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("She didn't see him, but he saw her.", ["see"]),
        ("We cannot go and they won't stay.", ["go", "stay"]),
        ("I see it.", []),
    ],
)
def test_negated_verbs_are_found_in_the_tree(text: str, verbs: list[str]) -> None:
    nlp = pipeline("en")
    matcher = DependencyMatcher(nlp.vocab)
    matcher.add("negated", [NEGATED])
    doc = nlp(text)
    found = [doc[tokens[0]].lemma_ for _, tokens in matcher(doc)]
    assert sorted(found) == sorted(verbs)
    by_lemma = [token.head.lemma_ for token in doc if token.lemma_ == "not"]
    assert sorted(by_lemma) == sorted(verbs)


def test_contractions_are_found_in_the_tree_by_lemma() -> None:
    """A preposition and an article of the same noun, where the text has *du* and *aux*."""
    noun: dict[str, object] = {"RIGHT_ID": "noun", "RIGHT_ATTRS": {"POS": "NOUN"}}
    case = {"RIGHT_ID": "case", "RIGHT_ATTRS": {"DEP": "case", "LEMMA": {"IN": ["de", "à"]}}}
    article = {"RIGHT_ID": "article", "RIGHT_ATTRS": {"DEP": "det", "LEMMA": "le"}}
    below = [{"LEFT_ID": "noun", "REL_OP": ">", **each} for each in (case, article)]
    nlp = pipeline("fr")
    matcher = DependencyMatcher(nlp.vocab)
    matcher.add("contracted", [[noun, *below]])
    matcher.add("negated", [NEGATED])
    doc = nlp("Le maire du village ne parle pas aux voisins de Paris.")
    found = [(doc.vocab.strings[key], doc[tokens[0]].text) for key, tokens in matcher(doc)]
    assert sorted({*found}) == [
        ("contracted", "village"),
        ("contracted", "voisins"),
        ("negated", "parle"),
    ]


def test_patterns_for_subject_verb_and_object_match() -> None:
    """The kind of pattern that spaCy's documentation has, with the labels of UD."""
    pattern = [
        {"RIGHT_ID": "verb", "RIGHT_ATTRS": {"LEMMA": "found"}},
        {
            "LEFT_ID": "verb",
            "REL_OP": ">",
            "RIGHT_ID": "subject",
            "RIGHT_ATTRS": {"DEP": "nsubj"},
        },
        {"LEFT_ID": "verb", "REL_OP": ">", "RIGHT_ID": "object", "RIGHT_ATTRS": {"DEP": "obj"}},
        {
            "LEFT_ID": "object",
            "REL_OP": ">",
            "RIGHT_ID": "modifier",
            "RIGHT_ATTRS": {"DEP": {"IN": ["amod", "compound"]}},
        },
    ]
    nlp = pipeline("en")
    matcher = DependencyMatcher(nlp.vocab)
    matcher.add("founded", [pattern])
    doc = nlp("Anna's sister founded a small company, and she didn't sell it.")
    ((_, tokens),) = matcher(doc)
    assert [doc[token].text for token in tokens] == ["founded", "sister", "company", "small"]


def test_token_patterns_written_for_spacy_match() -> None:
    nlp = pipeline("en")
    matcher = Matcher(nlp.vocab)
    matcher.add("negated", [[{"POS": "AUX"}, {"LOWER": "n't"}, {"POS": "VERB"}]])
    matcher.add("not", [[{"NORM": "not"}]])
    matcher.add("possessive", [[{"POS": "PROPN"}, {"TAG": "POS"}, {"POS": "NOUN"}]])
    doc = nlp("They don't know John's friends.")
    found = {doc.vocab.strings[key]: doc[start:end].text for key, start, end in matcher(doc)}
    assert found == {"negated": "don't know", "not": "n't", "possessive": "John's friends"}


def test_noun_chunks_are_those_of_words() -> None:
    doc = pipeline("en")("I'm sure that John's old friend can't find it.")
    chunks = [chunk.text for chunk in doc.noun_chunks]
    assert chunks == ["I", "John's old friend", "it"]


def copies(nlp: Language, doc: Doc) -> list[Doc]:
    stored = DocBin(store_user_data=True, attrs=["NORM", "LEMMA", "TAG", "HEAD", "DEP"], docs=[doc])
    (of_bin,) = DocBin().from_bytes(stored.to_bytes()).get_docs(nlp.vocab)
    joined = Doc.from_docs([nlp("Bonjour."), doc])
    assert joined is not None
    return [
        Doc(nlp.vocab).from_bytes(doc.to_bytes()),
        of_bin,
        joined[2:].as_doc(copy_user_data=True),
    ]


def test_copies_of_a_doc_keep_the_words() -> None:
    nlp = pipeline("fr")
    doc = nlp("Le maire du village n'est pas au lit.")
    for copy in copies(nlp, doc):
        assert described(copy) == described(doc)
        (sentence,), (expected,) = map(egparse.sentences_from_doc, (copy, doc))
        assert (sentence.forms, sentence.tokens) == (expected.forms, expected.tokens)


def test_pipes_processes_and_saved_pipelines_split_in_the_same_way(tmp_path: Path) -> None:
    nlp = new("fr")
    texts = ["Le maire du village.", "", "Il va au bal. Elle parle des gens."] * 3
    expected = [described(nlp(text)) for text in texts]
    assert [described(doc) for doc in nlp.pipe(texts)] == expected
    assert [described(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=2)] == expected
    nlp.to_disk(tmp_path / "saved")
    whole = {"nlp.tokenizer.split_multiword": False}
    again = spacy.load(tmp_path / "saved")
    others = [again, new("fr").from_bytes(nlp.to_bytes()), pickle.loads(pickle.dumps(nlp))]
    for other in others:
        assert [described(doc) for doc in other.pipe(texts)] == expected
    assert spacy.load(tmp_path / "saved", config=whole)(texts[0])[2].text == "du"


def test_special_cases_hold_beside_split_tokens() -> None:
    nlp = new("en")
    nlp.tokenizer.add_special_case("gimme", [{ORTH: "gim", NORM: "give"}, {ORTH: "me"}])
    nlp.tokenizer.add_special_case("won't", [{"ORTH": "won't", "LEMMA": "refuse"}])
    doc = nlp("I don't, but gimme it: I won't, can't.")
    tokens = [token.text for token in doc]
    assert " ".join(tokens) == "I do n't , but gim me it : I won't , ca n't ."
    assert doc[tokens.index("gim")].norm_ == "give"
    assert doc[tokens.index("won't")].lemma_ == "refuse"


def test_pieces_that_are_merged_are_a_multiword_token() -> None:
    nlp = pipeline("fr")
    doc = nlp.make_doc("Le maire du village.")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[2:4])
    for _, component in nlp.pipeline:
        doc = component(doc)
    assert [word["form"] for word in doc[2]._.egparse_words] == ["de", "le"]
    assert doc[2].lemma_ == "de le"


def test_a_given_start_of_a_sentence_inside_is_kept() -> None:
    nlp = pipeline("fr")
    doc = nlp.make_doc("Le maire du village.")
    doc[3].is_sent_start = True
    for _, component in nlp.pipeline:
        doc = component(doc)
    assert [sentence.text for sentence in doc.sents] == ["Le maire d", "u village."]
    assert [sentence.tokens for sentence in egparse.sentences_from_doc(doc)] == [(), ()]


def test_gold_with_a_token_a_word_is_scored_token_by_token() -> None:
    forms, misc = ["We", "ca", "n't", "go", "."], ["_", "SpaceAfter=No", "_", "_", "_"]
    sentences = egparse.load("en_ewt").annotate([egparse.Sentence(forms, misc=misc)])
    gold = egparse.doc_from_sentences(sentences, pipeline("en").vocab)

    def las(nlp: Language) -> tuple[float, float]:
        scores = nlp.evaluate([Example(nlp.make_doc(gold.text), gold)])
        return scores["conll_las"], scores["dep_las"]

    assert las(pipeline("en")) == (1, 1)
    as_one_token = las(new("en", split=False))
    assert as_one_token[0] == 1
    assert as_one_token[1] < 1


def test_sentences_become_the_doc_that_they_are_from() -> None:
    nlp = pipeline("fr")
    doc = nlp("Le maire du village parle aux gens. Du pain ? Il va au lit.")
    sentences = egparse.sentences_from_doc(doc)
    again = egparse.doc_from_sentences(sentences, nlp.vocab, split_multiword=True)
    assert again.text.rstrip() == doc.text
    assert described(again) == described(doc)
    assert nlp.evaluate([Example(nlp.make_doc(again.text), again)])["dep_las"] == 1


def test_learning_sees_the_words() -> None:
    nlp = pipeline("fr")
    gold = nlp("Le maire du village parle.")
    ((sentence,), *_) = sentences_to_learn([Example(nlp.make_doc(gold.text), gold)])
    assert sentence.forms[2:4] == ("de", "le")
    assert sentence.upos[2:4] == ("ADP", "DET")
