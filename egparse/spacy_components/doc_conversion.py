"""Docs as sentences, sentences as Docs, and Examples as sentences to learn from.

A Doc and a ``Sentence`` differ in some points, which all directions translate:

* A root is its own head with the label ``ROOT`` in spaCy; in UD its head is 0, its label ``root``.
* spaCy has tokens of white space, which no Sentence has. They are left out.
* spaCy ignores heads without labels: an arc without a label gets ``dep``, a root ``ROOT``.
* spaCy sorts the features of FEATS by code point, UD by name without regard to case.

Of MISC, a Doc can hold only SpaceAfter=No. It has no place for comments, sentence identifiers, UPOS
tags that are not of UD, and FEATS that are not pairs ``name=value``. Multiword tokens are kept from
a Doc of ``egparse.Tokenizer.v1``; in the other direction each word is a token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple, cast

import numpy as np
from spacy.attrs import IDS as ATTRIBUTES
from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
from spacy.tokens import Doc, Token
from spacy.training import Example, biluo_to_iob
from spacy.vocab import Vocab

from egparse.io.trees import find_tree_fault
from egparse.layers import LAYERS, LEMMAS, WORD_TAGS
from egparse.schemes import OUTSIDE as NO_SPAN
from egparse.schemes import to_iob2
from egparse.sentences import (
    MISSING,
    MISSING_HEAD,
    ROW_KEYS,
    SPACE_AFTER_NO,
    Sentence,
    Source,
    SurfaceToken,
)
from egparse.spacy_components.documents import BLANK_LINE, read
from egparse.spacy_components.label_tables import (
    ATTACHED,
    BEGINS,
    CONTINUES,
    INSIDE,
    OUTSIDE,
    SPACY_ROOT,
    STARTS,
    feats_to_spacy,
    from_spacy,
    to_spacy,
)
from egparse.spacy_components.multiword import (
    Multiword,
    Word,
    forms_of,
    multiword_tokens,
    pieces_of,
    put_norms,
    put_words,
)
from egparse.text.rules import RuleSplitter

_SPAN_CODES = {"B": BEGINS, "I": INSIDE, "O": OUTSIDE}
_STRINGS = ("lemmas", "upos", "xpos", "feats", "deprels")

_PARAGRAPH = Source("<examples>", 1, ("# newpar",), (1,))
"""The source of a sentence that begins a paragraph, as the training of splitters knows it."""

LAYERS_OF_TOKENS = {layer: LAYERS[layer].spacy_attribute for layer in (LEMMAS, *WORD_TAGS)}
"""Layer with one value a word -> the attribute of tokens that holds it."""


# -- from a Doc ------------------------------------------------------------------------------------


def sentences_from_doc(doc: Doc) -> list[Sentence]:
    """The sentences of a Doc: forms, lemmas, tags, heads, labels, entities, and SpaceAfter=No.

    A Doc without sentence starts is one sentence. Cells that the Doc leaves open hold ``MISSING``
    (``MISSING_HEAD`` for a head outside of the sentence); ``spans`` is empty where no word of the
    sentence is annotated with entities. An entity that crosses a sentence boundary is cut there.
    """
    starts = [False] * len(doc)
    for span in doc.sents if doc.has_annotation("SENT_START") else ():
        starts[span.start] = True
    columns: dict[str, Sequence[Any]] = {
        "lemmas": [token.lemma_ for token in doc],
        "upos": [token.pos_ for token in doc],
        "xpos": [token.tag_ for token in doc],
        "feats": ["|".join(sorted(str(token.morph).split("|"), key=_name_of)) for token in doc],
        "heads": [token.head.i if token.dep else None for token in doc],
        "deprels": [token.dep_ for token in doc],
        "spans": [_entity_tag(token) for token in doc],
    }
    found = []
    multiword = {one.first: one for one in multiword_tokens(doc)} if doc.user_data else {}
    for tokens, sentence in _sentences(doc, starts, columns):
        first, *rest = sentence.spans
        if first.startswith("I-"):  # the entity began in the sentence before
            first = f"B-{first[2:]}"
        spans = () if {first, *rest} == {MISSING} else (first, *rest)
        sentence = replace(sentence, spans=spans)
        found.append(_with_words(sentence, tokens, multiword) if multiword else sentence)
    return found


def _name_of(feature: str) -> str:
    return feature.partition("=")[0].lower()


def _entity_tag(token: Token) -> str:
    """The IOB2 tag of a word; spaCy's blocked entities have no type, and count as outside."""
    if not token.ent_iob:
        return MISSING
    return f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type else NO_SPAN


def _sentences(
    doc: Doc, starts: Sequence[bool], columns: Mapping[str, Sequence[Any]], *, ends: bool = False
) -> Iterator[tuple[list[Token], Sentence]]:
    """The sentences of a Doc and their tokens, without white space, from columns of values of
    tokens: falsy strings are missing, heads are places of tokens (None: missing), and labels of
    arcs are spaCy's. A start at white space is one at the word after it. With ``ends`` a blank
    follows the Doc.
    """
    forms = forms_of(doc)
    words: list[list[Token]] = []
    opens = True
    for token in doc:
        opens = opens or bool(starts[token.i])
        if not token.is_space:
            if opens:
                words.append([])
            words[-1].append(token)
            opens = False
    for tokens in words:
        positions = {token.i: place for place, token in enumerate(tokens, 1)}
        of_words: dict[str, tuple[Any, ...]] = {}
        for layer, column in columns.items():
            values = [column[token.i] for token in tokens]
            if layer == "heads":
                of_words[layer] = tuple(
                    0 if head == token.i else positions.get(head, MISSING_HEAD)
                    for token, head in zip(tokens, values, strict=True)
                )
            else:
                named = [from_spacy(value) for value in values] if layer == "deprels" else values
                of_words[layer] = tuple(value or MISSING for value in named)
        misc = tuple(MISSING if _is_spaced(token, ends) else SPACE_AFTER_NO for token in tokens)
        sentence = Sentence(tuple(forms[token.i] for token in tokens), misc=misc)
        yield tokens, sentence.with_layers(**of_words)


def _is_spaced(token: Token, ends: bool) -> bool:
    after = token.i + 1
    is_last = after == len(token.doc)
    return bool(token.whitespace_) or (ends if is_last else token.doc[after].is_space)


def _with_words(
    sentence: Sentence, tokens: Sequence[Token], multiword: Mapping[int, Multiword]
) -> Sentence:
    """A sentence of one word for each of some tokens, with the words of multiword tokens in their
    place; ``multiword`` are these by their first tokens.

    What a multiword token depends on is said by its words, and a token that depends on it depends
    on the one of its words that stands highest: spaCy has no place for another one. Where it is one
    token a word, its words are there already.
    """
    several = [multiword.get(token.i) for token in tokens]
    entries = [one.words if one is not None and one.n_tokens == 1 else None for one in several]
    firsts = [0, *accumulate(1 if words is None else len(words) for words in entries)]
    number_of = {token.idx: number for number, token in enumerate(tokens)}
    highest = [
        first + (0 if words is None else _highest(words))
        for first, words in zip(firsts, entries, strict=False)
    ]
    columns: dict[str, list[Any]] = {
        layer: [] for layer in ("forms", "heads", "misc", "spans", *_STRINGS)
    }
    ranges = []
    misc = list(sentence.misc)
    for number, (token, words) in enumerate(zip(tokens, entries, strict=True)):
        one = several[number]
        if one is not None and number + one.n_tokens <= len(tokens):
            end = number + one.n_tokens
            last = firsts[number] + len(one.words) - 1
            ranges.append(SurfaceToken(firsts[number], last, one.text, misc[end - 1]))
            misc[number:end] = [MISSING] * one.n_tokens
        if words is None:
            for layer, column in columns.items():
                if values := (misc if layer == "misc" else getattr(sentence, layer)):
                    column.append(values[number])
            head = columns["heads"][-1]
            columns["heads"][-1] = highest[head - 1] + 1 if head > 0 else head
            continue
        tag = sentence.spans[number] if sentence.spans else ""
        for k, word in enumerate(words):
            columns["forms"].append(word["form"])
            columns["misc"].append(MISSING)
            columns["heads"].append(_head(word, token, number_of, firsts))
            for layer in _STRINGS:
                columns[layer].append(word.get(ROW_KEYS[layer], MISSING))
            if "xpos" not in word:  # as the tagger does with tokens, for models without XPOS
                columns["xpos"][-1] = columns["upos"][-1]
            if tag:
                columns["spans"].append(f"I-{tag[2:]}" if k and tag[:2] == "B-" else tag)
    layers = {layer: tuple(column) for layer, column in columns.items()}
    return replace(sentence.with_layers(**layers), tokens=tuple(ranges))


def _highest(words: Sequence[Word]) -> int:
    """The first word whose head is not in its token; the first one if no heads are known."""
    heads = [word.get("head", (0, 0)) for word in words]
    return next((k for k, head in enumerate(heads) if head is None or head[0]), 0)


def _head(word: Word, token: Token, number_of: dict[int, int], firsts: Sequence[int]) -> int:
    """The head of a word as a position from 1, 0 for the root, ``MISSING_HEAD`` if unknown."""
    if "head" not in word:
        return MISSING_HEAD
    if word["head"] is None:
        return 0
    distance, k = word["head"]
    other = number_of.get(token.idx + distance)
    return MISSING_HEAD if other is None else firsts[other] + k + 1


# -- to a Doc --------------------------------------------------------------------------------------


def doc_from_sentences(
    sentences: Iterable[Sentence], vocab: Vocab, *, split_multiword: bool = False
) -> Doc:
    """One Doc of the words of all sentences, with their annotation and sentence starts.

    ``sentences_from_doc`` gives the same sentences back, without what spaCy has no place for (see
    the head of this module). With ``split_multiword`` the Doc has the text of multiword tokens,
    with a piece of it for each word, as ``egparse.Tokenizer.v1`` makes them with that setting;
    words of a token with fewer characters than words stay words.

    Raises:
        ValueError: a column with another number of cells than there are words, or a head beyond the
            end of its sentence.
    """
    chosen = [sentence for sentence in sentences if len(sentence)]
    for number, sentence in enumerate(chosen, 1):
        _check(sentence, number)
    words = [form for sentence in chosen for form in sentence.forms]
    spaces = [space for sentence in chosen for space in _spaces(sentence)]
    split = list(_pieces(chosen)) if split_multiword else []
    for start, pieces, _ in split:
        end = start + len(pieces)
        words[start:end], spaces[start : end - 1] = pieces, [False] * (len(pieces) - 1)
    doc = Doc(vocab, words=words, spaces=spaces)
    if not words:
        return doc
    for start, pieces, forms in split:
        put_words(doc, doc[start].idx, "".join(pieces), forms)
    put_norms(doc)
    _write_tags(doc, chosen)
    if any(head != MISSING_HEAD for sentence in chosen for head in sentence.heads):
        _write_arcs(doc, chosen)
    starts = [STARTS if k == 0 else CONTINUES for one in chosen for k in range(len(one))]
    # After the heads: spaCy derives sentence starts from them, which may fail where arcs cross.
    _write(doc, {"SENT_START": starts})
    return doc


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


def _pieces(sentences: Iterable[Sentence]) -> Iterator[tuple[int, list[str], Sequence[str]]]:
    """The first word of each multiword token among all words, its text in pieces, and its words."""
    before = 0
    for sentence in sentences:
        for first, last, form, _ in sentence.tokens:
            forms = sentence.forms[first : last + 1]
            pieces = pieces_of(form, forms)
            if pieces is not None:
                yield before + first, pieces, forms
        before += len(sentence)


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


def _write_arcs(doc: Doc, sentences: Sequence[Sentence]) -> None:
    """Write HEAD, relative to the token, and DEP of all words; both 0 where the head is missing."""
    heads: list[int] = []
    labels: list[int] = []
    for sentence in sentences:
        for word, deprel in enumerate(_column(sentence, "deprels"), 1):
            head = sentence.heads[word - 1] if sentence.heads else MISSING_HEAD
            label = to_spacy(deprel)
            if deprel == MISSING:
                label = SPACY_ROOT if head == 0 else ATTACHED
            heads.append(head - word if head > 0 else 0)
            labels.append(0 if head == MISSING_HEAD else doc.vocab.strings.add(label))
    _write(doc, {"HEAD": heads, "DEP": labels})


def _write(doc: Doc, columns: dict[str, list[int]]) -> None:
    """Write attributes of all tokens; negative numbers as spaCy wraps them, modulo 2^64."""
    table = np.array([*columns.values()], dtype=object).T % (1 << 64)
    numbers = [ATTRIBUTES[name] for name in columns]
    doc.from_array(numbers, cast("Any", np.ascontiguousarray(table, dtype=np.uint64)))  # as signed


# -- from Examples ---------------------------------------------------------------------------------


class Learnable(NamedTuple):
    """Sentences to learn from; how many of them have the words of the gold, because those of spaCy
    do not match them; how many were left out because they lack something.
    """

    sentences: list[Sentence]
    with_gold_words: int
    left_out: int = 0


def sentences_to_learn(examples: Iterable[Example], layers: Sequence[str] = ()) -> Learnable:
    """The sentences of Examples that have a value of each of some layers for each word; lemmas and
    features may be missing.

    They have spaCy's words, or those of the gold where they differ. Where words do not match, words
    of spaCy have no gold, or no head because that head is two words, or they share what the gold
    says of one word. With the words of the gold the treebank is not thinned out where text is
    difficult, and most of the words are the same.
    """
    kept: list[Sentence] = []
    with_gold_words = left_out = 0
    for example in examples:
        found = list(sentences_of(example))
        gold = [] if _same_words(example) else list(_gold_sentences(example))
        differs = [one.forms != other.forms for one, other in zip(found, gold, strict=False)]
        if len(gold) == len(found):
            pairs = zip(found, gold, differs, strict=True)
            found = [other if differ else one for one, other, differ in pairs]
            with_gold_words += sum(differs)
        elif gold:  # a sentence of the gold begins within a token
            found, with_gold_words = gold, with_gold_words + len(gold)
        complete = [sentence for sentence in found if _is_complete(sentence, layers)]
        kept += complete
        left_out += len(found) - len(complete)
    return Learnable(kept, with_gold_words, left_out)


def _same_words(example: Example) -> bool:
    predicted, gold = example.predicted, example.reference
    return [token.orth for token in predicted] == [token.orth for token in gold]


def _gold_sentences(example: Example) -> Iterator[Sentence]:
    """The sentences of the gold of an Example, with its own words; none without sentence starts."""
    gold = example.reference
    if len(gold) and gold.has_annotation("SENT_START"):
        yield from sentences_of(Example(gold, gold))


def sentences_of(example: Example) -> Iterator[Sentence]:
    """The sentences of an Example: the tokens that spaCy predicts on, without white space, with the
    gold that is aligned with them.

    What is not aligned is missing. Without gold sentence starts they are found by rule.
    """
    doc, gold = example.predicted, example.reference
    if not len(doc):
        return
    columns: dict[str, Sequence[Any]] = {
        layer: example.get_aligned(attribute, as_string=True)
        for layer, attribute in LAYERS_OF_TOKENS.items()
    }
    if gold.has_annotation("DEP"):
        heads, deps = example.get_aligned_parse(projectivize=False)  # type: ignore[no-untyped-call]
        columns |= {"heads": heads, "deprels": deps}
    if gold.has_annotation("ENT_IOB"):
        # spaCy has None where there is none, and ``-`` where an entity does not end with a token
        tags = biluo_to_iob(example.get_aligned_ner())
        columns["spans"] = [None if tag == "-" else tag for tag in tags]
    starts = example.get_aligned_sent_starts()  # type: ignore[no-untyped-call]
    if None in starts:
        batch = read([doc], RuleSplitter(), keep_starts=False)
        first = set(batch.places[batch.starts[:-1]].tolist())
        starts = [token.i in first for token in doc]
    for tokens, sentence in _sentences(doc, starts, columns, ends=True):
        place = tokens[0].i
        if all(token.is_space for token in doc[:place]) or BLANK_LINE.search(doc[place - 1].text):
            sentence = replace(sentence, source=_PARAGRAPH)
        yield sentence


def _is_complete(sentence: Sentence, layers: Sequence[str]) -> bool:
    """Whether every word has its tags, and the sentence a tree; lemmas may be missing."""
    tags = [layer for layer in ("upos", "xpos", "spans", "deprels") if layer in layers]
    if any(MISSING in (getattr(sentence, layer) or MISSING) for layer in tags):
        return False
    if "heads" not in layers:
        return True
    return (
        len(sentence.heads) == len(sentence)
        and MISSING_HEAD not in sentence.heads
        and find_tree_fault(sentence.heads, single_root=True) is None
    )
