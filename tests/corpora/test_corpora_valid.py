"""The sample treebank: format, trees, layers and variety, and that no sentence is borrowed or
shared.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import conllu
import pytest
from conllu.models import Token, TokenList

ROOT = Path(__file__).resolve().parents[2]
CORPORA = ROOT / "corpora"
EWT = ROOT / ".." / "shared" / "data" / "ud"

MINIMUM = {"train": 300, "dev": 60, "test": 60}
NON_PROJECTIVE = {"train": 12, "dev": 2, "test": 2}

UPOS = {
    *(
        "ADJ",
        "ADP",
        "ADV",
        "AUX",
        "CCONJ",
        "DET",
        "INTJ",
        "NOUN",
        "NUM",
        "PART",
        "PRON",
        "PROPN",
        "PUNCT",
    ),
    *("SCONJ", "SYM", "VERB", "X"),
}
DEPRELS = {
    *(
        "nsubj",
        "nsubj:outer",
        "nsubj:pass",
        "csubj",
        "csubj:outer",
        "csubj:pass",
        "expl",
        "obj",
        "iobj",
    ),
    *(
        "ccomp",
        "xcomp",
        "obl",
        "obl:agent",
        "obl:unmarked",
        "advcl",
        "advcl:relcl",
        "advmod",
        "vocative",
    ),
    *(
        "aux",
        "aux:pass",
        "cop",
        "mark",
        "discourse",
        "dislocated",
        "nmod",
        "nmod:desc",
        "nmod:poss",
    ),
    *("nmod:unmarked", "appos", "nummod", "acl", "acl:relcl", "amod", "det", "det:predet", "case"),
    *("conj", "cc", "cc:preconj", "fixed", "flat", "compound", "compound:prt", "list", "parataxis"),
    *("orphan", "goeswith", "reparandum", "punct", "root", "dep"),
}
CONSTRUCTIONS = (
    *(
        "acl:relcl",
        "advcl",
        "appos",
        "aux:pass",
        "ccomp",
        "compound:prt",
        "conj",
        "cop",
        "expl",
        "iobj",
    ),
    *("nmod:poss", "nsubj:pass", "nummod", "xcomp"),
)
ENTITY = re.compile(r"^(?:O|[BI]-(?:PER|ORG|LOC))$")
FEATURES = re.compile(r"^[A-Z][A-Za-z]*=[A-Za-z0-9]+(?:\|[A-Z][A-Za-z]*=[A-Za-z0-9]+)*$")

PARTS = pytest.mark.parametrize("part", list(MINIMUM))


def path_of(part: str) -> Path:
    return CORPORA / f"en_sample-{part}.conllu"


@cache
def sentences_of(part: str) -> tuple[TokenList, ...]:
    return tuple(conllu.parse(path_of(part).read_text(encoding="utf-8")))


def words_of(sentence: TokenList) -> list[Token]:
    """The syntactic words, without the lines of multiword tokens."""
    return [token for token in sentence if isinstance(token["id"], int)]


def heads_of(sentence: TokenList) -> list[int]:
    """``heads[dependent]``; cell 0, the artificial root, holds 0."""
    return [0, *(word["head"] for word in words_of(sentence))]


def labels_of(sentence: TokenList) -> list[str]:
    return [word["deprel"] for word in words_of(sentence)]


def entities_of(sentence: TokenList) -> list[str]:
    return [(word["misc"] or {}).get("NE", "O") for word in words_of(sentence)]


def ancestors(heads: list[int], word: int) -> list[int]:
    """``word`` and all above it up to the root 0; stops after as many steps as there are words."""
    chain = [word]
    while chain[-1] and len(chain) <= len(heads):
        chain.append(heads[chain[-1]])
    return chain


def is_projective(heads: list[int]) -> bool:
    """Whether every head dominates all words between itself and its dependent."""
    return all(
        head in ancestors(heads, between)
        for dependent, head in enumerate(heads)
        if dependent
        for between in range(min(head, dependent) + 1, max(head, dependent))
    )


def text_of(sentence: TokenList) -> str:
    """The text that the surface tokens and ``SpaceAfter=No`` spell out."""
    pieces: list[str] = []
    covered = 0
    for token in sentence:
        last = token["id"][2] if isinstance(token["id"], tuple) else token["id"]
        if last <= covered:
            continue
        covered = last
        space = "" if (token["misc"] or {}).get("SpaceAfter") == "No" else " "
        pieces.append(token["form"] + space)
    return "".join(pieces).rstrip()


def texts_of(part: str) -> list[str]:
    return [str(sentence.metadata["text"]) for sentence in sentences_of(part)]


def identified(sentence: TokenList) -> str:
    return str(sentence.metadata["sent_id"])


@PARTS
def test_has_enough_sentences(part: str) -> None:
    assert len(sentences_of(part)) >= MINIMUM[part]


@PARTS
def test_every_line_is_a_comment_a_blank_or_ten_filled_columns(part: str) -> None:
    for number, line in enumerate(path_of(part).read_text(encoding="utf-8").split("\n"), start=1):
        if line and not line.startswith("#"):
            columns = line.split("\t")
            assert len(columns) == 10, f"line {number}"
            assert all(column and column == column.strip() for column in columns), f"line {number}"


@PARTS
def test_identifiers_are_numbered_within_the_part(part: str) -> None:
    found = [identified(sentence) for sentence in sentences_of(part)]
    assert found == [f"en_sample-{part}-{number:04d}" for number in range(1, len(found) + 1)]


@PARTS
def test_words_are_numbered_without_gaps(part: str) -> None:
    for sentence in sentences_of(part):
        numbers = [word["id"] for word in words_of(sentence)]
        assert numbers == list(range(1, len(numbers) + 1)), identified(sentence)


@PARTS
def test_multiword_tokens_cover_words_that_follow_and_spell_them(part: str) -> None:
    for sentence in sentences_of(part):
        forms = [word["form"] for word in words_of(sentence)]
        for token in sentence:
            if isinstance(token["id"], tuple):
                first, _, last = token["id"]
                assert 1 <= first < last <= len(forms), identified(sentence)
                assert token["form"] == "".join(forms[first - 1 : last]), identified(sentence)


@PARTS
def test_every_sentence_is_one_tree_with_one_root(part: str) -> None:
    for sentence in sentences_of(part):
        heads = heads_of(sentence)
        assert all(0 <= head < len(heads) for head in heads), identified(sentence)
        assert heads[1:].count(0) == 1, identified(sentence)
        assert all(ancestors(heads, word)[-1] == 0 for word in range(1, len(heads))), identified(
            sentence
        )


@PARTS
def test_the_root_label_is_on_the_root_and_nowhere_else(part: str) -> None:
    for sentence in sentences_of(part):
        for word in words_of(sentence):
            where = f"{identified(sentence)}: {word['form']}"
            assert (word["head"] == 0) == (word["deprel"] == "root"), where


@PARTS
def test_the_text_is_what_the_tokens_spell(part: str) -> None:
    for sentence in sentences_of(part):
        assert text_of(sentence) == sentence.metadata["text"], identified(sentence)


@PARTS
def test_tags_and_labels_are_those_of_the_guidelines(part: str) -> None:
    for sentence in sentences_of(part):
        for word in words_of(sentence):
            where = f"{identified(sentence)}: {word['form']}"
            assert word["upos"] in UPOS, where
            assert word["deprel"] in DEPRELS, where
            assert word["lemma"] not in (None, "_"), where
            assert word["xpos"] not in (None, "_"), where


@PARTS
def test_features_are_sorted_and_well_formed(part: str) -> None:
    for line in path_of(part).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            features = line.split("\t")[5]
            assert features == "_" or FEATURES.match(features), line
            assert features.split("|") == sorted(features.split("|"), key=str.lower), line


@PARTS
def test_punctuation_is_labelled_punct_and_has_no_dependents(part: str) -> None:
    for sentence in sentences_of(part):
        heads = heads_of(sentence)
        for word in words_of(sentence):
            where = f"{identified(sentence)}: {word['form']}"
            assert (word["upos"] == "PUNCT") == (word["deprel"] == "punct"), where
            assert word["upos"] != "PUNCT" or word["id"] not in heads, where


@PARTS
def test_entities_are_iob2(part: str) -> None:
    for sentence in sentences_of(part):
        previous = "O"
        for label in entities_of(sentence):
            assert ENTITY.match(label), f"{identified(sentence)}: {label}"
            assert not label.startswith("I-") or previous[2:] == label[2:], identified(sentence)
            previous = label


@PARTS
def test_all_three_entity_types_occur(part: str) -> None:
    labels = [label for sentence in sentences_of(part) for label in entities_of(sentence)]
    begun = Counter(label for label in labels if label.startswith("B-"))
    assert set(begun) == {"B-PER", "B-ORG", "B-LOC"}
    assert min(begun.values()) >= 5


@PARTS
def test_some_sentences_are_not_projective(part: str) -> None:
    crossing = sum(not is_projective(heads_of(sentence)) for sentence in sentences_of(part))
    assert NON_PROJECTIVE[part] <= crossing < len(sentences_of(part)) / 4


@PARTS
def test_constructions_vary(part: str) -> None:
    labels = Counter(label for sentence in sentences_of(part) for label in labels_of(sentence))
    assert [label for label in CONSTRUCTIONS if labels[label] < 4] == []
    assert sum(text.rstrip('"').endswith("?") for text in texts_of(part)) >= 5
    assert (
        sum("Mood=Imp" in line for line in path_of(part).read_text(encoding="utf-8").splitlines())
        >= 5
    )
    assert any(
        isinstance(token["id"], tuple) for sentence in sentences_of(part) for token in sentence
    )


@PARTS
def test_lengths_vary(part: str) -> None:
    lengths = [len(words_of(sentence)) for sentence in sentences_of(part)]
    assert min(lengths) <= 6
    assert max(lengths) >= 20
    assert 8 <= sum(lengths) / len(lengths) <= 16


def test_no_sentence_occurs_twice() -> None:
    texts = Counter(text.casefold() for part in MINIMUM for text in texts_of(part))
    assert [text for text, times in texts.items() if times > 1] == []


def test_no_sentence_of_five_words_or_more_is_one_of_ewt() -> None:
    if not EWT.is_dir():
        pytest.skip("the EWT treebank is not beside this repository (../shared/data/ud)")
    borrowed = {
        line.removeprefix("# text = ").strip().casefold()
        for file in sorted(EWT.glob("en_ewt-ud-*.conllu"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("# text = ")
    }
    assert borrowed, "EWT holds no sentences"
    ours = [
        sentence
        for part in MINIMUM
        for sentence in sentences_of(part)
        if len(words_of(sentence)) >= 5
    ]
    assert [identified(s) for s in ours if s.metadata["text"].casefold() in borrowed] == []
