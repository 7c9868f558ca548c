"""What of a corpus a training run learns: the layers, the sentences to learn from and to score by,
the paragraphs for the splitter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from egparse.errors import EgparseError
from egparse.fitting.config import TrainConfig
from egparse.fitting.faults import check_layers
from egparse.sentences import Sentence
from egparse.splitting.paragraphs import (
    SplitterParts,
    is_running_text,
    paragraphs_of,
    pieces_of,
)
from egparse.training.columns import annotated_layers

Item = TypeVar("Item")

_PIECES = 40
_LEAST_TO_HOLD_OUT = 20


class Corpus(NamedTuple):
    """The sentences of a training run, none of them empty, the layers to train, and what the
    splitter learns from (None: none is trained).
    """

    train: list[Sentence]
    dev: list[Sentence]
    layers: tuple[str, ...]
    paragraphs: SplitterParts | None = None
    held_out: int = 0


def divide(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] | None,
    config: TrainConfig,
    choose_layers: Callable[[Sequence[Sentence], TrainConfig], tuple[str, ...]],
) -> Corpus:
    """The parts of a run: a share of the sentences is held out where there is no ``dev``."""
    kept = [sentence for sentence in sentences if len(sentence)]
    layers = choose_layers(kept, config)
    paragraphs = splitter_parts(kept, dev, config)
    if dev is not None:
        return Corpus(kept, list(dev), layers, paragraphs)
    train_part, dev_part = hold_out(kept, config.hold_out, config.seed)
    return Corpus(train_part, dev_part, layers, paragraphs, len(dev_part))


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


def hold_out(sentences: Sequence[Item], share: float, seed: int) -> tuple[list[Item], list[Item]]:
    """Split off a random development part of the given share, both parts in corpus order; empty for
    very small corpora.
    """
    count = held_out_of(len(sentences), share)
    if count == 0:
        return list(sentences), []
    chosen = set(np.random.default_rng(seed).permutation(len(sentences))[:count].tolist())
    return (
        [sentence for number, sentence in enumerate(sentences) if number not in chosen],
        [sentence for number, sentence in enumerate(sentences) if number in chosen],
    )


def held_out_of(sentences: int, share: float) -> int:
    """The number of sentences that are held out for development; none of very few."""
    return int(sentences * share) if sentences >= _LEAST_TO_HOLD_OUT else 0


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
        raise EgparseError("expected a corpus with tags, entities or trees, got words alone")
    return tuple(layer for layer in annotated if not config.layers or layer in config.layers)
