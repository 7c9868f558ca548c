"""The recipe for lemmas in the documentation."""

from __future__ import annotations

import pytest
from house.package import ROOT
from spacy_components.conftest import blank


def test_the_recipe_for_lemmas_works() -> None:
    pytest.importorskip("spacy_lookups_data", reason="spacy-lookups-data is not installed")
    page = (ROOT / "docs" / "spacy.md").read_text(encoding="utf-8")
    (recipe,) = (block for block in page.split("```py\n") if "lemmatizer" in block[:200])
    nlp = blank(ROOT / "models" / "en_ewt.msgpack", "egparse_tagger", "egparse_parser")
    exec(recipe.partition("```")[0], {"nlp": nlp})
    lemmas = [token.lemma_ for token in nlp("She gave the children two books.")]
    assert lemmas == ["she", "give", "the", "child", "two", "book", "."]
    assert nlp.pipe_names == ["egparse_tagger", "lemmatizer", "egparse_parser"]
