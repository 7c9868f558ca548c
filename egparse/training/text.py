"""What tokeniser, splitter and expander learn from: the text of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from egparse.config.sections import TrainConfig
from egparse.sentences import Sentence
from egparse.surface import SPACE_AFTER_NO
from egparse.text.tokenising.expander_training import ExpanderTask, has_multiword_tokens
from egparse.text.tokenising.training import TokeniserTask
from egparse.text.treebank_text import (
    SplitterParts,
    is_running_text,
    is_treebank,
    paragraphs_of,
    pieces_of,
    running_text,
    surface_tokens,
)
from egparse.training.folds import hold_out

_PIECES = 40


def learns_tokens(sentences: Sequence[Sentence], config: TrainConfig) -> bool:
    """Whether a tokeniser is trained: the corpus is a treebank, and the settings ask for one."""
    return config.tokeniser.train and is_treebank(sentences)


class BlanksOfCorpus(NamedTuple):
    """How many tokens a corpus has, and how many of them no blank follows."""

    tokens: int
    close: int


def blanks_of_corpus(sentences: Sequence[Sentence]) -> BlanksOfCorpus:
    """What a corpus says of blanks."""
    cells = [misc for sentence in sentences for _, misc in surface_tokens(sentence)]
    return BlanksOfCorpus(len(cells), sum(SPACE_AFTER_NO in misc for misc in cells))


def tokeniser_task(
    train: Sequence[Sentence], dev: Sequence[Sentence], config: TrainConfig
) -> TokeniserTask:
    """The task of a treebank."""
    texts = running_text(train), running_text(dev)
    return TokeniserTask(*texts, config=config.tokeniser, seed=config.seed)


def learns_multiword_tokens(sentences: Sequence[Sentence], config: TrainConfig) -> bool:
    """Whether an expander is trained: the corpus has multiword tokens, and the settings ask for
    one.
    """
    return config.expander.train and has_multiword_tokens(sentences)


def expander_task(
    train: Sequence[Sentence], dev: Sequence[Sentence], config: TrainConfig
) -> ExpanderTask:
    """The task of a corpus with multiword tokens."""
    return ExpanderTask(train, dev, config=config.expander, seed=config.seed)


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
