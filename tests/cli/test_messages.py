"""What commands refuse: the message of each, in one line, and files that stay as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import CORPORA, complaint, first_sentences

ROW = "1\tno corpus\n"
WORDS = ["The", "cat", "sat", "down"]


def rows(*heads: object, misc: str = "_") -> str:
    """A sentence in CoNLL-U with these heads, and a cell of MISC in its last row."""
    cells = [
        f"{k}\t{word}\t_\t_\t_\t_\t{head}\t_\t_\t{misc if k == len(heads) else '_'}\n"
        for k, (word, head) in enumerate(zip(WORDS, heads, strict=True), 1)
    ]
    return "# sent_id = here\n" + "".join(cells) + "\n"


def fill(folder: Path, trained: Trained) -> None:
    """The files that commands are given."""
    first_sentences(CORPORA / "en_sample-train.conllu", 30, folder / "corpus.conllu")
    data, gold = trained.model.read_bytes(), trained.dev.read_bytes()
    for name in ("folder", "noted"):
        (folder / name).mkdir()
    for name, content in {
        "model.msgpack": data,
        "half.msgpack": data[: len(data) // 2],
        "altered.msgpack": data[:-1] + bytes([data[-1] ^ 1]),
        "short.bin": data[:100],
        "dev.conllu": gold,
        "latin.conllu": rows("_", "_", "_", "_").replace("cat", "Zoë").encode("latin-1"),
    }.items():
        (folder / name).write_bytes(content)
    for name, text in {
        "faulty.conllu": ROW,
        "cycle.conllu": rows(2, 1, 0, 3),
        "other.conllu": "1\tNo\tno\tINTJ\tUH\t_\t0\troot\t_\t_\n\n",
        "text.txt": "No corpus.\n",
        "text.conllu": rows("_", "_", "_", "_"),
        "words.conllx": "1\tYes\t_\tn\tn\t_\t_\t_\t_\t_\n\n",
        "words.txt": "Mary NNP B-NP B-PER\n",
        "empty.txt": "",
        "notes": "my notes\n",
        "noted.history.jsonl": "my notes\n",
        "noted/multiclass.json": "my notes\n",
        "seed.toml": "seed = 1\n",
        "letters.tsv": "00\tthe\t3\n01\tcat\t2\n",
        "twice.tsv": "00\tthe\n01\tthe\n",
        "cycle3.conllu": rows(2, 3, 1, "_"),
        "roots.conllu": rows(0, "_", 0, "_"),
        "self.conllu": rows(1, "_", "_", "_"),
        "far.conllu": rows("_", 9, "_", "_"),
        "inside.conllu": rows("_", "_", "_", "_", misc="NE=I-NEW"),
        "nospan.conllu": rows("_", "_", "_", "_", misc="NE=?"),
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "seed.svg").symlink_to("seed.toml")


def matches(said: str, expected: str) -> bool:
    """Whether it is the same text; ``...`` stands for any."""
    parts = map(re.escape, expected.split("..."))
    return re.fullmatch(".*".join(parts), said) is not None


def test_each_refusal_says_what_is_wrong_and_changes_nothing(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of messages.txt: a command after ``$``, and its message."""
    monkeypatch.chdir(tmp_path)
    fill(tmp_path, trained)
    before = contents(tmp_path)
    lines = (Path(__file__).parent / "messages.txt").read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line and line[0] != "#"]
    wrong = []
    for command, expected in zip(lines[::2], lines[1::2], strict=True):
        said = complaint(command.removeprefix("$ "))
        if not matches(said, expected) or contents(tmp_path) != before:
            wrong.append(f"{command}\n{said}")
    assert wrong == []


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
