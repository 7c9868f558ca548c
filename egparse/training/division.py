"""What of a corpus a training run learns: the layers, the sentences to learn from and to score by,
the paragraphs for the splitter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from egparse.config.faults import check_layers
from egparse.config.sections import TrainConfig
from egparse.errors import EgparseError
from egparse.sentences import Sentence, select
from egparse.text.treebank_text import SplitterParts
from egparse.training.columns import annotated_layers
from egparse.training.folds import held_out
from egparse.training.text import splitter_parts


class Corpus(NamedTuple):
    """The sentences of a training run, none of them empty, the layers to train, and what the
    splitter learns from (None: none is trained).
    """

    train: Sequence[Sentence]
    dev: Sequence[Sentence]
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
    kept = select(sentences, [len(sentence) > 0 for sentence in sentences])
    layers = choose_layers(kept, config)
    paragraphs = splitter_parts(kept, dev, config)
    if dev is not None:
        return Corpus(kept, dev, layers, paragraphs)
    out = held_out(len(kept), config.hold_out, config.seed)
    train_part, dev_part = select(kept, (~out).tolist()), select(kept, out.tolist())
    return Corpus(train_part, dev_part, layers, paragraphs, len(dev_part))


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
