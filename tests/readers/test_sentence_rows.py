"""The rows of a sentence, as a data frame takes them."""

from __future__ import annotations

from egparse.sentences import MISSING_HEAD, Sentence


def test_rows_have_what_the_sentence_has() -> None:
    sentence = Sentence(
        forms=("She", "runs"),
        upos=("PRON", "VERB"),
        spans=("O", "O"),
        heads=(2, 0),
        deprels=("nsubj", "root"),
        misc=("_", "SpaceAfter=No"),
    )
    expected = {"id": 2, "form": "runs", "upos": "VERB", "spans": "O", "head": 0, "deprel": "root"}
    rows = sentence.rows()
    assert [row["form"] for row in rows] == ["She", "runs"]
    assert rows[1] == {**expected, "misc": "SpaceAfter=No"}
    assert list(rows[1]) == [*expected, "misc"]


def test_probabilities_stand_beside_the_columns() -> None:
    sentence = Sentence(
        forms=("a", "b"),
        heads=(0, MISSING_HEAD),
        probabilities={"heads": (0.5, None), "upos": (None, 1.0)},
    )
    assert sentence.rows() == [
        {"id": 1, "form": "a", "head": 0, "p_head": 0.5, "p_upos": None},
        {"id": 2, "form": "b", "head": -1, "p_head": None, "p_upos": 1.0},
    ]


def test_a_sentence_without_words_has_no_rows() -> None:
    assert Sentence(forms=()).rows() == []
