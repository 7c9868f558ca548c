"""Phrase-structure trees: in brackets, made of dependency trees, binarised, and scored."""

from __future__ import annotations

from pathlib import Path

import pytest
from egparse.experiments.grammars.binarisation import Binarisation, tree_of
from egparse.experiments.grammars.conversion import lifted, phrase_tree
from egparse.experiments.grammars.parseval import brackets, score_trees
from egparse.experiments.grammars.trees import Tree, read_brackets
from sample_treebank import sample

from egparse.errors import ConfigError, CorpusError, EgparseError
from egparse.sentences import Sentence

PENN = """( (S (NP-SBJ (PRP I))
     (VP (VBD saw)
         (NP-1 (DT the) (NN dog))
         (SBAR (-NONE- 0) (S (NP (-NONE- *T*-1)) (VP (VBD bark)))))
     (. .)) )

(TOP (NP (NN Peace)))  (S (VP (VB Go)))
"""


def trees_of(text: str, tmp_path: Path) -> list[Tree]:
    path = tmp_path / "trees.mrg"
    path.write_text(text, encoding="utf-8")
    return list(read_brackets(path))


def tree(text: str, tmp_path: Path) -> Tree:
    return trees_of(text, tmp_path)[0]


def test_trees_of_the_penn_treebank_are_read_without_functions_and_empty_elements(
    tmp_path: Path,
) -> None:
    first, second, third = trees_of(PENN, tmp_path)
    assert str(first) == (
        "(ROOT (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN dog)) (SBAR (S (VP (VBD bark))))) "
        "(. .)))"
    )
    assert str(second) == "(ROOT (NP (NN Peace)))"
    assert str(third) == "(ROOT (S (VP (VB Go))))"
    assert first.words() == ["I", "saw", "the", "dog", "bark", "."]


def test_trees_that_are_written_are_read_again(tmp_path: Path) -> None:
    found = [phrase_tree(sentence) for sentence in sample("dev")]
    assert trees_of("\n".join(map(str, found)), tmp_path) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP (NN a))\n", "1: expected a bracket that is closed, got the end of the file"),
        ("(S (NN a)))", r"1: expected an opening bracket, got '\)'"),
        ("\nword", "2: expected an opening bracket, got 'word'"),
        ("(S (NN a b))", "1: expected one word in the bracket of a tag, got 'b'"),
        ("(S (NN a (NP (NN b))))", "1: expected one word in the bracket of a tag, got a bracket"),
        ("(S (NN a) b)", "1: expected brackets in a phrase, got 'b'"),
        ("(S\n())", r"2: expected a label and what is below it, got \(\)"),
        ("(S (NP))", r"1: expected a label and what is below it, got \(NP\)"),
        ("(S ((NN a)))", "1: expected a label, got a bracket"),
        ("(NN a)", "1: expected a tree with a phrase, got a word"),
        ("(S (-NONE- *))", "1: expected a tree with a phrase, got none"),
        ("(A " * 300, "1: expected at most 200 levels, got more"),
    ],
)
def test_faulty_brackets_are_refused_by_file_and_line(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(CorpusError, match=rf"trees\.mrg:{message}"):
        trees_of(text, tmp_path)


def test_bytes_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "trees.mrg").write_bytes(b"(S (NN a))\n(S (NN \xff))\n")
    with pytest.raises(CorpusError, match=r"trees\.mrg:2: expected UTF-8 text, got the byte 0xff"):
        list(read_brackets(tmp_path / "trees.mrg"))


def test_words_with_dependents_head_phrases() -> None:
    sentence = Sentence(
        forms=["The", "dog", "barks", "."],
        upos=["DET", "NOUN", "VERB", "PUNCT"],
        heads=[2, 3, 0, 3],
        deprels=["det", "nsubj:outer", "root", "punct"],
    )
    assert str(phrase_tree(sentence)) == (
        "(ROOT (VERBP (NOUNP (DET The) (NOUN dog)) (VERB barks) (PUNCT .)))"
    )
    assert str(phrase_tree(sentence, functions=True)) == (
        "(ROOT (VERBP-root (NOUNP-nsubj (DET The) (NOUN dog)) (VERB barks) (PUNCT .)))"
    )


def test_crossing_arcs_are_lifted_to_the_head_of_the_head() -> None:
    assert lifted([0, 1, 2]) == [0, 1, 2]
    # 3 -> 1 crosses 0 -> 2: word 1 moves from 3 to the head of 3
    assert lifted([3, 0, 2]) == [2, 0, 2]
    for sentence in sample("train"):
        words = phrase_tree(sentence).words()
        assert words == list(sentence.forms)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 1], r"expected heads that form a tree, got \[2, 1\]"),
        ([0, -1], "expected a tag and a head for every word, got none in: a b"),
    ],
)
def test_sentences_without_a_tree_are_refused(heads: list[int], message: str) -> None:
    with pytest.raises(EgparseError, match=message):
        phrase_tree(Sentence(forms=["a", "b"], upos=["X", "X"], heads=heads))


@pytest.mark.parametrize("direction", ["right", "left"])
@pytest.mark.parametrize("horizontal", [0, 1, 2])
@pytest.mark.parametrize("vertical", [1, 2])
def test_binarised_trees_become_the_same_again(
    direction: str, horizontal: int, vertical: int, tmp_path: Path
) -> None:
    own = Binarisation(
        direction=direction,  # type: ignore[arg-type]
        horizontal=horizontal,
        vertical=vertical,
    )
    for each in [*trees_of(PENN, tmp_path), *map(phrase_tree, sample("dev"))]:
        node = own.binarised(each)
        assert tree_of(node) == each
        open_nodes = [node]
        while open_nodes:
            now = open_nodes.pop()
            assert len(now.children) <= 2
            open_nodes += now.children


def test_binarisation_remembers_as_many_sisters_and_levels_as_it_is_told(tmp_path: Path) -> None:
    flat = tree("(S (A a) (NP (N n)) (C c) (D d))", tmp_path)

    def rests(**options: object) -> list[str]:
        node = Binarisation(**options).binarised(flat)  # type: ignore[arg-type]
        found, open_nodes = [], [node]
        while open_nodes:
            now = open_nodes.pop()
            found.append(str(now.symbol))
            open_nodes += now.children
        return sorted(name for name in found if name[0] == "@" or name.startswith("NP"))

    assert rests(horizontal=1) == ["@S|A", "@S|NP", "NP"]
    assert rests(horizontal=2) == ["@S|A", "@S|A,NP", "NP"]
    assert rests(horizontal=0) == ["@S|", "@S|", "NP"]
    assert rests(horizontal=1, direction="left") == ["@S|C", "@S|D", "NP"]
    assert rests(vertical=2) == ["@S^ROOT|A", "@S^ROOT|NP", "NP^S"]


def test_a_faulty_binarisation_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected horizontal >= 0 and vertical 1 or 2, got -1"):
        Binarisation(horizontal=-1)
    with pytest.raises(ConfigError, match="expected a direction among right, left, got 'up'"):
        Binarisation(direction="up")  # type: ignore[arg-type]


def test_brackets_of_a_case_worked_by_hand(tmp_path: Path) -> None:
    """Correct: S 0-5, NP 0-1, VP 1-5, NP 2-4 and PP 4-5, five brackets. Found: S 0-5, NP 0-1, VP
    1-5, NP 2-5: four, of which three are correct. Four of five tags are.
    """
    correct = tree("(S (NP (P I)) (VP (V saw) (NP (D the) (N dog)) (PP (R there))))", tmp_path)
    found = tree("(S (NP (P I)) (VP (V saw) (NP (D the) (N dog) (N there))))", tmp_path)
    assert brackets(correct).total() == 5
    scores = score_trees([(correct, found)])
    assert (scores.common, scores.found, scores.correct) == (3, 4, 5)
    assert scores.precision == pytest.approx(75.0)
    assert scores.recall == pytest.approx(60.0)
    assert scores.f1 == pytest.approx(200 * 3 / 9)
    assert scores.exact_match == 0.0
    assert scores.tag_accuracy == pytest.approx(80.0)
    both = score_trees([(correct, found), (correct, correct)])
    assert both.f1 == pytest.approx(200 * 8 / 19)
    assert both.exact_match == 50.0


def test_brackets_that_occur_twice_are_to_be_found_twice(tmp_path: Path) -> None:
    twice = tree("(S (NP (NP (N a))))", tmp_path)
    once = tree("(S (NP (N a)))", tmp_path)
    assert brackets(twice)["NP", 0, 1] == 2
    scores = score_trees([(twice, once)])
    assert (scores.common, scores.found, scores.correct) == (2, 2, 3)
    assert score_trees([]).f1 == 100.0
