"""The sentence splitter: paragraphs of a corpus, what it learns from them, and any input that may
come.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_reading import read_text
from properties import examples
from sample_treebank import quick, sample

from egparse.errors import ConfigError
from egparse.evaluation import ud
from egparse.evaluation.scores import Score, total
from egparse.features.vocabulary import FIRST_VALUE
from egparse.fitting.progress import silent
from egparse.fitting.task import calibrated, fit
from egparse.io.conllu import read_conllu
from egparse.pipeline.model import Model
from egparse.sentences import Sentence, Source
from egparse.text.splitter import Splitter
from egparse.text.training import SplitterTask, score_sentences, splitter_counts
from egparse.text.treebank_text import (
    MIN_SENTENCES,
    SplitterParts,
    as_text,
    is_running_text,
    joined,
    paragraphs_of,
    pieces_of,
)
from egparse.text.word_columns import SPLITTER_COLUMNS, Paragraph, learn_casings
from egparse.training.run import train
from egparse.types import Mask

EWT = Path(__file__).resolve().parents[3] / "shared" / "data" / "ud" / "en_ewt-ud-dev.conllu"

_ = "\t_" * 8
MARKED = f"""\
# newdoc id = d
# text = Go on!
1\tGo{_}
2\ton{_[2:]}\tSpaceAfter=No
3\t!{_}

1-2\tDon't{_[2:]}\tSpaceAfter=No
1\tDo{_}
2\tn't{_}
3\t!{_}

# newpar
1-2\tDu{_}
1\tDe{_}
2\tle{_}
3\tpain{_[2:]}\tSpaceAfter=No

"""


def task_of(parts: SplitterParts, *overrides: str) -> SplitterTask:
    return SplitterTask(parts, config=quick(*overrides).splitter, seed=1)


def trained_on(sentences: Sequence[Sentence], *overrides: str) -> Splitter:
    parts = SplitterParts(paragraphs_of(sentences), paragraphs_of(sample("dev")))
    return fit(task_of(parts, *overrides), silent).predictor


@cache
def splitter() -> Splitter:
    return trained_on(sample("train"))


class Splitting:
    """A splitter that notes what it sees."""

    def __init__(self, starts: Callable[[Sequence[str]], Mask]) -> None:
        self.starts, self.seen = starts, list[Paragraph]()

    def split(self, paragraphs: Sequence[Paragraph]) -> list[Mask]:
        self.seen += paragraphs
        return [self.starts(paragraph.forms) for paragraph in paragraphs]


def test_marks_divide_paragraphs_and_words_are_those_of_the_text() -> None:
    marked = list(read_conllu(io.StringIO(MARKED), name="marked"))
    first, second = as_text(paragraphs_of(marked))
    assert first.paragraph.forms == ["Go", "on", "!", "Do", "n't", "!"]
    assert first.paragraph.spaced == [True, False, True, False, False, True]
    assert first.starts.tolist() == [True, False, False, True, False, False]
    # not what no tokeniser would make of it
    assert second.paragraph == Paragraph(["Du", "pain"], [True, True])


def test_what_no_mark_divides_is_one_paragraph_and_can_be_cut_and_joined() -> None:
    sentences = sample("dev")
    (whole,) = paragraphs_of(sentences)
    assert whole == list(sentences)
    pieces = pieces_of([whole], 10)
    assert [len(own) for own in pieces] == [10] * 8 + [5]
    assert pieces_of(pieces, 0) == pieces
    for share in (0.0, 0.5, 0.99):
        runs = joined(pieces, share, seed=3)
        assert [sentence for own in runs for sentence in own] == whole
    assert joined(pieces, 0.0, 3) == pieces
    assert len(joined(pieces, 0.99, 3)) < len(pieces)


def test_columns_and_few_sentences_are_no_running_text() -> None:
    sentences = list(sample("train"))
    assert is_running_text(sentences)
    assert not is_running_text(sentences[:MIN_SENTENCES])
    assert is_running_text([replace(own, source=None) for own in sentences])
    columns = Source("a", 1, ("a",), (0,), "conll2003")
    assert not is_running_text([replace(own, source=columns) for own in sentences])


def test_the_score_is_that_of_conll_2018() -> None:
    gold = list(sample("test"))
    own = [text.starts.copy() for text in as_text(paragraphs_of(gold))]
    found = [starts.copy() for starts in own]
    places = np.flatnonzero(found[0])
    found[0][places[3]] = False  # two sentences become one
    found[0][places[7] + 2] = True  # one becomes two
    assert score_sentences(own, own) == Score(86, 86, 86)
    counts = score_sentences(own, found)
    assert counts == Score(83, 86, 86)
    assert ud.score(gold, resplit(gold, found[0])).totals["Sentences"] == counts


def resplit(sentences: Sequence[Sentence], starts: np.ndarray) -> list[Sentence]:
    """The tokens of a text in other sentences."""
    forms = as_text(paragraphs_of(sentences))[0].paragraph.forms
    bounds = [*np.flatnonzero(starts).tolist(), len(forms)]
    return [Sentence(tuple(forms[first:end])) for first, end in pairwise(bounds)]


def score_splitter(splitter: Splitter, paragraphs: Sequence[Sequence[Sentence]]) -> Score:
    """The score of a splitter on paragraphs whose words are given."""
    texts = as_text(paragraphs)
    found = splitter.split([text.paragraph for text in texts])
    return score_sentences([text.starts for text in texts], found)


def test_it_learns_its_corpus_and_does_well_on_another_part() -> None:
    assert score_splitter(splitter(), paragraphs_of(sample("train"))).f1 > 96
    assert score_splitter(splitter(), paragraphs_of(sample("test"))).f1 > 90


def test_counts_by_sentence_add_up_to_the_score() -> None:
    gold = [*sample("test"), Sentence(())]
    counts = splitter_counts(splitter(), gold)
    assert counts is not None
    assert len(counts) == len(gold)
    assert counts[-1].tolist() == [0, 0, 0]
    assert total(counts) == score_splitter(splitter(), paragraphs_of(gold))
    assert splitter_counts(None, gold) is None
    assert splitter_counts(splitter(), gold[:10]) is None  # too few to be running text


def test_it_splits_text_where_the_rule_does_not() -> None:
    text = "The dog barked at Dr. Green. The cat slept. Where is the station? It is near the park."
    found = [" ".join(sentence.forms) for sentence in read_text(text, splitter=splitter())]
    assert [one.split()[0] for one in found] == ["The", "The", "Where", "It"]


def test_paragraphs_and_long_sentences_are_cut_as_ever() -> None:
    never = Splitting(lambda forms: np.arange(len(forms)) == 0)
    found = list(read_text("a b. c d\n\ne f " + "g " * 20, "xx", splitter=never, max_words=10))
    assert [len(own) for own in found] == [4, 10, 10, 2]
    always = Splitting(lambda forms: np.ones(len(forms), dtype=np.bool_))
    found = list(read_text(" a b\n\n \n", "xx", splitter=always))
    assert [own.forms for own in found] == [("a",), ("b",)]
    never.seen.clear()
    list(read_text("One\n  two.", "xx", splitter=never))
    assert never.seen == [(["One", "two", "."], [True, False, True])]  # no blank tokens


def test_any_input_has_starts_and_the_first_word_is_one() -> None:
    for forms in (
        [],
        ["Yes"],
        ["."],
        ["\U0001f600", "\U0001f600\u200d\U0001f600", "!"],
        ["", " ", "\n", "\udc80", "\x00"],
        [
            "\u0645\u0631\u062d\u0628\u0627",
            ".",
            "\u4f60\u597d",
            "\u3002",
            "\u0130stanbul",
            "\ufb01n",
        ],
        ["word"] * 100_000,
        ["x" * 100_000, "."],
    ):
        (starts,) = splitter().split([Paragraph(forms, [True] * len(forms))])
        assert starts.dtype == np.bool_
        assert starts.shape == (len(forms),)
        assert starts[:1].all()


words = st.lists(st.tuples(st.text(max_size=6), st.booleans()), max_size=12)


def speech(count: int, seed: int) -> list[Sentence]:
    """Sentences without punctuation; of the words that often start one, a third does."""
    rng = random.Random(seed)
    sentences = []
    for _ in range(count):
        words = [f"w{rng.randrange(30)}" for _ in range(rng.randrange(3, 8))]
        for _ in range(2):
            words.insert(rng.randrange(1, len(words)), rng.choice("abc"))
        sentences.append(Sentence((rng.choice("abc"), *words)))
    return sentences


def test_where_starts_are_rare_and_uncertain_the_most_probable_sequence_has_too_few() -> None:
    gold = as_text([speech(150, 3)])
    settings = "splitter.stop.iterations=30", 'splitter.templates=["bias", "lower[0]"]'

    def score(dev: list[list[Sentence]]) -> Score:
        parts = SplitterParts([speech(150, 1)], dev)
        splitter = fit(task_of(parts, *settings), silent).predictor
        masks = splitter.split([one.paragraph for one in gold])
        return score_sentences([one.starts for one in gold], masks)

    without, leaning = score([]), score([speech(150, 2)])
    assert without.system < 0.1 * without.gold
    assert 0.5 * leaning.gold < leaning.system < 2 * leaning.gold
    assert leaning.correct > without.correct


def test_training_knows_no_more_of_the_casing_of_words_than_new_text_tells() -> None:
    """A word that stood inside of a sentence once, and started one once, is seen alike in both
    places: its occurrence inside would else be left out of its counts there, and only there.
    """
    values = np.zeros((5, len(SPLITTER_COLUMNS)), dtype=np.int32)
    values[:, SPLITTER_COLUMNS.index("lower")] = 7, 7, 8, 8, 8
    values[:, SPLITTER_COLUMNS.index("kind")] = FIRST_VALUE  # small
    starts = np.array([True, False, False, False, True])
    table = learn_casings(values, starts, np.array([0, 0, 0, 1, 1]))
    found = values[:, SPLITTER_COLUMNS.index("casing")].tolist()
    assert found[0] == found[1] == FIRST_VALUE  # not seen in the other fold
    assert found[2:] == [FIRST_VALUE + 1] * 3  # seen once in the other fold
    assert table[[7, 8, 9]].tolist() == [1, 1, 0]


@examples(60)
@given(st.lists(words, max_size=5))
def test_many_at_once_are_as_one_by_one(drawn: list[list[tuple[str, bool]]]) -> None:
    paragraphs = [
        Paragraph([form for form, _ in own], [blank for _, blank in own]) for own in drawn
    ]
    starts, sure = splitter().split(paragraphs), splitter().probabilities(paragraphs)
    assert len(starts) == len(sure) == len(paragraphs)
    for own, mask, probabilities in zip(paragraphs, starts, sure, strict=True):
        assert mask.tolist() == splitter().split([own])[0].tolist()
        assert probabilities == pytest.approx(splitter().probabilities([own])[0])
        assert ((probabilities >= 0) & (probabilities <= 1)).all()
        assert (probabilities[:1] == 1).all()


def test_batches_are_bounded_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    paragraphs = [text.paragraph for text in as_text(pieces_of(paragraphs_of(sample("dev")), 3))]
    whole = splitter().split(paragraphs)
    monkeypatch.setattr("egparse.text.splitter.BATCH_WORDS", 50)
    assert [own.tolist() for own in splitter().split(paragraphs)] == [own.tolist() for own in whole]


def test_blanks_must_be_known_of_every_word() -> None:
    with pytest.raises(ValueError, match="expected 2 values of spaced, one for each word, got 1"):
        splitter().split([Paragraph(["a", "b"], [True])])
    with pytest.raises(ValueError, match="expected 2 values of spaced"):
        splitter().split([Paragraph(["a"], [True, True]), Paragraph(["a"], [])])


def test_of_a_corpus_that_does_not_know_of_blanks_they_are_not_looked_at() -> None:
    plain = [replace(own, misc=(), tokens=(), source=None) for own in sample("train")]
    own = trained_on(plain)
    assert not own.spacing
    forms = ["It", "rains", ".", "We", "stay", "."]
    for spaced in ([True] * 6, [False] * 6, [True, False, True, True, False, True]):
        (starts,) = own.split([Paragraph(forms, spaced)])
        assert starts.tolist() == [True, False, False] * 2


def test_probabilities_are_those_of_a_temperature() -> None:
    dev = pieces_of(paragraphs_of(sample("dev")), 5)
    own = calibrated(task_of(SplitterParts([], dev)), splitter())
    assert 0.2 <= own.model.temperature <= 5.0
    paragraph = as_text(dev)[0].paragraph
    (warm,) = own.with_temperature(50.0).probabilities([paragraph])
    assert warm[1:] == pytest.approx(0.5, abs=0.2)
    assert own.split([paragraph])[0].tolist() == splitter().split([paragraph])[0].tolist()
    # without a development part it stays what the scores were learned at, 1 / beta
    unscored = task_of(SplitterParts([], []), "splitter.learner=dca", "splitter.beta=0.5")
    assert calibrated(unscored, splitter()).temperature == 2.0


def test_training_puts_it_into_the_model_and_the_file_keeps_it(tmp_path: Path) -> None:
    model = train(sample("train")[:80], None, quick('layers=["upos"]')).model
    assert model.record["tasks"]["splitter"]["score"] > 50
    path = tmp_path / "model.msgpack"
    model.save(path)
    loaded = Model.load(path)
    assert loaded.sizes() == model.sizes()
    assert "splitter" in loaded.sizes()
    paragraphs = [text.paragraph for text in as_text(paragraphs_of(sample("test")))]
    before, after = (
        np.concatenate(one.components["splitter"].probabilities(paragraphs))
        for one in (model, loaded)
    )
    assert before.tolist() == after.tolist()


def test_a_switch_leaves_it_out_and_other_learners_are_refused(tmp_path: Path) -> None:
    few = sample("train")[:80]
    model = train(few, None, quick('layers=["upos"]', "splitter.train=false")).model
    assert "splitter" not in model.components
    assert "splitter" not in model.record["tasks"]
    path = tmp_path / "model.msgpack"
    model.save(path)
    assert "splitter" not in Model.load(path).components
    fault = r"splitter\.learner: expected one that learns label sequences, got 'gis'"
    with pytest.raises(ConfigError, match=fault):
        train(sample("train"), None, quick("splitter.learner=gis"))


def test_the_same_seed_gives_the_same_splitter() -> None:
    first, second = trained_on(sample("train")[:100]), trained_on(sample("train")[:100])
    assert first.model.rows.weights.tolist() == second.model.rows.weights.tolist()


@pytest.mark.skipif(not EWT.is_file(), reason="needs UD English EWT beside the checkout")
def test_real_paragraphs_are_split_better_than_by_rule() -> None:
    paragraphs = paragraphs_of([own for own in read_conllu(EWT, trees=False) if len(own)])
    held = paragraphs[::5]
    parts = SplitterParts([text for k, text in enumerate(paragraphs) if k % 5], ())
    own = fit(task_of(parts, "splitter.stop.iterations=6"), silent).predictor
    learned = score_splitter(own, held).f1
    texts = as_text(held)
    rule = [
        np.array([k == 0 or forms[k - 1] in ".!?" for k in range(len(forms))])
        for (forms, _), _ in texts
    ]
    assert learned > score_sentences([text.starts for text in texts], rule).f1
