"""``egparse parse`` of many inputs: files, folders and standard input, joined or apart."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import complaint, run
from service.hub.local_server import serving

from egparse.cli.annotating.inputs import input_files
from egparse.cli.annotating.outputs import output_path
from egparse.cli.annotating.pieces import split
from egparse.cli.app import main
from egparse.errors import CorpusError, EgparseError
from egparse.io.compression import decompressed

ROWS = "1\tMary\t_\t_\t_\t_\t_\t_\t_\t_\n2\tlives\t_\t_\t_\t_\t_\t_\t_\t_\n\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two texts, a corpus, and what is no input."""
    place = tmp_path / "letters"
    (place / "more").mkdir(parents=True)
    (place / ".hidden").mkdir()
    (place / "b.txt").write_text("The cat sat. It left.\n")
    (place / "more" / "a.TXT.gz").write_bytes(gzip.compress(b"A dog barked.\n"))
    (place / "a.conllu").write_text("# sent_id = x\n" + ROWS)
    for name in ("notes.md", ".secret.txt", ".hidden/c.txt", "b.txt~"):
        (place / name).write_text("not this")
    return place


def comments(text: str, *names: str) -> list[str]:
    """The comments with one of these names, in order."""
    lines = [line[2:] for line in text.splitlines() if line.startswith("# ")]
    return [line for line in lines if line.partition(" =")[0] in names]


def test_inputs_are_joined_in_order_and_named(trained: Trained, folder: Path) -> None:
    done = run("parse", trained.model, folder, "-", text="More.\n")
    assert comments(done.stdout, "newdoc id", "sent_id") == [
        "newdoc id = a.conllu",
        "sent_id = x",
        "newdoc id = b.txt",
        "sent_id = 1",
        "sent_id = 2",
        "newdoc id = more/a.TXT.gz",
        "sent_id = 3",
        "newdoc id = stdin",
        "sent_id = 4",
    ]
    assert done.stderr == ""
    again = run("parse", trained.model, folder, "-", "--jobs", 2, text="More.\n")
    assert again.stdout == done.stdout


def test_a_single_input_has_no_mark_and_one_that_has_a_mark_keeps_it(
    trained: Trained, tmp_path: Path
) -> None:
    one, two = tmp_path / "one.conllu", tmp_path / "two.conllu"
    one.write_text("# newdoc id = own\n" + ROWS + ROWS)
    two.write_text(ROWS)
    assert "newdoc" not in run("parse", trained.model, two).stdout
    joined = run("parse", trained.model, one, two).stdout
    assert comments(joined, "newdoc id") == ["newdoc id = own", "newdoc id = two.conllu"]


def test_equal_names_are_told_apart(trained: Trained, tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("Hi.\n")
    joined = run("parse", trained.model, tmp_path / "x", tmp_path / "y").stdout
    assert comments(joined, "newdoc id") == [
        f"newdoc id = {tmp_path}/x/a.txt",
        f"newdoc id = {tmp_path}/y/a.txt",
    ]


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_input_gets_a_file_of_the_same_name(
    trained: Trained, folder: Path, tmp_path: Path, jobs: int
) -> None:
    output = tmp_path / "parsed" / "deep"
    done = run("parse", trained.model, folder, "--output-dir", output, "--jobs", jobs)
    assert done.stdout == ""
    assert done.stderr.startswith("3 files, 4 sentences, 13 words in ")
    written = sorted(path.relative_to(output) for path in output.rglob("*") if path.is_file())
    assert written == [Path("a.conllu"), Path("b.conllu"), Path("more/a.conllu")]
    alone = run("parse", trained.model, folder / "b.txt").stdout
    assert (output / "b.conllu").read_text() == alone


def test_column_files_keep_their_names_and_formats(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("Mary X O\nlives X O\n\n")
    (tmp_path / "x.conll").write_text(ROWS.replace("\t_\t_\t_\t_\t_", "\tn\tn\t_\t_\t_", 1))
    output = tmp_path / "out"
    words = tmp_path / "words.txt"
    run("parse", trained.model, words, "--format", "conll2002", "--output-dir", output)
    run("parse", trained.model, tmp_path / "x.conll", "--output-dir", output)
    assert sorted(path.name for path in output.iterdir()) == ["words.txt", "x.conllx"]
    assert (output / "words.txt").read_text().startswith("Mary ")


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_standard_input(trained: Trained, compress: object, tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.conllu", tmp_path / "b"
    plain.write_text(ROWS)
    packed.write_bytes(compress(ROWS.encode()))  # type: ignore[operator]
    expected = run("parse", trained.model, plain).stdout
    assert run("parse", trained.model, packed).stdout == expected
    assert run("parse", trained.model, packed, "--jobs", 2).stdout == expected


@pytest.mark.parametrize("jobs", [1, 2])
def test_other_encodings(trained: Trained, tmp_path: Path, jobs: int) -> None:
    text, corpus = tmp_path / "a.txt", tmp_path / "b.conllu"
    text.write_bytes("Le café.\n".encode("latin-1"))
    corpus.write_bytes(ROWS.replace("Mary", "Zoë").encode("latin-1"))
    options = ("--encoding", "ISO-8859-1", "--jobs", jobs)
    assert "\tcafé\t" in run("parse", trained.model, text, *options).stdout
    assert "\tZoë\t" in run("parse", trained.model, corpus, *options).stdout
    assert complaint("parse", trained.model, corpus, "--jobs", jobs).startswith(
        f"{corpus}:1: expected UTF-8 text, got the byte 0xeb in place of character 5; if it is "
    )
    said = complaint("parse", trained.model, text, "--encoding", "latin-l")
    assert said.endswith("got 'latin-l'; did you mean latin-1?")


@pytest.mark.parametrize("jobs", [1, 2])
def test_inputs_without_words_are_named_and_stop_nothing(
    trained: Trained, folder: Path, tmp_path: Path, jobs: int
) -> None:
    empty, blank = folder / "c.txt", folder / "d.conllu"
    empty.write_text("")
    blank.write_text("\n\n")
    done = run("parse", trained.model, folder, "--jobs", jobs)
    expected = [f"egparse: {path}: nothing to parse" for path in (empty, blank)]
    assert done.stderr.splitlines() == expected
    assert len(comments(done.stdout, "newdoc id")) == 3
    assert run("parse", trained.model, folder, "--jobs", jobs, "--quiet").stderr == ""
    run("parse", trained.model, folder, "--output-dir", tmp_path / "out", "--jobs", jobs)
    assert (tmp_path / "out" / "d.conllu").read_text() == ""


def test_one_empty_input_gives_an_empty_output(trained: Trained, tmp_path: Path) -> None:
    done = run("parse", trained.model, "-", "-o", tmp_path / "out.conllu", text="\n\n")
    assert done.stderr.splitlines()[0] == "egparse: <stdin>: nothing to parse"
    assert (tmp_path / "out.conllu").read_text() == ""


def test_a_faulty_input_keeps_what_was_complete_before(
    trained: Trained, folder: Path, tmp_path: Path
) -> None:
    (folder / "c.conllu").write_text("1\tno columns\n\n")
    output = tmp_path / "out"
    said = complaint("parse", trained.model, folder, "--output-dir", output)
    assert said.startswith(f"{folder / 'c.conllu'}:1: expected 10 tab-separated columns")
    assert sorted(path.name for path in output.iterdir()) == ["a.conllu", "b.conllu"]


def test_a_fault_that_annotation_finds_keeps_what_was_complete_before(
    trained: Trained, tmp_path: Path
) -> None:
    good, bad = tmp_path / "a.conllu", tmp_path / "b.conllu"
    good.write_text(ROWS)
    bad.write_text(ROWS + ROWS.replace("lives\t_\t_\t_\t_\t_", "lives\t_\t_\t_\t_\t2", 1))
    output = tmp_path / "out"
    options = ("--respect-input", "--output-dir", output)
    said = complaint("parse", trained.model, good, bad, *options)
    assert said.startswith(f"{bad}:5: ")
    assert [path.name for path in output.iterdir()] == ["a.conllu"]


def test_outputs_replace_no_input(trained: Trained, folder: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    said = complaint("parse", trained.model, folder, "--output-dir", folder)
    assert said.startswith(f"{folder / 'a.conllu'}: expected another file for the output")
    said = complaint("parse", trained.model, folder, "--output", folder / "a.conllu")
    assert "expected another file for the output" in said
    said = complaint("parse", trained.model, folder, "--output", trained.model, "--force")
    assert "expected another file for the output" in said
    assert before == {path: path.read_bytes() for path in before}
    (tmp_path / "b.conllu").write_text(ROWS)
    said = complaint("parse", trained.model, folder, tmp_path / "b.conllu", "--output-dir", "out")
    assert said == (
        f"out/b.conllu: expected one input for each output, got {folder / 'b.txt'} and "
        f"{tmp_path / 'b.conllu'}"
    )
    output = tmp_path / "out" / "b.conllu"
    output.parent.mkdir()
    output.write_text('{"a": 1}')  # whatever its name says
    said = complaint("parse", trained.model, folder / "b.txt", "--output-dir", output.parent)
    assert "--force" in said
    run("parse", trained.model, folder / "b.txt", "--output-dir", output.parent, "--force")
    assert output.read_text().startswith("# newdoc\n# newpar\n# sent_id")


def test_one_corpus_may_be_annotated_in_place(trained: Trained, folder: Path) -> None:
    corpus, text = folder / "a.conllu", folder / "b.txt"
    expected = run("parse", trained.model, corpus).stdout
    run("parse", trained.model, corpus, "--output", corpus)
    assert corpus.read_text() == expected
    packed = folder / "more" / "a.TXT.gz"
    for path in (text, packed):
        said = complaint("parse", trained.model, path, "--output", path, "--force")
        assert said.endswith("which it would destroy")


def test_links_to_nothing_are_named_and_pipes_are_no_inputs(tmp_path: Path) -> None:
    (tmp_path / "b.txt").symlink_to(tmp_path / "none")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [file.relative for file in input_files([tmp_path])] == [Path("b.txt")]
    (tmp_path / "empty").mkdir()
    with pytest.raises(EgparseError, match="got a folder without any"):
        input_files([tmp_path / "empty"])


@pytest.mark.parametrize(
    ("name", "format", "output"),
    [
        ("a.txt", "conllu", "a.conllu"),
        ("a.conllu.gz", "conllu", "a.conllu"),
        ("x/a.b.TEXT.XZ", "conllu", "x/a.b.conllu"),
        ("letter", "conllu", "letter.conllu"),
        (".txt", "conllu", ".txt.conllu"),
        ("a.txt.bz2", "conll2000", "a.txt"),
        ("a.conll", "conllx", "a.conllx"),
    ],
)
def test_names_of_outputs(name: str, format: str, output: str) -> None:
    assert output_path(Path("out"), Path(name), format) == Path("out") / output


def test_chunks_for_jobs_end_where_memory_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("egparse.cli.annotating.pieces.MAX_BLOCK", 1000)
    with pytest.raises(CorpusError, match=r"^a:3: expected a blank line after the sentence"):
        list(split(io.BytesIO(b"a\n\n" + b"x" * 5000), 1, "a"))


def test_texts_are_named_in_json_too(trained: Trained, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("Hi there. Bye.\n")
    done = run("parse", trained.model, tmp_path, "--output-format", "jsonl")
    marks = [json.loads(line).get("newdoc") for line in done.stdout.splitlines()]
    assert [mark for mark in marks if mark is not None] == ["a.txt", "b.txt"]


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_outputs_are_compressed_as_their_names_say(
    trained: Trained, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ending == ".zst":
        pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    source, packed = tmp_path / "a.txt", tmp_path / f"out.conllu{ending}"
    source.write_text("The cat sat. It left.\n\n" * 9)
    expected = run("parse", trained.model, source).stdout
    for _ in range(2):  # what is of the same kind is replaced
        run("parse", trained.model, source, "--output", packed)
    monkeypatch.setattr("egparse.cli.annotating.resuming._PART", 100)  # of several parts
    again = tmp_path / f"again{ending}"
    run("parse", trained.model, source, "--output", again, "--jobs", 2)
    assert again.stat().st_size > packed.stat().st_size
    for path in (packed, again):
        pieces = decompressed(iter([path.read_bytes()]), path.name)
        assert b"".join(pieces).decode() == expected
    source.write_text("")
    run("parse", trained.model, source, "--output", packed)
    assert b"".join(decompressed(iter([packed.read_bytes()]), packed.name)) == b""


def test_a_compression_that_cannot_be_written_is_named(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    said = complaint("parse", trained.model, "-", "--output", tmp_path / "out.zst")
    assert said == (
        "out.zst: expected a compression that this Python can write (Zstandard needs Python 3.14 "
        "or the package backports.zstd), got .zst"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "fault", "said"),
    [
        ("/none.conllu", "", "the server says 404 Not Found"),
        ("/a.conllu", "cut", "Connection broken: IncompleteRead"),
    ],
)
def test_what_a_server_does_not_send_is_said_in_one_line(
    trained: Trained, monkeypatch: pytest.MonkeyPatch, path: str, fault: str, said: str
) -> None:
    pytest.importorskip("smart_open")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving({"/a.conllu": ROWS.encode() * 4}) as site:
        site.faults = [fault]
        address = f"{site.base}{path}"
        assert complaint("parse", trained.model, address).startswith(
            f"{address}: cannot be read: {said}"
        )
    assert complaint("parse", trained.model, address) == (
        f"{address}: cannot be read: Connection refused"
    )


@pytest.mark.parametrize("option", ["--format", "--output-format"])
def test_a_choice_that_there_is_not_is_said_to_be_none(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["parse", "model", "-", option, "nothing"])
    assert left.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"Error: Invalid value for '{option}'")
    assert ": 'nothing' is not one of " in last
    assert "Value error" not in last
