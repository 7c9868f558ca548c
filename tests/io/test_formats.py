"""JSON, text and words in lines: what they hold, and that they can be read again."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.io.corpus import read_corpus
from egparse.io.output_formats import FORMATS, Frame, as_json, document, piece
from egparse.io.token_lines import HORIZONTAL, VERTICAL, read_token_lines
from egparse.sentences import ROW_KEYS, Sentence, SurfaceToken

UD = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "ud"

FRENCH = Sentence(
    forms=("Il", "va", "à", "le", "bois", "."),
    lemmas=("il", "aller", "à", "le", "bois", "_"),
    upos=("PRON", "VERB", "ADP", "DET", "NOUN", "_"),
    heads=(2, 0, 5, 5, 2, -1),
    misc=("TokenRange=3:5", "TokenRange=6:8", "_", "_", "SpaceAfter=No|TokenRange=12:16", "_"),
    spans=("O", "O", "O", "O", "B-LOC", "O"),
    sentence_id="s1",
    tokens=(SurfaceToken(2, 3, "au", "TokenRange=9:11"),),
    comments=("# newdoc id = d", "# newpar", "# lang = fr", "#flag"),
    probabilities={"heads": (0.5, 1.0, None, 0.25, 0.5, None)},
)


def test_a_sentence_as_json() -> None:
    found = as_json(FRENCH)
    words = found.pop("words")
    assert found == {
        "id": "s1",
        "newdoc": "d",
        "newpar": "",
        "text": "Il va au bois.",
        "start": 3,
        "end": 16,
        "comments": ["# lang = fr", "#flag"],
        "tokens": [
            {"first": 3, "last": 4, "form": "au", "misc": "TokenRange=9:11", "start": 9, "end": 11}
        ],
    }
    assert words[0] == {
        "id": 1,
        "form": "Il",
        "lemma": "il",
        "upos": "PRON",
        "xpos": None,
        "feats": None,
        "deprel": None,
        "spans": "O",
        "head": 2,
        "misc": "TokenRange=3:5",
        "p_head": 0.5,
        "start": 3,
        "end": 5,
    }
    assert (words[1]["head"], words[2]["misc"], words[2]["p_head"]) == (0, None, None)
    assert [words[5][key] for key in ("lemma", "upos", "head")] == [None, None, None]
    assert "start" not in words[2]


def test_a_sentence_without_anything_but_words() -> None:
    found = as_json(Sentence(("_", "a"), lemmas=("_", "_")))
    first, second = found.pop("words")
    assert found == {"id": None, "text": "_ a"}
    keys = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "misc"]
    nothing = dict.fromkeys(keys)
    assert list(first) == keys
    assert first == {**nothing, "id": 1, "form": "_", "lemma": "_"}  # which is not missing
    assert second == {**nothing, "id": 2, "form": "a"}


def test_the_text_of_the_input_is_kept() -> None:
    text = "# text = a  b"
    conllu = (
        f"# newpar id = p 1\n{text}\n1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    )
    (sentence,) = read_corpus(io.StringIO(conllu), "conllu")
    found = as_json(sentence)
    assert (found["text"], found["newpar"], "comments" in found) == ("a  b", "p 1", False)


@pytest.mark.parametrize("format", FORMATS)
def test_pieces_make_the_same_document_as_the_whole(format: str) -> None:
    sentences = [FRENCH, Sentence(("x", "y z")), FRENCH]
    frame = Frame(format)
    pieces = [sentences[:1], [], sentences[1:]]
    joined = b"".join(frame.add(piece(one, format).encode()) for one in pieces) + frame.end()
    assert joined.decode() == document(sentences, format)
    empty = document([], format)
    assert json.loads(empty) == {"sentences": []} if format == "json" else empty == ""


def test_json_is_the_same_in_both_forms() -> None:
    sentences = [FRENCH, Sentence(("x",))]
    whole = json.loads(document(sentences, "json"))["sentences"]
    lines = [json.loads(line) for line in document(sentences, "jsonl").splitlines()]
    assert whole == lines == [as_json(one) for one in sentences]


def test_text_has_a_sentence_a_line_and_an_empty_line_between_paragraphs() -> None:
    second = Sentence(("Oui", "!"), misc=("SpaceAfter=No", "_"))
    third = Sentence(("a", "b"), misc=("SpacesAfter=\\n\\s", "_"), comments=("# newpar",))
    expected = "Il va au bois.\nOui!\n\na b\n"
    assert document([FRENCH, second, third], "text") == expected
    frame = Frame("text")
    parts = [frame.add(piece([second], "text").encode(), new_document=True) for _ in range(2)]
    assert b"".join(parts) == b"Oui!\n\nOui!\n"


def test_words_in_lines() -> None:
    sentences = [FRENCH, Sentence(("10 000", "euros"))]
    assert document(sentences, "horizontal") == "Il va à le bois .\n10\u00a0000 euros\n"
    assert document(sentences, "vertical") == ("Il\nva\nà\nle\nbois\n.\n\n10 000\neuros\n\n")


FORMS = st.text(st.sampled_from("ab .é#-_\u3000"), min_size=1).map(
    lambda text: " ".join(text.split(" "))
)
WORDS = st.lists(FORMS.filter(lambda form: form == form.strip() != ""), min_size=1, max_size=5)


@examples(100)
@given(st.lists(WORDS, max_size=4), st.sampled_from([HORIZONTAL, VERTICAL]))
def test_words_in_lines_are_read_again(corpus: list[list[str]], format: str) -> None:
    written = document([Sentence(tuple(forms)) for forms in corpus], format)
    assert [list(one.forms) for one in read_token_lines(io.StringIO(written), format)] == corpus


@pytest.mark.parametrize("name", ["en_ewt-ud-dev", "fr_sequoia-ud-dev", "pt_bosque-ud-dev"])
def test_json_holds_a_treebank(name: str) -> None:
    """Each column of each word, each multiword token, and the text, as they were read."""
    path = UD / f"{name}.conllu"
    if not path.exists():
        pytest.skip(f"no treebank at {path}")
    sentences = list(read_corpus(path, multiple_roots=True))[:500]
    for sentence, made in zip(
        sentences, json.loads(document(sentences, "json"))["sentences"], strict=True
    ):
        for field, key in ROW_KEYS.items():
            if field == "deps":  # of rules alone
                continue
            cells = [word[key] for word in made["words"]]
            missing = -1 if key == "head" else "_"
            assert [missing if one is None else one for one in cells] == list(
                getattr(sentence, field)
            )
        tokens = [
            SurfaceToken(one["first"] - 1, one["last"] - 1, one["form"], one["misc"] or "_")
            for one in made.get("tokens", ())
        ]
        assert tokens == list(sentence.tokens)
        spelt = "".join(token.form for token in sentence.surface_tokens)
        assert made["text"].replace(" ", "") == spelt.replace(" ", "")
    ids = [sentence.sentence_id for sentence in sentences]
    assert all(one != other for one, other in pairwise(ids))
