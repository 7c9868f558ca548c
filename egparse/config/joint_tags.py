"""Which layers of word tags are learned together, and by which section of the configuration."""

from __future__ import annotations

from collections.abc import Collection

from egparse.config.sections import TrainConfig
from egparse.layers import LAYERS, MORPHOLOGY, WORD_TAGS


def joint_layers(config: TrainConfig, layers: Collection[str]) -> tuple[str, ...]:
    """The layers of word tags among ``layers`` that one tagger learns together, at least two or
    none.

    By default they are learned together unless their own sections are changed: who gives a layer
    settings of its own gets a tagger of its own.
    """
    chosen = tuple(layer for layer in WORD_TAGS if layer in layers)
    joint = config.morphology.joint
    if len(chosen) < 2 or joint == "never":
        return ()
    return () if joint == "auto" and have_own_settings(config) else chosen


def have_own_settings(config: TrainConfig) -> bool:
    """Whether the section of some layer of word tags is not as by default."""
    defaults = TrainConfig()
    return any(getattr(config, layer) != getattr(defaults, layer) for layer in WORD_TAGS)


def section_of(layer: str, joint: Collection[str] = ()) -> str:
    """The section of the configuration for the task that learns a layer, where ``joint`` layers are
    learned together.
    """
    return MORPHOLOGY if layer in joint else LAYERS[layer].section
