"""The content relations, functional relations and universal features of the CoNLL 2018 evaluation.

Source: ``conll18_ud_eval.py`` 1.2 of the CoNLL 2018 shared task (Zeman et al. 2018, section 4); its
lists come from version 2 of the Universal Dependencies guidelines. ``punct`` is in neither list of
relations.
"""

from __future__ import annotations

_CORE = "nsubj csubj obj iobj ccomp xcomp root"
_NON_CORE = "obl vocative expl dislocated advcl advmod discourse"
_NOMINAL = "nmod appos nummod acl amod"
_LOOSE = "conj fixed flat compound list parataxis orphan goeswith reparandum dep"

CONTENT_DEPRELS = frozenset(f"{_CORE} {_NON_CORE} {_NOMINAL} {_LOOSE}".split())
"""The relations of the words that CLAS and MLAS count."""

FUNCTIONAL_DEPRELS = frozenset(["aux", "case", "cc", "clf", "cop", "det", "mark"])
"""The relations of the children that must be correct too where MLAS counts a content word."""

_LEXICAL = "Abbr Foreign NumType Poss PronType Reflex"
_NOMINAL_FEATURES = "Animacy Case Definite Degree Gender Number"
_VERBAL_FEATURES = "Aspect Evident Mood Person Polarity Polite Tense VerbForm Voice"

UNIVERSAL_FEATURES = frozenset(f"{_LEXICAL} {_NOMINAL_FEATURES} {_VERBAL_FEATURES}".split())
"""The names of the features that UFeats, AllTags and MLAS compare; others are ignored."""


def universal_feats(feats: str) -> str:
    """The universal features of a FEATS cell, sorted; empty where there are none, as in ``_``."""
    return "|".join(
        sorted(part for part in feats.split("|") if part.split("=", 1)[0] in UNIVERSAL_FEATURES)
    )


def universal_deprel(deprel: str) -> str:
    """The universal relation of a DEPREL cell, which is the part before the first colon."""
    return deprel.split(":", 1)[0]
