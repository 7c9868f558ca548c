"""A slice of the sample treebank and a configuration that trains on it in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from egparse.config.reading import load_config
from egparse.config.sections import TrainConfig
from egparse.features.word_table import Words
from egparse.io.corpus import read_corpus
from egparse.layers import TAG_LAYERS
from egparse.learners.registry import LEARNERS
from egparse.pipeline.components import Component
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.sequences.tagger import Tagger
from egparse.training.run import train

CORPORA = Path(__file__).resolve().parents[1] / "corpora"

SECOND_ORDER = (
    "parser.order=2", "parser.bits=16", "parser.c=20", "parser.stop.iterations=3",
    "pruner.bits=16", "pruner.c=2", "pruner.stop.iterations=3",
)  # fmt: skip
"""What makes ``quick`` train a second-order parser, also in seconds."""


@cache
def sample(part: str) -> tuple[Sentence, ...]:
    """The sentences of a part of the sample treebank."""
    return tuple(read_corpus(CORPORA / f"en_sample-{part}.conllu"))


def quick(*overrides: str) -> TrainConfig:
    """Few passes, no jackknifing, an arc-factored parser with a small table."""
    passes = [
        f"{task}.stop.iterations=6" for task in ("upos", "xpos", "feats", "spans", "labeller")
    ]
    settings = (
        *passes,
        "jackknife.folds=0",
        "parser.order=1",
        "parser.bits=16",
        "parser.c=2",
        "parser.stop.iterations=14",
        *overrides,
    )
    return load_config(
        None, [text for text in settings if not _is_c_without_effect(text, settings)]
    )


def taggers(model: Model) -> dict[str, Tagger]:
    """The taggers of single layers of a model."""
    return {layer: model.components[layer] for layer in TAG_LAYERS if layer in model.components}


def with_predicted_tags(model: Model, sentences: Sequence[Sequence[str]]) -> Words:
    """The words of sentences, with the tags that the taggers of a model predict."""
    words = model.columns.words(sentences)
    for layer, tagger in taggers(model).items():
        words = model.columns.with_tags(words, layer, tagger.choose(words))
    return words


def changed(model: Model, *components: Component) -> Model:
    """The model with other components in place of those of their names."""
    return replace(model, components=model.components.with_components(*components))


def without(model: Model, *names: str) -> Model:
    """The model without some components."""
    return replace(model, components=model.components.without(*names))


def quick_joint(*overrides: str) -> TrainConfig:
    """The same, with one tagger of UPOS, XPOS and FEATS."""
    return quick("morphology.stop.iterations=6", "morphology.joint=always", *overrides)


def _is_c_without_effect(text: str, settings: Sequence[str]) -> bool:
    """Whether a setting is the C of a section whose learner has none, which would be refused."""
    section, _, setting = text.partition(".")
    unregularised = [name for name, entry in LEARNERS.items() if not entry.regularised]
    learners = {f"{section}.learner={name}" for name in unregularised}
    quoted = {f'{section}.learner="{name}"' for name in unregularised}
    return setting.startswith("c=") and not (learners | quoted).isdisjoint(settings)


@cache
def quick_model() -> Model:
    """A model of all layers, trained on 60 sentences."""
    return train(sample("train")[:60], None, quick("hold_out=0")).model


@cache
def quick_joint_model() -> Model:
    """The same with one tagger of UPOS, XPOS and FEATS."""
    return train(sample("train")[:60], None, quick_joint("hold_out=0")).model
