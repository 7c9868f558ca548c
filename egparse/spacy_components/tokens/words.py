"""Sentences of a Doc whose multiword tokens have words: the words in place of the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from spacy.tokens import Token

from egparse.sentences import MISSING, MISSING_HEAD, ROW_KEYS, Sentence, SurfaceToken
from egparse.spacy_components.tokens.multiword import Word, words_of

_STRINGS = ("lemmas", "upos", "xpos", "feats", "deprels")


def with_words(sentence: Sentence, tokens: Sequence[Token]) -> Sentence:
    """A sentence of one word for each of some tokens, with the words of multiword tokens in their
    place.

    What a multiword token depends on is said by its words, and a token that depends on it depends
    on the one of its words that stands highest: spaCy has no place for another one.
    """
    entries = [words_of(token) for token in tokens]
    if not any(entries):
        return sentence
    firsts = [0, *accumulate(1 if words is None else len(words) for words in entries)]
    number_of = {token.idx: number for number, token in enumerate(tokens)}
    highest = [
        first + (0 if words is None else _highest(words))
        for first, words in zip(firsts, entries, strict=False)
    ]
    columns: dict[str, list[Any]] = {"forms": [], "heads": [], "misc": [], "spans": []}
    columns |= {layer: [] for layer in _STRINGS}
    ranges = []
    for number, (token, words) in enumerate(zip(tokens, entries, strict=True)):
        if words is None:
            for layer, column in columns.items():
                values = getattr(sentence, layer)
                if values:
                    column.append(values[number])
            head = columns["heads"][-1]
            columns["heads"][-1] = highest[head - 1] + 1 if head > 0 else head
            continue
        first = firsts[number]
        ranges.append(
            SurfaceToken(first, first + len(words) - 1, token.text, sentence.misc[number])
        )
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
