"""The life of a pipe: to files, bytes and other processes, and back."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from house.package import ROOT
from spacy.language import Language
from spacy_components.conftest import ALL, blank
from spacy_components.texts import TEXTS, said

from egparse.errors import ModelFileError

USE = """
import json, sys
import spacy
assert not any(name.startswith(("numba", "egparse.pipeline")) for name in sys.modules)
nlp = spacy.load(sys.argv[1])
doc = nlp("A dog barks at the cat. It runs.")
print(json.dumps([[t.tag_, t.dep_, t.head.i] for t in doc]))
"""

SPAWN = """
import sys
import spacy
from spacy import util
import multiprocessing

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    nlp = spacy.load(sys.argv[1])
    texts = ["A dog barks at the cat.", "It runs."] * 3
    alone = [[t.head.i for t in nlp(text)] for text in texts]
    docs = list(nlp.pipe(texts, n_process=2, batch_size=2))
    assert [[t.head.i for t in doc] for doc in docs] == alone
    assert all(0 < t._.egparse_head_prob <= 1 for doc in docs for t in doc)
"""


def run(program: str, *arguments: object) -> str:
    """What a fresh interpreter prints, where egparse is installed but not imported."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def everything(nlp: Language) -> list[list[list[int]]]:
    return [said(nlp(text)) for text in TEXTS]


def shared_models(nlp: Language) -> set[int]:
    return {id(nlp.get_pipe(name).model) for name in nlp.pipe_names}


def test_pipes_share_one_model(nlp: Language, model_path: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copy.msgpack"
    copied.write_bytes(model_path.read_bytes())
    other = blank(copied)
    assert len(shared_models(nlp) | shared_models(other)) == 1


def test_what_is_saved_is_what_is_loaded(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "first")
    loaded = spacy.load(tmp_path / "first")
    assert shared_models(loaded) == shared_models(nlp)
    assert everything(loaded) == everything(nlp)
    loaded.to_disk(tmp_path / "second")
    written = [
        sorted(p.relative_to(tmp_path / name) for p in (tmp_path / name).rglob("*"))
        for name in ("first", "second")
    ]
    assert written[0] == written[1]


def test_a_pipeline_on_disk_has_its_model_once(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "all")
    assert len(list((tmp_path / "all").rglob("model.msgpack"))) == 1
    without = spacy.load(tmp_path / "all", exclude=["egparse_tagger", "egparse_ner"])
    assert [t.head.i for t in without("A dog barks.")] == [t.head.i for t in nlp("A dog barks.")]
    nlp.to_disk(tmp_path / "all")  # over itself
    assert everything(spacy.load(tmp_path / "all")) == everything(nlp)
    nlp.to_disk(tmp_path / "parser", exclude=["egparse_tagger", "egparse_ner"])
    nlp.get_pipe("egparse_parser").from_disk(tmp_path / "parser" / "egparse_parser")
    for file in (tmp_path / "all").rglob("model.msgpack"):
        file.unlink()
    with pytest.raises(ModelFileError, match="expected the model of another component"):
        spacy.load(tmp_path / "all")


def test_bytes_and_pickles_hold_everything(nlp: Language) -> None:
    expected = everything(nlp)
    data = nlp.to_bytes()
    loaded = spacy.blank("en")
    for name in ALL:
        loaded.add_pipe(name)
    loaded.from_bytes(data)
    assert everything(loaded) == expected
    assert everything(pickle.loads(pickle.dumps(nlp))) == expected
    assert everything(copy.deepcopy(nlp)) == expected


def test_a_pickle_holds_a_model_once(nlp: Language, model_path: Path) -> None:
    assert len(pickle.dumps(nlp)) < 1.9 * model_path.stat().st_size


def test_what_is_excluded_is_not_written(nlp: Language, tmp_path: Path) -> None:
    pipe = nlp.get_pipe("egparse_parser")
    pipe.to_disk(tmp_path / "pipe", exclude=["model"])
    assert list((tmp_path / "pipe").iterdir()) == []
    assert pipe.to_bytes(exclude=["model"]) == b""


def test_a_saved_pipeline_does_not_need_the_first_file(
    nlp: Language, model_path: Path, tmp_path: Path
) -> None:
    gone = tmp_path / "gone.msgpack"
    gone.write_bytes(model_path.read_bytes())
    blank(gone).to_disk(tmp_path / "saved")
    gone.unlink()
    assert everything(spacy.load(tmp_path / "saved")) == everything(nlp)


def test_a_fresh_process_needs_no_import_of_ours(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "saved")
    expected = [[t.tag_, t.dep_, t.head.i] for t in nlp("A dog barks at the cat. It runs.")]
    assert json.loads(run(USE, tmp_path / "saved")) == expected


def test_processes_share_the_work(nlp: Language) -> None:
    assert [said(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=3)] == everything(nlp)


@pytest.mark.slow
def test_processes_that_are_spawned(model_path: Path, tmp_path: Path) -> None:
    nlp = blank(model_path, "egparse_parser", probabilities=True)
    nlp.to_disk(tmp_path / "saved")
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(tmp_path / "saved")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


def test_pipes_can_be_sourced(nlp: Language) -> None:
    other = spacy.blank("en")
    other.add_pipe("egparse_parser", source=nlp)
    assert [t.head.i for t in other(TEXTS[0])] == [t.head.i for t in nlp(TEXTS[0])]


def test_the_factories_import_nothing_heavy() -> None:
    program = """
import sys, spacy
before = set(sys.modules)
import egparse.spacy_components.factories
heavy = {name.partition(".")[0] for name in set(sys.modules) - before} - {"egparse"}
assert not heavy & {"numba", "scipy", "msgpack", "conllu"}, heavy
assert "numba" not in sys.modules
ours = {n for n in sys.modules if n.startswith("egparse")}
assert ours <= {"egparse", "egparse.spacy_components", "egparse.spacy_components.factories"}
"""
    run(program)
