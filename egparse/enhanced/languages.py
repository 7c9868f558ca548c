"""What the rules of enhanced dependencies need to know of a language and of its treebanks. For
English, Dutch, Portuguese and Swedish these are the conventions of treebanks that have enhanced
dependencies (EWT, Alpino, Porttinari, Talbanken); for the others those of the guidelines of
Universal Dependencies, not compared with a treebank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_OBJECTS = "obj iobj ccomp xcomp"


@dataclass(frozen=True, kw_only=True)
class Language:
    """Lemmas and conventions of a language.

    ``adverbs`` introduce clauses: a relative one, even where FEATS do not say so, or an adverbial
    one, in whose label they stand. ``pronouns`` are relative ones that FEATS do not tell from
    others. A clause with a label among ``relative`` is a relative one if it has a relativiser; in
    a language that ``has_bare_relatives`` it needs none, as in "the day I met her", where
    ``adjuncts`` are nouns that are no object. ``controlled`` is the label of the subject of an open
    complement. Conjuncts share dependents of the first one with these relations, if they have none
    themselves: ``shared_before``, where the dependent stands before the first conjunct, and
    ``shared_after``, where it stands after the conjunct that shares it.
    """

    adverbs: frozenset[str]
    pronouns: frozenset[str] = frozenset()
    relative: frozenset[str] = _set("acl:relcl advcl:relcl")
    has_bare_relatives: bool = False
    adjuncts: frozenset[str] = frozenset()
    controlled: str = "nsubj:xsubj"
    shared_before: frozenset[str] = frozenset()
    shared_after: frozenset[str] = _set(_OBJECTS)


LANGUAGES: Mapping[str, Language] = {
    "en": Language(
        adverbs=_set("when where why how"),
        has_bare_relatives=True,
        adjuncts=_set("day moment place point reason room time way year"),
    ),
    "es": Language(adverbs=_set("adonde como cuando donde")),
    "fr": Language(adverbs=_set("comme lorsque où quand")),
    "it": Language(adverbs=_set("come dove quando"), pronouns=_set("che cui quale")),
    "nl": Language(adverbs=_set("hoe toen waar wanneer")),
    "pt": Language(
        adverbs=_set("como onde quando"),
        controlled="nsubj",
        shared_before=_set("advcl case mark"),
        shared_after=_set(f"{_OBJECTS} acl advcl advmod amod appos nmod obl"),
    ),
    "ro": Language(adverbs=_set("cum când unde"), relative=_set("acl")),
    "sv": Language(adverbs=_set("där hur när"), controlled="nsubj"),
}
"""Language code -> what the rules know of it."""
