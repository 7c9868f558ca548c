"""Parsers that learn from the trees of other models."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from cli.program import CORPORA, complaint, run_process
from sample_treebank import SECOND_ORDER, quick, sample

import egparse
from egparse.errors import EgparseError
from egparse.fitting.task import Part
from egparse.parsing.arc_training import GoldHeads
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.training.run import train
from egparse.training.teachers import Teachers, joined

TRAIN, RAW, DEV = sample("train")[:100], sample("train")[100:160], sample("dev")[:40]
LAYERS = 'layers=["upos", "heads", "deprels"]'


def bare(sentences: tuple[Sentence, ...]) -> list[Sentence]:
    return [Sentence(one.forms) for one in sentences]


@cache
def teacher(*settings: str) -> Model:
    return train(TRAIN, DEV, quick(*settings, LAYERS)).model


def taught(teachers: Teachers | None, *settings: str) -> list[list[int]]:
    model = train(TRAIN, DEV, quick(*settings, LAYERS), teachers=teachers).model
    return [list(one.heads) for one in model(DEV)]


@pytest.mark.parametrize("order", [(), SECOND_ORDER])
def test_teachers_change_what_is_learned_only_as_far_as_they_are_asked(
    order: tuple[str, ...],
) -> None:
    alone = taught(None, *order)
    assert taught(Teachers([teacher()]), *order, "teacher.share=0") == alone
    nothing = Teachers([teacher()], bare(RAW))
    assert taught(nothing, *order, "teacher.share=0", "teacher.threshold=1") == alone
    assert taught(Teachers([teacher()]), *order, "teacher.share=1") != alone


@pytest.mark.parametrize("order", [(), SECOND_ORDER])
def test_a_student_of_the_teacher_alone_is_like_it(order: tuple[str, ...]) -> None:
    """Closer to its teacher than one that has learned the gold trees."""
    master = teacher("seed=5", "parser.c=20")
    wanted = [list(one.heads) for one in master(DEV)]

    def agreement(found: list[list[int]]) -> float:
        return float(np.mean(np.concatenate(wanted) == np.concatenate(found)))

    student = taught(Teachers([master]), *order, "teacher.share=1", "teacher.trees=8")
    assert agreement(student) > agreement(taught(None, *order))


def test_raw_text_that_the_teachers_are_sure_of_is_learned_from() -> None:
    models = [teacher(), teacher("seed=5", "parser.c=20")]
    teachers = Teachers(models, [*bare(RAW), Sentence(())])
    gold = [np.array(one.heads, dtype=np.int32) for one in TRAIN[:5]]
    columns = models[0].columns
    part = Part(TRAIN[:5], columns.words([one.forms for one in TRAIN[:5]]))
    counts = []
    for threshold in (0.0, 0.3, 1.0):
        config = quick(f"teacher.threshold={threshold}", "teacher.share=0").teacher
        heads = GoldHeads(gold, np.empty(0, dtype=np.int32), False)
        found = teachers.teach(part, heads, models[0], config)
        counts.append(len(found.part.sentences) - 5)
        assert len(found.heads.train) == len(found.part.sentences)
        assert found.part.words.n_sentences == len(found.part.sentences)
        assert found.heads.mixtures is not None
        assert found.heads.mixtures[:5] == [None] * 5
        for one, of_sentence, mixture in zip(
            found.part.sentences[5:], found.heads.train[5:], found.heads.mixtures[5:], strict=True
        ):
            assert len(one) == len(of_sentence)
            assert mixture is not None
            assert mixture.shares[0] == mixture.shares.max()
            assert np.array_equal(mixture.heads[0], of_sentence)
    assert counts[0] == len(RAW)
    assert 0 <= counts[2] < counts[1] < counts[0]


def test_sentences_without_all_heads_have_no_teacher() -> None:
    half = [
        one.with_layers(heads=(*one.heads[:-1], -1)) if k % 2 else one
        for k, one in enumerate(TRAIN)
    ]
    model = train(half, DEV, quick(LAYERS), teachers=Teachers([teacher()])).model
    assert "heads" in model.layers


def test_parts_are_joined_with_their_forms() -> None:
    columns = teacher().columns
    parts = [Part(own, columns.words([one.forms for one in own])) for own in (TRAIN[:3], RAW[:2])]
    both = joined(*parts)
    whole = columns.words([one.forms for one in (*TRAIN[:3], *RAW[:2])])
    assert list(both.sentences) == [*TRAIN[:3], *RAW[:2]]
    assert np.array_equal(both.words.starts, whole.starts)
    assert np.array_equal(both.words.values, whole.values)
    assert both.words.distinct == whole.distinct
    assert np.array_equal(both.words.form_ids, whole.form_ids)


def test_a_model_without_trees_is_no_teacher() -> None:
    tagger = train(TRAIN[:20], [], quick('layers=["upos"]', "hold_out=0")).model
    with pytest.raises(EgparseError, match=r"expected teachers with a parser .* a model of upos"):
        Teachers([tagger])
    unsure = train(
        TRAIN[:20], [], quick('layers=["heads"]', "hold_out=0", "parser.learner=perceptron")
    ).model
    with pytest.raises(EgparseError, match="whose trees have probabilities"):
        Teachers([unsure])


def test_in_python(tmp_path: Path) -> None:
    path = tmp_path / "teacher.msgpack"
    teacher().save(path)
    settings = {"layers": ["heads"], "parser": {"order": 1, "bits": 14}, "hold_out": 0}
    model = egparse.train(TRAIN[:20], teachers=[path], unlabelled=bare(RAW[:5]), **settings)
    assert model.layers == ("heads",)
    with pytest.raises(EgparseError, match="teachers or a base to continue from, got both"):
        egparse.train(TRAIN[:20], teachers=[path], base=teacher(), hold_out=0)


def test_the_command(tmp_path: Path) -> None:
    first, raw, student = (tmp_path / name for name in ("a.msgpack", "raw.conllu", "b.msgpack"))
    teacher().save(first)
    egparse.write_corpus(bare(RAW[:10]), raw)
    corpus = CORPORA / "en_sample-dev.conllu"
    quickly = ("--config", CORPORA.parent / "configs" / "quick.toml", "--output", student)
    teaching = ("--teacher", first, "--teacher", first, "--unlabelled", raw)
    done = run_process("train", corpus, *quickly, *teaching)
    assert f"unlabelled   {raw}: 10 sentences" in done.stderr
    assert f"teachers     {first}, {first}" in done.stderr
    assert "parser" in Model.load(student).components
    faults = {
        ("--unlabelled", raw): "expected a --teacher too",
        ("--teacher", first, "--base", first): "expected no --base beside it",
        ("--teacher", tmp_path / "none.msgpack"): "none.msgpack",
        ("--teacher", first, "--unlabelled", tmp_path / "no.conllu"): "no.conllu",
    }
    for options, message in faults.items():
        output = ("--force", "--output", student)
        assert message in complaint("train", corpus, *output, *options)
