"""``egparse parse``: what is kept, what is filled, what comes from text, and how it ends."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cli.conftest import Trained
from cli.program import COMMAND, ENVIRONMENT, complaint, run, run_process

FAITHFUL = """\
# newdoc
# text = Don't go there again.
# a comment of no kind
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|Own=1
1\tDo\tdo\t_\t_\t_\t_\t_\t_\t_
2\tn't\tnot\t_\t_\t_\t_\t_\t_\tOwn=2
3\tgo\tgo\t_\t_\t_\t_\t_\t_\t_
3.1\tgone\tgo\tVERB\tVBN\tA=B\t_\t_\t3:conj\tEmpty=Yes
4\tthere\tthere\t_\t_\t_\t_\t_\t_\t_
5\tagain\tagain\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
6\t.\t.\t_\t_\t_\t_\t_\t_\tZ=1|A=2

"""


def columns(text: str, *numbers: int) -> list[list[str]]:
    """Some columns (from 1) of the words of a CoNLL-U text."""
    rows = [line.split("\t") for line in text.splitlines() if line[:1].isdigit()]
    return [[row[number - 1] for number in numbers] for row in rows if row[0].isdigit()]


def is_tree(rows: list[list[str]]) -> bool:
    """Whether the ID and HEAD of the words of one sentence lead to one root."""
    heads = {int(word): int(head) for word, head in rows}
    for word in heads:
        steps = 0
        while word and steps <= len(heads):
            word, steps = heads[word], steps + 1
        if word:
            return False
    return list(heads.values()).count(0) == 1


def test_conllu_keeps_all_but_the_predicted_columns(trained: Trained) -> None:
    shown = run("parse", trained.model, "-", text=FAITHFUL).stdout
    before, after = FAITHFUL.splitlines(), shown.splitlines()
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        if not old[:1].isdigit() or not old.split("\t")[0].isdigit():
            assert new == old
    assert columns(shown, 1, 2, 3, 9) == columns(FAITHFUL, 1, 2, 3, 9)
    without_entities = [
        ["|".join(i for i in misc.split("|") if i[:3] != "NE=") or "_"]
        for (misc,) in columns(shown, 10)
    ]
    assert without_entities == columns(FAITHFUL, 10)
    assert all("_" not in row for row in columns(shown, 4, 5, 7, 8))
    assert is_tree(columns(shown, 1, 7))


def test_file_and_standard_input_give_the_same(trained: Trained, tmp_path: Path) -> None:
    output = tmp_path / "out.conllu"
    done = run_process("parse", trained.model, trained.dev, "--output", output)
    assert done.stdout == ""
    assert done.stderr.startswith("20 sentences, ")
    assert done.stderr.endswith(" words/s\n")
    text = trained.dev.read_text(encoding="utf-8")
    assert run_process("parse", trained.model, "-", text=text).stdout == output.read_text(
        encoding="utf-8"
    )


def test_text_becomes_conllu(trained: Trained) -> None:
    done = run("parse", trained.model, "-", text="The cat sat on the mat. It didn't move.\n")
    assert done.stderr == ""
    assert "# text = The cat sat on the mat.\n" in done.stdout
    forms = [form for (form,) in columns(done.stdout, 2)]
    assert forms == ["The", "cat", "sat", "on", "the", "mat", ".", "It", "did", "n't", "move", "."]


def test_columns_stay_columns(trained: Trained, tmp_path: Path) -> None:
    source = tmp_path / "words.txt"
    source.write_text("Mary X O\nlives X O\nin X O\nParis X O\n\n", encoding="utf-8")
    shown = run("parse", trained.model, source, "--format", "conll2002").stdout
    rows = [line.split(" ") for line in shown.splitlines() if line]
    assert [row[0] for row in rows] == ["Mary", "lives", "in", "Paris"]
    assert all(row[1] != "X" for row in rows)


def test_a_closed_pipe_ends_it_quietly(trained: Trained, tmp_path: Path) -> None:
    long = tmp_path / "long.conllu"
    long.write_text(trained.dev.read_text(encoding="utf-8") * 40, encoding="utf-8")
    command = [*COMMAND, "parse", str(trained.model), str(long)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert said == b""
    assert process.returncode == 141


def test_a_fault_leaves_the_output_as_it_was(trained: Trained, tmp_path: Path) -> None:
    output, source = tmp_path / "out.conllu", tmp_path / "in.conllu"
    output.write_text("before")
    source.write_text(FAITHFUL + "1\tno columns\n\n", encoding="utf-8")
    text = complaint("parse", trained.model, source, "-o", output)
    assert text.startswith(f"{source}:13: expected 10 tab-separated columns")
    assert output.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.conllu", "out.conllu"]


def test_broken_trees_and_spans_of_the_input_are_no_fault(trained: Trained) -> None:
    broken = FAITHFUL.replace("1\tDo\tdo\t_\t_\t_\t_", "1\tDo\tdo\t_\t_\t_\t1").replace(
        "Own=2", "NE=?"
    )
    shown = run(
        f"parse {trained.model} -",
        text=broken.replace("5\tagain\tagain\t_\t_\t_\t_", "5\tagain\tagain\t_\t_\t_\t77"),
    )
    assert is_tree(columns(shown.stdout, 1, 7))


def test_nothing_to_parse_is_said(trained: Trained) -> None:
    done = run("parse", trained.model, "-", text="\n\n")
    assert (done.stdout, done.stderr) == ("", "egparse: <stdin>: nothing to parse\n")
