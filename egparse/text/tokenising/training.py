"""Learning a tokeniser: a CRF fitted to where tokens start in the text of a treebank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from egparse.config.sections import TokeniserConfig
from egparse.evaluation.scores import Score
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import compile_templates
from egparse.fitting.task import Outcomes
from egparse.layers import TOKENISER
from egparse.sequences.task import Lesson, SequenceExamples, SequenceTask
from egparse.text.splitting.characters import character_tables
from egparse.text.tokenising.addresses import addresses_are_tokens
from egparse.text.tokenising.columns import COLUMNS, columns_of
from egparse.text.tokenising.lexicon import Lexicon, hashes_of_tokens
from egparse.text.tokenising.pieces import (
    NEVER,
    OPEN,
    Links,
    Pieces,
    as_codes,
    chains_of,
    emoji_are_tokens,
    learned_links,
    paragraphs_of,
    pieces_of_text,
)
from egparse.text.tokenising.tokeniser import N_LABELS, Tokeniser, Tokens
from egparse.text.treebank_text import RunningText
from egparse.types import Floats, UInt8s, UInt32s


class _Learned(NamedTuple):
    """What a text teaches before its CRF: its pieces, with 1 where a token starts, (pieces,), what
    is decided between them, and the tokens of several pieces.
    """

    codes: UInt32s
    pieces: Pieces
    gold: UInt8s
    links: Links
    lexicon: Lexicon
    whole_addresses: bool


@dataclass(frozen=True)
class TokeniserTask(SequenceTask[Tokeniser, TokeniserConfig]):
    """The task of finding the tokens of a text; ``dev`` without tokens gives no score.

    A text in which blanks alone part tokens has nothing to decide (``without_model``).
    """

    train: RunningText
    dev: RunningText

    name = TOKENISER
    learns = "label sequences"

    @cached_property
    def _learned(self) -> _Learned:
        text, starts, ends = self.train.text, self.train.starts, self.train.ends
        links = learned_links(as_codes(text), starts, self.config.least_rate)
        if (links.close != NEVER).any():  # else tokens stand between blanks
            links = links._replace(emoji=emoji_are_tokens(as_codes(text), starts, ends))
        whole = addresses_are_tokens(text, starts, ends)
        codes, pieces = pieces_of_text(text, links, whole)
        gold = gold_starts(pieces, self.train)
        lexicon = Lexicon.of(hashes_of_tokens(pieces, character_tables(codes).small, gold))
        return _Learned(codes, pieces, gold, links, lexicon, whole)

    def without_model(self) -> Tokeniser | None:
        """The tokeniser, if the text leaves nothing to decide; else None."""
        _, pieces, _, links, lexicon, whole = self._learned
        if (pieces.links == OPEN).any():
            return None
        return Tokeniser(None, links.settled(), lexicon, whole)

    def lesson(self, config: TokeniserConfig) -> Lesson[Tokeniser]:
        """Pieces of text whose links are open."""
        codes, pieces, gold, links, lexicon, whole = self._learned
        chosen = pieces.links == OPEN
        rows = np.flatnonzero(chosen)
        examples = SequenceExamples(
            columns_of(pieces, codes, lexicon, gold),
            paragraphs_of(pieces),
            gold[rows].astype(np.int32),
            all_labels(len(rows), N_LABELS),
            N_LABELS,
            chosen=chosen,
            chains=chains_of(rows),
        )
        return Lesson(
            examples,
            compile_templates(config.templates, COLUMNS),
            lambda model: Tokeniser(model, links, lexicon, whole),
        )

    def score(self) -> Callable[[Tokeniser], float] | None:
        """F1 of tokens in the text of the development part, from 0 to 100."""
        if not len(self.dev.starts):
            return None
        return lambda tokeniser: score_tokens(self.dev, tokeniser.tokens(self.dev.text)).f1

    def facts(self, predictor: Tokeniser) -> dict[str, Any]:
        """How many sentences are not learned from."""
        return {"left_out": self.train.left_out}

    def outcomes(self, predictor: Tokeniser) -> Outcomes[Tokeniser]:
        """The probability of the gold outcome, start or no start, at each place of the development
        part where the tokeniser decides.
        """
        text, links = self.dev.text, predictor.links
        codes, pieces = pieces_of_text(text, links, predictor.whole_addresses)
        values = columns_of(pieces, codes, predictor.lexicon)
        gold = gold_starts(pieces, self.dev)[pieces.links == OPEN] == 1

        def probabilities(tokeniser: Tokeniser) -> Floats:
            starting = tokeniser.probabilities(pieces, values)
            return np.where(gold, starting, 1.0 - starting)

        return Outcomes.of_all(np.ones(len(gold), dtype=np.bool_), probabilities)


def gold_starts(pieces: Pieces, text: RunningText) -> UInt8s:
    """1 for the pieces that tokens start with, where it is sure or annotated so; (pieces,)."""
    is_start = np.zeros(len(text.text) + 1, dtype=np.uint8)
    is_start[text.starts] = 1
    starts = is_start[pieces.begins]
    starts[pieces.links != OPEN] = 1
    return starts


def score_tokens(gold: RunningText, system: Tokens) -> Score:
    """The score of tokens with both ends right."""
    size = len(gold.text) + 1
    correct = np.isin(gold.starts * size + gold.ends, system.starts * size + system.ends)
    return Score(int(correct.sum()), len(gold.starts), len(system.starts))
