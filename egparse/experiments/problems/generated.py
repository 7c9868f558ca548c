"""Data drawn at random, for quick runs without a corpus: they show that the program works, and
nothing about language.
"""

from __future__ import annotations

import numpy as np

from egparse.sentences import Sentence
from egparse.types import Floats, Ints

_NOUN_PHRASES = (
    ("DET NOUN", "O O"),
    ("DET ADJ NOUN", "O O O"),
    ("PRON", "O"),
    ("PROPN", "B-PER"),
    ("PROPN PROPN", "B-LOC I-LOC"),
)
"""The tags of a phrase, whose head is its last word, and its names."""

_FORMS = {"DET": 3, "PRON": 4, "ADP": 4, "PUNCT": 1}
"""The number of forms of a closed word class; open classes have 60."""


def classes_of_points(n: int, seed: int, *, d: int = 20, n_classes: int = 5) -> tuple[Floats, Ints]:
    """Points (n, d) around the centre of their class (n,). The classes overlap: some points lie
    nearer to the centre of another class.
    """
    random = np.random.default_rng(seed)
    centres = random.normal(size=(n_classes, d))
    y = random.integers(n_classes, size=n).astype(np.int32)
    return 0.25 * (centres[y] + 2.0 * random.normal(size=(n, d))), y


def sentences(n: int, seed: int) -> list[Sentence]:
    """Sentences of a small grammar (subject, verb, object, phrases on the verb or the object) with
    tags, trees and names.
    """
    random = np.random.default_rng(seed)
    return [_sentence(random) for _ in range(n)]


def _sentence(random: np.random.Generator) -> Sentence:
    upos, spans, heads = list[str](), list[str](), list[int]()

    def append(tags: str, names: str = "O") -> int:
        upos.extend(tags.split())
        spans.extend(names.split())
        heads.extend([len(upos)] * (len(upos) - len(heads)))
        return len(upos) - 1

    def noun_phrase() -> int:
        return append(*_NOUN_PHRASES[random.integers(len(_NOUN_PHRASES))])

    subject, verb, anchor = noun_phrase(), append("VERB"), noun_phrase()
    heads[subject], heads[verb], heads[anchor] = verb + 1, 0, verb + 1
    for _ in range(random.integers(3)):
        case, noun = append("ADP"), noun_phrase()
        heads[case], heads[noun] = noun + 1, (anchor if random.random() < 0.5 else verb) + 1
        anchor = noun
    heads[append("PUNCT")] = verb + 1
    forms = [f"{tag.lower()}{random.integers(_FORMS.get(tag, 60))}" for tag in upos]
    forms = [form.capitalize() if form[:5] == "propn" else form for form in forms]
    return Sentence(forms=[*forms[:-1], "."], upos=upos, heads=heads, spans=spans)
