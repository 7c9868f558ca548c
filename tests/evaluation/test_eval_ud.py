"""The CoNLL 2018 metrics against the official script, and what the script does not say."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from evaluation.corpora import chain, corrupt, parse, resegment, sentence_of, treebank, write
from hypothesis import given
from hypothesis import strategies as st
from lines_run import lines_run
from properties import examples

from egparse.errors import EgparseError
from egparse.evaluation.scores import CONTENT_DEPRELS, FUNCTIONAL_DEPRELS, UNIVERSAL_FEATURES
from egparse.evaluation.ud import SEGMENTATION_METRICS, UDScores, score, score_aligned
from egparse.sentences import Sentence, Source

WORD_METRICS = ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX")
WORDS = """\
1\tShe\t_\tPRON\tPRP\tCase=Nom|Number=Sing\t2\tnsubj\t_\t_
2\treads\t_\tVERB\tVBZ\tMood=Ind|Tense=Pres\t0\troot\t_\t_
3\tto\t_\tADP\tIN\t_\t5\tcase\t_\t_
4\tthe\t_\tDET\tDT\tDefinite=Def\t5\tdet\t_\t_
5\tcat\t_\tNOUN\tNN\tNumber=Sing\t2\tobl:to\t_\t_
6\t.\t_\tPUNCT\t.\t_\t2\tpunct\t_\t_

"""


def official(
    gold: Sequence[Sentence], system: Sequence[Sentence]
) -> dict[str, tuple[int, int, int, int | None, float]]:
    """What the official script counts (the aligned words too, where it does), and its F1."""
    udeval = pytest.importorskip("udtools.udeval")
    sides = [
        udeval.load_conllu(io.StringIO(write(side)), name, {"multiple_roots_okay": True})
        for side, name in ((gold, "gold"), (system, "system"))
    ]
    scores = udeval.evaluate(*sides)
    return {
        name: (s.correct, s.gold_total, s.system_total, s.aligned_total, 100 * s.f1)
        for name, s in scores.items()
    }


def check(found: UDScores, expected: dict[str, tuple[int, int, int, int | None, float]]) -> None:
    for name, counts in found.totals.items():
        correct, gold, system, aligned, f1 = expected[name]
        assert tuple(counts) == (correct, gold, system), name
        assert counts.f1 == pytest.approx(f1, abs=1e-9), name
        assert found.aligned.get(name) == aligned, name
    for name in WORD_METRICS:
        assert found.by_sentence[name].sum(axis=0).tolist() == list(found.totals[name])


def test_lists_are_the_official_ones() -> None:
    udeval = pytest.importorskip("udtools.udeval")
    assert udeval.CONTENT_DEPRELS == CONTENT_DEPRELS
    assert udeval.FUNCTIONAL_DEPRELS == FUNCTIONAL_DEPRELS
    assert udeval.UNIVERSAL_FEATURES == UNIVERSAL_FEATURES


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("en_ewt-ud-dev.conllu", 0.15),
        ("fr_sequoia-ud-dev.conllu", 0.02),
        ("fr_sequoia-ud-dev.conllu", 0.5),
    ],
)
def test_corrupted_predictions_score_as_officially(name: str, rate: float) -> None:
    gold = treebank(name)
    system = corrupt(gold, seed=1, rate=rate)
    found = score(gold, system)
    assert found.same_words
    assert set(found.totals) == set(WORD_METRICS)
    check(found, official(gold, system))


@pytest.mark.parametrize("name", ["en_ewt-ud-dev.conllu", "fr_sequoia-ud-dev.conllu"])
def test_other_segmentation_scores_as_officially(name: str) -> None:
    gold = treebank(name)[:120]
    for seed in range(3):
        system = resegment(gold, seed)
        found = score(gold, system)
        assert not found.same_words
        assert set(found.totals) == {*WORD_METRICS, *SEGMENTATION_METRICS}
        check(found, official(gold, system))
        check(score(system, gold), official(system, gold))


TEXT = "abAbaBabba"
TOKENS = st.tuples(
    st.sets(st.integers(1, len(TEXT) - 1), max_size=5),  # where to cut
    st.lists(
        st.none() | st.lists(st.sampled_from("aAbc"), min_size=1, max_size=4),
        min_size=6,
        max_size=6,
    ),
    st.integers(0, 10**6),
)


def cut(cuts: set[int], multiword: list[list[str] | None], seed: int) -> list[Sentence]:
    """The text cut in tokens, of which some have words of their own, with random tags and tree."""
    bounds = [0, *sorted(cuts), len(TEXT)]
    forms = [TEXT[start:end] for start, end in pairwise(bounds)]
    tokens = [(form, words or [form]) for form, words in zip(forms, multiword, strict=False)]
    return [chain(tokens, random.Random(seed))]


@examples(250)
@given(TOKENS, TOKENS)
def test_any_two_ways_to_cut_a_text_score_as_officially(
    gold_tokens: tuple[set[int], list[list[str] | None], int],
    system_tokens: tuple[set[int], list[list[str] | None], int],
) -> None:
    gold, system = cut(*gold_tokens), cut(*system_tokens)
    check(score(gold, system), official(gold, system))


def test_equal_words_in_other_tokens_go_through_alignment() -> None:
    multiword = "1-2\tcannot\t_\t_\t_\t_\t_\t_\t_\t_\n"
    words = "1\tcan\t_\tAUX\t_\t_\t0\troot\t_\t_\n2\tnot\t_\tPART\t_\t_\t1\tadvmod\t_\t_\n\n"
    gold, system = parse(multiword + words), parse(words)
    found = score(gold, system)
    assert not found.same_words
    assert found.totals["UAS"] == (2, 2, 2)
    assert found.totals["Tokens"] == (0, 1, 2)
    check(found, official(gold, system))


def test_a_predicted_sentence_without_source_is_compared_by_words() -> None:
    gold = parse(
        "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\t_\t_\t_\t_\t2\tcase\t_\t_\n2\tle\t_\t_\t_\t_\t0\troot\t_\t_"
    )
    system = [Sentence(forms=["de", "le"], heads=[2, 0], deprels=["case", "root"])]
    assert score(gold, system).totals["LAS"] == (2, 2, 2)


def test_functional_children_decide_mlas() -> None:
    gold = parse(WORDS)
    wrong_article = [gold[0].with_layers(upos=["PRON", "VERB", "ADP", "PRON", "NOUN", "PUNCT"])]
    found = score_aligned(gold, wrong_article).totals
    # she, reads, cat: functional words and punctuation do not count
    assert found["CLAS"] == (3, 3, 3)
    assert found["MLAS"] == (2, 3, 3)  # the article of "cat" has another tag
    moved = [gold[0].with_layers(heads=[2, 0, 2, 5, 2, 2])]
    # "to" is lost to "cat" and added to "reads"
    assert score_aligned(gold, moved).totals["MLAS"] == (1, 3, 3)


def test_subtypes_and_language_specific_features_are_left_out() -> None:
    gold = parse(WORDS)
    feats = (
        "Number=Sing|Case=Nom|Style=Coll Tense=Pres|Mood=Ind Typo=Yes Definite=Def Number=Sing _"
    )
    deprels = ["nsubj:pass", "root", "case", "det", "obl", "punct"]
    system = [gold[0].with_layers(feats=feats.split(), deprels=deprels)]
    totals = score_aligned(gold, system).totals
    assert {name: totals[name].f1 for name in WORD_METRICS} == dict.fromkeys(WORD_METRICS, 100.0)


def test_words_without_a_gold_head_take_no_part_in_attachment() -> None:
    gold = parse(WORDS)
    heads = list(gold[0].heads)
    partial = [gold[0].with_layers(heads=[*heads[:3], -1, *heads[4:]])]
    found = score_aligned(partial, gold).totals
    assert found["UAS"] == (5, 5, 5)
    assert found["MLAS"] == (3, 3, 3)
    assert found["UPOS"] == (6, 6, 6)


def test_words_without_a_system_head_are_wrong() -> None:
    gold = parse(WORDS)
    bare = [gold[0].with_layers(heads=(), deprels=())]
    assert score_aligned(gold, bare).totals["UAS"] == (0, 6, 6)
    one = [Sentence(forms=["a"], heads=[0])]
    assert score_aligned(one, [Sentence(forms=["a"])]).totals["UAS"] == (0, 1, 1)


def test_no_sentences_score_zero() -> None:
    assert score([], []).totals["LAS"].f1 == 0.0


def test_different_texts_are_an_error_that_shows_the_place() -> None:
    gold = parse("# sent_id = doc-7\n" + WORDS)
    system = parse(WORDS.replace("cat", "dog"))
    with pytest.raises(EgparseError) as error:
        score(gold, system)
    assert str(error.value) == (
        "gold and system are not the same text; the first difference: "
        "gold has 'She reads to the [cat] .' in sentence doc-7, "
        "system has 'She reads to the [dog] .' in the sentence at corpus.conllu:1"
    )


BLANK = Sentence(["\u00a0"])
AT_LINE_7 = Source("gold.conllu", 7, ("# sent_id = x", "1\t\u00a0" + "\t_" * 8), [1])


@pytest.mark.parametrize(
    ("gold", "system", "said"),
    [
        (
            [Sentence(["a", "b"]), Sentence(["c"])],
            [Sentence(["a", "b"])],
            r"gold has 'a b \[c\]' in sentence number 2, system has no more text after 'a b'",
        ),
        (
            [Sentence(["a"], heads=[0]), Sentence(["b", "c"], heads=[0, 5], sentence_id="s2")],
            None,
            r"sentence s2: expected the head of word 2 \('c'\) to be from 0 to 2, got 5",
        ),
        ([BLANK], [Sentence(["a"])], "^sentence number 1: expected a form that is not blank"),
        (
            [Sentence(["\u00a0"], sentence_id="x", source=AT_LINE_7)],
            [Sentence(["a"])],
            r"^gold\.conllu:7: sentence x: expected a form",
        ),
        (
            [sentence_of(["5-7\tcat.s" + "\t_" * 8, *WORDS.strip().split("\n")])],
            parse(WORDS),
            "expected multiword token 5-7 to span words from 1 to 6",
        ),
    ],
)
def test_faults_name_their_place(
    gold: list[Sentence], system: list[Sentence] | None, said: str
) -> None:
    with pytest.raises(EgparseError, match=said):
        score(gold, system or gold)


@pytest.mark.parametrize(
    ("gold", "system", "said"),
    [
        ([Sentence(["a"])], [Sentence(["a", "b"])], "sentence number 1: 1 gold words but 2 system"),
        ([Sentence(["a"])], [], "1 gold sentences but 0 system sentences"),
        ([Sentence(["a", "b"], upos=["X"])], [Sentence(["a", "b"])], "2 words but 1 cells of upos"),
        ([Sentence(["a", "b"], heads=[0])], [Sentence(["a", "b"])], "2 words but 1 heads"),
    ],
)
def test_unequal_columns_and_lengths_are_programming_mistakes(
    gold: list[Sentence], system: list[Sentence], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        score_aligned(gold, system)


def test_counts_by_sentence_follow_the_gold_sentences() -> None:
    gold = [Sentence(forms=["a"], upos=["X"]), Sentence(forms=["b", "c"], upos=["X", "X"])]
    joined = [Sentence(forms=["a", "b", "c"], upos=["X", "X", "Y"])]
    found = score(gold, joined)
    assert np.array_equal(found.by_sentence["UPOS"], [[1, 1, 1], [1, 2, 2]])
    assert found.totals["Sentences"] == (0, 2, 1)


def test_the_work_grows_as_the_words_do() -> None:
    gold = treebank("en_ewt-ud-dev.conllu")
    system = corrupt(gold, seed=2)
    once = lines_run(lambda: score_aligned(gold, system))
    assert lines_run(lambda: score_aligned(gold * 2, system * 2)) < 2.05 * once
    assert once < 40 * sum(map(len, gold))
