"""DEPS of sentences whose tree has changed: dropped, or written anew where it repeats the tree."""

from __future__ import annotations

from io import StringIO

import pytest
from sample_treebank import CORPORA

from egparse.io.conllu import format_sentence, read_conllu
from egparse.io.rows import DepsWarning
from egparse.sentences import Sentence

ROWS = (("1", "She", "2", "nsubj"), ("2", "ate", "0", "root"), ("3", "it", "2", "obj"))
NEW_HEADS, NEW_DEPRELS = (2, 3, 0), ("nsubj", "dep", "root")


def text(deps: tuple[str, str, str], before: str = "") -> str:
    lines = [
        f"{number}\t{form}\t_\t_\t_\t_\t{head}\t{deprel}\t{cell}\t_\n"
        for (number, form, head, deprel), cell in zip(ROWS, deps, strict=True)
    ]
    return f"{lines[0]}{before}{''.join(lines[1:])}\n"


def read(conllu: str) -> Sentence:
    return next(read_conllu(StringIO(conllu), name="x"))


def deps_of(sentence: Sentence) -> list[str]:
    rows = [line.split("\t") for line in format_sentence(sentence).splitlines() if line]
    return [row[8] for row in rows]


BASIC = ("2:nsubj", "0:root", "2:obj")


def test_deps_that_repeat_the_tree_follow_it() -> None:
    sentence = read(text(BASIC))
    changed = sentence.with_layers(heads=NEW_HEADS, deprels=NEW_DEPRELS)
    with pytest.warns(DepsWarning, match="DEPS is left out"):
        assert deps_of(changed) == ["2:nsubj", "3:dep", "0:root"]
    root_alone = read(text(("_", "0:root", "_")))
    with pytest.warns(DepsWarning):
        assert deps_of(root_alone.with_layers(heads=NEW_HEADS)) == ["_", "3:root", "_"]


@pytest.mark.parametrize("deps", [("2:nsubj|3:x", "0:root", "2:obj"), ("2:x", "_", "_")])
def test_other_graphs_are_dropped_with_their_empty_nodes(deps: tuple[str, str, str]) -> None:
    sentence = read(text(deps, "1.1\tx\t_\t_\t_\t_\t_\t_\t2:conj\tA=b\n"))
    assert deps_of(sentence) == [deps[0], "2:conj", *deps[1:]]
    with pytest.warns(DepsWarning):
        assert deps_of(sentence.with_layers(heads=NEW_HEADS)) == ["_"] * 4
    kept = format_sentence(sentence).splitlines()[1]
    assert kept == "1.1\tx\t_\t_\t_\t_\t_\t_\t2:conj\tA=b"


def test_a_tree_that_stays_keeps_its_deps() -> None:
    """Warnings are errors in tests."""
    for deps in (BASIC, ("2:nsubj|3:x", "0:root", "2:obj")):
        sentence = read(text(deps))
        assert deps_of(sentence.with_layers(upos=("A", "B", "C"))) == list(deps)
        same = sentence.with_layers(heads=sentence.heads, deprels=sentence.deprels)
        assert deps_of(same) == list(deps)
        without_trees = next(read_conllu(StringIO(text(deps)), name="x", trees=False))
        assert deps_of(without_trees) == list(deps)


def test_a_tree_without_deps_is_written_without() -> None:
    changed = read(text(("_", "_", "_"))).with_layers(heads=NEW_HEADS)
    assert deps_of(changed) == ["_"] * 3


def test_projective_heads_of_conll_x_are_no_deps() -> None:
    rows = text(("2", "0", "2"))
    sentence = next(read_conllu(StringIO(rows), name="x", format="conllx"))
    written = format_sentence(sentence.with_layers(heads=NEW_HEADS), format="conllx")
    assert [row.split("\t")[8] for row in written.splitlines() if row] == ["2", "0", "2"]


def test_the_sample_is_written_as_it_was_read() -> None:
    path = CORPORA / "en_sample-dev.conllu"
    sentences = list(read_conllu(path))
    assert "".join(map(format_sentence, sentences)) == path.read_text(encoding="utf-8")
