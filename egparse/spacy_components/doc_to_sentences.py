"""Docs as the sentences that evaluation compares."""

from __future__ import annotations

from collections.abc import Iterator

from spacy.tokens import Doc, Span, Token

from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.spacy_components.label_tables import from_spacy


def sentences_of(doc: Doc) -> Iterator[Sentence]:
    """The sentences of a Doc with tags and trees, without white space; one sentence if the Doc does
    not say where they start.
    """
    spans = list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]
    for span in spans:
        tokens = [token for token in span if not token.is_space]
        if tokens:
            yield _sentence(span, tokens)


def _sentence(span: Span, tokens: list[Token]) -> Sentence:
    positions = {token.i: place for place, token in enumerate(tokens, 1)}
    return Sentence(
        forms=tuple(token.text for token in tokens),
        upos=tuple(token.pos_ or MISSING for token in tokens),
        xpos=tuple(token.tag_ or MISSING for token in tokens),
        feats=tuple(str(token.morph) or MISSING for token in tokens),
        heads=tuple(_head(token, positions) for token in tokens),
        deprels=tuple(from_spacy(token.dep_) or MISSING for token in tokens),
    )


def _head(token: Token, positions: dict[int, int]) -> int:
    if not token.dep:
        return MISSING_HEAD
    return 0 if token.head.i == token.i else positions.get(token.head.i, MISSING_HEAD)


def entity_tags(doc: Doc) -> list[str]:
    """The IOB2 tags of the words of a Doc."""
    return [
        f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type else "O"
        for token in doc
        if not token.is_space
    ]
