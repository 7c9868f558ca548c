"""``egparse train --jobs``: the same model for any number of jobs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.program import CONFIGS, CORPORA, first_sentences, run, run_process

from egparse.config.reading import config_of_model
from egparse.config.sections import TrainConfig
from egparse.fitting.jobs import Jobs, in_threads, present_jobs, working_with
from egparse.pipeline.model import Model

QUICK = ("--config", CONFIGS / "quick.toml", "--quiet")
TASKS = (*QUICK, "--set", 'layers=["upos", "heads"]', "--set", "jackknife.folds=2")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jobs")
    return first_sentences(CORPORA / "en_sample-train.conllu", 30, folder / "corpus.conllu")


def weights_of(path: Path) -> list[bytes]:
    """All that was learned of tags and trees."""
    model = Model.load(path)
    tagger = model.components["upos"].model
    return [tagger.rows.weights.tobytes(), tagger.transitions.tobytes(), _heads(model)]


def _heads(model: Model) -> bytes:
    weights: np.ndarray = model.components["parser"].weights  # type: ignore[union-attr]
    return weights.tobytes()


def test_equal_jobs_give_equal_models(corpus: Path, tmp_path: Path) -> None:
    found = {}
    for name, jobs in {"none": (), "1": ("1",), "2": ("2",), "2 again": ("2",)}.items():
        output = tmp_path / f"{name}.msgpack"
        options = ("--jobs", *jobs) if jobs else ()
        train = run_process if name == "2" else run
        train("train", corpus, *TASKS, *options, "--output", output)
        found[name] = weights_of(output)
        assert Model.load(output).record.get("jobs") == (2 if "2" in name else None)
    assert found["none"] == found["1"]
    assert found["2"] == found["2 again"]
    assert found["2"] == found["1"]


def test_partial_annotation_is_learned_by_several_jobs_too(corpus: Path, tmp_path: Path) -> None:
    partial = tmp_path / "partial.conllu"
    lines = corpus.read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(k for k, line in enumerate(lines) if line.startswith("1\t"))
    cells = lines[first].split("\t")
    lines[first] = "\t".join([*cells[:3], "_", *cells[4:]])
    partial.write_text("".join(lines), encoding="utf-8")
    found = []
    for jobs in (1, 2):
        run("train", partial, *TASKS, "-j", jobs, "--output", tmp_path / f"{jobs}")
        found.append(weights_of(tmp_path / f"{jobs}"))
    assert found[0] == found[1]


def test_the_model_file_does_not_say_how_many_processors_there_were() -> None:
    assert config_of_model(TrainConfig(jobs=3)) == config_of_model(TrainConfig())


def test_work_in_threads_keeps_its_order_and_is_not_divided_again() -> None:
    def work(piece: int) -> tuple[int, int]:
        return piece, present_jobs().count

    assert list(in_threads(work, range(3))) == [(0, 1), (1, 1), (2, 1)]
    with working_with(Jobs(4)):
        assert present_jobs().count == 4
        assert list(in_threads(work, range(50))) == [(piece, 1) for piece in range(50)]
    assert present_jobs().count == 1
