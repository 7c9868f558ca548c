"""The tokeniser: what it learns from treebanks, its lexicon, its part of a model file."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from sample_treebank import quick, sample
from sample_treebank import without as drop
from text.small_tokeniser import small_tokeniser, text_of

from egparse.config.sections import TokeniserConfig
from egparse.errors import ConfigError
from egparse.fitting.progress import silent
from egparse.fitting.task import calibrated, fit
from egparse.io.conllu import read_conllu
from egparse.io.corpus import read_corpus
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.storage.schema import Allowance, Misfit, Stored
from egparse.text.characters import as_codes
from egparse.text.pieces import EVERYWHERE, OPEN, pieces_of
from egparse.text.tokeniser import (
    LONGEST,
    NO_GOLD,
    TOKENISER_COLUMNS,
    Lexicon,
    Tokeniser,
    labels_of,
    tokeniser_columns,
)
from egparse.text.training import TokeniserTask, score_tokens
from egparse.text.treebank_text import running_text
from egparse.training.run import train

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "ud"


def corpus(sentences: list[list[tuple[str, str]]]) -> list[Sentence]:
    """Sentences of tokens with MISC."""
    empty = "\t_" * 7
    blocks = [
        "".join(f"{k}\t{form}{empty}\t{misc}\n" for k, (form, misc) in enumerate(tokens, 1))
        for tokens in sentences
    ]
    return list(read_conllu(io.StringIO("\n".join(blocks) + "\n")))


def drawn(rng: random.Random, words: list[str], misc: str, end: str, count: int) -> list[Sentence]:
    """Sentences of words and a full stop."""
    return corpus(
        [
            [*((rng.choice(words), misc) for _ in range(rng.randrange(3, 12))), (end, misc)]
            for _ in range(count)
        ]
    )


def task_of(train_part: Sequence[Sentence], dev: Sequence[Sentence]) -> TokeniserTask:
    return TokeniserTask.of(train_part, dev, TokeniserConfig(), 1)


def learned(train_part: Sequence[Sentence], dev: Sequence[Sentence]) -> Tokeniser:
    return fit(task_of(train_part, dev), silent).predictor


def tokens_in(text: str, tokeniser: Tokeniser | None) -> list[str]:
    assert tokeniser is not None
    return tokeniser.tokens(text).forms(text)


TREEBANK = """\
# newdoc
# text = Du pain!
1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_
1\tDe\t_\t_\t_\t_\t_\t_\t_\t_
2\tle\t_\t_\t_\t_\t_\t_\t_\t_
3\tpain\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
4\t!\t_\t_\t_\t_\t_\t_\t_\tSpacesAfter=\\s\\n

1\t10 000\t_\t_\t_\t_\t_\t_\t_\t_

# newpar
# text = other
1\ttext\t_\t_\t_\t_\t_\t_\t_\t_

# text = End .
1\tEnd\t_\t_\t_\t_\t_\t_\t_\tX=1|SpacesAfter=\\s\\p
2\t.\t_\t_\t_\t_\t_\t_\t_\t_

"""


def test_the_text_of_a_treebank() -> None:
    sentences = list(read_conllu(io.StringIO(TREEBANK)))
    found = running_text(sentences[:3])
    assert found.text == "Du pain! \n10 000\n\n"
    assert found.left_out == 1  # its tokens do not spell its text
    spans = zip(found.starts, found.ends, strict=True)
    assert [found.text[a:b] for a, b in spans] == ["Du", "pain", "!", "10 000"]
    assert found.sentences.tolist() == [0, 10]
    assert running_text(sentences[3:]).left_out == 1  # a bar is no blank
    assert running_text([]).text == ""


def test_the_sample_treebank_is_learned() -> None:
    for part, least in (("train", 99.5), ("test", 97.0)):
        gold = running_text(sample(part))
        assert score_tokens(gold, small_tokeniser().tokens(gold.text)).f1 > least
    assert tokens_in("(It's here), he said.", small_tokeniser()) == [
        "(", "It's", "here", ")", ",", "he", "said", ".",
    ]  # fmt: skip


def test_text_without_blanks() -> None:
    """As in Chinese or Thai: words of a lexicon, one after the other."""
    rng = random.Random(1)
    letters = [chr(0x4E00 + k) for k in range(60)]
    words = ["".join(rng.choices(letters, k=rng.choice((1, 2, 2, 3)))) for _ in range(150)]
    dev = drawn(rng, words, "SpaceAfter=No", "。", 100)
    gold = running_text(dev)
    assert " " not in gold.text
    tokeniser = learned(drawn(rng, words, "SpaceAfter=No", "。", 400), dev)
    assert score_tokens(gold, tokeniser.tokens(gold.text)).f1 > 97
    assert tokeniser.continuous
    loaded = Tokeniser.from_payload(Stored(tokeniser.to_payload(), "tokeniser", Allowance(10**7)))
    assert tokens_in(gold.text, loaded) == tokens_in(gold.text, tokeniser)
    # that a token starts has the probability of both labels that say so
    chances = loaded.probabilities(pieces := loaded.pieces(gold.text), loaded.columns(pieces))
    starts = np.isin(pieces.begins[pieces.links == OPEN], loaded.tokens(gold.text).starts)
    assert np.mean((chances > 0.5) == starts) > 0.99


def test_tokens_with_blanks_inside_and_decimals() -> None:
    rng = random.Random(2)

    def sentences(count: int) -> list[Sentence]:
        found = []
        for _ in range(count):
            number = rng.choice(
                [
                    f"{rng.randrange(1, 99)} {rng.randrange(100, 999)}",
                    f"{rng.randrange(9)},{rng.randrange(99)}",
                    str(rng.randrange(999)),
                ]
            )
            found.append([("il", "_"), ("paie", "_"), (number, "_"), ("euros", "SpaceAfter=No")])
            found[-1].append((rng.choice((".", ",")), "_"))
        return corpus(found)

    tokeniser = learned(sentences(300), sentences(50))
    assert tokens_in("il paie 10 000 euros, 3,50 euros.", tokeniser) == [
        "il", "paie", "10 000", "euros", ",", "3,50", "euros", ".",
    ]  # fmt: skip
    # a line end is in no token
    assert tokens_in("il paie 10\n000 euros", tokeniser) == ["il", "paie", "10", "000", "euros"]


@examples(100)
@given(st.lists(st.tuples(st.text("ab.", min_size=1, max_size=4), st.booleans()), max_size=12))
def test_the_lexicon_knows_tokens_but_where_they_stand(drawn: list[tuple[str, bool]]) -> None:
    text = "".join(form + " " * blank for form, blank in drawn)
    pieces = pieces_of(as_codes(text), EVERYWHERE)
    begins, at = set(), 0
    for form, blank in drawn:
        begins.add(at)
        at += len(form) + blank
    starts = np.array([begin in begins for begin in pieces.begins.tolist()], dtype=np.uint8)
    lexicon = Lexicon.of(pieces, starts)
    firsts = [*np.flatnonzero(starts).tolist(), len(pieces)]
    spans = [range(a, b) for a, b in pairwise(firsts)]

    def string(span: range) -> str:
        return text[pieces.begins[span[0]] : pieces.ends[span[-1]]]

    counts = Counter(string(span) for span in spans if 2 <= len(span) <= LONGEST)
    for gold in (starts, NO_GOLD):
        values = tokeniser_columns(pieces, lexicon, gold).T
        before, after, around, _ = values[TOKENISER_COLUMNS.index("before") :]
        known = [
            range(a, b)
            for a in range(len(pieces))
            for b in range(a + 2, min(a + LONGEST, len(pieces)) + 1)
            if counts[string(range(a, b))] > (len(gold) > 0 and range(a, b) in spans)
        ]
        for k in range(len(pieces)):
            assert before[k] - 2 == max((len(s) for s in known if s.stop == k), default=0)
            assert after[k] - 2 == max((len(s) for s in known if s.start == k), default=0)
            over = [s for s in known if s.start < k < s.stop]
            if over:
                longest = max(over, key=lambda s: (len(s), -s.start))
                left, right = min(k - longest.start, 3), min(longest.stop - k, 3)
                assert around[k] - 2 == 4 * left + right
            else:
                assert around[k] == 2


def test_any_text_is_cut_into_all_its_characters() -> None:
    for text in ("", " \n", "a", "\x00\x07\ufeff\u200b", "\ud800x", "漢字" * 50, "." * 300):
        assert "".join(tokens_in(text, small_tokeniser())).replace(" ", "") == "".join(text.split())


def test_addresses_and_clusters_are_tokens() -> None:
    text = "Write to a.b-c@d-e.org (http://x-y.org/z?q='1'), \U0001f469\u200d\U0001f467!"
    assert tokens_in(text, small_tokeniser()) == [
        "Write", "to", "a.b-c@d-e.org", "(", "http://x-y.org/z?q='1", "'", ")", ",",
        "\U0001f469\u200d\U0001f467", "!",
    ]  # fmt: skip


def test_probabilities_agree_with_decisions_and_are_those_of_a_temperature() -> None:
    tokeniser, task = small_tokeniser(), task_of(sample("train"), sample("dev"))
    outcomes = task.outcomes(tokeniser)
    likely = outcomes.probabilities(1.0)
    assert ((likely >= 0) & (likely <= 1)).all()
    assert (likely > 0.5).mean() > 0.95
    hot = outcomes.probabilities(1e6)
    assert np.allclose(hot, 0.5, atol=1e-3)
    assert calibrated(task, tokeniser).temperature > 0


def test_the_same_seed_gives_the_same_tokeniser() -> None:
    one, two = learned(sample("train"), sample("dev")).model, small_tokeniser().model
    assert one is not None
    assert two is not None
    assert one.rows.weights.tolist() == two.rows.weights.tolist()


def test_a_model_keeps_it(tmp_path: Path) -> None:
    model = train(sample("train")[:80], None, quick('layers=["upos"]')).model
    assert model.record["tasks"]["tokeniser"]["score"] > 90
    assert model.record["tasks"]["tokeniser"]["left_out"] == 0
    assert "tokeniser" in model.sizes()
    assert model.strongest("tokeniser", 3) == []
    path = tmp_path / "model.msgpack"
    model.save(path)
    loaded = Model.load(path)
    text = " Don't go (yet), please.\n\n\n\tYes!"
    assert text_of(loaded(text)) == text
    assert loaded(text) == model(text)
    drop(model, "tokeniser").save(path)
    assert "tokeniser" not in Model.load(path).components
    switched_off = quick('layers=["upos"]', "tokeniser.train=false")
    assert "tokeniser" not in train(sample("train")[:80], None, switched_off).model.components


SPEECH = corpus([[("så", "_"), ("[gap]", "_"), ("ta'kk", "_"), (".", "_")]] * 40)


def test_a_corpus_whose_tokens_stand_between_blanks_teaches_that(tmp_path: Path) -> None:
    tagged = [one.with_layers(upos=("ADV", "X", "INTJ", "PUNCT")) for one in SPEECH]
    model = train(tagged, None, quick('layers=["upos"]', 'language="vi"')).model
    assert model.components["tokeniser"].model is None  # nothing is decided
    path = tmp_path / "model.msgpack"
    model.save(path)
    loaded = Model.load(path)
    # also between kinds of characters that the corpus never has side by side
    text = "så [gap], x-1 http://a.org/ 'A' \U0001f469\u200d\U0001f467.\n漢字 (ta'kk)"
    assert tokens_in(text, loaded.components["tokeniser"]) == text.split()
    assert loaded.components["tokeniser"].with_temperature(2.0).temperature == 1.0


def test_the_least_that_a_corpus_says_is_learned() -> None:
    """A token without a blank after it, of the only sentence or of many, and no sentence at all."""
    once = corpus([[("ja", "SpaceAfter=No"), (".", "_")]])
    assert tokens_in("ja. ja", learned(once, [])) == ["ja", ".", "ja"]
    rarely = learned([*SPEECH, *once * 3], [])
    assert tokens_in("så [gap]. så", rarely)[-1] == "så"
    assert tokens_in("a. b", task_of([], []).without_model()) == ["a.", "b"]


def test_words_of_several_syllables() -> None:
    """As in Vietnamese: a blank between any two syllables, and none missing."""
    rng = random.Random(3)
    syllables = ["".join(rng.choices("bcdfghlmn", k=2)) + rng.choice("aeiou") for _ in range(60)]
    words = [" ".join(rng.choices(syllables, k=rng.choice((1, 2, 2, 3)))) for _ in range(120)]
    dev = drawn(rng, words, "_", ".", 60)
    gold = running_text(dev)
    found = learned(drawn(rng, words, "_", ".", 300), dev).tokens(gold.text)
    assert score_tokens(gold, found).f1 > 95


@pytest.mark.parametrize(
    ("continuous", "labels"), [(False, [1, 0, 0, 1, 1]), (True, [3, 2, 0, 1, 1])]
)
def test_labels_say_where_tokens_start_and_whether_they_go_on(
    continuous: bool, labels: list[int]
) -> None:
    starts = np.array([1, 0, 0, 1, 1], dtype=np.uint8)
    assert labels_of(starts, continuous).tolist() == labels


def test_a_learner_that_learns_no_sequences_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"tokeniser.learner: expected one that learns label"):
        train(sample("train")[:40], None, quick("tokeniser.learner=gis"))
    with pytest.raises(ConfigError, match=r"tokeniser.templates: template 'form\[0\]'"):
        train(sample("train")[:40], None, quick('tokeniser.templates=["form[0]"]'))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("lexicon", np.array([2, 1], dtype=np.uint64), "ascending numbers of 32 bits"),
        ("lexicon", np.array([1 << 40], dtype=np.uint64), "ascending numbers of 32 bits"),
        ("lexicon", np.array([0], dtype=np.uint64), "ascending numbers of 32 bits"),
        ("close", np.full((14, 14), 3, dtype=np.uint8), "close"),
        ("blank", np.zeros((2, 2), dtype=np.uint8), "blank"),
        ("addresses", "yes", "addresses"),
        ("model", None, "model"),
        ("continuous", True, "model"),
    ],
)
def test_faulty_content_is_refused(field: str, value: object, message: str) -> None:
    from egparse.storage.arrays import compress_array

    payload = small_tokeniser().to_payload()
    if field == "lexicon":
        assert isinstance(value, np.ndarray)
        value = compress_array(value)
    stored = Stored({**payload, field: value}, "tokeniser", Allowance(10**6))
    with pytest.raises(Misfit, match=message):
        Tokeniser.from_payload(stored)


def test_decisions_do_not_depend_on_what_other_paragraphs_say() -> None:
    first, second = running_text(sample("dev")[:40]), running_text(sample("test")[:40])
    tokens = small_tokeniser().tokens(first.text + second.text)
    alone = small_tokeniser().tokens(second.text)
    later = tokens.starts >= len(first.text)
    assert (tokens.starts[later] - len(first.text)).tolist() == alone.starts.tolist()


def test_line_ends_are_blanks() -> None:
    text = running_text(sample("dev")).text
    expected = tokens_in(text, small_tokeniser())
    assert not any(" " in token for token in expected)
    assert tokens_in(text.replace(" ", "\n"), small_tokeniser()) == expected
    assert tokens_in(text.replace(" ", " \t "), small_tokeniser()) == expected


def test_blocks_of_decisions_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = running_text(sample("dev")).text
    expected = tokens_in(text, small_tokeniser())
    assert (small_tokeniser().pieces(text).links == OPEN).sum() > 50
    monkeypatch.setattr("egparse.sequences.model._BLOCK", 7)
    assert tokens_in(text, small_tokeniser()) == expected


def test_a_real_treebank_is_learned() -> None:
    paths = [DATA / f"fr_sequoia-ud-{part}.conllu" for part in ("train", "dev")]
    if not all(path.exists() for path in paths):
        pytest.skip(f"{paths[0]} is not there")
    train_part, dev = (list(read_corpus(path)) for path in paths)
    gold = running_text(dev)
    assert score_tokens(gold, learned(train_part, dev).tokens(gold.text)).f1 > 99.5
