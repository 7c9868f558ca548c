"""Installable spaCy packages: what is in them, and that pip and spaCy make of them what they
should.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import subprocess
import sys
import tomllib
import venv
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path

import pytest
import spacy
from house.package import ROOT
from sample_treebank import (
    quick_model,
    without,
)

from egparse.errors import EgparseError
from egparse.service.hub.facts import CardMetadata, DataSource
from egparse.spacy_components.packaging import (
    SPACY_VERSIONS,
    Package,
    components_of,
    default_name,
    licence_expression,
    model_name,
    package,
    performance,
    requirements_of,
)

FACTS = CardMetadata(
    description='Says "A dog\tbarks" \\ and \x7f.',
    licence="CC BY-SA 4.0",
    author="Ada Böhm",
    email="ada@example.org",
    address="https://example.org",
    sources=(
        DataSource(name="A treebank", address="https://example.org/treebank", licence="CC BY 4.0"),
    ),
)

TEXT = "A dog barks in Paris. It is big."

COMPONENTS = tuple(
    f"egparse_{kind}" for kind in ("senter", "tagger", "lemmatizer", "parser", "ner")
)

LOAD = f"""
import json, spacy
nlp = spacy.load("en_egparse_test")
doc = nlp({TEXT!r})
models = len({{id(pipe.model) for _, pipe in nlp.pipeline}})
found = [[t.head.i for t in doc], [t.dep_ for t in doc], [t.tag_ for t in doc]]
print(json.dumps([nlp.pipe_names, models, found, nlp.meta["license"]]), flush=True)
"""

LIST = """
from egparse.service.hub.model_paths import stored_models
print(*(stored.place for stored in stored_models() if stored.name == "en_test"))
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file of all layers."""
    path = tmp_path_factory.mktemp("model") / "en_test.msgpack"
    quick_model().save(path)
    return path


@pytest.fixture(scope="module")
def made(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Package:
    """Its package."""
    return package(model, FACTS, tmp_path_factory.mktemp("packages"), sdist=True)


def expected(model: Path) -> list[object]:
    """What ``LOAD`` should find, from a pipeline that is made of the model file by hand."""
    nlp = spacy.blank("en")
    for name in COMPONENTS:
        nlp.add_pipe(name, config={"model": str(model)})
    doc = nlp(TEXT)
    found = [[t.head.i for t in doc], [t.dep_ for t in doc], [t.tag_ for t in doc]]
    return [[*COMPONENTS], 1, found, FACTS.licence]


def run(python: Path | str, *arguments: object, **variables: str) -> str:
    """What a program prints that leaves without an error."""
    command, environment = [str(python), *map(str, arguments)], os.environ | variables
    done = subprocess.run(
        command, input=TEXT, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_spacy_and_the_command_line_find_an_installed_package(
    made: Package, model: Path, tmp_path: Path, home: Path
) -> None:
    if not any(own.name == "pip" for own in distributions()):
        pytest.skip("this Python has no pip")
    target = tmp_path / "installed"
    options = ("--no-deps", "--no-index", "--no-compile", "--quiet", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "install", *options, "--target", target, made.files[0])
    # another model of the same name, which comes before that of the package, changes nothing in
    # spaCy
    (home / "models").mkdir(parents=True)
    without(quick_model(), "parser", "labeller").save(home / "models" / "en_test.msgpack")
    described, listed = run(
        sys.executable, "-c", LOAD + LIST, PYTHONPATH=f"{target}{os.pathsep}{ROOT}"
    ).splitlines()
    assert json.loads(described) == expected(model)
    assert listed == "user en_egparse_test"


@pytest.mark.nightly
def test_a_fresh_environment_installs_the_wheel_and_loads_it(
    made: Package, model: Path, tmp_path: Path
) -> None:
    """It borrows egparse and what that needs from this one; pip checks that the package asks for
    nothing else.
    """
    folder = tmp_path / "environment"
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    own = Path(run(python, "-c", "import site; print(site.getsitepackages()[0])").strip())
    borrowed = "; ".join(f"site.addsitedir({path!r})" for path in site.getsitepackages())
    (own / "borrowed.pth").write_text(f"import site; {borrowed}\n", encoding="utf-8")
    run(python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", made.files[0])
    assert json.loads(run(python, "-c", LOAD)) == expected(model)
    parsed = run(python, "-m", "egparse", "parse", "en_test", "-", "--quiet")
    forms = [line.split("\t")[1] for line in parsed.splitlines() if line[:1].isdigit()]
    assert forms == ["A", "dog", "barks", "in", "Paris", ".", "It", "is", "big", "."]


@pytest.mark.nightly
def test_wheels_of_egparse_and_of_the_package_are_all_that_is_needed(
    made: Package, model: Path, tmp_path: Path
) -> None:
    """What egparse needs comes from the package registry."""
    folder, wheels = tmp_path / "environment", tmp_path / "wheels"
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    built = subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, ROOT], check=False)
    if built.returncode:
        pytest.skip("expected a package registry to build a wheel with, got none")
    (wheel,) = wheels.glob("egparse-*.whl")
    run(*pip, "install", wheel, made.files[0])
    assert json.loads(run(python, "-c", LOAD)) == expected(model)
    installed = {
        own["name"]
        for own in json.loads(run(python, "-m", "egparse", "models", "--json"))["installed"]
    }
    assert {"en_test", "en_ewt", "fr_sequoia"} <= installed


def test_a_package_has_the_model_once_and_is_laid_out_as_spacy_has_it(
    made: Package, model: Path
) -> None:
    assert (made.name, made.version, made.model) == ("en_egparse_test", "0.1.0", "en_test")
    (stored,) = made.folder.rglob("*.msgpack")
    assert stored == made.folder / made.name / "en_test.msgpack"
    assert stored.read_bytes() == model.read_bytes()
    pipeline = made.folder / made.name / f"{made.name}-{made.version}"
    assert {path.name for path in pipeline.iterdir()} == {
        *("config.cfg", "meta.json", "README.md", "vocab")
    }
    metas = [path.read_text(encoding="utf-8") for path in made.folder.rglob("meta.json")]
    assert (len(metas), len(set(metas))) == (3, 1)
    config = spacy.util.load_config(pipeline / "config.cfg")
    assert {own["model"] for own in config["components"].values()} == {"en_test"}
    tokenizer = config["nlp"]["tokenizer"]
    assert (tokenizer["@tokenizers"], tokenizer["model"]) == ("egparse.Tokenizer.v1", "en_test")


def test_meta_has_licence_sources_labels_and_requirements(made: Package) -> None:
    meta = json.loads((made.folder / "meta.json").read_text(encoding="utf-8"))
    assert (meta["lang"], meta["name"], meta["license"]) == ("en", "egparse_test", "CC BY-SA 4.0")
    assert meta["sources"][0]["url"] == "https://example.org/treebank"
    assert meta["requirements"] == ["egparse>=0.2.0"]
    assert meta["spacy_version"] == SPACY_VERSIONS
    assert "nsubj" in meta["labels"]["egparse_parser"]
    readme = (made.folder / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# en_egparse_test\n")
    assert 'nlp = spacy.load("en_egparse_test")' in readme


def test_the_project_file_says_what_was_told(made: Package) -> None:
    project = tomllib.loads((made.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "CC-BY-SA-4.0"
    assert project["authors"] == [{"name": "Ada Böhm", "email": "ada@example.org"}]
    assert project["description"] == 'Says "A dog barks" \\ and \x7f.'
    assert project["entry-points"] == {
        "spacy_models": {"en_egparse_test": "en_egparse_test"},
        "egparse_models": {"en_test": "en_egparse_test"},
    }


def test_the_same_model_gives_the_same_bytes(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first, second = (package(model, FACTS, tmp_path / name, sdist=True) for name in "ab")
    assert [file.suffix for file in first.files] == [".whl", ".gz"]
    for one, other in zip(first.files, second.files, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_what_is_there_is_replaced_only_when_told(model: Path, tmp_path: Path) -> None:
    first = package(model, FACTS, tmp_path, wheel=False)
    assert first.files == ()
    refusal = "0: expected no such folder, or --force to replace it, got one"
    with pytest.raises(EgparseError, match=refusal):
        package(model, FACTS, tmp_path, wheel=False)
    (first.folder / "mine.txt").touch()
    again = package(model, FACTS, tmp_path, wheel=False, force=True)
    assert again == first
    assert not (first.folder / "mine.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["en_egparse_test-0.1.0"]


def test_no_package_replaces_what_it_is_made_from(model: Path, tmp_path: Path) -> None:
    made = package(model, FACTS, tmp_path, wheel=False)
    inside = made.folder / made.name / f"{made.model}.msgpack"
    with pytest.raises(EgparseError, match="which it would destroy"):
        package(inside, FACTS, tmp_path, name=made.name, wheel=False, force=True)
    with pytest.raises(EgparseError, match="which it would destroy"):
        package(model, FACTS, tmp_path, force=True, inputs=[made.folder / "meta.json"])
    assert inside.is_file()


def test_what_a_killed_process_was_replacing_comes_back(model: Path, tmp_path: Path) -> None:
    made = package(model, FACTS, tmp_path, wheel=False)
    made.folder.rename(tmp_path / f".{made.folder.name}.replaced")
    with pytest.raises(EgparseError, match="--force to replace it"):
        package(model, FACTS, tmp_path, wheel=False)
    assert (made.folder / "meta.json").is_file()
    assert list(tmp_path.iterdir()) == [made.folder]


def test_a_full_disk_names_the_package(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    target = tmp_path / "en_egparse_test-0.1.0"
    with pytest.raises(EgparseError, match="cannot be written: No space left") as caught:
        package(model, FACTS, tmp_path)
    assert str(caught.value).startswith(str(target))
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_package_is_never_replaced(model: Path, tmp_path: Path) -> None:
    mine = tmp_path / "en_egparse_test-0.1.0" / "mine.txt"
    mine.parent.mkdir()
    mine.touch()
    with pytest.raises(EgparseError, match="expected a package to replace, got something else"):
        package(model, FACTS, tmp_path, force=True)
    assert mine.exists()


def test_what_fails_leaves_nothing_behind(model: Path, tmp_path: Path) -> None:
    with pytest.raises(EgparseError, match="package: Invalid author email address"):
        package(model, replace(FACTS, email="nobody <"), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("stem", "language", "name", "found_as"),
    [
        ("en_ewt", "en", "en_egparse_ewt", "en_ewt"),
        ("ewt", "en", "en_egparse_ewt", "en_ewt"),
        ("en_egparse_ewt", "en", "en_egparse_ewt", "en_ewt"),
        ("My Model-2", "fr", "fr_egparse_my_model_2", "fr_my_model_2"),
        ("été", "fr", "fr_egparse_t", "fr_t"),
        ("_", "grc", "grc_egparse_model", "grc_model"),
    ],
)
def test_names_are_made_from_those_of_models(
    stem: str, language: str, name: str, found_as: str
) -> None:
    assert default_name(stem, language) == name
    assert model_name(name) == found_as


def test_bad_names_and_versions_are_refused(model: Path, tmp_path: Path) -> None:
    for name in ("ewt", "en", "en_", "en_Ewt", "en_a__b", "en_a-b", "../en_x", "1_x", "en_ß"):
        with pytest.raises(EgparseError, match=re.escape(f"got {name!r}")):
            package(model, FACTS, tmp_path, name=name)
    for version in ("", "v1", "1.", "1-2", "../1", "1.0 ", "one"):
        refusal = f"version: expected one such as 1.0.2 or 1.1.0rc1, got {version!r}"
        with pytest.raises(EgparseError, match=re.escape(refusal)):
            package(model, FACTS, tmp_path, version=version)
    assert list(tmp_path.iterdir()) == []


def test_a_language_that_spacy_does_not_know_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "zz_test.msgpack"
    replace(quick_model(), language="zz").save(path)
    refusal = r"language: expected one that spaCy has a tokeniser for here, .* 'zz'"
    with pytest.raises(EgparseError, match=refusal):
        package(path, FACTS, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_there_are_components_for_the_layers_of_the_model_only() -> None:
    whole = quick_model()
    assert components_of(whole) == COMPONENTS
    others = ("xpos", "feats", "spans", "parser", "labeller", "lemmas")
    assert components_of(without(whole, *others)) == COMPONENTS[:2]


def test_tokenisers_that_are_extras_of_spacy_are_asked_for() -> None:
    for language, extras in (("en", []), ("ja", [f"spacy[ja]{SPACY_VERSIONS}"])):
        header = {"language": language, "needs_egparse": "0.1.0"}
        assert requirements_of(header) == ["egparse>=0.1.0", *extras]


def test_scores_have_the_names_of_spacy() -> None:
    scores = {
        **dict.fromkeys(("XPOS", "UFeats", "CLAS", "MLAS")),
        "UPOS": 95.0,
        "UAS": 90.0,
        "LAS": 88.0,
        "segmentation": {"Sentences": 80.0},
        "conventions": {"spacy": {"UAS": 91.0, "LAS": 87.0}},
        "NE": {"p": 50.0, "r": 25.0, "f": 100 / 3},
    }
    assert performance(scores) == {
        "tag_acc": 0.95,
        "pos_acc": 0.95,
        "dep_uas": 0.91,
        "dep_las": 0.87,
        "sents_f": 0.8,
        "ents_p": 0.5,
        "ents_r": 0.25,
        "ents_f": 0.333333,
        "conll_upos": 0.95,
        "conll_uas": 0.9,
        "conll_las": 0.88,
    }
    assert performance({}) == {}


def test_licences_become_expressions() -> None:
    expressions = {
        "CC BY-SA 4.0": "CC-BY-SA-4.0",
        "mit": "MIT",
        "MIT OR Apache-2.0": "MIT OR Apache-2.0",
        "LGPL-LR": "LGPLLR",
        "Ask us (nicely)": "LicenseRef-Ask-us-nicely",
    }
    assert {licence: licence_expression(licence) for licence in expressions} == expressions


def test_packages_ask_for_the_spacy_that_egparse_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"spacy{SPACY_VERSIONS}" in project["dependencies"]
