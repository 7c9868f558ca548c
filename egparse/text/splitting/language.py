"""The language of a corpus, whose rules in spaCy split plain text into words: the name of a
treebank's file says it (``fr_sequoia-ud-train.conllu``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from egparse.errors import ConfigError, did_you_mean
from egparse.io.spacy_rules import NEUTRAL
from egparse.sentences import Sentence

_FILE = re.compile(r"([a-z]{2,3})_([a-z0-9]+)-(?:ud-)?(?:train|dev|test)\b.*")
_UD_CODES = {"no": "nb", "lzh": "zh", "yue": "zh"}
_NYNORSK = {"nynorsk", "nynorsklia"}


class Found(NamedTuple):
    """The code of a language, and how it was found; ``sure`` is False where it was not."""

    code: str
    reason: str
    sure: bool = True


def find_language(sentences: Sequence[Sentence]) -> Found:
    """The language by the names of the files that the sentences were read from, if they agree;
    ``xx``, rules of no language, where they do not tell.
    """
    paths = {one.source.path for one in sentences if one.source is not None}
    matches = [_FILE.fullmatch(Path(path).name) for path in paths]
    codes = {_code_of(match[1], match[2]) for match in matches if match}
    if len(codes) != 1 or not all(matches):
        return Found(NEUTRAL, "the name of the file does not say it", sure=False)
    code = codes.pop()
    if code in languages():
        return Found(code, "by the name of the file")
    return Found(NEUTRAL, f"spaCy has no rules for {code}, the language in the file's name")


def check_language(code: str) -> None:
    """Raise ConfigError for a language for which spaCy has no rules."""
    known = languages()
    if code in known or _is_registered(code):
        return
    folded = re.split(r"[^a-z]", code.casefold())[0]
    hint = f"; did you mean {folded}?" if folded in known else did_you_mean(folded, known)
    raise ConfigError(
        f"language: expected the code of a language for which spaCy has rules, such as en or de, "
        f"or {NEUTRAL} for rules of no language, got {code[:40]!r}{hint}"
    )


@cache
def languages() -> tuple[str, ...]:
    """The codes of the languages for which spaCy has rules."""
    found = find_spec("spacy")
    assert found is not None
    assert found.submodule_search_locations
    folder = Path(found.submodule_search_locations[0]) / "lang"
    return tuple(sorted(path.parent.name for path in folder.glob("*/__init__.py")))


def _is_registered(code: str) -> bool:
    """Whether an installed package adds the language to spaCy."""
    from spacy.util import registry

    return code in registry.languages


def _code_of(language: str, treebank: str) -> str:
    if language == "no" and treebank in _NYNORSK:
        return "nn"
    return _UD_CODES.get(language, language)
