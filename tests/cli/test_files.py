"""Outputs that would destroy something are refused before anything runs; inputs that are missing
are told by what they were meant to be.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import CONFIGS, CORPORA, complaint, first_sentences, run
from cli.test_streams import shell

from egparse.cli.files import Kind, check_output, kind_of
from egparse.cli.training import History
from egparse.errors import EgparseError

QUICK = ("--config", CONFIGS / "quick.toml", "--set", 'layers=["upos"]')
DESTROY = "which it would destroy"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return first_sentences(CORPORA / "en_sample-train.conllu", 30, tmp_path / "corpus.conllu")


def same(path: Path) -> Path:
    return path


def dotted(path: Path) -> Path:
    return path.parent / "." / ".." / path.parent.name / path.name


def symbolic(path: Path) -> Path:
    link = path.with_name("symbolic.conllu")
    link.symlink_to(path)
    return link


def hard(path: Path) -> Path:
    link = path.with_name("hard.conllu")
    link.hardlink_to(path)
    return link


NAMES = pytest.mark.parametrize("name", [same, dotted, symbolic, hard])


@NAMES
@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
def test_a_model_never_replaces_what_it_is_trained_on(
    corpus: Path, name: Callable[[Path], Path], force: tuple[str, ...]
) -> None:
    before = corpus.read_bytes()
    said = complaint("train", corpus, "--output", name(corpus), *force)
    assert "expected another file for the output, got the corpus" in said
    assert said.endswith(DESTROY)
    assert corpus.read_bytes() == before


@pytest.mark.parametrize("option", ["--dev", "--config"])
def test_nor_its_other_inputs(corpus: Path, option: str) -> None:
    other = corpus.with_name("other")
    other.write_text("seed = 1\n")
    assert complaint("train", corpus, option, other, "-o", other, "--force").endswith(DESTROY)
    tune = ("tune", corpus, "--task", "upos", option, other, "--force")
    assert complaint(*tune, "-o", other).endswith(DESTROY)
    plot = corpus.with_name("plot.svg")
    plot.symlink_to(other)
    assert complaint(*tune, "--plot", plot).endswith(DESTROY)
    assert complaint(*tune, "--plot", plot, "--output", plot).endswith(DESTROY)


@pytest.mark.parametrize("ending", ["history.jsonl", "history.jsonl.part"])
def test_nor_does_its_history(corpus: Path, ending: str) -> None:
    moved = corpus.rename(corpus.with_name(f"m.{ending}"))
    said = complaint("train", moved, "-o", corpus.with_name("m.msgpack"), "--force")
    assert said.endswith(DESTROY)


def test_a_model_is_replaced_only_by_force(
    trained: Trained, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "model.msgpack"
    model.write_bytes(trained.model.read_bytes())
    expected = "model.msgpack: expected no such file, or --force to replace it, got a model"
    assert complaint("train", corpus) == expected
    assert complaint("train", corpus, "--base", model) == expected
    run("train", corpus, "--force", *QUICK, "--quiet")
    assert model.read_bytes() != trained.model.read_bytes()


def test_a_base_is_replaced_by_force(trained: Trained, corpus: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.msgpack"
    model.write_bytes(trained.model.read_bytes())
    run("train", corpus, "--base", model, "-o", model, "-f", "-q", "--set", 'layers=["spans"]')
    assert '"bases"' in run("inspect", model, "--json").stdout


def test_no_output_is_written_over_another_kind_of_file(corpus: Path, tmp_path: Path) -> None:
    page, model = tmp_path / "page.html", tmp_path / "m.msgpack"
    page.write_text("my notes\n")
    said = complaint("visualize", corpus, "--output", page)
    assert said == (
        f"{page}: expected an HTML page to replace or no such file, got text; --force replaces it"
    )
    run("visualize", corpus, "--output", page, "--force")
    run("visualize", corpus, "--output", page)  # a page by now
    model.write_text("my notes\n")
    assert complaint("train", corpus, "-o", model).startswith(f"{model}: expected a model")
    model.unlink()
    (tmp_path / "m.history.jsonl").write_text("my notes\n")
    said = complaint("train", corpus, "-o", model)
    assert said.startswith(f"{tmp_path / 'm.history.jsonl'}: expected a history of training")
    tune = ("tune", corpus, "--task", "upos")
    assert complaint(*tune, "-o", corpus.with_name("page.html")).endswith("--force replaces it")
    assert "expected another file than" in complaint(
        *tune, "-o", tmp_path / "p.svg", "--plot", tmp_path / "p.svg"
    )


def test_a_page_replaces_neither_its_input_nor_its_model(
    trained: Trained, corpus: Path, tmp_path: Path
) -> None:
    assert complaint("visualize", corpus, "-o", corpus, "-f").endswith(DESTROY)
    said = complaint("visualize", trained.model, corpus, "-o", trained.model, "-f")
    assert said.endswith("got the model, which it would destroy")


def test_standard_output_that_is_an_input_is_noticed(trained: Trained, corpus: Path) -> None:
    before = corpus.read_bytes()
    done = shell('egparse visualize "$1" >> "$1"', corpus)
    assert (done.returncode, corpus.read_bytes()) == (2, before)
    assert done.stderr.startswith("egparse: standard output: expected another file")
    done = shell('egparse train "$1" -o "$1.msgpack" >> "$1"', corpus)
    assert (done.returncode, corpus.read_bytes()) == (2, before)
    done = shell('egparse visualize - < "$1" > "$1"', corpus)
    assert done.stderr.startswith("egparse: standard output: expected another file")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there is no /dev/fd here")
def test_descriptors_are_the_files_behind_them(corpus: Path) -> None:
    with corpus.open("rb") as stream, pytest.raises(EgparseError, match=DESTROY):
        check_output(Path(f"/dev/fd/{stream.fileno()}"), Kind.MODEL, {"the corpus": corpus})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read_counts_as_valuable(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    path.chmod(0)
    assert kind_of(path) is Kind.UNREADABLE


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("", Kind.EMPTY),
        ("\n", Kind.EMPTY),
        ("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n", Kind.CORPUS),
        ("# text = a\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n", Kind.CORPUS),
        ("The DT B-NP\ncat NN I-NP\n\n", Kind.CORPUS),
        ("-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\n\n", Kind.CORPUS),
        ("The cat sat.\n", Kind.TEXT),
        ("<!DOCTYPE html>\n", Kind.PAGE),
        ('{\n"a": 1}', Kind.JSON),
        ('{"task": "upos", "iteration": 1}\n', Kind.HISTORY),
        ("\0\1", Kind.BINARY),
        ("<svg>", Kind.FIGURE),
    ],
)
def test_kinds_of_files(content: str, kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    assert kind_of(path) is kind


def test_a_model_is_a_kind_of_file(trained: Trained) -> None:
    assert kind_of(trained.model) is Kind.MODEL


MISSING = {
    ("train", "{}"): "an annotated corpus",
    ("train", "{corpus}", "--dev", "{}"): "a development corpus",
    ("train", "{corpus}", "--config", "{}"): "a configuration in TOML",
    ("tune", "{}", "--task", "upos"): "an annotated corpus",
    ("tune", "{corpus}", "--task", "upos", "--dev", "{}"): "a development corpus",
    ("tune", "{corpus}", "--task", "upos", "--config", "{}"): "a configuration in TOML",
    ("evaluate", "{model}", "{}"): "a gold corpus",
    ("evaluate", "--predicted", "{}", "{corpus}"): "a corpus of predictions",
    ("evaluate", "{model}", "{corpus}", "--against", "{}.conllu"): "a corpus of predictions",
    ("inspect", "{model}", "--card", "--facts", "{}"): "facts of a model in TOML",
    ("package", "{model}", "--facts", "{}"): "facts of a model in TOML",
}


@pytest.mark.parametrize("command", MISSING, ids=" ".join)
@pytest.mark.parametrize("what", ["no such file", "a folder"])
def test_inputs_that_are_not_there(
    trained: Trained, corpus: Path, tmp_path: Path, command: tuple[str, ...], what: str
) -> None:
    missing = tmp_path / "missing"
    name = missing.with_name("missing.conllu") if "{}.conllu" in command else missing
    if what == "a folder":
        name.mkdir()
    places = {"corpus": corpus, "model": trained.model}
    said = complaint(*(word.format(missing, **places) for word in command))
    assert said == f"{name}: expected {MISSING[command]}, got {what}"


OUTPUTS = {
    "train": ("train", "{corpus}", "-o"),
    "tune": ("tune", "{corpus}", "--task", "upos", "-o"),
    "plot": ("tune", "{corpus}", "--task", "upos", "--plot"),
    "visualize": ("visualize", "{corpus}", "-o"),
}


@pytest.mark.parametrize("command", OUTPUTS)
def test_outputs_that_cannot_be_written(corpus: Path, tmp_path: Path, command: str) -> None:
    words = [word.format(corpus=corpus) for word in OUTPUTS[command]]
    folder, nowhere = tmp_path / "folder.svg", tmp_path / "none" / "file.svg"
    folder.mkdir()
    expected = "expected the name of a file to write, got a folder"
    assert complaint(*words, folder) == f"{folder}: {expected}"
    assert complaint(*words, nowhere) == (
        f"{nowhere}: cannot be written: there is no folder {nowhere.parent}"
    )


@pytest.mark.parametrize("command", ["package", "experiment", "download"])
def test_folders_that_are_files(trained: Trained, corpus: Path, command: str) -> None:
    words = {
        "package": ("package", trained.model),
        "experiment": ("experiment", "multiclass", "--quick"),
        "download": ("download", "UD_French-Sequoia"),
    }[command]
    said = complaint(*words, "--output", corpus)
    assert said == f"{corpus}: expected the name of a folder, got a file"
    below = corpus / "folder"
    said = complaint(*words, "--output", below)
    assert said == f"{below}: expected the name of a folder, got a file, {corpus}"


def test_an_experiment_replaces_only_its_files(tmp_path: Path) -> None:
    path = tmp_path / "multiclass.json"
    path.write_text("my notes")
    said = complaint("experiment", "multiclass", "--quick", "--output", tmp_path)
    assert said.startswith(f"{path}: expected JSON to replace")


def test_annotation_may_replace_the_corpus_that_it_was_made_from_and_nothing_else(
    trained: Trained, corpus: Path, tmp_path: Path
) -> None:
    model, text = tmp_path / "m.msgpack", tmp_path / "text.txt"
    model.write_bytes(trained.model.read_bytes())
    text.write_text("A cat sat.\n")
    for command in (
        ("parse", model, corpus, "--output", model, "--force"),
        ("parse", model, corpus, trained.dev, "--output", corpus, "--force"),
    ):
        assert complaint(*command).endswith(DESTROY)
    assert complaint("parse", model, text, "--output", text, "--force").endswith(DESTROY)
    assert text.read_text() == "A cat sat.\n"
    run("parse", model, corpus, "--output", corpus, "--quiet")
    assert kind_of(corpus) is Kind.CORPUS


def test_two_processes_do_not_train_one_model(corpus: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.msgpack"
    with History(model) as other:
        assert "got another one" in complaint("train", corpus, "-o", model, *QUICK, "-q")
        assert other.part.exists()
    run("train", corpus, "-o", model, *QUICK, "-q")


def test_the_history_of_a_killed_process_stays_for_a_day(corpus: Path, tmp_path: Path) -> None:
    left, new = tmp_path / "other.history.jsonl.part", tmp_path / "new.history.jsonl.part"
    for path in (left, new):
        path.touch()
    os.utime(left, (0, 0))
    with History(tmp_path / "m.msgpack"):
        assert not left.exists()
        assert new.exists()
