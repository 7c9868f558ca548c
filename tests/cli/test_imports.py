"""What is imported, and what is not: most of the time of a short command goes into imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import ENVIRONMENT, first_sentences, run_process

COMPILERS = {"numba", "scipy", "sklearn", "egparse.compilation.compiler"}
TRAINING = {
    "egparse.training", "egparse.evaluation", "egparse.experiments", "egparse.learners.losses",
    "egparse.config.sections", "egparse.fitting.choose_learner", "egparse.learners.learner",
    "egparse.learners.dca", "egparse.learners.eg",
}  # fmt: skip
"""What trains, or scores what was trained."""
SPACY = {"spacy", "thinc", "egparse.spacy_components"}
OTHERS = {
    "matplotlib", "conllu", "requests", "urllib3", "flit_core", "filelock", "asyncio",
    "ssl", "http", "unittest", "numpy.ma", "numpy.testing", "multiprocessing",
}  # fmt: skip
ARRAYS = {"numpy", "llvmlite", "msgpack", "egparse.pipeline", "egparse.service.hub.resolve"}

IN_PROCESS = """
import json, sys
sys.argv = ["egparse", *{arguments!r}]
from egparse.__main__ import main
try:
    main()
except SystemExit as left:
    status = left.code or 0
with open({report!r}, "w") as file:
    json.dump([status, list(sys.modules)], file)
"""

PIPES = """
import spacy
nlp = spacy.blank("en")
for name in ("tagger", "ner", "parser", "senter"):
    nlp.add_pipe(f"egparse_{{name}}", config={{"model": {model!r}}})
assert nlp("The cat sat on the mat. It slept.").has_annotation("DEP")
"""


def unwanted(modules: Iterable[str], dear: set[str]) -> list[str]:
    """The modules that are among the dear ones, or within them."""
    return sorted(
        name for name in modules if any(name == one or name.startswith(f"{one}.") for one in dear)
    )


def imported_by_program(
    folder: Path, *arguments: object, environment: Mapping[str, str] = os.environ
) -> list[str]:
    """The modules of a process that has run ``egparse`` with these arguments."""
    report = folder / "modules.json"
    program = IN_PROCESS.format(arguments=[*map(str, arguments)], report=str(report))
    subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, **ENVIRONMENT},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    status, modules = json.loads(report.read_text())
    assert status == 0
    return list(modules)


def imported_by(statements: str) -> list[str]:
    """The modules of a process that has run some lines of Python."""
    report = "import json, sys; print(json.dumps([*sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", f"{statements}\n{report}"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    return list(json.loads(done.stdout))


@pytest.fixture(scope="module")
def prepared(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A model, a corpus and a text, all of whose kernels have been compiled."""
    folder = tmp_path_factory.mktemp("imports")
    corpus = first_sentences(trained.dev, 1, folder / "one.conllu")
    text = folder / "one.txt"
    text.write_text("The cat sat on the mat. It slept.\n")
    run_process("parse", trained.model, corpus, text, "--output", folder / "first.conllu")
    return trained.model, corpus, text


def test_importing_the_package_imports_nothing_else() -> None:
    imported = set(imported_by("import egparse")) - set(imported_by(""))
    assert {name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names} == {
        "egparse"
    }
    assert unwanted(imported, OTHERS) == []


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["parse", "--help"]])
def test_help_imports_no_arrays(tmp_path: Path, arguments: list[str]) -> None:
    dear = ARRAYS | COMPILERS | TRAINING | SPACY | OTHERS
    assert unwanted(imported_by_program(tmp_path, *arguments), dear) == []


def test_completion_imports_no_arrays(tmp_path: Path) -> None:
    environment = os.environ | {
        "_EGPARSE_COMPLETE": "complete_bash",
        "COMP_WORDS": "egparse parse en_",
        "COMP_CWORD": "2",
    }
    imported = imported_by_program(tmp_path, environment=environment)
    assert "egparse.service.hub.model_paths" in imported
    assert unwanted(imported, {"numpy", "llvmlite", "spacy"} | COMPILERS | TRAINING) == []


@pytest.mark.compiled_only
def test_parsing_a_corpus_imports_neither_spacy_nor_what_compiles_or_trains(
    tmp_path: Path, prepared: tuple[Path, Path, Path]
) -> None:
    model, corpus, _ = prepared
    imported = imported_by_program(tmp_path, "parse", model, corpus)
    assert unwanted(imported, SPACY | COMPILERS | TRAINING | OTHERS) == []
    assert "egparse.pipeline.model" in imported


@pytest.mark.compiled_only
def test_parsing_text_imports_neither_spacy_nor_what_compiles_or_trains(
    tmp_path: Path, prepared: tuple[Path, Path, Path]
) -> None:
    model, _, text = prepared
    imported = imported_by_program(tmp_path, "parse", model, text)
    dear = SPACY | COMPILERS | TRAINING | {"matplotlib", "conllu"}
    assert unwanted(imported, dear) == []


@pytest.mark.compiled_only
def test_pipes_of_spacy_import_nothing_that_compiles_or_trains(
    prepared: tuple[Path, Path, Path],
) -> None:
    model, _, _ = prepared
    statements = PIPES.format(model=str(model))
    imported_by(statements)  # compiles what only pipes need
    imported = imported_by(statements)
    dear = COMPILERS | (TRAINING - {"egparse.training", "egparse.evaluation"}) | {"conllu"}
    assert unwanted(imported, dear) == []


def test_a_pipeline_without_our_pipes_imports_none_of_their_modules() -> None:
    imported = imported_by("import spacy; spacy.blank('en')")
    ours = {name for name in imported if name.startswith("egparse.")}
    assert ours <= {"egparse.spacy_components", "egparse.spacy_components.factories"}


def test_a_worker_imports_no_command_line() -> None:
    imported = imported_by("import egparse.__main__, egparse.cli.annotating.work")
    assert unwanted(imported, {"typer", "click", "rich"} | COMPILERS | TRAINING | SPACY) == []
