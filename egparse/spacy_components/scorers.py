"""Scores of Examples: those of spaCy, and those of the shared tasks under the names ``conll_...``.

spaCy's ``dep_uas`` and ``dep_las`` leave punctuation out and compare whole labels. ``conll_uas``
and ``conll_las`` are those of CoNLL 2018, over all words, with labels up to the colon
(``egparse.evaluation.ud``). ``conll_ents_f`` is that of conlleval. All are from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Any

from spacy.tokens import Doc
from spacy.training import Example

Scores = dict[str, Any]


def tagger_score(examples: Iterable[Example], **settings: Any) -> Scores:
    """``tag_acc``, ``pos_acc``, ``morph_acc``, ``morph_per_feat``; ``conll_upos``, ``conll_xpos``,
    ``conll_ufeats``.
    """
    from spacy.pipeline.morphologizer import morphologizer_score
    from spacy.pipeline.tagger import tagger_score as spacy_score

    examples = list(examples)
    names = {"conll_upos": "UPOS", "conll_xpos": "XPOS", "conll_ufeats": "UFeats"}
    attributes = {"conll_upos": "POS", "conll_xpos": "TAG", "conll_ufeats": "MORPH"}
    return {
        **morphologizer_score(examples, **settings),
        **spacy_score(examples, **settings),
        **_conll(examples, names, attributes),
    }


def lemmatizer_score(examples: Iterable[Example], **settings: Any) -> Scores:
    """``lemma_acc``, over the tokens that have a lemma in gold; ``conll_lemmas``."""
    from spacy.pipeline.lemmatizer import lemmatizer_score as spacy_score

    examples = list(examples)
    names, attributes = {"conll_lemmas": "Lemmas"}, {"conll_lemmas": "LEMMA"}
    return {**spacy_score(examples, **settings), **_conll(examples, names, attributes)}


def parser_score(examples: Iterable[Example], **settings: Any) -> Scores:
    """``dep_uas``, ``dep_las``, ``dep_las_per_type``, ``sents_p/r/f``; ``conll_uas``,
    ``conll_las``, ``conll_clas``, ``conll_mlas``.
    """
    from spacy.pipeline.dep_parser import parser_score as spacy_score

    examples = list(examples)
    names = {"conll_uas": "UAS", "conll_las": "LAS", "conll_clas": "CLAS", "conll_mlas": "MLAS"}
    attributes = {name: "POS" if name == "conll_mlas" else "DEP" for name in names}
    return {**spacy_score(examples, **settings), **_conll(examples, names, attributes)}


def senter_score(examples: Iterable[Example], **settings: Any) -> Scores:
    """``sents_p``, ``sents_r``, ``sents_f``, which CoNLL 2018 defines in the same way."""
    from spacy.pipeline.senter import senter_score as spacy_score

    scores: Scores = spacy_score(examples, **settings)
    return scores


def ner_score(examples: Iterable[Example], **settings: Any) -> Scores:
    """``ents_p/r/f``, ``ents_per_type``; ``conll_ents_p/r/f``, None where no gold is annotated.

    As conlleval has it, an entity is correct if its type and both its ends are. Ends are compared
    as places among the characters that are not white space, because gold and predicted tokens may
    differ: an entity that begins or ends inside of a gold token is wrong. (spaCy's ``ents_f``
    widens entities to whole gold tokens and leaves out what gold does not annotate; it refuses Docs
    with other characters than gold.)
    """
    from spacy.scorer import get_ner_prf

    from egparse.evaluation.scores import Score

    examples = list(examples)
    scores: Scores = get_ner_prf(examples, **settings)
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
    score = Score(correct, gold, system)
    rates = (score.precision, score.recall, score.f1)
    return {
        **scores,
        **{
            key: rate / 100 if annotated else None
            for key, rate in zip(
                ("conll_ents_p", "conll_ents_r", "conll_ents_f"), rates, strict=True
            )
        },
    }


def _characters(doc: Doc) -> str:
    return "".join(doc.text.split())


def _entities(doc: Doc) -> set[tuple[str, int, int]]:
    """The type of each entity, its first character and the one after its last, among the
    characters that are not white space.
    """
    before = [0, *accumulate(not character.isspace() for character in doc.text)]
    return {(each.label_, before[each.start_char], before[each.end_char]) for each in doc.ents}


def _conll(
    examples: list[Example], names: Mapping[str, str], attributes: Mapping[str, str]
) -> dict[str, float | None]:
    """The metrics of CoNLL 2018, under the keys of ``names``; None where gold is not annotated or
    the texts differ.
    """
    from egparse.errors import EgparseError
    from egparse.evaluation.ud import score
    from egparse.spacy_components.doc_conversion import sentences_from_doc

    scored = [example for example in examples if len(example.reference) and len(example.predicted)]
    has = {
        name: any(example.reference.has_annotation(attribute) for example in scored)
        for name, attribute in attributes.items()
    }
    scores: dict[str, float | None] = dict.fromkeys(names)
    if not any(has.values()):
        return scores
    gold = [sentence for each in scored for sentence in sentences_from_doc(each.reference)]
    system = [sentence for each in scored for sentence in sentences_from_doc(each.predicted)]
    try:
        totals = score(gold, system).totals
    except EgparseError:
        return scores
    return {name: totals[metric].f1 / 100 if has[name] else None for name, metric in names.items()}


def _maker(score: Callable[..., Scores]) -> Callable[[], Callable[..., Scores]]:
    return lambda: score


make_tagger_scorer = _maker(tagger_score)
make_lemmatizer_scorer = _maker(lemmatizer_score)
make_ner_scorer = _maker(ner_score)
make_parser_scorer = _maker(parser_score)
make_senter_scorer = _maker(senter_score)
