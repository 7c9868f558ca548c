"""One sentence as text, as CoNLL-U, and as a ``TokenList`` of the package conllu."""

from __future__ import annotations

import conllu
import pytest
from row_samples import row
from sample_treebank import sample

import egparse
from egparse.errors import CorpusError, EgparseError
from egparse.sentences import Sentence, SurfaceToken

RICH = """\
# newdoc id = d
# sent_id = s-1
# text = Du vin, dit-on.
# a remark
1-2\tDu\t_\t_\t_\t_\t_\t_\t_\tLang=fr
1\tDe\tde\tADP\t_\t_\t3\tcase\t3:case\t_
2\tle\tle\tDET\t_\tGender=Masc|Number=Sing\t3\tdet\t3:det\t_
3\tvin\tvin\tNOUN\t_\t_\t0\troot\t0:root|5:obj\tSpaceAfter=No
4\t,\t,\tPUNCT\t_\t_\t3\tpunct\t3:punct\t_
5\tdit\tdire\tVERB\t_\t_\t3\tparataxis\t3:parataxis\tSpaceAfter=No
5.1\tje\t_\t_\t_\t_\t_\t_\t5:nsubj\tNote
6\t-on\ton\tPRON\t_\t_\t5\tnsubj\t5:nsubj\tSpaceAfter=No
7\t.\t.\tPUNCT\t_\t_\t3\tpunct\t3:punct\t_

"""


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        (Sentence(("a", "b", "."), misc=("_", "SpaceAfter=No", "_")), "a b."),
        (Sentence(("a", "b"), misc=(r"SpacesAfter=\s\n|X=1", r"SpacesAfter=\n")), "a b"),
        (Sentence(("de", "le"), tokens=(SurfaceToken(0, 1, "du"),)), "du"),
        (Sentence(("a", "b"), comments=("# text = a  b",)), "a  b"),
        (Sentence(("a", "c"), comments=("# text = a b",)), "a c"),
        (Sentence(()), ""),
    ],
)
def test_the_text_is_that_of_the_tokens(sentence: Sentence, text: str) -> None:
    assert sentence.text == text


def test_the_text_of_a_treebank_is_what_it_says() -> None:
    for sentence in sample("test"):
        says = [line for line in sentence.lines_before if line.startswith("# text = ")]
        assert [f"# text = {sentence.text}"] == says


def test_one_sentence_is_read_and_written() -> None:
    sentence = Sentence.from_conllu(RICH)
    assert (sentence.sentence_id, sentence.text) == ("s-1", "Du vin, dit-on.")
    assert sentence.to_conllu() == RICH
    assert Sentence.from_conllu(RICH.strip()) == sentence
    assert Sentence(("a",), upos=("X",)).to_conllu() == "1\ta\t_\tX" + 6 * "\t_" + "\n\n"
    two_roots = [row(1, head=0), row(2, head=0)]
    assert Sentence.from_conllu("\n".join(two_roots)).heads == (0, 0)


def test_what_is_not_one_sentence_is_refused() -> None:
    with pytest.raises(EgparseError, match=r"^expected one sentence in CoNLL-U, got 2; egparse"):
        Sentence.from_conllu(2 * RICH)
    with pytest.raises(CorpusError, match=r"^<text>:1: expected at least one sentence, got none"):
        Sentence.from_conllu("\n")
    with pytest.raises(EgparseError, match=r"^expected a text in CoNLL-U, got int$"):
        Sentence.from_conllu(3)  # type: ignore[arg-type]


def test_what_is_no_token_list_is_refused() -> None:
    with pytest.raises(EgparseError, match=r"^expected a TokenList of conllu, got str$"):
        Sentence.from_token_list(RICH)  # type: ignore[arg-type]
    (tokens,) = conllu.parse(RICH)
    tokens[1]["feats"] = {"Case": ["Nom"]}
    with pytest.raises(EgparseError, match=r"^expected a TokenList that conllu can write: Rec"):
        Sentence.from_token_list(tokens)
    short = conllu.parse("1\ta\n\n", fields=("id", "form"))
    with pytest.raises(CorpusError, match=r"^<text>:1: expected 10 tab-separated columns, got 2"):
        Sentence.from_token_list(short[0])


def test_token_lists_keep_everything() -> None:
    sentence = Sentence.from_conllu(RICH)
    tokens = sentence.to_token_list()
    assert list(tokens) == list(conllu.parse(RICH)[0])
    assert tokens.serialize() == RICH
    again = egparse.Sentence.from_token_list(tokens)
    assert again == sentence
    assert again.to_conllu() == RICH
    for one in sample("test"):
        assert Sentence.from_token_list(one.to_token_list()).to_conllu() == one.to_conllu()
