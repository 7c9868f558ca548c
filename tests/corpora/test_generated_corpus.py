"""Generated corpora keep trees and tags, continue the growth of the vocabulary, and are the same
each time.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path

import pytest
from house.package import ROOT
from sample_treebank import CORPORA

from egparse.io.corpus import read_corpus
from egparse.sentences import Sentence

sys.path.insert(0, str(ROOT / "benchmarks"))
import generated_corpus as generated

sys.path.remove(str(ROOT / "benchmarks"))  # other scripts there have the names of test packages

SOURCE = CORPORA / "en_sample-train.conllu"


def made(path: Path, count: int, *, seed: int = 0, length: int | None = None) -> list[Sentence]:
    blocks = generated.generate(generated.read(SOURCE), count, seed=seed, length=length)
    path.write_text("".join(blocks), encoding="utf-8")
    return list(read_corpus(path))


def test_trees_and_tags_are_those_of_the_source(tmp_path: Path) -> None:
    def layers(sentence: Sentence) -> tuple[object, ...]:
        tags = (sentence.upos, sentence.xpos, sentence.feats)
        return (*map(tuple, tags), tuple(sentence.heads), tuple(sentence.deprels))

    known = {layers(sentence) for sentence in read_corpus(SOURCE)}
    sentences = made(tmp_path / "made.conllu", 300)
    assert len(sentences) == 300
    assert all(layers(sentence) in known for sentence in sentences)


def test_known_words_keep_their_class_and_new_ones_their_capitals(tmp_path: Path) -> None:
    classes = defaultdict(set)
    for sentence in read_corpus(SOURCE):
        for row in zip(
            sentence.forms, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats,
            strict=True,
        ):  # fmt: skip
            classes[row[0]].add(row[1:])
    new = Counter[bool]()
    for sentence in made(tmp_path / "made.conllu", 500):
        for row in zip(
            sentence.forms, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats,
            strict=True,
        ):  # fmt: skip
            if row[0] in classes:
                assert row[1:] in classes[row[0]]
            else:
                assert row[2] in generated.OPEN
                assert row[0].istitle() or row[0].islower()
                assert row[0][:2].lower() == row[1][:2].lower()
            new[row[0] not in classes] += 1
    assert 0.002 < new[True] / new.total() < 0.2


def test_sentences_of_a_length_are_one_tree(tmp_path: Path) -> None:
    for length in (10, 137, 1000):
        for sentence in made(tmp_path / "made.conllu", 3, length=length):
            assert len(sentence) == length
            assert list(sentence.heads).count(0) == 1
            root = list(sentence.heads).index(0) + 1
            assert all(head != word for word, head in enumerate(sentence.heads, 1))
            if length == 1000:
                joined = [
                    word
                    for word, (head, label) in enumerate(
                        zip(sentence.heads, sentence.deprels, strict=True), 1
                    )
                    if (head, label) == (root, "parataxis")
                ]
                assert len(joined) > 10


def test_the_text_is_that_of_the_words() -> None:
    source = generated.read(SOURCE)
    written = next(line[9:] for line in SOURCE.read_text("utf-8").splitlines() if "# text" in line)
    assert f"# text = {written}\n" in generated.write([(source[0], {})], "one")


def test_fewer_sentences_are_the_beginning_of_more() -> None:
    source = generated.read(SOURCE)
    many = list(generated.generate(source, 2_100, seed=7))
    assert list(generated.generate(source, 1_050, seed=7)) == many[:1_050]
    assert many != list(generated.generate(source, 2_100, seed=8))
    long = list(generated.generate(source, 40, seed=7, length=900))
    assert list(generated.generate(source, 23, seed=7, length=900)) == long[:23]


def test_new_words_of_different_ranks_differ() -> None:
    source = generated.read(SOURCE)
    next(generated.generate(source, 1))
    kinds = generated.kinds_of(generated.read(SOURCE), 0.6)
    kind = max(range(len(kinds.endings)), key=lambda k: len(kinds.endings[k]))
    forms = {generated.new_word(kinds, kind, rank)[0] for rank in range(20_000)}
    assert len(forms) > 19_900  # an ending may look like a syllable and a shorter ending


def test_the_vocabulary_continues_the_law_of_the_source() -> None:
    """From the source's size to 30 times as many sentences; a quarter is what the choice of factor
    and offset from a grid, and sampling, may cost in this small source.
    """
    source = generated.read(SOURCE)
    law = generated.source_law(source, 0)
    beta = generated.exponent(law)
    points = [
        (words, forms)
        for sentences, words, forms in generated.growth(
            generated.generate(source, 30 * len(source))
        )
        if sentences >= len(source)
    ]
    (words, forms), (all_words, all_forms) = law[-1], points[-1]
    assert all_forms == pytest.approx(forms * (all_words / words) ** beta, rel=0.25)
    assert generated.exponent(points) == pytest.approx(beta, abs=0.1)


def test_it_streams() -> None:
    endless = generated.generate(generated.read(SOURCE), 10**12)
    assert len(list(islice(endless, 5))) == 5


def test_the_command_writes_what_the_function_makes(tmp_path: Path) -> None:
    script = str(ROOT / "benchmarks" / "generated_corpus.py")
    output = tmp_path / "made.conllu"
    command = [sys.executable, script, str(SOURCE), "20", "--seed", "3", "-o", str(output)]
    subprocess.run(command, check=True)
    expected = "".join(generated.generate(generated.read(SOURCE), 20, seed=3))
    assert output.read_text(encoding="utf-8") == expected
    done = subprocess.run([*command[:3], "0"], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "expected at least one sentence" in done.stderr
