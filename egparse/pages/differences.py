"""Where two annotations of the same words differ, cell by cell: what either does not know is no
difference.
"""

from __future__ import annotations

from egparse.sentences import MISSING, MISSING_HEAD, Sentence

TAG_LAYERS = {"upos": "UPOS", "xpos": "XPOS", "feats": "FEATS"}
"""The layers of tags and what they are called."""


def label_of(sentence: Sentence, word: int) -> str:
    """The label of the arc to a word (0-based), nothing where it is missing."""
    label = sentence.deprels[word] if sentence.deprels else MISSING
    return "" if label == MISSING else label


def differs_in_head(sentence: Sentence, compared: Sentence | None, word: int) -> bool:
    """Whether both annotations know a head of the word (0-based), and not the same."""
    if compared is None or not compared.heads or not sentence.heads:
        return False
    mine, other = sentence.heads[word], compared.heads[word]
    return MISSING_HEAD not in (mine, other) and mine != other


def differs_in_label(sentence: Sentence, compared: Sentence | None, word: int) -> bool:
    """Whether both annotations know a label of the word's arc (0-based), and not the same."""
    if compared is None:
        return False
    mine, other = label_of(sentence, word), label_of(compared, word)
    return bool(mine and other) and mine != other


def differs_in_tag(sentence: Sentence, compared: Sentence | None, word: int, layer: str) -> bool:
    """Whether both annotations know the word's tag in a layer, and not the same."""
    if compared is None:
        return False
    mine, other = tag_of(sentence, layer, word), tag_of(compared, layer, word)
    return MISSING not in (mine, other) and mine != other


def shown_layer(sentence: Sentence) -> str | None:
    """The layer of tags that is drawn below the words: the first of which any is known."""
    known = (
        layer for layer in TAG_LAYERS if any(tag != MISSING for tag in getattr(sentence, layer))
    )
    return next(known, None)


def tag_of(sentence: Sentence, layer: str, word: int) -> str:
    """The tag of a word (0-based) in a layer, ``MISSING`` where it has none."""
    tags = getattr(sentence, layer)
    return str(tags[word]) if tags else MISSING
