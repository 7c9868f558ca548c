"""Texts of all kinds, and what Docs say, to be compared."""

from __future__ import annotations

from spacy.tokens import Doc

TEXTS = [
    "A dog barks at the cat. The cat runs away, and Mary sees it in London!",
    "",
    "Hello",
    "   ",
    "  \n\n Two blanks first.  Then\n\none more paragraph\t\tand no stop \n",
    "\U0001f600\U0001f600 yes \u2014 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd. \u0645\u0631\u062d\u0628\u0627 "
    "\u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    'I can\'t. (Why not?) "No way!" she said... http://example.org/a?b=c',
    ".",
]

COLUMNS = ["ORTH", "TAG", "POS", "MORPH", "ENT_IOB", "ENT_TYPE", "HEAD", "DEP", "SENT_START"]


def said(doc: Doc) -> list[list[int]]:
    """Everything that our components set."""
    return [
        [int(value) for value in row]
        for row in doc.to_array(COLUMNS).reshape(len(doc), len(COLUMNS)).tolist()
    ]


def check_sound(doc: Doc) -> None:
    """Sentences have one root each, heads stay inside, entities can be read."""
    for sentence in doc.sents:
        assert [token.i for token in sentence if token.head == token] == [sentence.root.i]
        assert all(token.head in sentence for token in sentence)
        assert all(token.dep_ for token in sentence)
    assert all(entity.text.strip() for entity in doc.ents)
    assert all(token.tag_ and token.pos_ for token in doc)
