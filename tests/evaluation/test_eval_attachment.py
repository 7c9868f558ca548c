"""Attachment by convention: spaCy's against spaCy itself, the others by hand and against the UD
metrics.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from evaluation.corpora import corrupt, treebank

from egparse.evaluation.attachment import CONVENTIONS, is_punctuation, score_attachment
from egparse.evaluation.ud import score_aligned
from egparse.sentences import Sentence

GOLD = Sentence(
    forms=["$", "5", ",", "``", "ok", "!?"],
    heads=[2, 5, 2, 5, 0, 5],
    deprels=["nmod:x", "Obj", "punct", "P", "root", "punct"],
)


def test_conllx06_leaves_out_forms_of_punctuation_only() -> None:
    wrong_at_punctuation = GOLD.with_layers(heads=[2, 5, 4, 5, 0, 1])
    # "``" are symbols
    assert score_attachment([GOLD], [wrong_at_punctuation], "conllx06").uas == (4, 4, 4)
    assert score_attachment([GOLD], [wrong_at_punctuation], "conll07").uas == (4, 6, 6)


def test_labels_are_whole_but_for_ud18_and_cased_but_for_spacy() -> None:
    system = GOLD.with_layers(deprels=["nmod:y", "obj", "punct", "P", "root", "punct"])
    found = {
        convention: score_attachment([GOLD], [system], convention).las for convention in CONVENTIONS
    }
    assert found == {
        "ud18": (5, 6, 6),
        "conllx06": (2, 4, 4),
        "conll07": (4, 6, 6),
        "spacy": (2, 3, 3),
    }


def test_spacy_leaves_out_by_the_label_of_each_side() -> None:
    system = GOLD.with_layers(deprels=["punct", "Obj", "nsubj", "P", "root", "nsubj"])
    scores = score_attachment([GOLD], [system], "spacy")
    assert scores.las == (2, 3, 4)
    assert scores.uas == (2, 3, 4)


def test_spacy_counts_white_space_in_gold_only() -> None:
    sentence = Sentence(forms=["a", "\n"], heads=[0, 1], deprels=["root", "dep"])
    assert score_attachment([sentence], [sentence], "spacy").uas == (1, 2, 1)
    assert _score_by_spacy([sentence], [sentence])["dep_uas"] == pytest.approx(2 / 3)


def test_words_without_a_gold_head_count_nowhere() -> None:
    partial = GOLD.with_layers(heads=[2, 5, 2, -1, 0, 5])
    for convention in CONVENTIONS:
        complete = score_attachment([GOLD], [GOLD], convention).uas
        lost = 0 if convention == "spacy" else 1  # its label is p
        assert score_attachment([partial], [GOLD], convention).uas == (complete.gold - lost,) * 3


def test_ud18_is_the_convention_of_the_ud_metrics() -> None:
    gold = treebank("fr_sequoia-ud-dev.conllu")
    system = corrupt(gold, seed=3)
    scores, ud = score_attachment(gold, system, "ud18"), score_aligned(gold, system).totals
    assert (scores.uas, scores.las) == (ud["UAS"], ud["LAS"])


def test_spacy_convention_is_what_spacy_counts() -> None:
    gold = treebank("en_ewt-ud-dev.conllu")[:600]
    system = corrupt(gold, seed=4)
    expected = _score_by_spacy(gold, system)
    scores = score_attachment(gold, system, "spacy")
    assert scores.uas.f1 == pytest.approx(100 * expected["dep_uas"], abs=1e-9)
    assert scores.las.f1 == pytest.approx(100 * expected["dep_las"], abs=1e-9)


def _score_by_spacy(gold: Sequence[Sentence], system: Sequence[Sentence]) -> dict[str, float]:
    """The default scorer of spaCy's parser over one Doc for each sentence."""
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc
    from spacy.training import Example

    vocab = spacy.blank("en").vocab

    def doc(sentence: Sentence) -> Doc:
        heads = [head - 1 if head else k for k, head in enumerate(sentence.heads)]
        return Doc(vocab, words=list(sentence.forms), heads=heads, deps=list(sentence.deprels))

    scorer = spacy.registry.scorers.get("spacy.parser_scorer.v1")()
    scores: dict[str, float] = scorer(
        [Example(doc(s), doc(g)) for g, s in zip(gold, system, strict=True)]
    )
    return scores


def test_punctuation_is_unicode_category_p() -> None:
    forms = [".", "--", "«", "$", "+", "a.", ""]
    assert [form for form in forms if is_punctuation(form)] == [".", "--", "«"]


def test_an_unknown_convention_is_a_programming_mistake() -> None:
    with pytest.raises(
        ValueError, match="expected a convention among ud18, conllx06, conll07, spacy, got 'wsj'"
    ):
        score_attachment([], [], "wsj")  # type: ignore[arg-type]
