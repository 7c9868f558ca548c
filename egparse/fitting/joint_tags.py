"""Which layers of word tags are learned together, and by which section of the configuration."""

from __future__ import annotations

from collections.abc import Collection

from egparse.fitting.config import TrainConfig
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
    defaults = TrainConfig()
    own = any(getattr(config, layer) != getattr(defaults, layer) for layer in WORD_TAGS)
    return () if own and joint == "auto" else chosen


def section_of(layer: str, joint: Collection[str] = ()) -> str:
    """The section of the configuration for the task that learns a layer, where ``joint`` layers are
    learned together.
    """
    return MORPHOLOGY if layer in joint else LAYERS[layer].section
