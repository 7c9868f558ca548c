"""Noun chunks of trees with the labels of Universal Dependencies."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest
import spacy
from house.package import ROOT
from spacy.language import Language
from spacy.tokens import Doc
from spacy_components.conftest import blank

from egparse.io.corpus import read_corpus
from egparse.spacy_components.doc_conversion import doc_from_sentences
from egparse.spacy_components.noun_chunks import (
    ITERATORS_OF_OTHER_LABELS,
    has_ud_labels,
    install,
    noun_chunks,
)

UD = ("ROOT", "nsubj", "obj", "obl", "case", "det")
FRENCH = ROOT.parent / "shared" / "data" / "ud" / "fr_sequoia-ud-dev.conllu"

SENTENCES = [
    (
        "Kim|PROPN|gave|nsubj Smith|PROPN|Kim|flat ,|PUNCT|president|punct the|DET|president|det "
        "president|NOUN|Kim|appos of|ADP|Corp.|case Acme|PROPN|Corp.|compound "
        "Corp.|PROPN|president|nmod ,|PUNCT|Kim|punct gave|VERB|gave|ROOT Bob|PROPN|gave|iobj "
        "a|DET|book|det very|ADV|old|advmod old|ADJ|book|amod red|ADJ|book|amod "
        "book|NOUN|gave|obj on|ADP|Monday|case Monday|PROPN|gave|obl .|PUNCT|gave|punct",
        ["Kim Smith", "the president", "Acme Corp.", "Bob", "a very old red book", "Monday"],
    ),
    (
        "The|DET|book|det book|NOUN|written|nsubj:pass was|AUX|written|aux:pass "
        "written|VERB|written|ROOT by|ADP|author|case a|DET|author|det French|ADJ|author|amod "
        "author|NOUN|written|obl:agent",
        ["The book", "a French author"],
    ),
    (  # a nominal predicate: neither its subject nor its copula and adverb
        "He|PRON|doctor|nsubj is|AUX|doctor|cop really|ADV|doctor|advmod a|DET|doctor|det "
        "doctor|NOUN|doctor|ROOT",
        ["He", "a doctor"],
    ),
    (  # conjuncts, a relative clause with its pronoun, an expletive, a genitive
        "There|PRON|are|expl are|VERB|are|ROOT men|NOUN|are|nsubj and|CCONJ|women|cc "
        "women|NOUN|men|conj who|PRON|knew|nsubj knew|VERB|men|acl:relcl my|PRON|brother|nmod:poss "
        "brother|NOUN|friends|nmod:poss 's|PART|brother|case best|ADJ|friends|amod "
        "friends|NOUN|knew|obj",
        ["men", "women", "who", "my brother 's best friends"],
    ),
    (  # adverbs and commas inside, not at the edge; simple modifiers to the right
        "only|ADV|house|advmod a|DET|house|det big|ADJ|house|amod ,|PUNCT|old|punct "
        "old|ADJ|house|amod house|NOUN|saw|nsubj saw|VERB|saw|ROOT nothing|PRON|saw|obj "
        "special|ADJ|nothing|amod",
        ["a big , old house", "nothing special"],
    ),
    (  # a modifier with complements is left out
        "something|PRON|something|ROOT good|ADJ|something|amod for|ADP|me|case me|PRON|good|obl",
        ["something", "me"],
    ),
    ("une|DET|voiture|det voiture|NOUN|voiture|ROOT rouge|ADJ|voiture|amod", ["une voiture rouge"]),
    ("run|VERB|run|ROOT fast|ADV|run|advmod", []),
]


def english() -> Language:
    """A pipeline whose Docs have chunks by the labels of UD."""
    nlp = spacy.blank("en")
    install(nlp.vocab, UD)
    return nlp


def made(nlp: Language, text: str) -> Doc:
    cells = [word.split("|") for word in text.split()]
    words = [cell[0] for cell in cells]
    return Doc(
        nlp.vocab,
        words=words,
        pos=[cell[1] for cell in cells],
        heads=[words.index(cell[2]) for cell in cells],
        deps=[cell[3] for cell in cells],
    )


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_chunks_are_nominals_with_what_stands_beside_them(text: str, expected: list[str]) -> None:
    assert [chunk.text for chunk in made(english(), text).noun_chunks] == expected


def test_chunks_of_a_span_lie_inside() -> None:
    doc, expected = made(english(), SENTENCES[0][0]), ["Acme Corp.", "Bob"]
    assert [chunk.text for chunk in doc[4:12].noun_chunks] == expected
    assert [doc[start:end].text for start, end, _ in noun_chunks(doc[4:12])] == expected


def test_chunks_can_be_merged() -> None:
    nlp = english()
    doc = nlp.create_pipe("merge_noun_chunks")(made(nlp, SENTENCES[0][0]))
    assert [token.text for token in doc if token.pos_ in ("NOUN", "PROPN")] == SENTENCES[0][1]


def test_a_doc_without_a_tree_has_no_chunks() -> None:
    with pytest.raises(ValueError, match="dependency parse"):
        list(english()("A dog.").noun_chunks)


def test_docs_with_other_labels_keep_the_iterator_of_the_language() -> None:
    doc = made(english(), "She|PRON|saw|nsubj saw|VERB|saw|ROOT the|DET|cat|det cat|NOUN|saw|dobj")
    assert [chunk.text for chunk in doc.noun_chunks] == ["She", "the cat"]


def test_labels_of_ud_are_known() -> None:
    assert has_ud_labels(UD)
    assert not has_ud_labels(["ROOT", "nsubj", "dobj", "case"])
    assert not has_ud_labels(["ROOT", "dep"])
    nlp = spacy.blank("en")
    own = nlp.vocab.get_noun_chunks
    install(nlp.vocab, ["ROOT", "nsubj", "dobj", "pobj"])
    assert nlp.vocab.get_noun_chunks is own
    for language in ("fr", "es"):  # these know UD
        other = spacy.blank(language)
        own = other.vocab.get_noun_chunks
        install(other.vocab, UD)
        assert other.vocab.get_noun_chunks is own
    polish = spacy.blank("pl")  # which has none
    install(polish.vocab, UD)
    assert polish.vocab.get_noun_chunks is noun_chunks


def test_languages_whose_iterators_have_other_labels() -> None:
    """In the sources of spaCy: those that list labels, and not ``obj`` among them."""
    assert spacy.__file__ is not None
    found = set()
    for path in Path(spacy.__file__).parent.glob("lang/*/syntax_iterators.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        if {"ROOT", "root"} & strings and "obj" not in strings:
            found.add(path.parent.name)
    assert found == ITERATORS_OF_OTHER_LABELS


def test_the_parser_installs_the_iterator_for_good(nlp: Language, tmp_path: Path) -> None:
    text = "A dog barks at the cat. The cat runs away, and Mary sees it in London!"
    expected = [chunk.text for chunk in nlp(text).noun_chunks]
    assert expected
    assert nlp.vocab.get_noun_chunks is noun_chunks
    nlp.to_disk(tmp_path / "saved")
    emptied = blank(tmp_path, "egparse_tagger", "egparse_parser", model=None)
    emptied.from_bytes(nlp.to_bytes(exclude=["egparse_ner"]))
    for again in (spacy.load(tmp_path / "saved"), pickle.loads(pickle.dumps(nlp)), emptied):
        assert [chunk.text for chunk in again(text).noun_chunks] == expected
    (doc,) = nlp.pipe([text], n_process=2)
    assert [chunk.text for chunk in doc.noun_chunks] == expected


def test_chunks_of_french_are_those_of_spacy_but_for_their_edges() -> None:
    """spaCy's iterator for French has the same labels; its chunks may begin with punctuation or an
    adposition, and those with an apposition may go on to its end.
    """
    if not FRENCH.exists():
        pytest.skip(f"no {FRENCH.name}")
    nlp = spacy.blank("fr")
    theirs = nlp.vocab.get_noun_chunks
    shared = of_spacy = faults = faults_of_spacy = 0
    for sentence in read_corpus(FRENCH):
        doc = doc_from_sentences([sentence], nlp.vocab)
        chunks = [{chunk[:2] for chunk in found(doc)} for found in (noun_chunks, theirs)]
        shared += len(chunks[0] & chunks[1])
        of_spacy += len(chunks[1])
        faults += _bad_edges(doc, chunks[0])
        faults_of_spacy += _bad_edges(doc, chunks[1])
    assert shared > 0.85 * of_spacy
    assert faults < 0.1 * faults_of_spacy


def _bad_edges(doc: Doc, chunks: set[tuple[int, int]]) -> int:
    outside = ("PUNCT", "ADP", "CCONJ")
    return sum(doc[start].pos_ in outside or doc[end - 1].pos_ in outside for start, end in chunks)
