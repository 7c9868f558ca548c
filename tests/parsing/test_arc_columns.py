"""What a model file holds of the columns of arcs, and what older files mean."""

from __future__ import annotations

from collections import Counter

import pytest

from egparse.features.fine_tags import FineTags
from egparse.features.forms import Lexicon
from egparse.features.sentence_context import KINDS
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns
from egparse.parsing.columns import PARSER_INPUTS, ArcColumns
from egparse.storage.schema import Misfit, Stored

LIMITS = {"lower": 9, "stem": 9}


def columns(fine_tags: FineTags | None = None) -> Columns:
    observed = [name for name in PARSER_INPUTS if name not in ("upos", "xpos", "feats")]
    labels = {
        "upos": Vocabulary(("PART", "PRON")),
        "xpos": Vocabulary(("TO", "WP")),
        "feats": Vocabulary(("PartType=Inf", "_")),
    }
    return Columns(Lexicon.build(Counter(["zu", "was"]), observed, {}), labels, fine_tags=fine_tags)


def test_the_version_of_the_kinds_is_stored_and_files_without_one_have_the_first() -> None:
    learned = ArcColumns(columns(), LIMITS).to_payload()
    assert learned == {"limits": LIMITS, "kinds": KINDS}
    older = ArcColumns.from_payload(Stored({"limits": LIMITS}), columns())
    assert older.to_payload() == {"limits": LIMITS}
    assert older.over(columns()).to_payload() == {"limits": LIMITS}
    with pytest.raises(Misfit, match="kinds: expected an integer from 1 to 2, got 3"):
        ArcColumns.from_payload(Stored({"limits": LIMITS, "kinds": 3}), columns())


def test_fine_tags_are_not_taken_for_xpos() -> None:
    """Fine tags have numbers of their own: that of TO may be that of a pronoun."""
    with_xpos, fine = columns(), columns(FineTags({}, ("PRON", "PART")))
    assert ArcColumns(with_xpos, LIMITS)._kinds.kind_of_xpos.any()
    assert not ArcColumns(fine, LIMITS)._kinds.kind_of_xpos.any()
