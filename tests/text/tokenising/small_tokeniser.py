"""A tokeniser of the sample treebank, and the text that sentences were read from."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from sample_treebank import sample

from egparse.config.sections import TokeniserConfig
from egparse.fitting.progress import silent
from egparse.fitting.task import fit
from egparse.sentences import SPACES_BEFORE, Sentence, blanks_after, unescaped
from egparse.text.tokenising.tokeniser import Tokeniser
from egparse.text.tokenising.training import TokeniserTask
from egparse.text.treebank_text import running_text, surface_tokens


@cache
def small_tokeniser() -> Tokeniser:
    """Trained on the sample treebank."""
    texts = running_text(sample("train")), running_text(sample("dev"))
    return fit(TokeniserTask(*texts, config=TokeniserConfig(), seed=1), silent).predictor


def text_of(sentences: Iterable[Sentence]) -> str:
    """The tokens with the blanks around them."""
    return "".join(
        _blanks_before(misc) + form + blanks_after(misc)
        for sentence in sentences
        for form, misc in surface_tokens(sentence)
    )


def _blanks_before(misc: str) -> str:
    values = [one for one in misc.split("|") if one.startswith(SPACES_BEFORE)]
    return unescaped("".join(values).removeprefix(SPACES_BEFORE))
