"""Sentences for the tests of evaluation: a bare CoNLL-U reader and writer, and predictions with
errors.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from egparse.sentences import Sentence, Source, SurfaceToken

UD = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "ud"


@cache
def treebank(name: str) -> list[Sentence]:
    """The sentences of a file of the UD folder; the test is skipped where the folder is absent."""
    path = UD / name
    if not path.exists():
        pytest.skip(f"no treebank at {path}")
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> list[Sentence]:
    return [sentence_of(block.split("\n")) for block in text.split("\n\n") if block.strip()]


def sentence_of(lines: list[str]) -> Sentence:
    word_lines = [k for k, line in enumerate(lines) if line.split("\t")[0].isdigit()]
    rows = [lines[k].split("\t") for k in word_lines]
    columns = list(zip(*rows, strict=True))
    tokens = [line.split("\t") for line in lines if "-" in line.split("\t")[0]]
    return Sentence(
        forms=columns[1],
        lemmas=columns[2],
        upos=columns[3],
        xpos=columns[4],
        feats=columns[5],
        heads=[int(head) for head in columns[6]],
        deprels=columns[7],
        spans=[
            dict(c.partition("=")[::2] for c in misc.split("|")).get("NE", "O")
            for misc in columns[9]
        ],
        sentence_id=next((line[12:] for line in lines if line.startswith("# sent_id = ")), None),
        source=Source("corpus.conllu", 1, tuple(lines), tuple(word_lines)),
        tokens=[_token(*cells[:2]) for cells in tokens if len(cells) == 10],
    )


def _token(cell: str, form: str) -> SurfaceToken:
    first, last = cell.split("-")
    return SurfaceToken(int(first) - 1, int(last) - 1, form)


def write(sentences: Sequence[Sentence]) -> str:
    """CoNLL-U of the sentences, with the multiword tokens of their sources."""
    return "".join(_block(sentence) for sentence in sentences)


def _block(sentence: Sentence) -> str:
    lines = list(sentence.source.lines) if sentence.source else [""] * len(sentence)
    places = sentence.source.word_lines if sentence.source else range(len(sentence))
    for k, place in enumerate(places):
        lemma = sentence.lemmas[k] if sentence.lemmas else "_"
        tags = (sentence.upos[k], sentence.xpos[k], sentence.feats[k])
        arc = (str(sentence.heads[k]), sentence.deprels[k])
        lines[place] = "\t".join((str(k + 1), sentence.forms[k], lemma, *tags, *arc, "_", "_"))
    return "\n".join(lines) + "\n\n"


def corrupt(sentences: Sequence[Sentence], seed: int, rate: float = 0.15) -> list[Sentence]:
    """Predictions: tags, features, labels, heads and spans replaced at random; trees stay trees."""
    rng = random.Random(seed)
    pools = {
        column: sorted({cell for sentence in sentences for cell in getattr(sentence, column)})
        for column in ("lemmas", "upos", "xpos", "feats", "deprels", "spans")
    }
    return [_corrupt(sentence, rng, pools, rate) for sentence in sentences]


def _corrupt(
    sentence: Sentence, rng: random.Random, pools: dict[str, list[str]], rate: float
) -> Sentence:
    layers: dict[str, list[str] | list[int]] = {
        column: [
            rng.choice(pool) if rng.random() < rate else cell for cell in getattr(sentence, column)
        ]
        for column, pool in pools.items()
    }
    heads = list(sentence.heads)
    for k in range(len(heads)):
        if heads[k] and rng.random() < rate:
            heads[k] = rng.choice(
                [h for h in range(1, len(heads) + 1) if not _under(heads, h, k + 1)]
            )
    return sentence.with_layers(heads=heads, **layers)


def _under(heads: Sequence[int], word: int, ancestor: int) -> bool:
    """Whether ``ancestor`` is the word or above it."""
    while word and word != ancestor:
        word = heads[word - 1]
    return word == ancestor


def resegment(sentences: Sequence[Sentence], seed: int, rate: float = 0.08) -> list[Sentence]:
    """The same texts in other tokens and words: tokens split and joined, multiword tokens made and
    dissolved.

    Each sentence gets a chain for a tree; now and then two sentences become one.
    """
    rng = random.Random(seed)
    groups: list[list[tuple[str, list[str]]]] = []
    for sentence in sentences:
        tokens = _resegment(_tokens(sentence), rng, rate)
        if groups and rng.random() < rate:
            groups[-1] += tokens
        else:
            groups.append(tokens)
    return [chain(tokens, rng) for tokens in groups]


def _tokens(sentence: Sentence) -> list[tuple[str, list[str]]]:
    """Form and words of each token."""
    assert sentence.source is not None
    tokens, word, last = [], 0, 0
    for line in sentence.source.lines:
        cells = line.split("\t")
        if "-" in cells[0] and len(cells) == 10:
            first, last = map(int, cells[0].split("-"))
            tokens.append((cells[1], list(sentence.forms[first - 1 : last])))
        elif cells[0].isdigit():
            word += 1
            if word > last:
                tokens.append((cells[1], [cells[1]]))
    return tokens


def _resegment(
    tokens: list[tuple[str, list[str]]], rng: random.Random, rate: float
) -> list[tuple[str, list[str]]]:
    changed: list[tuple[str, list[str]]] = []
    for form, words in tokens:
        if rng.random() >= rate:
            changed.append((form, words))
        elif rng.random() < 0.3 and changed:
            before, words_before = changed.pop()
            joined = before + form
            changed.append((joined, rng.choice([[joined], words_before + words])))
        elif len(words) > 1 and rng.random() < 0.5:
            changed.append((form, [form]))
        elif len(form) > 1:
            cut = rng.randrange(1, len(form))
            pieces = [form[:cut].strip() or form[:cut], form[cut:].strip() or form[cut:]]
            if any(not piece.strip() for piece in pieces):
                changed.append((form, words))
            elif rng.random() < 0.5:
                changed += [(piece, [piece]) for piece in pieces]
            else:
                changed.append(
                    (form, rng.choice([pieces, [*words, "x"], ["y", *pieces], pieces[::-1]]))
                )
        else:
            changed.append((form, words))
    return changed


def chain(tokens: list[tuple[str, list[str]]], rng: random.Random) -> Sentence:
    """A sentence of these tokens and their words; each word hangs on the first one or the one
    before it.
    """
    lines: list[str] = []
    word = 0
    for form, words in tokens:
        if len(words) > 1 or words[0] != form:
            lines.append("\t".join((f"{word + 1}-{word + len(words)}", form, *"________")))
        for piece in words:
            word += 1
            upos = rng.choice(["ADJ", "NOUN", "VERB", "DET"])
            feats = rng.choice(["_", "Number=Sing", "Case=Nom|X=Y"])
            labels = ["obl", "nsubj", "det", "case:x", "punct", "aux"]
            deprel = "root" if word == 1 else rng.choice(labels)
            lemma = rng.choice(["_", "a", "b"])
            head = "0" if word == 1 else str(rng.choice([1, word - 1]))
            cells = (str(word), piece, lemma, upos, "_", feats, head, deprel, "_", "_")
            lines.append("\t".join(cells))
    return sentence_of(lines)
