"""The layers of annotation: one table of what each is called, wherever it is named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal["tag", "lemma", "span", "head", "label"]


class Layer(NamedTuple):
    """One layer of a sentence.

    ``name`` is the field of ``Sentence``, ``section`` the section of the configuration that trains
    it, ``title`` what people call it in running text, ``metric`` the CoNLL 2018 metric that scores
    it (entities are scored as conlleval does), ``probability_key`` the key in the MISC column that
    holds the probability of a value, ``spacy_attribute`` the attribute of a spaCy token.
    """

    name: str
    kind: Kind
    section: str
    title: str
    metric: str
    probability_key: str
    spacy_attribute: str


LAYERS: dict[str, Layer] = {
    layer.name: layer
    for layer in (
        Layer("upos", "tag", "upos", "UPOS", "UPOS", "PUpos", "POS"),
        Layer("xpos", "tag", "xpos", "XPOS", "XPOS", "PXpos", "TAG"),
        Layer("feats", "tag", "feats", "FEATS", "UFeats", "PFeats", "MORPH"),
        Layer("lemmas", "lemma", "lemmas", "lemmas", "Lemmas", "PLemma", "LEMMA"),
        Layer("spans", "span", "spans", "entities", "NE", "PNE", "ENT_TYPE"),
        Layer("heads", "head", "parser", "heads", "UAS", "PHead", "HEAD"),
        Layer("deprels", "label", "labeller", "dependency labels", "LAS", "PDeprel", "DEP"),
    )
}
"""Name -> layer, in the order in which a model predicts them."""

TAG_LAYERS = tuple(name for name, layer in LAYERS.items() if layer.kind in ("tag", "span"))
"""The layers with one tag a word; each may be an input to those after it."""

LABELLED: tuple[Kind, ...] = ("tag", "span", "label")
"""The kinds of layers whose values are labels of a fixed set."""

WORD_TAGS = tuple(name for name, layer in LAYERS.items() if layer.kind == "tag")
"""The layers that spaCy keeps as tags of single words."""

MORPHOLOGY = "morphology"
"""The name of the task that learns the tags of words in several layers at once: in records,
progress and the configuration.
"""


def joined_titles(layers: Iterable[str]) -> str:
    """What people call some layers in running text, such as ``UPOS, XPOS and FEATS``."""
    *others, last = (LAYERS[layer].title for layer in layers)
    return f"{', '.join(others)} and {last}" if others else last


TREEBANK = "treebank"
"""The column of words that says which treebank they are annotated like."""

SUPERTAGS = "supertags"
"""The name of the supertagger's task, and of the layer that it predicts."""

SPLITTER = "splitter"
"""The name of the sentence splitter's task: in records, progress and the configuration."""

LEMMAS = "lemmas"
"""The name of the lemmatiser's task, which is that of its layer."""

EXPANDER = "expander"
"""The name of the task that finds the words of multiword tokens: in records, progress and the
configuration.
"""

TOKENISER = "tokeniser"
"""The name of the tokeniser's task: in records, progress and the configuration."""
