"""What a tagger remembers of forms changes no score, whatever it has met before."""

from __future__ import annotations

import numpy as np
import pytest
from sample_treebank import sample

from egparse.features.word_table import Words
from egparse.sequences import form_scores
from egparse.sequences.form_scores import FormScores
from egparse.sequences.tagger import Tagger, candidates_of
from egparse.service.hub.resolve import load


@pytest.mark.parametrize("most", [20_000, 50])
@pytest.mark.parametrize("section", ["morphology", "spans", "supertags"])
def test_scores_are_those_without_a_memory(
    section: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(form_scores, "MOST", most)
    model = load("en_ewt")
    (tagger,) = [one for one in model.components if isinstance(one, Tagger) and one.name == section]
    sentences = [sentence.forms for sentence in sample("dev")[:60]]
    remembered = FormScores(tagger.model._scores_of_forms)
    monkeypatch.setitem(vars(tagger.model), "_form_scores", remembered)
    for first in (0, 20, 10, 40):
        words = model.columns.words(sentences[first : first + 20])
        candidates = candidates_of(words, tagger.dictionary, tagger.model.n_labels)
        found = tagger.model.scores_of(words, candidates, by_form=True)
        assert len(remembered._known) <= max(most, len(words.distinct))
        np.testing.assert_array_equal(
            found, tagger.model.scores_of(words, candidates, by_form=False)
        )
        np.testing.assert_allclose(
            found, tagger.model.scores(words.values, words.starts, candidates), atol=1e-9
        )


def test_forms_of_other_parts_are_not_remembered() -> None:
    model = load("en_ewt")
    tagger = model.components["spans"]
    whole = model.columns.words([sentence.forms for sentence in sample("dev")[:20]])
    end = int(whole.starts[5])
    part = Words(whole.starts[:6], whole.distinct, whole.form_ids[:end], whole.values[:end])
    remembered = FormScores(tagger.model._scores_of_forms)
    for words in (part, whole):
        candidates = candidates_of(words, tagger.dictionary, tagger.model.n_labels)
        found = remembered.of(words, candidates)
        again = FormScores(tagger.model._scores_of_forms).of(words, candidates)
        np.testing.assert_array_equal(found, again)
