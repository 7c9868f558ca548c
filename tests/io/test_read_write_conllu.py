"""Writing CoNLL-U: what is replaced, what is kept byte for byte, what is written without a
source.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from row_samples import FULL, row

from egparse.io.conllu import format_sentence, read_conllu
from egparse.io.corpus import write_corpus
from egparse.sentences import Sentence, SurfaceToken


def one(text: str) -> Sentence:
    (sentence,) = read_conllu(io.StringIO(text))
    return sentence


def changed_lines(text: str, **layers: Sequence[str] | Sequence[int]) -> dict[int, str]:
    written = format_sentence(one(text).with_layers(**layers)).split("\n")
    before = text.split("\n")
    assert len(written) == len(before)
    return {k: new for k, (old, new) in enumerate(zip(before, written, strict=True)) if old != new}


def test_unchanged_is_unchanged() -> None:
    assert changed_lines(FULL) == {}
    stream = io.StringIO()
    assert write_corpus(read_conllu(io.StringIO(FULL * 2)), stream, "conllu") == 2
    assert stream.getvalue() == FULL * 2


def test_empty_layers_keep_their_cells() -> None:
    names = ("upos", "xpos", "feats", "heads", "deprels", "spans", "lemmas", "misc")
    layers: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    assert changed_lines(FULL, **layers) == {}


@pytest.mark.filterwarnings("ignore::egparse.io.rows.DepsWarning")
def test_layers_are_replaced_in_their_cells_only() -> None:
    """And DEPS, which is of another tree."""
    changed = changed_lines(
        FULL,
        upos="PQRST",
        xpos="abcde",
        feats=["_", "X=Y", "_", "_", "_"],
        heads=[2, 0, 2, -1, 3],
        deprels="vwxyz",
    )
    assert changed == {
        4: "1\tDe\tde\tP\ta\t_\t2\tv\t_\t_",
        5: "2\tel\tel\tQ\tb\tX=Y\t0\tw\t_\t_",
        6: "3\tvamos\tir\tR\tc\t_\t2\tx\t_\tGloss=go|NE=B-X",
        7: "3.1\te\t_\t_\t_\t_\t_\t_\t_\t_",
        8: "3.2\tf\t_\t_\t_\t_\t_\t_\t_\t_",
        9: "4\ta\t_\tS\td\t_\t_\ty\t_\tNE=I-X|SpaceAfter=No",
        10: "5\tRoma\t_\tT\te\t_\t3\tz\t_\tNE=I-LOC",
    }


def test_spans_go_into_misc() -> None:
    changed = changed_lines(FULL, spans=["B-Q", "O", "O", "B-Z", "B-LOC"])
    assert {k: line.split("\t")[9] for k, line in changed.items()} == {
        4: "NE=B-Q",
        6: "Gloss=go",
        9: "NE=B-Z|SpaceAfter=No",
        10: "NE=B-LOC",
    }
    without = one(format_sentence(one(FULL).with_layers(spans=["O"] * 5)))
    assert without.misc[3:] == ("SpaceAfter=No", "_")
    plain = row(1, misc="Alpha=1|SpaceAfter=No") + "\n\n"
    tagged = one(format_sentence(one(plain).with_layers(spans=["B-A"])))
    assert tagged.misc == ("Alpha=1|SpaceAfter=No|NE=B-A",)


def test_spans_that_mean_the_same_are_not_touched() -> None:
    cells = ((1, 0, "NE=I-A"), (2, 1, "NE=I-A"), (3, 1, "NE=S-A"))
    text = "\n".join([*(row(k, head=h, misc=misc) for k, h, misc in cells), "", ""])
    assert changed_lines(text) == {}
    assert len(changed_lines(text, spans=["B-A", "I-A", "I-A"])) == 2


def test_without_a_source() -> None:
    sentence = Sentence(
        ("a", "b", ""),
        lemmas="xyz",
        heads=(2, 0, -1),
        misc=("SpaceAfter=No", "_", "_"),
        spans=("B-A", "O", "O"),
        sentence_id="7",
    )
    assert format_sentence(sentence) == "\n".join(
        [
            "# sent_id = 7",
            "# text = ab",
            "1\ta\tx\t_\t_\t_\t2\t_\t_\tSpaceAfter=No|NE=B-A",
            "2\tb\ty\t_\t_\t_\t0\t_\t_\t_",
            "3\t_\tz\t_\t_\t_\t_\t_\t_\t_",
            "",
            "",
        ]
    )
    assert format_sentence(Sentence(("a",))) == "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n"


def test_multiword_tokens_and_comments_without_a_source() -> None:
    sentence = Sentence(
        ("De", "le", "pain", "?"),
        misc=("_", "_", "SpaceAfter=No|A=1", "_"),
        sentence_id="s",
        tokens=[SurfaceToken(0, 1, "Du"), SurfaceToken(3, 3, "?!", "SpaceAfter=No|TokenRange=7:9")],
        comments=["# note", "# newdoc id = d", "# newpar"],
    )
    written = format_sentence(sentence)
    assert written.split("\n") == [
        "# newdoc id = d",
        "# newpar",
        "# sent_id = s",
        "# note",
        "# text = Du pain?!",
        "1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tDe\t_\t_\t_\t_\t_\t_\t_\t_",
        "2\tle\t_\t_\t_\t_\t_\t_\t_\t_",
        "3\tpain\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|A=1",
        "4-4\t?!\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|TokenRange=7:9",
        "4\t?\t_\t_\t_\t_\t_\t_\t_\t_",
        "",
        "",
    ]
    assert one(written).tokens == tuple(sentence.tokens)
    assert one(written).opens_document
    assert sentence.opens_document
    given = Sentence(("a",), comments=["# text = a b\nc"], tokens=[SurfaceToken(0, 0, "\t", "")])
    assert format_sentence(given).split("\n")[:2] == [
        "# text = a b\\nc",
        "1-1\t\\t\t_\t_\t_\t_\t_\t_\t_\t_",
    ]


def test_forms_and_tags_cannot_break_the_file() -> None:
    written = format_sentence(
        Sentence(("a\tb", "c\nd", "e\r"), upos=("\t", "", "\n"), sentence_id="i\nj")
    )
    assert one(written).forms == ("a\\tb", "c\\nd", "e\\r")
    assert one(written).upos == ("\\t", "_", "\\n")
    assert one(written).sentence_id == "i\\nj"
    refilled = format_sentence(one(FULL).with_layers(upos=["\t", "x\ny", "", "D", "E"]))
    assert one(refilled).upos == ("\\t", "x\\ny", "_", "D", "E")
    assert one(refilled).misc == one(FULL).misc


def test_long_sentences() -> None:
    n = 2500
    text = "\n".join([*(row(k, head=k - 1) for k in range(1, n + 1)), "", ""])
    assert changed_lines(text) == {}
    heads = [0, *[1] * (n - 2), -1]
    assert one(format_sentence(one(text).with_layers(heads=heads))).heads == tuple(heads)


def test_lengths_that_do_not_fit_are_programming_mistakes() -> None:
    sentence = one(FULL)
    with pytest.raises(ValueError, match="does not have the sentence's words"):
        format_sentence(Sentence(("a",), source=sentence.source))
    for layers in ({"upos": "ab"}, {"heads": [0]}, {"spans": ["O"]}):
        with pytest.raises(ValueError, match=r"size|span tags|heads"):
            format_sentence(sentence.with_layers(**layers))
    with pytest.raises(ValueError, match="heads of 5 words lie between -1 and 5"):
        format_sentence(sentence.with_layers(heads=[0, 1, 2, 3, 6]))
    with pytest.raises(ValueError, match="without words"):
        format_sentence(Sentence(()))
