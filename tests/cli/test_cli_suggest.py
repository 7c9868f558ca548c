"""``egparse suggest``: which sentences it proposes, and how they go on."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import CORPORA, complaint, run

from egparse.evaluation.calibration import expected_accuracy
from egparse.io.corpus import read_corpus
from egparse.pipeline.model import Model
from egparse.sentences import MISSING_HEAD, Sentence

ACCURACY = re.compile("# expected_accuracy = (.*)")
POOL = CORPORA / "en_sample-test.conllu"


def suggested(*arguments: object) -> list[Sentence]:
    return list(read_corpus(StringIO(run("suggest", *arguments).stdout)))


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The words of a corpus."""
    path = tmp_path_factory.mktemp("pool") / "pool.conllu"
    bare = (Sentence(one.forms, sentence_id=one.sentence_id) for one in read_corpus(POOL))
    path.write_text("".join(one.to_conllu() for one in bare))
    return path


def test_the_least_sure_sentences_are_proposed(trained: Trained, pool: Path) -> None:
    found = suggested(trained.model, pool, "--words", 100)
    model = Model.load(trained.model)
    parsed = model.annotate(read_corpus(pool), probabilities=model.probabilistic)
    ranked = sorted(parsed, key=lambda one: expected_accuracy(one) or 0.0)
    assert [one.forms for one in found] == [one.forms for one in ranked[: len(found)]]
    assert [one.heads for one in found] == [one.heads for one in ranked[: len(found)]]
    assert sum(map(len, found[:-1])) < 100 <= sum(map(len, found))
    said = [float(ACCURACY.findall(one.to_conllu())[0]) for one in found]
    assert said == pytest.approx([expected_accuracy(one) for one in ranked[: len(found)]], abs=1e-4)
    assert "PHead=" in found[0].to_conllu()
    whole = suggested(trained.model, pool, "--words", 10**6)
    assert len(whole) == len(ranked)


def test_what_is_annotated_is_kept_and_sure(trained: Trained, pool: Path, tmp_path: Path) -> None:
    gold = {one.sentence_id: one for one in read_corpus(POOL)}
    first, *_ = suggested(trained.model, pool, "--words", 1)
    corrected = tmp_path / "corrected.conllu"
    half = gold[first.sentence_id].with_layers(deprels=(), upos=(), feats=(), lemmas=(), xpos=())
    others = [one for one in read_corpus(pool) if one.sentence_id != first.sentence_id]
    corrected.write_text("".join(one.to_conllu() for one in (half, *others)))
    again = suggested(trained.model, corrected, "--words", 10**6)
    assert again[-1].sentence_id == first.sentence_id
    assert again[-1].heads == half.heads
    assert MISSING_HEAD not in again[0].heads


def test_texts_are_read_too(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The cat sat. It slept.\n")
    (tmp_path / "b.txt").write_text("A dog barked.\n")
    found = suggested(trained.model, tmp_path)
    assert {one.sentence_id for one in found} == {"a-1", "a-2", "b-1"}
    output = tmp_path / "next.conllu"
    done = run("suggest", trained.model, tmp_path, "--words", 1, "--output", output)
    assert done.stderr.endswith("words, the least sure first\n")
    assert output.read_text().count("# sent_id") == 1
    assert "got the input" in complaint("suggest", trained.model, output, "--output", output)
