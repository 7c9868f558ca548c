"""A tokeniser of the sample treebank, and the text that sentences were read from."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from sample_treebank import sample

from egparse.config.sections import TokeniserConfig
from egparse.fitting.progress import silent
from egparse.fitting.task import fit
from egparse.sentences import SPACES_BEFORE, Sentence, blanks_after, unescaped
from egparse.text.tokeniser import Tokeniser
from egparse.text.training import TokeniserTask


@cache
def small_tokeniser() -> Tokeniser:
    """Trained on the sample treebank."""
    task = TokeniserTask.of(sample("train"), sample("dev"), TokeniserConfig(), 1)
    return fit(task, silent).predictor


def text_of(sentences: Iterable[Sentence]) -> str:
    """The tokens with the blanks around them."""
    return "".join(
        _blanks_before(token.misc) + token.form + blanks_after(token.misc)
        for sentence in sentences
        for token in sentence.surface_tokens
    )


def _blanks_before(misc: str) -> str:
    values = [one for one in misc.split("|") if one.startswith(SPACES_BEFORE)]
    return unescaped("".join(values).removeprefix(SPACES_BEFORE))
