"""Enhanced dependencies by rules: what each rule adds to a tree, valid graphs over any tree, and
how near they come to treebanks that have such graphs.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

from egparse.cli.validation import broken_rules
from egparse.enhanced.languages import LANGUAGES
from egparse.enhanced.rules import enhanced_dependencies
from egparse.errors import EgparseError
from egparse.evaluation.report import evaluate
from egparse.io.conllu import read_conllu
from egparse.io.corpus import read_corpus, read_whole
from egparse.sentences import Sentence

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"

LABELS = (
    "nsubj", "nsubj:pass", "csubj", "obj", "iobj", "obl", "nmod", "advmod", "advcl", "acl",
    "acl:relcl", "advcl:relcl", "xcomp", "ccomp", "conj", "cc", "case", "mark", "fixed", "cop",
    "aux:pass", "parataxis", "orphan", "punct",
)  # fmt: skip
TAGS = ("VERB", "NOUN", "PRON", "ADV", "ADP")
LEMMAS = ("when", "IN", "d'", "½", "/", "at2", "_", "à_la", "that", "onde")


def sentence(text: str) -> Sentence:
    """A sentence of words ``FORM/UPOS/HEAD/DEPREL``, relative if ``/Rel`` follows."""
    words = [word.split("/") for word in text.split()]
    forms, upos, heads, deprels = zip(*(word[:4] for word in words), strict=True)
    feats = tuple("PronType=Rel" if word[4:] == ["Rel"] else "_" for word in words)
    lemmas = tuple({"were": "be"}.get(form, form) for form in forms)
    return Sentence(forms, lemmas, upos, (), feats, tuple(map(int, heads)), deprels)


def added(text: str, language: str = "en") -> dict[str, str]:
    """The cells of words that are not just head and label of the tree, by form."""
    one = sentence(text)
    basic = [f"{head}:{label}" for head, label in zip(one.heads, one.deprels, strict=True)]
    cells = enhanced_dependencies(one, language)
    triples = zip(one.forms, cells, basic, strict=True)
    return {form: cell for form, cell, tree in triples if cell != tree}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sat/VERB/0/root on/ADP/3/case mats/NOUN/1/obl", {"mats": "1:obl:on"}),
        (
            "left/VERB/0/root because/ADP/4/case of/ADP/2/fixed rain/NOUN/1/obl",
            {"rain": "1:obl:because_of"},
        ),
        ("all/PRON/0/root including/VERB/3/case me/PRON/1/nmod", {"me": "1:nmod:including"}),
        ("out/ADP/3/case of/ADP/3/case town/NOUN/4/obl went/VERB/0/root", {"town": "4:obl:of"}),
        ("go/VERB/0/root when/ADV/3/advmod asked/VERB/1/advcl", {"asked": "1:advcl:when"}),
        ("red/ADJ/0/root &/SYM/3/cc blue/ADJ/1/conj", {}),
        (
            "a/X/0/root b/X/1/conj and/CCONJ/4/cc c/X/1/conj",
            {"b": "1:conj:and", "c": "1:conj:and"},
        ),
    ],
)
def test_markers_stand_in_labels(text: str, expected: dict[str, str]) -> None:
    assert added(text) == expected


def test_conjuncts_have_the_head_of_the_first_and_their_own_markers() -> None:
    text = "in/ADP/2/case Rome/PROPN/6/obl or/CCONJ/5/cc near/ADP/5/case Pisa/PROPN/2/conj"
    assert added(f"{text} live/VERB/0/root") == {
        "Rome": "6:obl:in",
        "Pisa": "2:conj:or|6:obl:near",
    }
    assert added("run/VERB/0/root and/CCONJ/3/cc hide/VERB/1/conj") == {"hide": "1:conj:and"}


def test_conjuncts_share_subjects_and_objects_that_stand_after_them() -> None:
    text = "we/PRON/2/nsubj buy/VERB/0/root and/CCONJ/4/cc sell/VERB/2/conj cars/NOUN/2/obj"
    assert added(text) == {
        "we": "2:nsubj|4:nsubj",
        "sell": "2:conj:and",
        "cars": "2:obj|4:obj",
    }
    passive = "it/PRON/2/nsubj came/VERB/0/root were/AUX/4/aux:pass seen/VERB/2/conj"
    assert added(passive) == {"it": "2:nsubj|4:nsubj:pass"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "he/PRON/0/root who/PRON/3/nsubj/Rel left/VERB/1/acl:relcl",
            {"he": "0:root|3:nsubj", "who": "1:ref"},
        ),
        (
            "inn/NOUN/0/root in/ADP/3/case which/PRON/5/obl/Rel we/PRON/5/nsubj ate/X/1/acl:relcl",
            {"inn": "0:root|5:obl:in", "which": "1:ref"},
        ),
        (
            "inn/NOUN/0/root where/ADV/4/advmod we/PRON/4/nsubj ate/VERB/1/acl:relcl",
            {"inn": "0:root|4:obl", "where": "1:ref"},
        ),
        (
            "man/NOUN/0/root whose/PRON/3/nmod:poss/Rel dog/NOUN/4/nsubj ate/VERB/1/acl:relcl",
            {"man": "0:root|3:nmod:poss", "whose": "1:ref"},
        ),
        (
            "he/PRON/0/root who/PRON/3/nsubj/Rel sat/X/1/acl:relcl and/CCONJ/5/cc ate/X/3/conj",
            {"he": "0:root|3:nsubj|5:nsubj", "who": "1:ref", "ate": "1:acl:relcl|3:conj:and"},
        ),
        ("dog/NOUN/0/root we/PRON/3/nsubj saw/VERB/1/acl:relcl", {"dog": "0:root|3:obj"}),
        ("day/NOUN/0/root we/PRON/3/nsubj met/VERB/1/acl:relcl", {"day": "0:root|3:obl"}),
        ("what/PRON/0/root were/AUX/3/aux:pass said/VERB/1/acl:relcl",
         {"what": "0:root|3:nsubj:pass"}),
    ],
)  # fmt: skip
def test_the_antecedent_stands_in_its_relative_clause(text: str, expected: dict[str, str]) -> None:
    assert added(text) == expected


def test_other_languages_need_a_relativiser() -> None:
    text = "dog/NOUN/0/root we/PRON/3/nsubj saw/VERB/1/acl:relcl"
    assert added(text, "fr") == {}
    italian = "cane/NOUN/0/root che/PRON/3/nsubj dorme/VERB/1/acl:relcl"
    assert added(italian, "it") == {"cane": "0:root|3:nsubj", "che": "1:ref"}
    assert added(italian, "fr") == {}


@pytest.mark.parametrize(
    ("text", "language", "subject"),
    [
        ("we/PRON/2/nsubj try/VERB/0/root to/PART/4/mark eat/VERB/2/xcomp", "en", "we"),
        ("we/PRON/2/nsubj let/VERB/0/root him/PRON/2/obj eat/VERB/2/xcomp", "en", "him"),
        ("we/PRON/2/nsubj let/VERB/0/root him/PRON/2/iobj eat/VERB/2/xcomp", "en", "him"),
        ("nós/PRON/2/nsubj queremos/VERB/0/root agora/ADV/4/advmod comer/VERB/2/xcomp", "pt",
         "nós"),
    ],
)  # fmt: skip
def test_open_complements_have_the_subject_that_controls_them(
    text: str, language: str, subject: str
) -> None:
    (form,) = added(text, language)
    assert form == subject
    label = {"en": "nsubj:xsubj", "pt": "nsubj"}[language]
    assert added(text, language)[form].split("|")[1] == f"4:{label}"


def test_control_passes_through_complements() -> None:
    text = "we/PRON/2/nsubj want/VERB/0/root try/VERB/2/xcomp eat/VERB/3/xcomp"
    assert added(text) == {"we": "2:nsubj|3:nsubj:xsubj|4:nsubj:xsubj"}


def test_a_word_outside_of_the_tree_has_no_edge() -> None:
    cells = enhanced_dependencies(
        Sentence(("a", "b", "c"), heads=(0, -1, 2), deprels=("root", "_", "nsubj")), "en"
    )
    assert cells == ("0:root", "_", "_")


def test_what_rules_cannot_work_on_is_refused() -> None:
    with pytest.raises(EgparseError, match=r"expected one of the languages en, es, .* got de"):
        enhanced_dependencies(sentence("a/X/0/root"), "de")
    with pytest.raises(EgparseError, match="expected a sentence with heads and labels"):
        enhanced_dependencies(Sentence(("a",)), "en")


def test_every_graph_is_valid() -> None:
    """Over random trees: edges ascend, no word lacks a path from the root, and the validator has
    nothing against DEPS.
    """
    pytest.importorskip("udtools")
    rng = np.random.default_rng(1)
    written = []
    for number in range(300):
        n = int(rng.integers(1, 15))
        heads, order = [0] * n, rng.permutation(n)
        for place in range(1, n):
            heads[order[place]] = int(order[rng.integers(place)]) + 1
        deprels = ["root" if head == 0 else LABELS[rng.integers(len(LABELS))] for head in heads]
        lemmas, upos = ([names[k] for k in rng.integers(len(names), size=n)]
                        for names in (LEMMAS, TAGS))  # fmt: skip
        feats = [("_", "PronType=Rel", "PronType=Int,Rel")[k] for k in rng.integers(3, size=n)]
        one = Sentence(["a"] * n, lemmas, upos, (), feats, heads, deprels, sentence_id=str(number))
        deps = enhanced_dependencies(one, list(LANGUAGES)[number % len(LANGUAGES)])
        edges = [[edge.split(":", 1) for edge in cell.split("|")] for cell in deps]
        assert all(of_word == sorted(of_word, key=lambda edge: (int(edge[0]), edge[1]))
                   for of_word in edges)  # fmt: skip
        assert all(len({*map(tuple, of_word)}) == len(of_word) for of_word in edges)
        assert all(str(word) not in dict(of_word) for word, of_word in enumerate(edges, 1))
        reached = {0}
        while new := {
            word for word, of_word in enumerate(edges, 1)
            if word not in reached and any(int(head) in reached for head, _ in of_word)
        }:  # fmt: skip
            reached |= new
        assert len(reached) == n + 1
        written.append(one.with_layers(deps=deps))
    found = broken_rules(written)
    assert [rule for rule in found if re.search("edeprel|egraph|deps|head|root", rule)] == []


@pytest.mark.parametrize(
    ("path", "language", "least"),
    [
        ("ud/en_ewt-ud-dev.conllu", "en", 99.4),
        ("treebanks/pt_porttinari-ud-dev.conllu.xz", "pt", 99.2),
        ("treebanks/nl_alpino-ud-dev.conllu.xz", "nl", 98.5),
        ("treebanks/sv_talbanken-ud-dev.conllu.xz", "sv", 98.0),
    ],
)
def test_rules_come_near_to_treebanks(path: str, language: str, least: float) -> None:
    if not (DATA / path).is_file():
        pytest.skip("the treebank is not beside this repository (../shared/data)")
    gold = read_whole(DATA / path, "conllu").sentences
    found = [one.with_layers(deps=enhanced_dependencies(one, language)) for one in gold]
    report = evaluate(gold, found, bootstrap=0, enhanced=True)
    assert report["ELAS"] > least
    assert report["EULAS"] > report["ELAS"]


def test_graphs_are_written_and_are_those_of_another_tree_no_more() -> None:
    lines = [
        "# sent_id = 1", "1\twe\t_\t_\t_\t_\t2\tnsubj\t2:nsubj|2.1:nsubj\t_",
        "2\teat\t_\t_\t_\t_\t0\troot\t0:root\t_", "2.1\teat\t_\t_\t_\t_\t_\t_\t2:conj\t_",
    ]  # fmt: skip
    (read,) = read_conllu(io.StringIO("\n".join(lines) + "\n\n"), name="x")
    graph = read.with_layers(deps=("2:nsubj", "0:root"), heads=(2, 0))
    written = graph.to_conllu()
    assert "2.1\t" not in written
    assert [row.split("\t")[8] for row in written.splitlines()[1:-1]] == ["2:nsubj", "0:root"]
    assert [row["deps"] for row in graph.rows()] == ["2:nsubj", "0:root"]
    plain = Sentence(("a",), heads=(0,), deprels=("root",), deps=("0:root",))
    assert plain.to_conllu().split("\t")[8] == "0:root"
    again = next(read_corpus(io.StringIO(plain.to_conllu()), "conllu", name="x"))
    assert again.to_conllu() == plain.to_conllu()
