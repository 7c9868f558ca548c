"""Whether a corpus has tags that one tagger can learn together."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from egparse.errors import ConfigError
from egparse.fitting.config import TrainConfig
from egparse.fitting.joint_tags import joint_layers
from egparse.fitting.task import not_annotated
from egparse.sentences import MISSING, Sentence
from egparse.tagging.joint.morphology import MOST_COMBINATIONS


def layers_together(
    config: TrainConfig, sentences: Sequence[Sentence], layers: Collection[str]
) -> tuple[str, ...]:
    """The layers of word tags among ``layers`` that one tagger learns together, at least two or
    none: none by default where a word has no tag in one of them, or where the sentences have more
    combinations than can be numbered.

    Raises:
        ConfigError: such sentences, and settings that ask for one tagger always.
    """
    joint = joint_layers(config, layers)
    if not joint:
        return ()
    fault = None
    if lacking := lacking_layers(sentences, joint):
        fault = f"with words without {lacking[0]}"
    elif _parts_and_combinations(sentences, joint) > MOST_COMBINATIONS:
        fault = f"with more than {MOST_COMBINATIONS:,} combinations of tags, or of their parts"
    if fault is None:
        return joint
    if config.morphology.joint == "always":
        raise ConfigError(
            f"morphology.joint: expected 'auto' or 'never' for a corpus {fault}, got 'always'"
        )
    return ()


def lacking_layers(sentences: Sequence[Sentence], layers: Collection[str]) -> list[str]:
    """The layers of tags in which some word is not annotated, so that no tagger can learn them
    together with others.
    """
    return [layer for layer in layers if not_annotated(sentences, layer).any()]


def _parts_and_combinations(sentences: Sequence[Sentence], layers: Sequence[str]) -> int:
    """The number of combinations of tags, or of their parts if there are more."""
    combinations: set[tuple[str, ...]] = set()
    for sentence in sentences:
        missing = (MISSING,) * len(sentence)
        values = [getattr(sentence, layer) or missing for layer in layers]
        combinations.update(zip(*values, strict=True))
    tags = [set(tags) for tags in zip(*combinations, strict=True)]
    bundles = tags[layers.index("feats")] if combinations and "feats" in layers else set()
    features = {feature for bundle in bundles for feature in bundle.split("|")}
    return max(len(combinations), len(features) + sum(map(len, tags)))
