"""Whether a corpus has tags that one tagger can learn together."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from egparse.config.joint_tags import joint_layers
from egparse.config.sections import TrainConfig
from egparse.errors import ConfigError
from egparse.fitting.task import not_annotated
from egparse.sentences import MISSING, Sentence
from egparse.sequences.combinations import MOST_COMBINATIONS


def layers_together(
    config: TrainConfig, sentences: Sequence[Sentence], layers: Collection[str]
) -> tuple[str, ...]:
    """The layers of word tags among ``layers`` that one tagger learns together, at least two or
    none: those in which each word has a tag. None by default where the sentences have more
    combinations than can be numbered.

    Raises:
        ConfigError: so many combinations, and settings that ask for one tagger always.
    """
    joint = joint_layers(config, layers)
    lacking = lacking_layers(sentences, joint)
    joint = tuple(layer for layer in joint if layer not in lacking)
    if len(joint) < 2:
        return ()
    if _parts_and_combinations(sentences, joint) <= MOST_COMBINATIONS:
        return joint
    if config.morphology.joint == "always":
        raise ConfigError(
            "morphology.joint: expected 'auto' or 'never' for a corpus with more than "
            f"{MOST_COMBINATIONS:,} combinations of tags, or of their parts, got 'always'"
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
