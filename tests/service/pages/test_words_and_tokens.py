"""What pages show of words and tokens: the text as it was written, multiword tokens, and the layers
that are asked for.
"""

from __future__ import annotations

import io
from xml.etree.ElementTree import Element

import pytest

from egparse.io.blocks import SPANS_KEY
from egparse.io.corpus import read_corpus
from egparse.sentences import Sentence
from egparse.service.pages.annotation_page import View, annotation_page, mark
from egparse.service.pages.dependency_drawing import draw

ENGLISH = """\
1	I	I	PRON	PRP	Case=Nom|Person=1	4	nsubj	_	_
2-3	can't	_	_	_	_	_	_	_	SpaceAfter=No
2	ca	can	AUX	MD	_	4	aux	_	_
3	n't	not	PART	RB	Polarity=Neg	4	advmod	_	NE=B-NEG
4	,	,	PUNCT	,	_	0	root	_	_
"""
FRENCH = """\
1	Maire	maire	NOUN	_	_	0	root	_	NE=B-PER
2-3	du	_	_	_	_	_	_	_	_
2	de	de	ADP	_	_	4	case	_	NE=I-PER
3	le	le	DET	_	_	4	det	_	NE=B-LOC
4	lieu	lieu	NOUN	_	_	1	nmod	_	NE=I-LOC|SpaceAfter=No
5	.	.	PUNCT	_	_	1	punct	_	_
"""
HEBREW = """\
1-2	בבית	_	_	_	_	_	_	_	_
1	ב	ב	ADP	_	_	2	case	_	_
2	הבית	בית	NOUN	_	_	0	root	_	_
3	גדול	גדול	ADJ	_	_	2	amod	_	_
"""


def sentence_of(conllu: str) -> Sentence:
    (sentence,) = read_corpus(io.BytesIO(f"{conllu}\n".encode()), spans_key=SPANS_KEY)
    return sentence


def text_of(element: Element) -> str:
    return "".join(element.itertext())


def brackets(drawing: Element) -> list[Element]:
    return [group for group in drawing.findall("g") if group.get("class") == "multiword"]


def below(drawing: Element) -> list[list[str | None]]:
    """The lines below each word."""
    return [[line.text for line in word.findall("tspan")[1:]] for word in drawing.findall("text")]


@pytest.mark.parametrize(
    ("conllu", "text"),
    [
        (ENGLISH, "I can't,"),
        (f"# text = I  can't ,\n{ENGLISH}", "I  can't ,"),
        (f"# text = Another text.\n{ENGLISH}", "I can't,"),
        (FRENCH, "Maire du lieu."),
        (HEBREW, "בבית גדול"),
    ],
)
def test_a_sentence_is_shown_as_it_was_written(conllu: str, text: str) -> None:
    assert text_of(mark(sentence_of(conllu).with_layers(spans=()))) == text


def test_entities_are_marked_in_the_text_as_it_was_written() -> None:
    shown = mark(sentence_of(ENGLISH))
    assert text_of(shown) == "I can'tNEG,"
    assert [text_of(one) for one in shown.findall("mark")] == ["n'tNEG"]
    shown = mark(sentence_of(FRENCH))  # two entities share a token
    assert [text_of(one) for one in shown.findall("mark")] == ["Maire duPER", "lieuLOC"]
    assert text_of(shown) == "Maire duPER lieuLOC."


@pytest.mark.parametrize("conllu", [ENGLISH, FRENCH, HEBREW])
def test_multiword_tokens_are_drawn_below_their_words(conllu: str) -> None:
    sentence = sentence_of(conllu)
    (token,) = sentence.tokens
    drawing = draw(sentence, 1, layers=("upos",))
    (bracket,) = brackets(drawing)
    assert bracket.findtext("text") == token.form
    centres = [float(word.findall("tspan")[0].attrib["x"]) for word in drawing.findall("text")]
    middle = (centres[token.first] + centres[token.last]) / 2
    assert float(bracket.findall("text")[0].attrib["x"]) == pytest.approx(middle)


def test_a_token_beyond_the_drawn_words_is_not_drawn() -> None:
    assert brackets(draw(sentence_of(FRENCH), 1, words=1)) == []


def test_all_layers_are_shown_when_asked_for() -> None:
    sentence = sentence_of(ENGLISH)
    drawing = draw(sentence, 1, layers=("xpos", "lemmas", "feats"))
    assert below(drawing)[0] == ["PRP", "I", "Case=Nom", "Person=1"]
    assert below(drawing)[1] == ["MD", "can"]
    page = annotation_page([View(1, sentence)], title="words")
    assert "PRP</tspan>" not in page
    assert ">PRON</tspan>" in page
    page = annotation_page([View(1, sentence)], title="words", layers=("xpos", "feats"))
    assert ">PRP</tspan>" in page
    assert ">PRON</tspan>" not in page


def test_layers_that_a_sentence_lacks_take_no_room() -> None:
    sentence = sentence_of(FRENCH)
    pages = [
        annotation_page([View(1, sentence)], title="words", layers=layers)
        for layers in (("upos", "lemmas"), ("upos", "xpos", "lemmas", "feats"))
    ]
    assert pages[0] == pages[1]
