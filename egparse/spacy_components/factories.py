"""The factories of spaCy's entry points: names, default settings and attributes of each component.

spaCy imports this module in every process that makes a pipeline, even without these components. So
it imports only spaCy; the modules of a component are imported when the component is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Optional

from spacy import util
from spacy.language import Language

if TYPE_CHECKING:
    from egparse.spacy_components.pipes.lemmatizer import EgparseLemmatizer
    from egparse.spacy_components.pipes.ner import EgparseNer
    from egparse.spacy_components.pipes.parser import EgparseParser
    from egparse.spacy_components.pipes.senter import EgparseSenter
    from egparse.spacy_components.pipes.tagger import EgparseTagger
    from egparse.spacy_components.tokens.tokenizer import EgparseTokenizer

# spaCy evaluates these annotations when the factory is registered, as a schema of the
# configuration.
_Scorer = Optional[Callable[..., Any]]  # noqa: UP045
_Name = Optional[str]  # noqa: UP045


def prepare(nlp: Language, name: str) -> bool:
    """Write egparse into the requirements of a pipeline, for ``spacy package``; returns whether
    the component ``name`` will read its own copy of the model.
    """
    awaits_copy = is_loaded_from_folder(nlp, name)
    require_egparse(nlp)
    return awaits_copy


def is_loaded_from_folder(nlp: Language, name: str) -> bool:
    """Whether ``spacy.load`` makes the component ``name`` as a part of a saved pipeline, whose
    folder ``nlp.from_disk`` will read afterwards.

    Then the pipeline has the names of its components from its ``meta.json``, before it has the
    components, and no path yet. ``nlp.meta`` and ``nlp.config`` would bring these names up to date,
    hence their private counterparts. Where spaCy has no such attributes, the component is taken for
    one that is added by hand, and needs an installed model of the name.
    """
    meta, config = getattr(nlp, "_meta", {}), getattr(nlp, "_config", {})
    has_configured = bool(config.get("nlp", {}).get("pipeline"))
    return nlp.path is None and not has_configured and name in meta.get("components", ())


def require_egparse(nlp: Language) -> None:
    """Add egparse to the requirements in ``nlp.meta``, unless they have it."""
    from egparse.storage.model_file import NEEDS_EGPARSE

    # not nlp.meta, which would bring the names of components up to date: see above
    meta = nlp._meta if hasattr(nlp, "_meta") else nlp.meta
    requirements = meta.setdefault("requirements", [])
    if not any(util.split_requirement(each)[0] == "egparse" for each in requirements):
        requirements.append(f"egparse>={NEEDS_EGPARSE}")


def make_tokenizer(model: _Name = None) -> Callable[[Language], EgparseTokenizer]:
    """``egparse.Tokenizer.v1``: split text as the treebank of a model does."""

    def create(nlp: Language) -> EgparseTokenizer:
        from egparse.storage.collector import collector_paused

        with collector_paused():
            from egparse.spacy_components.tokens.tokenizer import EgparseTokenizer

        # spaCy gives the metadata of a saved pipeline to the Language that it is to read
        meta = getattr(nlp, "_meta", {})
        require_egparse(nlp)
        return EgparseTokenizer(nlp.vocab, model=model, awaits_copy="spacy_version" in meta)

    return create


@Language.factory(
    "egparse_tagger",
    assigns=["token.tag", "token.pos", "token.morph"],
    requires=[],
    default_config={
        "model": None,
        "overwrite": False,
        "probabilities": False,
        "scorer": {"@scorers": "egparse.tagger_scorer.v1"},
    },
    default_score_weights={
        "tag_acc": 0.34,
        "pos_acc": 0.33,
        "morph_acc": 0.33,
        "morph_per_feat": None,
        "conll_xpos": 0.0,
        "conll_upos": 0.0,
        "conll_ufeats": 0.0,
    },
)
def make_tagger(
    nlp: Language, name: str, model: _Name, overwrite: bool, probabilities: bool, scorer: _Scorer
) -> EgparseTagger:
    """Set TAG, POS and MORPH; existing tags are kept unless ``overwrite``."""
    from egparse.storage.collector import collector_paused

    with collector_paused():
        from egparse.spacy_components.pipes.tagger import EgparseTagger

    return EgparseTagger(
        nlp.vocab,
        name,
        model=model,
        awaits_copy=prepare(nlp, name),
        overwrite=overwrite,
        probabilities=probabilities,
        scorer=scorer,
    )


@Language.factory(
    "egparse_lemmatizer",
    assigns=["token.lemma"],
    requires=[],
    default_config={
        "model": None,
        "overwrite": False,
        "use_tags": True,
        "probabilities": False,
        "scorer": {"@scorers": "egparse.lemmatizer_scorer.v1"},
    },
    default_score_weights={"lemma_acc": 1.0, "conll_lemmas": 0.0},
)
def make_lemmatizer(
    nlp: Language,
    name: str,
    model: _Name,
    overwrite: bool,
    use_tags: bool,
    probabilities: bool,
    scorer: _Scorer,
) -> EgparseLemmatizer:
    """Set LEMMA; existing lemmas are kept unless ``overwrite``.

    With ``use_tags`` the tags of the Doc are used; missing ones are predicted, but not set.
    """
    from egparse.storage.collector import collector_paused

    with collector_paused():
        from egparse.spacy_components.pipes.lemmatizer import EgparseLemmatizer

    return EgparseLemmatizer(
        nlp.vocab,
        name,
        model=model,
        awaits_copy=prepare(nlp, name),
        overwrite=overwrite,
        use_tags=use_tags,
        probabilities=probabilities,
        scorer=scorer,
    )


@Language.factory(
    "egparse_ner",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    requires=[],
    default_config={
        "model": None,
        "overwrite": False,
        "use_tags": True,
        "probabilities": False,
        "scorer": {"@scorers": "egparse.ner_scorer.v1"},
    },
    default_score_weights={
        "ents_f": 1.0,
        "ents_p": 0.0,
        "ents_r": 0.0,
        "ents_per_type": None,
        "conll_ents_f": 0.0,
        "conll_ents_p": None,
        "conll_ents_r": None,
    },
)
def make_ner(
    nlp: Language,
    name: str,
    model: _Name,
    overwrite: bool,
    use_tags: bool,
    probabilities: bool,
    scorer: _Scorer,
) -> EgparseNer:
    """Set entities; existing ones are kept unless ``overwrite``.

    With ``use_tags`` they are predicted from the tags of the Doc, where it has any.
    """
    from egparse.storage.collector import collector_paused

    with collector_paused():
        from egparse.spacy_components.pipes.ner import EgparseNer

    return EgparseNer(
        nlp.vocab,
        name,
        model=model,
        awaits_copy=prepare(nlp, name),
        overwrite=overwrite,
        use_tags=use_tags,
        probabilities=probabilities,
        scorer=scorer,
    )


@Language.factory(
    "egparse_parser",
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
    requires=[],
    default_config={
        "model": None,
        "overwrite": True,
        "use_tags": True,
        "probabilities": False,
        "scorer": {"@scorers": "egparse.parser_scorer.v1"},
    },
    default_score_weights={
        "conll_uas": 0.0,
        "conll_las": 0.5,
        "conll_clas": 0.0,
        "conll_mlas": None,
        "dep_uas": 0.0,
        "dep_las": 0.5,
        "dep_las_per_type": None,
        "sents_f": 0.0,
        "sents_p": None,
        "sents_r": None,
    },
)
def make_parser(
    nlp: Language,
    name: str,
    model: _Name,
    overwrite: bool,
    use_tags: bool,
    probabilities: bool,
    scorer: _Scorer,
) -> EgparseParser:
    """Set HEAD, DEP and sentence starts.

    An existing parse is kept unless ``overwrite``, existing sentence starts always. With
    ``use_tags`` the tags of the Doc are used; missing ones are predicted, but not set.
    """
    from egparse.storage.collector import collector_paused

    with collector_paused():
        from egparse.spacy_components.pipes.parser import EgparseParser

    return EgparseParser(
        nlp.vocab,
        name,
        model=model,
        awaits_copy=prepare(nlp, name),
        overwrite=overwrite,
        use_tags=use_tags,
        probabilities=probabilities,
        scorer=scorer,
    )


@Language.factory(
    "egparse_senter",
    assigns=["token.is_sent_start", "doc.sents"],
    requires=[],
    default_config={
        "model": None,
        "overwrite": False,
        "scorer": {"@scorers": "egparse.senter_scorer.v1"},
    },
    default_score_weights={"sents_f": 1.0, "sents_p": 0.0, "sents_r": 0.0},
)
def make_senter(
    nlp: Language, name: str, model: _Name, overwrite: bool, scorer: _Scorer
) -> EgparseSenter:
    """Set sentence starts; existing ones are kept unless ``overwrite``."""
    from egparse.storage.collector import collector_paused

    with collector_paused():
        from egparse.spacy_components.pipes.senter import EgparseSenter

    return EgparseSenter(
        nlp.vocab,
        name,
        model=model,
        awaits_copy=prepare(nlp, name),
        overwrite=overwrite,
        scorer=scorer,
    )
