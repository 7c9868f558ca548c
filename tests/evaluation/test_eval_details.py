"""Break-downs on sentences small enough to count by hand, and sums over a treebank."""

from __future__ import annotations

import pytest
from evaluation.corpora import corrupt, treebank

from egparse.evaluation.report import ARC_BINS, SENTENCE_BINS, Row, break_down, by_arc_length
from egparse.evaluation.scores import Score, attachment, tag_accuracy
from egparse.evaluation.ud import score_aligned
from egparse.sentences import Sentence

GOLD = Sentence(
    forms=["the", "cat", "that", "I", "saw"],
    upos=["DET", "NOUN", "PRON", "PRON", "VERB"],
    heads=[2, 0, 5, 5, 2],
    deprels=["det", "root", "obj", "nsubj", "acl:relcl"],
)
SYSTEM = GOLD.with_layers(
    upos=["DET", "NOUN", "SCONJ", "PRON", "VERB"],
    heads=[2, 0, 2, 5, 2],
    deprels=["det", "root", "obj", "obj", "acl"],
)


def test_by_label() -> None:
    labels = break_down([GOLD], [SYSTEM]).labels
    assert labels == {
        "acl": Score(1, 1, 1),
        "det": Score(1, 1, 1),
        "nsubj": Score(0, 1, 0),
        "obj": Score(0, 1, 2),
        "root": Score(1, 1, 1),
    }


def test_by_tag() -> None:
    tags = break_down([GOLD], [SYSTEM]).tags
    assert tags["PRON"] == (1, 2, 1)
    assert tags["SCONJ"] == (0, 0, 1)


def test_by_arc_length_counts_gold_and_predicted_lengths() -> None:
    assert by_arc_length([GOLD], [SYSTEM]) == {
        "root": (1, 1, 1),
        "1": (2, 2, 3),  # the system attaches "that" to the word before it
        "2": (0, 1, 0),
        "3-6": (1, 1, 1),
    }


def test_words_without_a_system_head_have_no_arc() -> None:
    found = by_arc_length([GOLD], [GOLD.with_layers(heads=[-1, 0, 5, 5, 2])])
    assert (found["root"], found["1"]) == ((1, 1, 1), (1, 2, 1))


def test_by_vocabulary() -> None:
    assert break_down([GOLD], [SYSTEM]).vocabulary is None
    assert break_down([GOLD], [SYSTEM], {"the", "that", "I"}).vocabulary == {
        "known": Row(3, 200 / 3, 200 / 3, 100 / 3),
        "unknown": Row(2, 100.0, 100.0, 100.0),
    }


def test_by_sentence_length() -> None:
    long = Sentence(forms=["a"] * 41, upos=["X"] * 41)
    rows = break_down([GOLD, long], [SYSTEM, long]).sentence_lengths
    assert rows == {"1-10": Row(5, 80.0, 80.0, 60.0), "41+": Row(41, 100.0, None, None)}


def test_ends_of_the_bins() -> None:
    for words, name in ((1, "1-10"), (10, "1-10"), (11, "11-20"), (40, "31-40"), (41, "41+")):
        sentence = Sentence(forms=["a"] * words)
        assert list(break_down([sentence], [sentence]).sentence_lengths) == [name]
    for head, name in ((0, "root"), (2, "1"), (3, "2"), (4, "3-6"), (7, "3-6"), (8, "7+")):
        sentence = Sentence(forms=["a"] * 9, heads=[head] + [-1] * 8)
        assert by_arc_length([sentence], [sentence]) == {name: (1, 1, 1)}


def test_layers_that_gold_lacks_give_no_numbers() -> None:
    bare = Sentence(forms=["a", "b"])
    details = break_down(
        [bare],
        [GOLD.with_layers(forms=["a", "b"], upos=["X", "Y"], heads=[0, 1], deprels=["x", "y"])],
    )
    assert (details.labels, details.tags, details.arc_lengths) == ({}, {}, {})
    assert details.sentence_lengths == {"1-10": Row(2, None, None, None)}


def test_groups_add_up_to_the_whole() -> None:
    gold = treebank("fr_sequoia-ud-dev.conllu")
    system = corrupt(gold, seed=5)
    totals, details = score_aligned(gold, system).totals, break_down(gold, system, {"de", "la"})
    assert details.vocabulary is not None
    for name, groups in (
        ("LAS", details.labels),
        ("UPOS", details.tags),
        ("UAS", details.arc_lengths),
    ):
        sums = tuple(map(sum, zip(*groups.values(), strict=True)))
        assert sums == totals[name], name
    for rows in (details.sentence_lengths, details.vocabulary):
        assert sum(row.words for row in rows.values()) == totals["UPOS"].gold
        uas = (
            sum(row.words * row.uas for row in rows.values() if row.uas is not None)
            / totals["UAS"].gold
        )
        assert uas == pytest.approx(totals["UAS"].f1)
    assert list(details.arc_lengths) == list(ARC_BINS)
    assert list(details.sentence_lengths) == list(SENTENCE_BINS)


def test_quick_scores_are_the_ud_ones() -> None:
    gold = treebank("fr_sequoia-ud-dev.conllu")
    system = corrupt(gold, seed=6)
    heads = [[head for sentence in side for head in sentence.heads] for side in (gold, system)]
    assert attachment(*heads) == score_aligned(gold, system).totals["UAS"].f1


def test_quick_scores_leave_out_what_gold_lacks() -> None:
    assert attachment([0, -1, 1], [0, 1, 2]) == 50.0
    assert tag_accuracy([3, -1, 1, 1], [3, 2, 1, 0]) == pytest.approx(200 / 3)
    assert tag_accuracy([], []) == 0.0
    with pytest.raises(ValueError, match=r"got shapes \(1,\), \(2,\)"):
        tag_accuracy([1], [1, 2])
