"""What the validator of Universal Dependencies has against annotations, by rule."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from egparse.cli import tables
from egparse.errors import EgparseError

if TYPE_CHECKING:
    from egparse.sentences import Sentence

LEVEL = 3
"""The last level whose rules are the same for all languages."""


def require_validator() -> None:
    """Raise EgparseError where the validator is not installed."""
    try:
        import udtools  # noqa: F401
    except ImportError:
        raise EgparseError(
            "--validate: expected the validator of Universal Dependencies: pip install "
            "'egparse[validate]'"
        ) from None


def broken_rules(sentences: Sequence[Sentence]) -> dict[str, int]:
    """How often the sentences break each rule up to ``LEVEL``, the most frequent one first."""
    from udtools import Validator

    from egparse.io.corpus import write_corpus

    text = io.StringIO()
    write_corpus(sentences, text, "conllu")
    text.seek(0)
    state = Validator(lang="ud", level=LEVEL, output=None).validate_file_handle(text)
    found = Counter(one.testid for one in state.error_tracker if one.is_error())
    return dict(sorted(found.items(), key=lambda rule: (-rule[1], rule[0])))


def rules_text(rules: Mapping[str, int], words: int) -> str:
    """The table of broken rules."""
    title = f"Rules of Universal Dependencies that are broken, level {LEVEL} of its validator"
    if not rules:
        return tables.section(title, "none")
    rows = [(rule, tables.count(count)) for rule, count in rules.items()]
    total = sum(rules.values())
    rows.append(("all", f"{total:,}"))
    rate = f"{1000 * total / max(1, words):.2f} in 1,000 words"
    return tables.section(title, f"{tables.table(('rule', 'times'), rows, 'lr')}\n{rate}")
