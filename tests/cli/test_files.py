"""Outputs that would destroy something are refused before anything runs; inputs that are missing
are told by what they were meant to be.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import CONFIGS, complaint, run
from cli.test_streams import shell

from egparse.cli.files import Kind, check_output, kind_of
from egparse.cli.training import History
from egparse.errors import EgparseError

QUICK = ("--config", CONFIGS / "quick.toml", "--set", 'layers=["upos"]')
DESTROY = "which it would destroy"


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
