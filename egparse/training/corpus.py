"""What a run learns from: the layers of a corpus, its sentences to learn from and to score by, the
paragraphs for the splitter.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, compress, starmap
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from egparse.config.reading import check_layers
from egparse.config.sections import TrainConfig, joint_layers, section_of
from egparse.errors import ConfigError, EgparseError
from egparse.evaluation.report import annotated_layers as layers_with_values
from egparse.fitting.task import not_annotated
from egparse.io.stored_sentences import StoredSentences
from egparse.layers import EXPANDER, LAYERS, SPLITTER, TOKENISER
from egparse.sentences import MISSING, SPACE_AFTER_NO, Sentence, select
from egparse.sequences.combinations import MOST_COMBINATIONS
from egparse.storage import scratch
from egparse.text.training import has_multiword_tokens
from egparse.text.treebank_text import (
    SplitterParts,
    is_running_text,
    is_treebank,
    paragraphs_of,
    pieces_of,
)
from egparse.types import Mask

Item = TypeVar("Item")

_LEAST_TO_HOLD_OUT = 20
_PIECES = 40


_PART = re.compile(r"(-ud)?-(train|dev|test)$")


def treebank_of(path: Path) -> str:
    """The name of the treebank that a file is of, such as ``en_ewt`` for
    ``en_ewt-ud-train.conllu.xz``: parts of one treebank have the same.
    """
    return _PART.sub("", path.name.partition(".")[0])


def together(parts: Iterable[tuple[str, Sequence[Sentence]]]) -> Sequence[Sentence]:
    """The sentences of several treebanks, each with the name of its own, one after the other; in a
    file where memory is limited. Sentences of a treebank that has no FEATS or no spans lack these,
    where its cells would say that there is nothing to annotate.
    """
    sentences = chain.from_iterable(starmap(_of_treebank, parts))
    limited = scratch.active()
    return [*sentences] if limited is None else StoredSentences.of(sentences, limited)


def _of_treebank(name: str, sentences: Sequence[Sentence]) -> Iterator[Sentence]:
    lacking = {"feats", "spans"} - layers_with_values(sentences)
    changes: dict[str, Any] = {"treebank": name, **dict.fromkeys(lacking, ())}
    return (replace(sentence, **changes) for sentence in sentences)


class Corpus(NamedTuple):
    """The sentences of a training run, none of them empty; the layers to train, of which one tagger
    learns the ``joint`` ones, and the tasks of plain ``text``; the paragraphs for the splitter.
    """

    train: Sequence[Sentence]
    dev: Sequence[Sentence]
    layers: tuple[str, ...]
    joint: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    paragraphs: SplitterParts | None = None
    held_out: int = 0

    def section_of(self, layer: str) -> str:
        """The section of the settings for the task that learns a layer."""
        return section_of(layer, self.joint)


def divide(
    sentences: Sequence[Sentence], dev: Sequence[Sentence] | None, config: TrainConfig
) -> Corpus:
    """The parts of a run without a base: a share of the sentences is held out where there is no
    ``dev``.

    Raises:
        EgparseError: see ``layers_to_train`` and ``layers_together``.
    """
    kept = select(sentences, [len(sentence) > 0 for sentence in sentences])
    layers = layers_to_train(kept, config)
    paragraphs = splitter_parts(kept, dev, config)
    count = 0
    if dev is None:
        out = held_out(len(kept), config.hold_out, config.seed)
        kept, dev = select(kept, (~out).tolist()), select(kept, out.tolist())
        count = len(dev)
    text = {
        SPLITTER: paragraphs is not None,
        TOKENISER: learns_tokens(kept, config),
        EXPANDER: config.expander.train and has_multiword_tokens(kept),
    }
    joint = layers_together(config, kept, layers)
    learned = tuple(name for name, is_learned in text.items() if is_learned)
    return Corpus(kept, dev, layers, joint, learned, paragraphs, count)


def annotated_layers(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """The layers in which at least one word has a value; without trees, labels of arcs are none."""
    found = layers_with_values(sentences)
    if "heads" not in found:
        found.discard("deprels")
    return tuple(layer for layer in LAYERS if layer in found)


def layers_to_train(sentences: Sequence[Sentence], config: TrainConfig) -> tuple[str, ...]:
    """The layers that the sentences annotate and the configuration asks for.

    Raises:
        EgparseError: no sentence, no annotated layer, or a requested layer that is not annotated.
    """
    if not sentences:
        raise EgparseError("expected at least one sentence to train on, got none")
    annotated = annotated_layers(sentences)
    check_layers(config.layers, "settings")
    missing = [layer for layer in config.layers if layer not in annotated]
    if missing:
        raise EgparseError(
            f"expected layers that the corpus annotates ({', '.join(annotated) or 'none'}), got "
            f"{missing[0]!r}"
        )
    if not annotated:
        raise EgparseError(
            "expected a corpus with tags, lemmas, entities or trees, got words alone"
        )
    return tuple(layer for layer in annotated if not config.layers or layer in config.layers)


def layers_together(
    config: TrainConfig, sentences: Sequence[Sentence], layers: Collection[str]
) -> tuple[str, ...]:
    """The layers of word tags among ``layers`` that one tagger learns together, at least two or
    none: layers in which each word has a tag. None by default where the sentences have more
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


def hold_out(sentences: Sequence[Item], share: float, seed: int) -> tuple[list[Item], list[Item]]:
    """Split off a random development part of the given share, both parts in corpus order; empty for
    very small corpora.
    """
    out = held_out(len(sentences), share, seed)
    return list(compress(sentences, ~out)), list(compress(sentences, out))


def held_out(sentences: int, share: float, seed: int) -> Mask:
    """Which of so many sentences ``hold_out`` holds out, (sentences,)."""
    chosen = np.zeros(sentences, dtype=np.bool_)
    if count := held_out_of(sentences, share):
        chosen[np.random.default_rng(seed).permutation(sentences)[:count]] = True
    return chosen


def held_out_of(sentences: int, share: float) -> int:
    """The number of sentences that are held out for development; none of very few."""
    return int(sentences * share) if sentences >= _LEAST_TO_HOLD_OUT else 0


def learns_tokens(sentences: Sequence[Sentence], config: TrainConfig) -> bool:
    """Whether a tokeniser is trained: the corpus is a treebank, and the settings ask for one."""
    return config.tokeniser.train and is_treebank(sentences)


class BlanksOfCorpus(NamedTuple):
    """How many tokens a corpus has, and how many of them no blank follows."""

    tokens: int
    close: int


def blanks_of_corpus(sentences: Sequence[Sentence]) -> BlanksOfCorpus:
    """What a corpus says of blanks."""
    cells = [token.misc for sentence in sentences for token in sentence.surface_tokens]
    return BlanksOfCorpus(len(cells), sum(SPACE_AFTER_NO in misc for misc in cells))


def splitter_parts(
    sentences: Sequence[Sentence], dev: Sequence[Sentence] | None, config: TrainConfig
) -> SplitterParts | None:
    """Whole paragraphs to train the splitter and to score it; None if the corpus has none, or the
    settings ask for no splitter.

    Without ``dev`` paragraphs are held out, for single sentences would lose their neighbours.
    """
    if not config.splitter.train or not is_running_text(sentences):
        return None
    paragraphs = paragraphs_of(sentences)
    if dev is not None:
        of_dev = paragraphs_of([sentence for sentence in dev if len(sentence)])
        return SplitterParts(paragraphs, of_dev)
    # sentences in a piece, so few that some pieces can be held out
    enough = 1 + len(sentences) // _PIECES
    pieces = pieces_of(paragraphs, min(config.splitter.longest or enough, enough))
    return SplitterParts(*hold_out(pieces, config.hold_out, config.seed))
