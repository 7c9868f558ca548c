"""The default feature templates of all tasks, in the language of ``templates``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from egparse.layers import SUPERTAGS, TREEBANK

WORD_TEMPLATES = (
    "bias", "form[0]", "normal[0]", "normal[-1]", "normal[1]", "normal[-2]", "normal[2]",
    "normal[-1]|normal[0]", "normal[0]|normal[1]", "normal[-1]|normal[1]", "normal[-2]|normal[-1]",
    "normal[1]|normal[2]", "prefix1[0]", "prefix2[0]", "prefix3[0]", "prefix4[0]", "suffix1[0]",
    "suffix2[0]", "suffix3[0]", "suffix4[0]", "suffix5[0]", "shape[0]", "shape[-1]|shape[0]",
    "shape[0]|shape[1]", "shape[0]|first[0]", "suffix3[-1]", "suffix3[1]", "suffix2[-1]|suffix2[0]",
    "suffix2[0]|suffix2[1]", "suffix2[-1]|suffix2[1]", "suffix3[-1]|suffix3[0]",
    "suffix3[0]|suffix3[1]", "symbol[0]",
)  # fmt: skip
"""Word, affix, shape and neighbour templates for tags and supertags."""

LONG_AFFIX_TEMPLATES = (
    "prefix5[0]", "prefix6[0]", "prefix7[0]", "prefix8[0]", "prefix9[0]", "prefix10[0]",
    "suffix6[0]", "suffix7[0]", "suffix8[0]", "suffix9[0]", "suffix10[0]",
)  # fmt: skip
"""Affixes of up to ten characters for tags, which are of use where words are long (those of MarMoT,
Müller et al. 2013; docs/decisions/tag-models.md).
"""

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

SUPERTAG_CONTEXT_TEMPLATES = (
    "upos[0]", "xpos[0]", "feats[0]", "upos[-1]|upos[0]", "upos[0]|upos[1]",
    "upos[-1]|upos[0]|upos[1]", "xpos[-1]|xpos[0]|xpos[1]", "xpos[-1]|xpos[0]", "xpos[0]|xpos[1]",
    "upos[-2]|upos[-1]|upos[0]", "upos[0]|upos[1]|upos[2]", "xpos[-2]|xpos[-1]", "xpos[1]|xpos[2]",
    "normal[0]|xpos[1]", "xpos[-1]|normal[0]", "normal[0]|xpos[0]", "normal[-1]|xpos[0]",
    "xpos[0]|normal[1]", "upos[-2]|upos[0]", "upos[0]|upos[2]", "upos[-3]|upos[-2]|upos[-1]",
    "upos[1]|upos[2]|upos[3]",
)  # fmt: skip
"""For supertags, beside those of words: predicted tags."""

LEMMA_TEMPLATES = (
    "bias", "upos[0]", "xpos[0]", "feats[0]", "lower[0]", "form[0]", "lower[0]|upos[0]",
    "lower[0]|feats[0]", "suffix1[0]|upos[0]", "suffix2[0]|upos[0]", "suffix3[0]|upos[0]",
    "suffix4[0]|upos[0]", "suffix5[0]|upos[0]", "suffix1[0]|feats[0]", "suffix2[0]|feats[0]",
    "suffix3[0]|feats[0]", "suffix4[0]|feats[0]", "suffix4[0]", "suffix5[0]", "prefix1[0]|upos[0]",
    "prefix2[0]|upos[0]", "prefix3[0]", "prefix4[0]", "shape[0]|upos[0]", "traits[0]|upos[0]",
    "traits[0]|first[0]|upos[0]", "upos[-1]|upos[0]", "upos[0]|upos[1]", "lower[-1]|lower[0]",
    "lower[0]|lower[1]", "lower[-1]|upos[0]", "upos[0]|lower[1]", "traits[-1]|traits[0]|upos[0]",
    "traits[0]|traits[1]|upos[0]",
)  # fmt: skip
"""For lemmas: affixes, casing, predicted tags and neighbours."""

FURTHER_TAG_TEMPLATES = {
    TREEBANK: (
        "treebank[0]", "treebank[0]|form[0]", "treebank[0]|normal[0]", "treebank[0]|suffix2[0]",
        "treebank[0]|suffix3[0]", "treebank[0]|shape[0]", "treebank[0]|normal[-1]",
        "treebank[0]|normal[1]", "treebank[0]|normal[-1]|normal[0]",
        "treebank[0]|normal[0]|normal[1]",
    ),
}  # fmt: skip
"""Further column -> templates over it for tags and supertags, added where a model has it
(``Columns.further``): conventions of treebanks differ, most often in what is done with a word.
"""

FURTHER_LEMMA_TEMPLATES = {
    TREEBANK: ("treebank[0]|lower[0]", "treebank[0]|upos[0]", "treebank[0]|suffix3[0]|upos[0]"),
}
"""Further column -> the same for lemmas."""

SPLITTER_TEMPLATES = (
    "bias", "kind[-1]", "kind[0]", "kind[-1]|kind[0]", "kind[-1]|kind[0]|spaced[-1]",
    "kind[-2]|kind[-1]|kind[0]", "kind[-1]|kind[0]|kind[1]", "kind[-2]|kind[-1]|spaced[-1]",
    "kind[-1]|spaced[-1]|spaced[-2]", "lower[-1]", "lower[0]", "lower[-1]|lower[0]",
    "lower[-1]|kind[0]", "lower[0]|kind[-1]", "lower[0]|kind[0]", "lower[-1]|kind[0]|spaced[-1]",
    "lower[0]|kind[0]|kind[-1]", "lower[-2]|lower[-1]", "lower[-2]|lower[-1]|kind[0]",
    "lower[0]|lower[1]", "lower[1]|kind[0]|kind[-1]", "lower[-1]|lower[0]|lower[1]", "shape[-1]",
    "shape[0]", "shape[-1]|shape[0]", "shape[-2]|shape[-1]|kind[0]", "shape[-1]|kind[0]|kind[1]",
    "suffix[-1]|kind[0]", "suffix[0]|kind[-1]", "inside[0]|kind[-1]|kind[0]",
    "inside[0]|lower[-1]|kind[0]", "inside[0]|lower[0]|kind[-1]", "casing[0]|kind[0]",
    "casing[0]|kind[0]|kind[-1]", "casing[0]|kind[0]|lower[-1]", "casing[0]|kind[0]|kind[1]",
    "casing[1]|kind[1]|kind[0]",
)  # fmt: skip
"""For the sentence splitter, over the columns of ``egparse.text.word_columns``."""

TOKENISER_TEMPLATES = (
    "bias", "gap[0]", "kind[-1]|kind[0]|gap[0]", "kind[-2]|kind[-1]|kind[0]",
    "kind[-1]|kind[0]|kind[1]", "kind[-1]|kind[0]|gap[1]", "kind[-1]|gap[-1]|kind[0]",
    "gap[-1]|gap[0]|gap[1]", "lower[-1]|gap[0]", "lower[0]|gap[0]", "lower[-1]|lower[0]|gap[0]",
    "lower[-1]|kind[0]|gap[0]", "kind[-1]|lower[0]|gap[0]", "lower[-2]|lower[-1]|lower[0]",
    "lower[-1]|lower[0]|lower[1]", "lower[-2]|lower[-1]", "lower[0]|lower[1]",
    "lower[-1]|lower[0]|gap[1]", "gap[-1]|lower[-1]|lower[0]", "lower[-1]|kind[0]|gap[-1]",
    "kind[-1]|lower[0]|gap[1]", "shape[-1]|shape[0]|gap[0]", "shape[-1]|lower[0]",
    "lower[-1]|shape[0]", "shape[-2]|shape[-1]|shape[0]", "shape[-1]|shape[0]|shape[1]",
    "suffix[-1]|lower[0]", "suffix[-1]|kind[0]|gap[0]", "first[0]|kind[-1]|kind[0]",
    "last[0]|kind[-1]|kind[0]", "marks[0]|kind[-1]|kind[0]", "marks[0]|lower[0]|gap[0]",
    "marks[0]|lower[-1]", "place[0]|lower[0]", "place[0]|lower[-1]", "place[0]|kind[-1]|kind[0]",
    "around[0]", "around[0]|kind[-1]|kind[0]", "around[0]|before[0]|after[0]",
    "before[0]|after[0]|gap[0]",
)  # fmt: skip
"""For the tokeniser, over the columns of ``egparse.text.tokeniser``."""

CONTINUOUS_TEMPLATES = (
    "bias", "gap[0]", "gap[1]", "lower[-2]", "lower[-1]", "lower[0]", "lower[1]",
    "lower[-2]|lower[-1]", "lower[-1]|lower[0]", "lower[0]|lower[1]", "lower[-1]|lower[1]",
    "lower[-2]|lower[-1]|lower[0]", "lower[-1]|lower[0]|lower[1]",
    "script[-1]|script[0]|gap[0]", "script[-2]|script[-1]|script[0]",
    "script[-1]|script[0]|script[1]", "script[-1]|lower[0]", "lower[-1]|script[0]",
    "lower[-1]|script[0]|script[1]", "script[-2]|script[-1]|lower[0]", "around[0]",
    "around[0]|lower[-1]", "around[0]|lower[0]", "around[0]|lower[-1]|lower[0]",
    "before[0]|after[0]", "around[0]|before[0]|after[0]",
)  # fmt: skip
"""For text whose words follow each other without blanks, over the same columns."""

EXPANDER_TEMPLATES = (
    "bias", "lower[0]", "shape[0]", "suffix[0]", "kind[0]", "lower[-1]", "lower[1]", "suffix[-1]",
    "suffix[1]", "kind[-1]", "kind[1]", "spaced[0]", "lower[-1]|lower[0]", "lower[0]|lower[1]",
    "suffix[-1]|lower[0]", "lower[0]|suffix[1]", "lower[0]|kind[0]", "lower[0]|kind[-1]",
    "lower[0]|kind[1]", "lower[-1]|lower[0]|lower[1]", "lower[-2]|lower[-1]|lower[0]",
    "lower[0]|lower[1]|lower[2]", "suffix[-1]|lower[0]|suffix[1]", "lower[0]|suffix[2]",
    "suffix[-2]|lower[0]", "lower[0]|suffix[1]|suffix[2]", "suffix[-2]|suffix[-1]|lower[0]",
    "suffix[0]|suffix[1]", "suffix[-1]|suffix[0]",
    "prefix1[0]", "prefix2[0]", "prefix3[0]", "suffix1[0]", "suffix2[0]", "length[0]",
)  # fmt: skip
"""For multiword tokens, over the columns of ``egparse.text.word_columns``."""

LABEL_TEMPLATES = (
    "bias", "upos[0]|head_upos[0]|side[0]", "xpos[0]|head_xpos[0]|side[0]",
    "xpos[0]|head_xpos[0]|distance[0]", "lower[0]|side[0]", "lower[0]|head_upos[0]|side[0]",
    "lower[0]|head_xpos[0]|xpos[0]", "head_lower[0]|upos[0]|side[0]",
    "head_lower[0]|xpos[0]|side[0]", "lower[0]|head_lower[0]", "stem[0]|head_stem[0]",
    "suffix3[0]|head_xpos[0]|side[0]", "head_suffix3[0]|xpos[0]|side[0]",
    "shape[0]|head_upos[0]|side[0]", "feats[0]|head_feats[0]|side[0]",
    "feats[0]|head_upos[0]|side[0]", "head_feats[0]|upos[0]|side[0]", "xpos[-1]|xpos[0]|side[0]",
    "xpos[0]|xpos[1]|side[0]", "lower[-1]|xpos[0]|side[0]", "lower[1]|xpos[0]|side[0]",
    "first_lower[0]|upos[0]|head_upos[0]", "first_lower[0]|lower[0]",
    "first_lower[0]|head_lower[0]", "first_lower[0]|xpos[0]|side[0]",
    "first_xpos[0]|xpos[0]|head_xpos[0]", "first_upos[0]|head_lower[0]|side[0]",
    "first_upos[0]|lower[0]|side[0]", "last_xpos[0]|xpos[0]|head_xpos[0]",
    "last_lower[0]|upos[0]|side[0]", "first_upos[0]|last_upos[0]|xpos[0]",
    "lefts[0]|rights[0]|xpos[0]", "lefts[0]|head_upos[0]|xpos[0]",
    "inner_upos[0]|upos[0]|head_upos[0]", "inner_xpos[0]|xpos[0]|side[0]",
    "inner_lower[0]|upos[0]|side[0]", "inner_upos[0]|head_lower[0]|upos[0]",
    "outer_upos[0]|upos[0]|head_upos[0]", "outer_xpos[0]|xpos[0]|side[0]",
    "outer_lower[0]|upos[0]|side[0]", "outer_upos[0]|head_lower[0]|upos[0]", "lower[0]|distance[0]",
    "lower[0]|lower[1]|side[0]", "lower[-1]|lower[0]|side[0]", "upos[-1]|upos[0]|upos[1]",
    "shape[0]|xpos[0]|head_xpos[0]", "first_lower[0]|shape[0]", "inner_lower[0]|lower[0]",
    "outer_lower[0]|lower[0]", "inner_upos[0]|outer_upos[0]|upos[0]",
    "grand_upos[0]|head_upos[0]|upos[0]", "grand_upos[0]|head_xpos[0]|xpos[0]",
)  # fmt: skip
"""Both ends of the arc, their side and distance, and the dependent's children, siblings and
grandparent.
"""

FURTHER_LABEL_TEMPLATES = {
    SUPERTAGS: (
        "supertags[0]", "supertags[0]|head_upos[0]|side[0]", "supertags[0]|xpos[0]|head_xpos[0]",
        "supertags[0]|lower[0]",
    ),
    TREEBANK: (
        "treebank[0]|upos[0]|head_upos[0]", "treebank[0]|xpos[0]|head_xpos[0]",
        "treebank[0]|lower[0]", "treebank[0]|lower[0]|head_upos[0]",
        "treebank[0]|head_lower[0]|upos[0]", "treebank[0]|first_lower[0]|upos[0]",
    ),
}  # fmt: skip
"""Further column -> templates over it, added where a model has it (``Columns.further``)."""

ARC_TEMPLATES = (
    "h.xpos + d.xpos", "h.upos + d.upos", "h.xpos +", "+ d.xpos",
    "h.xpos h.xpos[+1] + d.xpos[-1] d.xpos", "h.xpos[-1] h.xpos + d.xpos[-1] d.xpos",
    "h.xpos h.xpos[+1] + d.xpos d.xpos[+1]", "h.xpos[-1] h.xpos + d.xpos d.xpos[+1]",
    "h.xpos h.xpos[+1] + d.xpos", "h.xpos[-1] h.xpos + d.xpos", "h.xpos + d.xpos d.xpos[+1]",
    "h.xpos + d.xpos[-1] d.xpos", "h.upos h.upos[+1] + d.upos[-1] d.upos",
    "h.upos[-1] h.upos + d.upos[-1] d.upos", "h.upos h.upos[+1] + d.upos d.upos[+1]",
    "h.upos[-1] h.upos + d.upos d.upos[+1]", "h.xpos[-1] h.xpos h.xpos[+1] + d.xpos",
    "h.xpos + d.xpos[-1] d.xpos d.xpos[+1]", "h.feats + d.feats", "h.xpos + d.marker d.xpos",
    "h.upos h.marker + d.marker d.upos", "h.xpos h.marker + d.marker d.xpos",
    "h.xpos h.marker + d.xpos", "h.xpos[-2] h.xpos[-1] h.xpos + d.xpos",
    "h.xpos h.xpos[+1] h.xpos[+2] + d.xpos", "h.xpos + d.xpos[-2] d.xpos[-1] d.xpos",
    "h.xpos + d.xpos d.xpos[+1] d.xpos[+2]", "h.upos h.bracket + d.bracket d.upos",
    "h.form h.xpos +", "h.form +", "+ d.form d.xpos", "+ d.form", "h.form h.xpos + d.form d.xpos",
    "h.xpos + d.form d.xpos", "h.form + d.form d.xpos", "h.form h.xpos + d.form",
    "h.form h.xpos + d.xpos", "h.form + d.form", "h.stem + d.stem", "h.stem + d.xpos",
    "h.xpos + d.stem", "h.form + d.marker", "h.form + d.marker d.xpos", "h.stem + d.marker d.stem",
    "h.xpos + d.marker d.form", "h.xpos + d.form[-1] d.xpos", "h.xpos + d.form[+1] d.xpos",
    "h.form[-1] h.xpos + d.xpos", "h.form[+1] h.xpos + d.xpos", "h.bracket + d.bracket d.form",
    "h.upos h.bracket h.bracket[+1] + d.bracket d.bracket[+1] d.form", "h.xpos + d.shape d.xpos",
    "h.shape + d.shape", "h.shape + d.form", "h.form + d.shape",
)  # fmt: skip
"""For arcs; see docs/decisions/arc-features.md. The first two pair the tags."""

FURTHER_ARC_TEMPLATES = {
    SUPERTAGS: (
        "h.supertag + d.supertag", "h.supertag + d.xpos", "h.xpos + d.supertag", "+ d.supertag",
        "+ d.supertag d.xpos", "h.supertag h.xpos +", "h.form + d.supertag", "h.supertag + d.form",
        "h.xpos + d.supertag d.xpos", "h.supertag h.xpos + d.xpos",
        "h.supertag h.supertag[+1] + d.supertag[-1] d.supertag",
        "h.upos h.upos[+1] + d.supertag[-1] d.supertag", "h.upos h.marker + d.supertag",
    ),
    TREEBANK: (
        "h.xpos + d.treebank d.xpos", "h.upos + d.treebank d.upos", "h.form + d.treebank d.xpos",
        "h.xpos + d.treebank d.form", "h.xpos h.xpos[+1] + d.treebank d.xpos[-1] d.xpos",
        "h.xpos[-1] h.xpos + d.treebank d.xpos d.xpos[+1]", "h.xpos + d.treebank d.marker d.xpos",
    ),
}  # fmt: skip
"""Further column -> the same over it."""

PRUNER_TEMPLATES = (
    "h.xpos + d.xpos", "h.upos + d.upos", "h.xpos h.xpos[+1] + d.xpos[-1] d.xpos",
    "h.xpos[-1] h.xpos + d.xpos d.xpos[+1]", "h.xpos h.marker + d.marker d.xpos",
    "h.form h.xpos + d.xpos", "h.xpos + d.form d.xpos", "h.form + d.form",
)  # fmt: skip
"""For arcs in the pruner, which scores four times as many of them as the parser: with all templates
of the parser an arc has six times as many features (docs/decisions/second-order.md).
"""

FURTHER_PRUNER_TEMPLATES = {
    SUPERTAGS: (
        "h.supertag + d.supertag", "h.xpos + d.supertag d.xpos", "h.supertag h.xpos + d.xpos",
    ),
}  # fmt: skip
"""Further column -> the same over it."""

SIBLING_TEMPLATES = (
    "h.xpos s.xpos d.xpos", "h.upos s.upos d.upos", "s.xpos d.xpos", "s.upos d.upos",
    "h.xpos s.upos d.xpos",
)  # fmt: skip
"""Conjunctions at a head h, its modifier d and the next modifier s inward."""

GRANDPARENT_TEMPLATES = (
    "g.xpos h.xpos d.xpos", "g.upos h.upos d.upos", "g.xpos d.xpos", "g.upos d.upos",
    "g.upos h.xpos d.xpos",
)  # fmt: skip
"""Conjunctions at a word d, its head h and the head g of that."""

ARC_LABEL_TEMPLATES = (
    "h.xpos + d.xpos", "h.upos + d.upos", "+ d.xpos", "+ d.form", "h.form +", "h.form + d.xpos",
    "h.xpos + d.form", "h.upos + d.form d.xpos", "h.form h.xpos + d.upos", "h.form + d.form",
    "h.stem + d.stem", "h.feats + d.feats", "h.upos + d.feats", "h.feats + d.upos",
    "h.xpos + d.xpos[-1] d.xpos", "h.xpos + d.xpos d.xpos[+1]", "h.xpos[-1] h.xpos + d.xpos",
    "h.xpos h.xpos[+1] + d.xpos", "h.xpos + d.marker d.xpos", "h.form + d.marker",
    "h.form + d.marker d.xpos", "h.xpos + d.marker d.form", "h.upos h.marker + d.marker d.upos",
    "h.xpos + d.form[-1] d.xpos", "h.xpos + d.form[+1] d.xpos", "h.shape + d.shape",
    "h.xpos + d.shape d.xpos", "h.stem + d.xpos", "h.xpos + d.stem",
)  # fmt: skip
"""Conjunctions at the ends of a labelled arc."""

FURTHER_ARC_LABEL_TEMPLATES = {
    SUPERTAGS: (
        "+ d.supertag", "h.xpos + d.supertag", "h.upos + d.supertag d.xpos",
        "h.supertag + d.supertag", "h.form + d.supertag",
    ),
    TREEBANK: ("h.xpos + d.treebank d.xpos", "h.upos + d.treebank d.form"),
}  # fmt: skip
"""Further column -> the same over it."""

WORD_CLASS_TEMPLATES = (
    "class4[0]", "class6[0]", "class10[0]", "class[0]", "class6[-1]", "class6[1]", "class[-1]",
    "class[1]", "class6[-1]|class6[0]", "class6[0]|class6[1]", "class[0]|suffix3[0]",
)  # fmt: skip
"""For tags, once for each table of word classes."""

SPAN_CLASS_TEMPLATES = (
    "class4[0]", "class6[0]", "class8[0]", "class10[0]", "class12[0]", "class16[0]", "class[0]",
    "class6[-2]", "class6[-1]", "class6[1]", "class6[2]", "class8[-1]", "class8[1]", "class12[-1]",
    "class12[1]", "class[-1]", "class[1]", "class6[-1]|class6[0]", "class6[0]|class6[1]",
    "class8[-1]|class8[0]", "class8[0]|class8[1]", "class[-1]|class[0]", "class[0]|class[1]",
    "class[0]|shape[0]", "class10[0]|shape[0]", "class8[-1]|shape[0]", "class[0]|suffix3[0]",
    "class6[0]|upos[0]", "class6[0]|casing[0]", "class[0]|casing[0]", "class6[-1]|casing[0]",
    "class6[1]|casing[0]",
)  # fmt: skip
"""The same for entities."""

LABEL_CLASS_TEMPLATES = (
    "class6[0]|head_class6[0]|side[0]", "class[0]|head_upos[0]|side[0]",
    "head_class[0]|upos[0]|side[0]", "class[0]|head_class[0]",
)  # fmt: skip
"""The same for the labeller."""

ARC_CLASS_TEMPLATES = (
    "h.class4 + d.class4", "h.class6 + d.class6", "h.class6 h.xpos + d.class6 d.xpos",
    "h.class + d.class", "h.class + d.xpos", "h.xpos + d.class", "h.class + d.form",
    "h.form + d.class", "h.class6 + d.form", "h.form + d.class6",
    "h.class6 h.class6[+1] + d.class6[-1] d.class6",
)  # fmt: skip
"""The same for arcs (Koo et al. 2008, "Simple semi-supervised dependency parsing", section 3:
prefixes in the place of tags, whole paths in the place of words).
"""

ARC_LABEL_CLASS_TEMPLATES = (
    "h.class6 + d.class6", "h.class + d.class", "h.class + d.xpos", "h.xpos + d.class",
)  # fmt: skip
"""The same for labelled arcs."""

SIBLING_CLASS_TEMPLATES = ("h.class6 s.class6 d.class6", "s.class6 d.class6")
"""The same for siblings."""

GRANDPARENT_CLASS_TEMPLATES = ("g.class6 h.class6 d.class6", "g.class6 d.class6")
"""The same for grandparents."""


def over_further(
    columns: Sequence[str], templates: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """The templates over these further columns."""
    return tuple(text for column in columns for text in templates.get(column, ()))
