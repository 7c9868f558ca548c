"""Sentences of a corpus as spaCy Docs, and back.

A Doc and a ``Sentence`` differ in some points, which both directions translate:

* A root is its own head with the label ``ROOT`` in spaCy; in UD its head is 0, its label ``root``.
* spaCy has tokens of white space, which no Sentence has. They are left out.
* spaCy ignores heads without labels: an arc without a label gets ``dep``, a root ``ROOT``.
* spaCy sorts the features of FEATS by code point, UD by name without regard to case.

Of MISC, a Doc can hold only SpaceAfter=No. It has no place for comments, sentence identifiers, UPOS
tags that are not of UD, and FEATS that are not pairs ``name=value``. Multiword tokens are kept from
a Doc of ``egparse.Tokenizer.v1``, but not in the other direction: there each word is a token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from spacy.attrs import IDS as ATTRIBUTES
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab

from egparse.schemes import OUTSIDE as NO_SPAN
from egparse.schemes import to_iob2
from egparse.sentences import MISSING, MISSING_HEAD, SPACE_AFTER_NO, Sentence
from egparse.spacy_components.label_tables import (
    ATTACHED,
    BEGINS,
    INSIDE,
    OUTSIDE,
    SPACY_ROOT,
    feats_to_spacy,
    from_spacy,
    to_spacy,
)
from egparse.spacy_components.tokens.words import with_words

_STARTS, _CONTINUES = 1, -1
"""spaCy's codes of SENT_START."""

_SPAN_CODES = {"B": BEGINS, "I": INSIDE, "O": OUTSIDE}


def sentences_from_doc(doc: Doc) -> list[Sentence]:
    """The sentences of a Doc: forms, lemmas, tags, heads, labels, entities, and SpaceAfter=No.

    A Doc without sentence starts is one sentence. Cells that the Doc leaves open hold ``MISSING``
    (``MISSING_HEAD`` for a head outside of the sentence); ``spans`` is empty where no word of the
    sentence is annotated with entities. An entity that crosses a sentence boundary is cut there.
    """
    spans = list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]
    return [sentence for span in spans for sentence in _sentence_of(span)]


def doc_from_sentences(sentences: Iterable[Sentence], vocab: Vocab) -> Doc:
    """One Doc of the words of all sentences, with their annotation and sentence starts.

    ``sentences_from_doc`` gives the same sentences back, without what spaCy has no place for (see
    the head of this module).

    Raises:
        ValueError: a column with another number of cells than there are words, or a head beyond the
            end of its sentence.
    """
    chosen = [sentence for sentence in sentences if len(sentence)]
    for number, sentence in enumerate(chosen, 1):
        _check(sentence, number)
    words = [form for sentence in chosen for form in sentence.forms]
    spaces = [space for sentence in chosen for space in _spaces(sentence)]
    doc = Doc(vocab, words=words, spaces=spaces)
    if not words:
        return doc
    _write_tags(doc, chosen)
    if any(head != MISSING_HEAD for sentence in chosen for head in sentence.heads):
        heads, labels = _arcs(chosen, vocab)
        _write(doc, {"HEAD": heads, "DEP": labels})
    starts = [_STARTS if k == 0 else _CONTINUES for one in chosen for k in range(len(one))]
    # After the heads: spaCy derives sentence starts from them, which may fail where arcs cross.
    _write(doc, {"SENT_START": starts})
    return doc


# -- from a Doc ------------------------------------------------------------------------------------


def _sentence_of(span: Span) -> Iterator[Sentence]:
    """The sentence of a span, none if it is all white space."""
    tokens = [token for token in span if not token.is_space]
    if not tokens:
        return
    positions = {token.i: place for place, token in enumerate(tokens, 1)}
    sentence = Sentence(
        forms=tuple(token.text for token in tokens),
        lemmas=tuple(token.lemma_ or MISSING for token in tokens),
        upos=tuple(token.pos_ or MISSING for token in tokens),
        xpos=tuple(token.tag_ or MISSING for token in tokens),
        feats=tuple(_feats(token) for token in tokens),
        heads=tuple(_head(token, positions) for token in tokens),
        deprels=tuple(from_spacy(token.dep_) or MISSING for token in tokens),
        misc=tuple(MISSING if _is_spaced(token) else SPACE_AFTER_NO for token in tokens),
        spans=_spans(tokens),
    )
    yield with_words(sentence, tokens) if span.doc.user_data else sentence


def _feats(token: Token) -> str:
    features = str(token.morph).split("|")
    return "|".join(sorted(features, key=_name_of_feature)) or MISSING


def _name_of_feature(feature: str) -> str:
    return feature.partition("=")[0].lower()


def _head(token: Token, positions: dict[int, int]) -> int:
    if not token.dep:
        return MISSING_HEAD
    return 0 if token.head.i == token.i else positions.get(token.head.i, MISSING_HEAD)


def _is_spaced(token: Token) -> bool:
    after = token.i + 1
    return bool(token.whitespace_) or (after < len(token.doc) and token.doc[after].is_space)


def _spans(tokens: Sequence[Token]) -> tuple[str, ...]:
    if not any(token.ent_iob for token in tokens):
        return ()
    tags = [_entity_tag(token) for token in tokens]
    if tags[0].startswith("I-"):  # the entity began in the sentence before
        tags[0] = f"B-{tags[0][2:]}"
    return tuple(tags)


def _entity_tag(token: Token) -> str:
    """The IOB2 tag of a word; spaCy's blocked entities have no type, and count as outside."""
    if not token.ent_iob:
        return MISSING
    return f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type else NO_SPAN


# -- to a Doc --------------------------------------------------------------------------------------


def _check(sentence: Sentence, number: int) -> None:
    length = len(sentence)
    for layer in ("lemmas", "upos", "xpos", "feats", "heads", "deprels", "misc", "spans"):
        column = getattr(sentence, layer)
        if len(column) not in (0, length):
            raise ValueError(f"sentence {number}: expected {length} {layer}, got {len(column)}")
    for head in sentence.heads:
        if not MISSING_HEAD <= head <= length:
            raise ValueError(f"sentence {number}: expected heads from 0 to {length}, got {head}")


def _spaces(sentence: Sentence) -> list[bool]:
    """Whether a blank follows each word. The words of a multiword token that they spell (*do* and
    *n't*) have none between them; others (*de* and *le*) have one, as a Doc is to be readable.
    """
    spaces = [SPACE_AFTER_NO not in cell.split("|") for cell in _column(sentence, "misc")]
    for first, last, form, misc in sentence.tokens:
        spelled = "".join(sentence.forms[first : last + 1]) == form
        spaces[first:last] = [not spelled] * (last - first)
        spaces[last] = SPACE_AFTER_NO not in misc.split("|")
    return spaces


def _column(sentence: Sentence, layer: str) -> Sequence[str]:
    column: Sequence[str] = getattr(sentence, layer)
    return column or (MISSING,) * len(sentence)


def _write_tags(doc: Doc, sentences: Sequence[Sentence]) -> None:
    """Write the layers that hold a label at some word; ``_`` is no tag, but it is a value of FEATS
    (none apply) where others have features.
    """
    add = doc.vocab.strings.add
    numbers = {
        "LEMMA": ("lemmas", add),
        "POS": ("upos", lambda tag: PARTS_OF_SPEECH.get(tag, 0)),
        "TAG": ("xpos", add),
        "MORPH": ("feats", lambda feats: doc.vocab.morphology.add(feats_to_spacy(feats))),
    }
    columns: dict[str, list[int]] = {}
    for attribute, (layer, number) in numbers.items():
        cells = [cell for sentence in sentences for cell in _column(sentence, layer)]
        if any(cell != MISSING for cell in cells):
            keeps_missing = layer == "feats"
            table = {
                cell: number(cell) if cell != MISSING or keeps_missing else 0 for cell in set(cells)
            }
            columns[attribute] = [table[cell] for cell in cells]
    tags = [tag for sentence in sentences for tag in _iob2(sentence)]
    if any(tag != MISSING for tag in tags):
        columns["ENT_IOB"] = [_SPAN_CODES.get(tag[:1], 0) for tag in tags]
        columns["ENT_TYPE"] = [add(tag[2:]) if tag[2:] else 0 for tag in tags]
    if columns:
        _write(doc, columns)


def _iob2(sentence: Sentence) -> Iterator[str]:
    """The tags of spans, ``MISSING`` where there is none, without an I that continues nothing:
    spaCy refuses it.
    """
    tags = _column(sentence, "spans")
    whole = to_iob2([NO_SPAN if tag == MISSING else tag for tag in tags])
    for tag, repaired in zip(tags, whole, strict=True):
        yield tag if tag == MISSING else repaired


def _arcs(sentences: Sequence[Sentence], vocab: Vocab) -> tuple[list[int], list[int]]:
    """HEAD, relative to the token, and DEP of all words; both 0 where the head is missing."""
    heads: list[int] = []
    labels: list[int] = []
    for sentence in sentences:
        deprels = _column(sentence, "deprels")
        for word, deprel in enumerate(deprels, 1):
            head = sentence.heads[word - 1] if sentence.heads else MISSING_HEAD
            label = to_spacy(deprel)
            if deprel == MISSING:
                label = SPACY_ROOT if head == 0 else ATTACHED
            heads.append(head - word if head > 0 else 0)
            labels.append(0 if head == MISSING_HEAD else vocab.strings.add(label))
    return heads, labels


def _write(doc: Doc, columns: dict[str, list[int]]) -> None:
    """Write attributes of all tokens; negative numbers as spaCy wraps them, modulo 2^64."""
    table = np.array(
        [[value % (1 << 64) for value in column] for column in columns.values()], dtype=np.uint64
    )
    numbers = [ATTRIBUTES[name] for name in columns]
    doc.from_array(numbers, cast("Any", np.ascontiguousarray(table.T)))  # typed as signed
