"""Differences between two annotations of the same words; missing values are no differences.

Words count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from egparse.layers import LAYERS, WORD_TAGS
from egparse.sentences import MISSING, MISSING_HEAD, ROW_KEYS, Sentence

WORD_LAYERS = {
    name: layer.title if layer.kind == "tag" else ROW_KEYS[name]
    for name, layer in LAYERS.items()
    if layer.kind in ("tag", "lemma")
}
"""The layers with one value a word, tags and lemmas -> what a value is called."""


def label_of(sentence: Sentence, word: int) -> str:
    """The label of the arc to a word, empty if it is missing."""
    label = sentence.deprels[word] if sentence.deprels else MISSING
    return "" if label == MISSING else label


def differs_in_head(sentence: Sentence, compared: Sentence | None, word: int) -> bool:
    """Whether both annotations have a head for the word, and different ones."""
    if compared is None or not compared.heads or not sentence.heads:
        return False
    first, other = sentence.heads[word], compared.heads[word]
    return MISSING_HEAD not in (first, other) and first != other


def differs_in_label(sentence: Sentence, compared: Sentence | None, word: int) -> bool:
    """Whether both annotations have a label for the word's arc, and different ones."""
    if compared is None:
        return False
    first, other = label_of(sentence, word), label_of(compared, word)
    return bool(first and other) and first != other


def differs_in_tag(sentence: Sentence, compared: Sentence | None, word: int, layer: str) -> bool:
    """Whether both annotations have a value for the word in a layer, and different ones."""
    if compared is None:
        return False
    first, other = tag_of(sentence, layer, word), tag_of(compared, layer, word)
    return MISSING not in (first, other) and first != other


def shown_layers(sentence: Sentence, asked: Sequence[str] | None = None) -> tuple[str, ...]:
    """The layers that are drawn below the words: those of ``asked`` in which some word has a value,
    or else the first layer of tags in which one has.
    """
    known = (
        layer
        for layer in (WORD_TAGS if asked is None else asked)
        if any(value != MISSING for value in getattr(sentence, layer))
    )
    return tuple(islice(known, 1) if asked is None else known)


def tag_of(sentence: Sentence, layer: str, word: int) -> str:
    """The value of a word in a layer of ``WORD_LAYERS``, ``MISSING`` if it has none."""
    tags = getattr(sentence, layer)
    return str(tags[word]) if tags else MISSING
