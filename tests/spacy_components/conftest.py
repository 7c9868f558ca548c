"""A small model of everything, trained once, as a file and in pipelines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import spacy
from sample_treebank import quick_model, without
from spacy.language import Language

from egparse.pipeline.model import Model

ALL = ("egparse_tagger", "egparse_ner", "egparse_parser")


@pytest.fixture(scope="session")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a model of all layers."""
    path = tmp_path_factory.mktemp("pipes") / "quick.msgpack"
    quick_model().save(path)
    return path


def blank(model_path: Path, *names: str, **config: object) -> Language:
    """An English pipeline with these components, by default tagger, NER and parser."""
    nlp = spacy.blank("en")
    for name in names or ALL:
        nlp.add_pipe(name, config={"model": str(model_path), **config})
    return nlp


def without_trees() -> Model:
    """A model that tags and finds entities, and does not parse."""
    layers = ("upos", "xpos", "feats", "spans")
    return replace(without(quick_model(), "parser", "labeller"), probabilistic=layers)


@pytest.fixture
def nlp(model_path: Path) -> Language:
    """A pipeline of tagger, NER and parser."""
    return blank(model_path)
