"""``egparse parse --resume``: a run that was killed, wherever, is finished to the same bytes."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import ENVIRONMENT, complaint, run

from egparse.cli.annotating import pieces
from egparse.cli.annotating.pieces import Chunk, Packer, Passage, Place
from egparse.cli.annotating.resuming import Partial, Resumption
from egparse.errors import EgparseError
from egparse.storage.journal import open_journal

TEXT = "The cat sat on the mat. It didn't move.\n\nA dog barked. Why? \n\n"


class Killed(BaseException):
    """Stands for the death of the program."""


SIZES = {"CHUNK": 900, "CHARACTERS": 112, "SHARD": 1.0}  # a shard is one passage


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small inputs have many shards."""
    for name, size in SIZES.items():
        monkeypatch.setattr(pieces, name, size)


@pytest.fixture
def folder(trained: Trained, tmp_path: Path) -> Path:
    """Texts and corpora of one shard and of many."""
    place = tmp_path / "in"
    (place / "b").mkdir(parents=True)
    corpus = trained.dev.read_bytes()
    (place / "a.txt").write_text("Hi.\n")
    (place / "b" / "long.txt").write_text(TEXT * 8)
    (place / "c.txt").write_text("")
    (place / "d.txt.gz").write_bytes(gzip.compress(TEXT.encode() * 4))
    (tmp_path / "corpus.conllu").write_bytes(corpus)
    return place


def contents(place: Path) -> dict[str, bytes]:
    """All files below a folder, or one file."""
    if place.is_file():
        return {"": place.read_bytes()}
    found = (path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place)): path.read_bytes() for path in found}


def killed_at(
    monkeypatch: pytest.MonkeyPatch, save: int, *arguments: object, text: str = ""
) -> bool:
    """Run the program until just before or after its record number ``save``; whether it came to
    that.
    """
    saves = 0
    usual = Resumption.save

    def counted(self: Resumption, saved: object, documents: object) -> None:
        nonlocal saves
        saves += 1
        if saves == save:
            if save % 2:
                usual(self, saved, documents)  # type: ignore[arg-type]
            raise Killed
        usual(self, saved, documents)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Resumption, "save", counted)
        try:
            run(*arguments, text=text)
        except Killed:
            return True
    return False


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize(
    ("inputs", "output", "options"),
    [
        ("in", ("--output", "out.conllu"), ()),
        ("in", ("--output", "out.conllu.gz"), ()),
        ("in", ("--output-dir", "out"), ()),
        ("in", ("--output", "out.json"), ("--output-format", "json")),
        ("in", ("--output-dir", "out"), ("--output-format", "json")),
        ("corpus.conllu", ("--output", "out.conllu"), ()),
    ],
)
def test_it_goes_on_after_each_shard(
    trained: Trained,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    inputs: str,
    output: tuple[str, str],
    options: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    kind, name = output
    common = ("parse", trained.model, inputs, *options, "--resume", "--quiet")
    run(*common, kind, f"whole-{name}")
    before = contents(Path(f"whole-{name}"))
    times = 0
    while killed_at(monkeypatch, 2 + times % 2, *common, kind, name):
        times += 1
        assert times < 60
    assert times > 1
    assert contents(Path(name)) == before
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"in", "corpus.conllu", name, f"whole-{name}"}
    plain = run("parse", trained.model, inputs, *options, "--quiet", kind, f"plain-{name}")
    assert plain.stderr == ""
    if not name.endswith(".gz"):
        assert contents(Path(f"plain-{name}")) == before
    else:
        whole = gzip.decompress(Path(name).read_bytes())
        assert whole == gzip.decompress(Path(f"plain-{name}").read_bytes())


PATCHED = f"""
import sys
from egparse.cli.annotating import pieces
vars(pieces).update({SIZES})
from egparse.__main__ import main
main()
"""


@pytest.mark.nightly
def test_a_run_that_is_killed_anywhere_is_finished_to_the_same_bytes(
    trained: Trained, tmp_path: Path
) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.conllu.gz"
    source.write_text(TEXT * 400)
    command = [sys.executable, "-c", PATCHED, "parse", str(trained.model), str(source)]
    command += ["--jobs", "2", "--resume", "--quiet", "--output"]
    subprocess.run([*command, str(tmp_path / "whole.gz")], env=ENVIRONMENT, check=True)
    random_moment = random.Random(5)
    journal, recorded = tmp_path / "out.conllu.gz.journal", 0
    for _ in range(3):
        with subprocess.Popen([*command, str(output)], env=ENVIRONMENT) as process:
            while process.poll() is None and size_of(journal) <= recorded:
                time.sleep(0.01)
            time.sleep(random_moment.random() * 0.05)
            process.kill()
        assert output.exists() == (process.returncode == 0)
        recorded = size_of(journal) + 2000 * (random_moment.random() < 0.5)
    with open(journal, "ab") as stream:
        stream.write(b"0badc0de {")  # the last line may be torn
    done = subprocess.run(
        [*command[:-2], "--output", str(output)],
        env=ENVIRONMENT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert " before the interruption) in " in done.stderr
    assert output.read_bytes() == (tmp_path / "whole.gz").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "out.conllu.gz", "whole.gz"}


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.fixture
def interrupted(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_shards: None
) -> list[object]:
    """The arguments of a run that was killed after some shards."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(TEXT * 8)
    arguments: list[object] = ["parse", trained.model, tmp_path / "a.txt", tmp_path / "b.txt"]
    arguments += ["--output", tmp_path / "out", "--resume"]
    assert killed_at(monkeypatch, 7, *arguments)
    assert not (tmp_path / "out").exists()
    return arguments


def test_another_run_is_not_taken_up(interrupted: list[object], tmp_path: Path) -> None:
    journal = tmp_path / "out.journal"
    said = complaint(*interrupted, "--encoding", "latin-1")
    assert said == (
        f"{journal}: the interrupted run had another --encoding: expected utf-8, got latin-1; "
        "remove this file to begin anew"
    )
    other = [*interrupted[:2], tmp_path / "b.txt", *interrupted[3:]]
    assert "the interrupted run had another list of inputs" in complaint(*other)
    shutil.copy(str(interrupted[1]), tmp_path / "model.msgpack")
    with open(tmp_path / "model.msgpack", "ab") as stream:
        stream.write(b" ")
    changed = [interrupted[0], tmp_path / "model.msgpack", *interrupted[2:]]
    assert "the interrupted run had another model" in complaint(*changed)
    before = journal.read_bytes()
    journal.write_bytes(before.replace(b'"place"', b'"plane"', 1))
    assert "expected a journal of egparse with whole records" in complaint(*interrupted)
    journal.write_text("Dear diary\n")
    assert complaint(*interrupted) == f"{journal}: expected a journal of egparse, got another file"
    journal.write_bytes(before)
    (tmp_path / "out.partial").write_bytes(b"")
    assert "that the interrupted run has written, got 0" in complaint(*interrupted)


def test_inputs_that_have_changed_are_refused(interrupted: list[object], tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    text, times = first.read_text(), first.stat()
    second.write_text("X" + text)
    assert complaint(*interrupted) == (
        f"{second}: expected the input of the interrupted run, got another beginning"
    )
    second.write_text(text)
    first.write_text(text + text)
    assert complaint(*interrupted) == (
        f"{first}: expected the input of {len(text)} bytes of the interrupted run, got one of "
        f"{2 * len(text)} bytes"
    )
    first.write_text(text)
    os.utime(first, ns=(times.st_atime_ns, times.st_mtime_ns))
    run(*interrupted)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "out"]


def test_standard_input_is_given_again(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_shards: None
) -> None:
    common = ("parse", trained.model, "-", "--resume", "--quiet", "--output")
    run(*common, tmp_path / "whole", text=TEXT * 8)
    assert killed_at(monkeypatch, 3, *common, tmp_path / "out", text=TEXT * 8)
    said = run(*common, tmp_path / "out", text="Other " + TEXT * 8, status=2).stderr
    assert said.startswith("egparse: <stdin>: expected the input of the interrupted run")
    run(*common, tmp_path / "out", text=TEXT * 8)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_only_the_name_was_missing(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = tmp_path / "a.txt", tmp_path / "out"
    source.write_text(TEXT)
    arguments = ("parse", trained.model, source, "--output", output, "--resume")

    def killed(_: object) -> Path:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Partial, "complete", killed)
        with pytest.raises(Killed):
            run(*arguments)
    written = (tmp_path / "out.partial").read_bytes()
    assert run(*arguments).stderr == f"{output}: the interrupted run was complete\n"
    assert output.read_bytes() == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "out"]


def test_a_journal_is_of_one_process(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with open_journal(path, {"a": 1}) as journal:
        journal.add({"n": 1})
        assert journal.is_new
        with (
            pytest.raises(EgparseError, match="another process is working"),
            open_journal(path, {"a": 1}),
        ):
            pass
    with open_journal(path, {"a": 1}) as journal:
        assert not journal.is_new
        assert list(journal.records()) == [{"n": 1}]
        journal.remove()
    assert not path.exists()


def test_pieces_and_shards_do_not_depend_on_how_documents_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many small documents share a piece; from any place on, the pieces are the same."""
    monkeypatch.setattr(pieces, "SHARD", 0.004)
    documents = [
        [Passage(f"{d}", "conllu", Chunk(1, b"%d" % k * 300)) for k in range(d % 4)]
        for d in range(40)
    ]
    whole = list(Packer(in_shards=True).pieces(documents))
    assert len(whole) > 5
    ends = [piece.place for piece in whole if piece.place is not None]
    for place in ends:
        again = list(Packer(place, in_shards=True).pieces(documents[place.document :]))
        done = whole.index(next(piece for piece in whole if piece.place == place))
        assert again == whole[done + 1 :]
    with pytest.raises(EgparseError, match="expected the input of the interrupted run"):
        list(Packer(Place(0, 1, "0"), in_shards=True).pieces(documents))
