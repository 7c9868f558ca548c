"""The rows of a sentence, as a data frame takes them."""

from __future__ import annotations

from egparse.sentences import MISSING_HEAD, Sentence, SurfaceToken


def test_rows_have_what_the_sentence_has() -> None:
    sentence = Sentence(
        forms=("She", "runs"),
        upos=("PRON", "VERB"),
        spans=("O", "O"),
        heads=(2, 0),
        deprels=("nsubj", "root"),
        misc=("_", "SpaceAfter=No"),
    )
    of_token = {"sentence": None, "id": 2, "form": "runs", "token": "runs", "start": 4, "end": 8}
    expected = {**of_token, "upos": "VERB", "spans": "O", "head": 0, "deprel": "root"}
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
    first, second = sentence.rows()
    assert list(first)[-3:] == ["head", "p_head", "p_upos"]
    assert (first["head"], first["p_head"], first["p_upos"]) == (0, 0.5, None)
    assert (second["head"], second["p_head"], second["p_upos"]) == (-1, None, 1.0)


def places(sentence: Sentence) -> list[tuple[str, int, int]]:
    return [(row["token"], row["start"], row["end"]) for row in sentence.rows()]


def test_words_of_a_multiword_token_stand_where_it_stands() -> None:
    tokens = (SurfaceToken(1, 2, "du", "SpaceAfter=No|TokenRange=13:15"),)
    sentence = Sentence(
        forms=("Vin", "de", "le", "."),
        misc=("TokenRange=9:12", "_", "_", "TokenRange=15:16"),
        tokens=tokens,
    )
    assert places(sentence) == [("Vin", 9, 12), ("du", 13, 15), ("du", 13, 15), (".", 15, 16)]
    within = sentence.with_layers(misc=("_", "_", "_", "TokenRange=15:16"))
    assert places(within) == [("Vin", 0, 3), ("du", 4, 6), ("du", 4, 6), (".", 6, 7)]
    assert within.text == "Vin du."


def test_places_are_those_in_the_text_of_the_comment() -> None:
    sentence = Sentence(("1 000", "a"), comments=("# text = 1000  a",))
    assert places(sentence) == [("1 000", 0, 4), ("a", 6, 7)]


def test_rows_say_which_sentence_they_are_of() -> None:
    sentence = Sentence(("a",), sentence_id="s-7")
    assert [row["sentence"] for row in sentence.rows()] == ["s-7"]
    assert [row["sentence"] for row in sentence.rows(3)] == [3]


def test_a_sentence_without_words_has_no_rows() -> None:
    assert Sentence(forms=()).rows() == []
