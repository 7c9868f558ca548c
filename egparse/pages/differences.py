"""Differences between two annotations of the same words; missing values are no differences.

Words count from 0.
"""

from __future__ import annotations

from egparse.layers import LAYERS, WORD_TAGS
from egparse.sentences import MISSING, MISSING_HEAD, Sentence

TAG_LAYERS = {name: LAYERS[name].title for name in WORD_TAGS}
"""The layers of tags -> their names."""


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
    """Whether both annotations have a tag for the word in a layer, and different ones."""
    if compared is None:
        return False
    first, other = tag_of(sentence, layer, word), tag_of(compared, layer, word)
    return MISSING not in (first, other) and first != other


def shown_layer(sentence: Sentence) -> str | None:
    """The layer of tags that is drawn below the words: the first with any tag."""
    known = (
        layer for layer in TAG_LAYERS if any(tag != MISSING for tag in getattr(sentence, layer))
    )
    return next(known, None)


def tag_of(sentence: Sentence, layer: str, word: int) -> str:
    """The tag of a word in a layer, ``MISSING`` if it has none."""
    tags = getattr(sentence, layer)
    return str(tags[word]) if tags else MISSING
