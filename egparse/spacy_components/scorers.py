"""Scores of Examples: those of spaCy, and those of the shared tasks under the names ``conll_...``.

spaCy's ``dep_uas`` and ``dep_las`` leave punctuation out and compare whole labels. ``conll_uas``
and ``conll_las`` are those of CoNLL 2018, over all words, with labels up to the colon
(``egparse.evaluation.ud``). ``conll_ents_f`` is that of conlleval. All are from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from itertools import accumulate
from typing import Any

from spacy.tokens import Doc
from spacy.training import Example

Scores = dict[str, Any]

_OF_SPACY = {
    "tagger": ("pipeline.morphologizer:morphologizer_score", "pipeline.tagger:tagger_score"),
    "lemmatizer": ("pipeline.lemmatizer:lemmatizer_score",),
    "ner": ("scorer:get_ner_prf",),
    "parser": ("pipeline.dep_parser:parser_score",),
    "senter": ("pipeline.senter:senter_score",),
}
"""Component -> the scorers of spaCy; ``sents_f`` is what CoNLL 2018 defines in the same way."""

_METRICS = {
    "tagger": {
        "conll_upos": ("UPOS", "POS"),
        "conll_xpos": ("XPOS", "TAG"),
        "conll_ufeats": ("UFeats", "MORPH"),
    },
    "lemmatizer": {"conll_lemmas": ("Lemmas", "LEMMA")},
    "parser": {
        "conll_uas": ("UAS", "DEP"),
        "conll_las": ("LAS", "DEP"),
        "conll_clas": ("CLAS", "DEP"),
        "conll_mlas": ("MLAS", "POS"),
    },
}
"""Component -> score -> the metric of CoNLL 2018, and the attribute that gold must have."""


def score(kind: str, examples: Iterable[Example], **settings: Any) -> Scores:
    """The scores of spaCy and of the shared tasks for a component; those of the shared tasks are
    None where gold is not annotated.
    """
    examples, scores = list(examples), Scores()
    for place in _OF_SPACY[kind]:
        module, _, function = place.partition(":")
        scores |= getattr(import_module(f"spacy.{module}"), function)(examples, **settings)
    if kind == "ner":
        return scores | _entity_scores(examples)
    return scores | _conll(examples, _METRICS.get(kind, {}))


def _entity_scores(examples: list[Example]) -> Scores:
    """``conll_ents_p/r/f``: as conlleval has it, an entity is correct if its type and both its ends
    are.

    Ends are compared as places among the characters that are not white space, because gold and
    predicted tokens may differ: an entity that begins or ends inside of a gold token is wrong.
    (spaCy's ``ents_f`` widens entities to whole gold tokens and leaves out what gold does not
    annotate; it refuses Docs with other characters than gold.)
    """
    from egparse.evaluation.scores import Score

    annotated = [
        example
        for example in examples
        if example.reference.has_annotation("ENT_IOB") and len(example.reference)
    ]
    correct = gold = system = 0
    for example in annotated:
        wanted, found = _entities(example.reference), _entities(example.predicted)
        gold, system = gold + len(wanted), system + len(found)
        if _characters(example.reference) == _characters(example.predicted):
            correct += len(wanted & found)
    total = Score(correct, gold, system)
    rates = {"p": total.precision, "r": total.recall, "f": total.f1}
    return {f"conll_ents_{key}": rate / 100 if annotated else None for key, rate in rates.items()}


def _characters(doc: Doc) -> str:
    return "".join(doc.text.split())


def _entities(doc: Doc) -> set[tuple[str, int, int]]:
    """The type of each entity, its first character and the one after its last, among the
    characters that are not white space.
    """
    before = [0, *accumulate(not character.isspace() for character in doc.text)]
    return {(each.label_, before[each.start_char], before[each.end_char]) for each in doc.ents}


def _conll(examples: list[Example], metrics: Mapping[str, tuple[str, str]]) -> Scores:
    """The metrics of CoNLL 2018; None where gold is not annotated or the texts differ."""
    from egparse.errors import EgparseError
    from egparse.evaluation.ud import score
    from egparse.spacy_components.doc_conversion import sentences_from_doc

    scored = [example for example in examples if len(example.reference) and len(example.predicted)]
    annotated = {
        name: metric
        for name, (metric, attribute) in metrics.items()
        if any(example.reference.has_annotation(attribute) for example in scored)
    }
    scores: Scores = dict.fromkeys(metrics)
    if not annotated:
        return scores
    gold = [sentence for each in scored for sentence in sentences_from_doc(each.reference)]
    system = [sentence for each in scored for sentence in sentences_from_doc(each.predicted)]
    try:
        totals = score(gold, system).totals
    except EgparseError:
        return scores
    return scores | {name: totals[metric].f1 / 100 for name, metric in annotated.items()}


def _maker(kind: str) -> Callable[[], Callable[..., Scores]]:
    return lambda: partial(score, kind)  # not a local function: pipelines are pickled


make_tagger_scorer, make_lemmatizer_scorer, make_ner_scorer, make_parser_scorer = (
    _maker(kind) for kind in ("tagger", "lemmatizer", "ner", "parser")
)
make_senter_scorer = _maker("senter")
