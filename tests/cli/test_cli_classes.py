"""``egparse classes``: what it reads, writes, says and refuses."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from classes.texts import from_grammar
from cli.program import CORPORA, ENVIRONMENT, complaint, run, run_process

INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from egparse.classes import learning
learning._LEAST_GAIN = -1.0  # passes go on
from egparse.cli.app import main
main(sys.argv[1:])
"""


def rows_of(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "words.txt"
    lines = (" ".join(run) for run in from_grammar(300))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_classes_of_words_are_written_and_described(text: Path, tmp_path: Path) -> None:
    output = tmp_path / "classes.tsv"
    done = run("classes", text, "--tokenised", "--classes", 6, "-o", output)
    rows = rows_of(output)
    assert all(set(path) <= {"0", "1"} and count.isdigit() for path, _, count in rows)
    assert len({path for path, _, _ in rows}) == 6
    assert [path for path, _, _ in rows] == sorted(path for path, _, _ in rows)
    said = done.stderr.splitlines()
    assert said[0].startswith(f"text         {text}: ")
    assert said[1].startswith("words        ")
    assert sum(line.startswith("pass ") for line in said) >= 3
    assert "merging      9 classes, until 6 are left" in said
    assert said[-1] == "tree         over 6 classes"
    assert "classes     6, with paths of" in done.stdout
    assert str(output) in done.stdout


def test_json_has_the_figures(text: Path, tmp_path: Path) -> None:
    output = tmp_path / "classes.tsv"
    done = run("classes", text, "--tokenised", "-c", 5, "-o", output, "--json", "--quiet")
    assert done.stderr == ""
    said = json.loads(done.stdout)
    rows = rows_of(output)
    assert said["output"] == str(output)
    assert said["inputs"] == [str(text)]
    assert (said["classes"], said["interrupted"]) == (5, False)
    assert said["types_with_class"] == len(rows)
    assert said["words"] == len(text.read_text(encoding="utf-8").split())
    assert said["words"] - said["words_without_class"] == sum(int(row[2]) for row in rows)
    assert said["perplexity"] == said["passes"][-1]["perplexity"]


def test_the_output_does_not_depend_on_the_number_of_jobs(text: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / f"{jobs}.tsv" for jobs in (1, 3)]
    for jobs, output in zip((1, 3), outputs, strict=True):
        run("classes", text, "--tokenised", "-c", 9, "--jobs", jobs, "-o", output)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_several_inputs_of_any_kind_are_one_text(tmp_path: Path) -> None:
    packed, plain = tmp_path / "one.txt.gz", tmp_path / "two.txt"
    packed.write_bytes(gzip.compress(b"It's here.\n"))
    plain.write_text("Don't.\n", encoding="utf-8")
    corpus = CORPORA / "en_sample-dev.conllu"
    output = tmp_path / "classes.tsv"
    options = ("--language", "en", "--min-count", 1, "-c", 3, "-o", output)
    done = run("classes", packed, plain, corpus, "-", *options, text="zzz zzz\n")
    words = {row[1]: int(row[2]) for row in rows_of(output)}
    assert words["zzz"] == 2
    assert {"'s", "n't", "here"} <= words.keys()
    assert f"corpus       {corpus}: " in done.stderr
    assert "text         <stdin>: 2 words" in done.stderr


def test_the_language_is_asked_for_where_text_is_split(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a b a b\n", encoding="utf-8")
    hint = "language     xx, rules of no language: set --language"
    options = ("-o", tmp_path / "classes.tsv")
    assert hint in run("classes", path, *options).stderr
    assert hint not in run("classes", path, *options, "--language", "fr").stderr
    assert hint not in run("classes", path, *options, "--tokenised").stderr


def test_words_are_chosen_by_count_number_and_case(tmp_path: Path) -> None:
    path, output = tmp_path / "a.txt", tmp_path / "classes.tsv"
    path.write_text("a A b c\na b\nd d d\n", encoding="utf-8")

    def words(*options: object) -> set[str]:
        run("classes", path, "--tokenised", "-o", output, *options)
        return {row[1] for row in rows_of(output)}

    assert words() == {"a", "b", "d"}
    assert words("--min-count", 1) == {"a", "A", "b", "c", "d"}
    assert words("--most-types", 2) == {"a", "d"}
    assert words("--min-count", 3, "--lower-case") == {"a", "d"}


def test_iterations_bound_the_passes(text: Path, tmp_path: Path) -> None:
    output = tmp_path / "classes.tsv"
    done = run("classes", text, "--tokenised", "--iterations", 2, "-c", 6, "-o", output)
    assert done.stderr.count("\npass ") == 2


def test_other_files_are_replaced_only_by_force(text: Path, tmp_path: Path) -> None:
    output = tmp_path / "notes"
    output.write_text("notes\n", encoding="utf-8")
    said = complaint("classes", text, "-o", output)
    assert said.startswith(f"{output}: expected word classes to replace or no such file, got text")
    run("classes", text, "--tokenised", "-c", 3, "-o", output, "--force")
    run("classes", text, "--tokenised", "-c", 4, "-o", output)
    assert len({row[0] for row in rows_of(output)}) == 4
    assert "which it would destroy" in complaint("classes", text, "-o", text, "--force")


def test_the_program_reads_standard_input_in_a_process_of_its_own(tmp_path: Path) -> None:
    output = tmp_path / "classes.tsv"
    options = ("--min-count", 1, "-c", 2, "-o", output)
    run_process("classes", "-", *options, text="a b a b c\n")
    assert {row[1] for row in rows_of(output)} == {"a", "b", "c"}


def interrupted(text: Path, output: Path, wanted: bytes) -> tuple[int, bytes]:
    """Exit code and errors of a process that is interrupted when it has said ``wanted``."""
    command = [sys.executable, "-c", INTERRUPTIBLE, "classes", str(text), "--tokenised"]
    command += ["-c", "6", "--iterations", "10000000", "-o", str(output)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stderr is not None
        said = b""
        deadline = time.monotonic() + 60
        while wanted not in said:
            assert time.monotonic() < deadline
            line = process.stderr.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=60)
    return process.returncode, said + rest


def test_interruption_keeps_the_classes_so_far(text: Path, tmp_path: Path) -> None:
    output = tmp_path / "classes.tsv"
    code, said = interrupted(text, output, b"pass 5 ")
    assert code == 130, said
    assert f"egparse: interrupted; the classes so far are in {output}" in said.decode()
    assert len({row[0] for row in rows_of(output)}) == 6


def test_interruption_of_the_first_pass_writes_nothing(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from egparse.classes import learning

    def stopped(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(learning, "exchange", stopped)
    output = tmp_path / "classes.tsv"
    done = run("classes", text, "--tokenised", "-o", output, status=130)
    assert done.stderr.endswith(
        "The classes are not complete, so nothing is written.\negparse: interrupted\n"
    )
    assert not output.exists()
