"""The life of a pipe: to files, bytes and other processes, and back."""

from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import spacy
from house.package import ROOT
from sample_treebank import quick_model
from spacy.cli.package import package
from spacy.language import Language
from spacy_components.conftest import ALL, blank, without_trees
from spacy_components.texts import TEXTS, everything, said

from egparse.errors import EgparseError, ModelFileError
from egparse.storage.model_file import NEEDS_EGPARSE

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


def run(*arguments: object) -> str:
    """What a fresh interpreter prints, where egparse is installed but not imported."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


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
    first, second = tmp_path / "first", tmp_path / "second"
    assert {p.relative_to(first) for p in first.rglob("*")} == {
        p.relative_to(second) for p in second.rglob("*")
    }


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
    with pytest.raises(ModelFileError, match="expected the model of the saved pipeline"):
        spacy.load(tmp_path / "all")
    text = "expected the model of another component"
    with pytest.raises(ModelFileError, match=text):
        nlp.get_pipe("egparse_parser").from_disk(tmp_path / "all" / "egparse_parser")


def emptied(*names: str) -> Language:
    """A pipeline of components without models."""
    nlp = spacy.blank("en")
    for name in names:
        nlp.add_pipe(name)
    return nlp


def test_bytes_and_pickles_hold_everything_and_a_model_once(
    nlp: Language, model_path: Path
) -> None:
    expected, size = everything(nlp), model_path.stat().st_size
    data, pickled = nlp.to_bytes(), pickle.dumps(nlp)
    assert max(len(data), len(pickled)) < 1.9 * size
    for other in (emptied(*ALL).from_bytes(data), pickle.loads(pickled), copy.deepcopy(nlp)):
        assert everything(other) == expected
    backwards = emptied(*reversed(ALL)).from_bytes(data)
    assert shared_models(backwards) == shared_models(nlp)
    for name in ALL:  # in the same order again
        pipe = backwards.get_pipe(name)
        backwards.remove_pipe(name)
        backwards.add_pipe(name).from_bytes(pipe.to_bytes())
    assert everything(backwards) == expected


def test_components_as_bytes_stand_alone(nlp: Language, model_path: Path) -> None:
    size = model_path.stat().st_size
    nlp.to_bytes()
    for name in ALL:
        assert len(nlp.get_pipe(name).to_bytes()) >= size
    for first in ALL:
        data = nlp.to_bytes(exclude=[first])
        assert size < len(data) < 1.9 * size
        loaded = emptied(*(name for name in ALL if name != first)).from_bytes(data)
        assert shared_models(loaded) == shared_models(nlp)


BYTES = """
import sys
from pathlib import Path
import spacy
nlp = spacy.blank("en")
for name in ("egparse_ner", "egparse_parser", "egparse_tagger"):
    nlp.add_pipe(name)
nlp.from_bytes(Path(sys.argv[1]).read_bytes(), exclude=sys.argv[2:])
models = {id(nlp.get_pipe(name).model) for name in nlp.pipe_names if name not in sys.argv[2:]}
assert len(models) == 1, models
print([t.head.i for t in nlp.get_pipe("egparse_parser")(nlp.make_doc("A dog barks."))])
"""


@pytest.mark.parametrize(
    "excluded", [pytest.param([], marks=pytest.mark.nightly), ["egparse_tagger"]]
)
def test_bytes_in_a_fresh_process(nlp: Language, tmp_path: Path, excluded: list[str]) -> None:
    """The first component holds the model; it is read last, or not at all."""
    (tmp_path / "nlp").write_bytes(nlp.to_bytes())
    expected = [token.head.i for token in nlp("A dog barks.")]
    assert json.loads(run("-c", BYTES, tmp_path / "nlp", *excluded)) == expected


def test_a_reference_to_a_model_that_is_nowhere_is_refused(nlp: Language) -> None:
    with pytest.raises(ModelFileError, match="expected the model of another component"):
        nlp.get_pipe("egparse_ner").from_bytes(b"egparse model with the checksum " + bytes(32))


def test_what_is_excluded_is_not_written(nlp: Language, tmp_path: Path) -> None:
    pipe = nlp.get_pipe("egparse_parser")
    pipe.to_disk(tmp_path / "pipe", exclude=["model"])
    assert list((tmp_path / "pipe").iterdir()) == []
    assert pipe.to_bytes(exclude=["model"]) == b""


@pytest.mark.parametrize("renames", [False, True])
def test_a_saved_pipeline_does_not_need_the_first_file(
    model_path: Path, tmp_path: Path, renames: bool
) -> None:
    """Nor does a component that was renamed."""
    gone = tmp_path / "gone.msgpack"
    shutil.copy(model_path, gone)
    nlp = blank(gone)
    if renames:
        nlp.rename_pipe("egparse_parser", "trees")
    nlp.to_disk(tmp_path / "saved")
    gone.unlink()
    assert everything(spacy.load(tmp_path / "saved")) == everything(nlp)


def test_a_saved_pipeline_without_a_folder_fails(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "saved")
    shutil.rmtree(tmp_path / "saved" / "egparse_ner")
    with pytest.raises(ModelFileError, match=r"^egparse_ner: expected the folder of the component"):
        spacy.load(tmp_path / "saved")
    (tmp_path / "saved" / "egparse_ner").mkdir()
    with pytest.raises(ModelFileError, match=r"got none; to load another.*components\.egparse_ner"):
        spacy.load(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved", exclude=["egparse_ner"])
    assert loaded.pipe_names == ["egparse_tagger", "egparse_parser"]


def test_overrides_of_the_model_are_obeyed_or_refused(
    nlp: Language, model_path: Path, tmp_path: Path
) -> None:
    nlp.to_disk(tmp_path / "saved")
    other = tmp_path / "other.msgpack"
    without_trees().save(other)
    key = "components.egparse_tagger.model"
    loaded = spacy.load(tmp_path / "saved", config={key: str(other)})
    assert "parser" not in loaded.get_pipe("egparse_tagger").model.components
    assert loaded.get_pipe("egparse_parser").model is nlp.get_pipe("egparse_parser").model
    loaded.to_disk(tmp_path / "again")  # with two models
    again = spacy.load(tmp_path / "again")
    assert "parser" not in again.get_pipe("egparse_tagger").model.components
    assert spacy.load(tmp_path / "saved", config={key: str(model_path)}).pipe_names == [*ALL]
    with pytest.raises(EgparseError, match=r"egparse_tagger: .*no\.msgpack"):
        spacy.load(tmp_path / "saved", config={key: str(tmp_path / "no.msgpack")})
    with pytest.raises(EgparseError, match="egparse_parser: expected a model with heads"):
        spacy.load(tmp_path / "saved", config={"components.egparse_parser.model": str(other)})


def test_the_pipeline_of_a_package_takes_the_model_of_the_package(
    nlp: Language, model_path: Path, tmp_path: Path
) -> None:
    """Packages of ``egparse package`` have no folders of components; here without their ``load``,
    by the path of the pipeline.
    """
    module = tmp_path / "en_egparse_mine"
    module.mkdir()
    nlp.to_disk(module / "en_egparse_mine-1.0.0", exclude=ALL)
    config = nlp.config.copy()
    for name in ALL:
        config["components"][name]["model"] = "en_mine"
    config.to_disk(module / "en_egparse_mine-1.0.0" / "config.cfg")
    (module / "en_mine.msgpack").write_bytes(model_path.read_bytes())
    with pytest.raises(ModelFileError, match="expected the folder of the component"):
        spacy.load(module / "en_egparse_mine-1.0.0")
    (module / "__init__.py").touch()
    assert everything(spacy.load(module / "en_egparse_mine-1.0.0")) == everything(nlp)


def test_a_folder_is_read_into_components_made_by_hand(
    nlp: Language, model_path: Path, tmp_path: Path
) -> None:
    """What the folder holds wins over what the components had."""
    nlp.to_disk(tmp_path / "saved")
    other = tmp_path / "other.msgpack"
    replace(quick_model(), record={}).save(other)
    mine = blank(other)
    assert shared_models(mine) != shared_models(nlp)
    mine.from_disk(tmp_path / "saved")
    assert shared_models(mine) == shared_models(nlp)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # spaCy's files
def test_packages_of_spacy_require_egparse(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "saved")
    spacy.load(tmp_path / "saved").to_disk(tmp_path / "again")
    (tmp_path / "packages").mkdir()
    with redirect_stdout(StringIO()):
        options = {"create_sdist": False, "create_wheel": False}
        package(tmp_path / "again", tmp_path / "packages", name="small", **options)
    (meta,) = (tmp_path / "packages").glob("*/meta.json")
    requirements = json.loads(meta.read_text(encoding="utf-8"))["requirements"]
    assert [one for one in requirements if "egparse" in one] == [f"egparse>={NEEDS_EGPARSE}"]


def test_a_fresh_process_needs_no_import_of_ours(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "saved")
    expected = [[t.tag_, t.dep_, t.head.i] for t in nlp("A dog barks at the cat. It runs.")]
    assert json.loads(run("-c", USE, tmp_path / "saved")) == expected


def test_processes_share_the_work(nlp: Language) -> None:
    assert [said(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=3)] == everything(nlp)


@pytest.mark.nightly
def test_processes_that_are_spawned(model_path: Path, tmp_path: Path) -> None:
    nlp = blank(model_path, "egparse_parser", probabilities=True)
    nlp.to_disk(tmp_path / "saved")
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN, encoding="utf-8")
    run(script, tmp_path / "saved")


def test_pipes_can_be_sourced(nlp: Language) -> None:
    other = spacy.blank("en")
    other.add_pipe("egparse_parser", source=nlp)
    assert [t.head.i for t in other(TEXTS[0])] == [t.head.i for t in nlp(TEXTS[0])]
