"""The table of components, and the factories of spaCy's entry points made from it.

spaCy imports this module in every process that makes a pipeline, even without these components. So
it imports only spaCy; the modules of a component are imported when the component is made.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from spacy import util
from spacy.language import Language

if TYPE_CHECKING:
    from egparse.spacy_components.pipes import EgparsePipe
    from egparse.spacy_components.tokenizer import EgparseTokenizer

# spaCy evaluates these annotations when a factory is registered, as a schema of the configuration.
_Name = Optional[str]  # noqa: UP045
_SETTINGS: dict[str, Any] = {
    "model": _Name,
    "overwrite": bool,
    "use_tags": bool,
    "probabilities": bool,
    "scorer": Optional[Callable[..., Any]],  # noqa: UP045
}


class Component(NamedTuple):
    """A component: the class of its pipe, the layers that it predicts, the attributes that it sets,
    its settings with their default values, besides ``model`` and ``scorer``, and the weights of its
    scores.
    """

    pipe: str
    layers: tuple[str, ...]
    assigns: list[str]
    settings: dict[str, bool]
    scores: dict[str, float | None]


COMPONENTS = {
    "senter": Component(
        "EgparseSenter",
        (),
        ["token.is_sent_start", "doc.sents"],
        {"overwrite": False},
        {"sents_f": 1.0, "sents_p": 0.0, "sents_r": 0.0},
    ),
    # existing tags, lemmas, entities and sentence starts are kept unless ``overwrite``
    "tagger": Component(
        "EgparseTagger",
        ("upos", "xpos", "feats"),
        ["token.tag", "token.pos", "token.morph"],
        {"overwrite": False, "probabilities": False},
        {"tag_acc": 0.34, "pos_acc": 0.33, "morph_acc": 0.33, "morph_per_feat": None}
        | {"conll_xpos": 0.0, "conll_upos": 0.0, "conll_ufeats": 0.0},
    ),
    # with ``use_tags`` the tags of the Doc are used; missing ones are predicted, but not set
    "lemmatizer": Component(
        "EgparseLemmatizer",
        ("lemmas",),
        ["token.lemma"],
        {"overwrite": False, "use_tags": True, "probabilities": False},
        {"lemma_acc": 1.0, "conll_lemmas": 0.0},
    ),
    # an existing parse is kept unless ``overwrite``, existing sentence starts always
    "parser": Component(
        "EgparseParser",
        ("heads", "deprels"),
        ["token.dep", "token.head", "token.is_sent_start", "doc.sents"],
        {"overwrite": True, "use_tags": True, "probabilities": False},
        {"conll_uas": 0.0, "conll_las": 0.5, "conll_clas": 0.0, "conll_mlas": None}
        | {"dep_uas": 0.0, "dep_las": 0.5, "dep_las_per_type": None}
        | {"sents_f": 0.0, "sents_p": None, "sents_r": None},
    ),
    "ner": Component(
        "EgparseNer",
        ("spans",),
        ["doc.ents", "token.ent_iob", "token.ent_type"],
        {"overwrite": False, "use_tags": True, "probabilities": False},
        {"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None}
        | {"conll_ents_f": 0.0, "conll_ents_p": None, "conll_ents_r": None},
    ),
}
"""Kind -> component, in the order in which the pipeline of a package has them."""


def _is_loaded_from_folder(nlp: Language, name: str) -> bool:
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


def _require_egparse(nlp: Language) -> None:
    """Add egparse to the requirements in ``nlp.meta``, for ``spacy package``, unless they have it.

    ``nlp.meta`` would bring the names of components up to date: see ``_is_loaded_from_folder``.
    """
    from egparse.storage.model_file import NEEDS_EGPARSE

    meta = nlp._meta if hasattr(nlp, "_meta") else nlp.meta
    requirements = meta.setdefault("requirements", [])
    if not any(util.split_requirement(each)[0] == "egparse" for each in requirements):
        requirements.append(f"egparse>={NEEDS_EGPARSE}")


def make_tokenizer(
    model: _Name = None, split_multiword: bool = False
) -> Callable[[Language], EgparseTokenizer]:
    """``egparse.Tokenizer.v1``: split text as the treebank of a model does; with
    ``split_multiword`` a multiword token is one token a word.
    """

    def create(nlp: Language) -> EgparseTokenizer:
        from egparse.storage.collector import collector_paused

        with collector_paused():
            from egparse.spacy_components.tokenizer import EgparseTokenizer

        # spaCy gives the metadata of a saved pipeline to the Language that it is to read
        meta = getattr(nlp, "_meta", {})
        _require_egparse(nlp)
        return EgparseTokenizer(
            nlp.vocab,
            model=model,
            split_multiword=split_multiword,
            awaits_copy="spacy_version" in meta,
        )

    return create


def _factory(kind: str, component: Component) -> Callable[..., EgparsePipe]:
    scorer = {"@scorers": f"egparse.{kind}_scorer.v1"}
    defaults = {"model": None, **component.settings, "scorer": scorer}

    def make(nlp: Language, name: str, **settings: Any) -> EgparsePipe:
        from egparse.storage.collector import collector_paused

        with collector_paused():
            from egparse.spacy_components import pipes
        awaits_copy = _is_loaded_from_folder(nlp, name)
        _require_egparse(nlp)
        made: EgparsePipe = getattr(pipes, component.pipe)(
            nlp.vocab, name, component.layers, awaits_copy=awaits_copy, **settings
        )
        return made

    # spaCy asks for the names and types of settings, and refuses others
    own = signature(make)
    given = [one for one in own.parameters.values() if one.name != "settings"]
    named = [
        Parameter(one, Parameter.POSITIONAL_OR_KEYWORD, annotation=_SETTINGS[one])
        for one in defaults
    ]
    make.__signature__ = own.replace(parameters=[*given, *named])  # type: ignore[attr-defined]
    make.__name__ = f"make_{kind}"
    Language.factory(
        f"egparse_{kind}",
        assigns=component.assigns,
        requires=[],
        default_config=defaults,
        default_score_weights=component.scores,
        func=make,
    )
    return make


make_senter, make_tagger, make_lemmatizer, make_parser, make_ner = (
    _factory(kind, component) for kind, component in COMPONENTS.items()
)
