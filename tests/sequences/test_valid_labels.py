"""Labels that keep the rules of Universal Dependencies: by its validator, by what they cost, and
beside what a user fixes.
"""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cli.program import run
from sample_treebank import CORPORA, quick_model, sample

from egparse.cli.validation import broken_rules
from egparse.errors import EgparseError
from egparse.features.tag_dictionary import all_labels
from egparse.features.vocabulary import FIRST_VALUE, Vocabulary
from egparse.features.word_table import Words
from egparse.io.corpus import read_corpus
from egparse.pipeline.constraints import Constraints
from egparse.sentences import Sentence
from egparse.sequences.valid_labels import LabelRules

pytest.importorskip("udtools")

LABELS = (
    "root", "nsubj", "csubj", "nsubj:outer", "obj", "obl", "nmod", "advmod", "aux", "cop", "case",
    "mark", "cc", "conj", "det", "nummod", "expl", "fixed", "flat", "punct", "dep",
)  # fmt: skip
TAGS = ("NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "AUX", "ADP", "PART", "CCONJ", "NUM", "PUNCT")
BUNDLES = ("_", "Polarity=Neg", "ExtPos=ADV", "Number=Sing|Polarity=Neg")
TREE = {"leaf-punct"}
"""Rules that no labels can keep where a tree has words below punctuation."""


def rules() -> LabelRules:
    """The rules over these labels and tags."""
    labels = {"deprels": LABELS, "upos": TAGS, "feats": BUNDLES}
    columns: Any = SimpleNamespace(
        labels={name: Vocabulary(strings) for name, strings in labels.items()},
        number=["upos", "feats"].index,
    )
    return LabelRules(columns)


def random_sentence(rng: np.random.Generator, n: int) -> tuple[Words, np.ndarray]:
    """Words with random tags and features, and the heads of a random tree."""
    heads, order = np.zeros(n, dtype=np.int32), rng.permutation(n)
    for place in range(1, n):
        heads[order[place]] = order[rng.integers(place)] + 1
    values = np.stack(
        [rng.integers(len(strings), size=n) + FIRST_VALUE for strings in (TAGS, BUNDLES)], axis=1
    )
    forms = np.arange(n, dtype=np.int32)
    return Words(np.array([0, n]), ["x"] * n, forms, values.astype(np.int32)), heads


def as_sentence(words: Words, heads: np.ndarray, labels: np.ndarray) -> Sentence:
    """The same as a sentence."""
    upos, feats = (words.values - FIRST_VALUE).T.tolist()
    n = words.n_words
    return Sentence(
        forms=("x",) * n,
        lemmas=("x",) * n,
        upos=tuple(TAGS[one] for one in upos),
        feats=tuple(BUNDLES[one] for one in feats),
        heads=tuple(heads.tolist()),
        deprels=tuple(LABELS[one] for one in labels.tolist()),
    )


def broken(sentences: list[Sentence]) -> int:
    """How many rules of labels sentences break, by the validator."""
    named = [replace(one, sentence_id=str(number)) for number, one in enumerate(sentences)]
    ours = ("rel-upos", "upos-rel", "leaf-", "too-many", "obl-should", "right-to-left")
    return sum(n for rule, n in broken_rules(named).items() if rule.startswith(ours))


def test_labels_of_random_trees_break_few_rules_and_lose_little() -> None:
    rng, found = np.random.default_rng(0), rules()
    of_root, of_words = (0,), tuple(range(1, len(LABELS)))
    first, second = [], []
    for _ in range(400):
        words, heads = random_sentence(rng, int(rng.integers(2, 9)))
        candidates = found.candidates(words, heads, of_root, of_words)
        scores = rng.normal(size=len(candidates.labels))
        places = [
            begin + int(np.argmax(scores[begin:end])) for begin, end in pairwise(candidates.starts)
        ]
        best = candidates.labels[places].astype(np.int32)
        settled = found.settle(words, heads, best, candidates, scores)
        first.append(as_sentence(words, heads, best))
        second.append(as_sentence(words, heads, settled))
    before = broken(first)
    assert before > 100
    assert broken(second) < 0.25 * before  # the others are in the trees, which are random
    changed = [
        one for one, other in zip(first, second, strict=True) if one.deprels != other.deprels
    ]
    assert broken(changed) >= len(changed)


def test_of_two_subjects_the_one_that_loses_less_is_changed() -> None:
    found = rules()
    n, numbers = 3, {label: number for number, label in enumerate(LABELS)}
    tags = [TAGS.index(tag) + FIRST_VALUE for tag in ("NOUN", "VERB", "NOUN")]
    values = np.array([[tag, FIRST_VALUE] for tag in tags], dtype=np.int32)
    words = Words(np.array([0, n]), ["x"], np.zeros(n, dtype=np.int32), values)
    heads, candidates = np.array([2, 0, 2], dtype=np.int32), all_labels(n, len(LABELS))
    scores = np.full((n, len(LABELS)), -9.0)
    scores[1, numbers["root"]] = 0
    scores[0, numbers["nsubj"]], scores[0, numbers["obj"]] = 3, 1
    scores[2, numbers["nsubj"]], scores[2, numbers["obj"]] = 3, 2
    labels = scores.argmax(axis=1).astype(np.int32)
    settled = found.settle(words, heads, labels, candidates, scores.ravel())
    assert [LABELS[one] for one in settled] == ["nsubj", "root", "obj"]


def test_a_model_breaks_no_rule_that_its_trees_let_it_keep() -> None:
    model, gold = quick_model(), sample("dev")
    valid = model.with_valid_labels()
    before, after = (broken_rules(list(one.annotate(gold))) for one in (model, valid))
    assert sum(before.values()) > sum(after.values())
    assert set(after) <= TREE
    heads = [[one.heads for one in each.annotate(gold)] for each in (model, valid)]
    assert heads[0] == heads[1]


def test_what_a_user_fixes_stays() -> None:
    valid, gold = quick_model().with_valid_labels(), sample("dev")[0]
    word = next(k for k, tag in enumerate(gold.upos, 1) if tag == "NOUN")
    (fixed,) = valid.annotate([gold], constraints=[Constraints(fixed={"deprels": {word: "punct"}})])
    assert fixed.deprels[word - 1] == "punct"


def test_a_model_without_labels_is_refused() -> None:
    model = replace(quick_model(), components=quick_model().components.without("labeller"))
    with pytest.raises(EgparseError, match="expected a model of UPOS and labels of arcs, got one"):
        model.with_valid_labels()


def test_the_commands_have_them(tmp_path: Any) -> None:
    path, dev = tmp_path / "model.msgpack", CORPORA / "en_sample-dev.conllu"
    quick_model().save(path)
    once = run("parse", path, dev, "--valid-labels").stdout
    assert once == run("parse", path, dev, "--valid-labels", "--jobs", 2).stdout
    assert once != run("parse", path, dev).stdout
    parsed = list(read_corpus(io.BytesIO(once.encode()), "conllu"))
    assert set(broken_rules(parsed)) <= TREE
    shown = run("evaluate", path, dev, "--validate", "--bootstrap", 0).stdout
    assert "in 1,000 words" in shown
    (tmp_path / "parsed.conllu").write_text(once, encoding="utf-8")
    given = ("evaluate", "--predicted", tmp_path / "parsed.conllu", dev, "--validate")
    assert (
        f"level 3 of its validator\n{'none' if not broken_rules(parsed) else 'rule'}"
        in run(*given).stdout
    )
