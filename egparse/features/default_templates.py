"""The default feature templates of taggers, entities and the sentence splitter."""

from __future__ import annotations

WORD_TEMPLATES = (
    "bias", "form[0]", "normal[0]", "normal[-1]", "normal[1]", "normal[-2]", "normal[2]",
    "normal[-1]|normal[0]", "normal[0]|normal[1]", "normal[-1]|normal[1]", "normal[-2]|normal[-1]",
    "normal[1]|normal[2]", "prefix1[0]", "prefix2[0]", "prefix3[0]", "prefix4[0]", "suffix1[0]",
    "suffix2[0]", "suffix3[0]", "suffix4[0]", "suffix5[0]", "shape[0]", "shape[-1]|shape[0]",
    "shape[0]|shape[1]", "shape[0]|first[0]", "suffix3[-1]", "suffix3[1]", "suffix2[-1]|suffix2[0]",
    "suffix2[0]|suffix2[1]", "suffix2[-1]|suffix2[1]", "suffix3[-1]|suffix3[0]",
    "suffix3[0]|suffix3[1]",
)  # fmt: skip
"""Word, affix, shape and neighbour templates for tags."""

SPAN_TEMPLATES = (
    "bias", "form[0]", "lower[0]", "lower[-1]", "lower[1]", "lower[-2]", "lower[2]",
    "lower[-1]|lower[0]", "lower[0]|lower[1]", "prefix1[0]", "prefix2[0]", "prefix3[0]",
    "prefix4[0]", "suffix1[0]", "suffix2[0]", "suffix3[0]", "suffix4[0]", "shape[0]", "shape[-1]",
    "shape[1]", "shape[-1]|shape[0]", "shape[0]|shape[1]", "traits[0]", "upos[0]", "upos[-1]",
    "upos[1]", "xpos[0]", "upos[0]|lower[0]", "upos[0]|shape[0]", "upos[-1]|upos[0]|upos[1]",
    "lower[-1]|upos[0]", "upos[0]|lower[1]", "lower[-1]|upos[0]|upos[1]",
    "upos[-1]|upos[0]|lower[1]", "suffix5[0]", "prefix5[0]", "suffix3[-1]", "suffix3[1]",
    "suffix2[0]|shape[0]", "suffix3[0]|shape[0]", "casing[0]", "casing[0]|shape[0]", "casing[-1]",
    "casing[1]", "casing[0]|casing[1]", "casing[-1]|casing[0]", "history[0]",
    "history[0]|casing[0]", "history[-1]|history[0]", "history[0]|history[1]",
)  # fmt: skip
"""For entities: the same with predicted tags and with statistics of forms in the training corpus.
"""

SPLITTER_TEMPLATES = (
    "bias", "class[-1]", "class[0]", "class[-1]|class[0]", "class[-1]|class[0]|spaced[-1]",
    "class[-2]|class[-1]|class[0]", "class[-1]|class[0]|class[1]", "class[-2]|class[-1]|spaced[-1]",
    "class[-1]|spaced[-1]|spaced[-2]", "lower[-1]", "lower[0]", "lower[-1]|lower[0]",
    "lower[-1]|class[0]", "lower[0]|class[-1]", "lower[0]|class[0]",
    "lower[-1]|class[0]|spaced[-1]", "lower[0]|class[0]|class[-1]", "lower[-2]|lower[-1]",
    "lower[-2]|lower[-1]|class[0]", "lower[0]|lower[1]", "lower[1]|class[0]|class[-1]",
    "lower[-1]|lower[0]|lower[1]", "shape[-1]", "shape[0]", "shape[-1]|shape[0]",
    "shape[-2]|shape[-1]|class[0]", "shape[-1]|class[0]|class[1]", "suffix[-1]|class[0]",
    "suffix[0]|class[-1]", "inside[0]|class[-1]|class[0]", "inside[0]|lower[-1]|class[0]",
    "inside[0]|lower[0]|class[-1]",
)  # fmt: skip
"""For the sentence splitter, over the columns of ``egparse.splitting.columns``."""
