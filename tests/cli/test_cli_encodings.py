"""Compressed corpora and other encodings than UTF-8, in every command that reads a corpus."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from cli.program import CORPORA, complaint, first_sentences, run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two sentences, one with a letter that is not ASCII, compressed and in Latin-1."""
    plain = first_sentences(CORPORA / "en_sample-train.conllu", 2, tmp_path / "plain.conllu")
    text = plain.read_text(encoding="utf-8").replace("\tthe\t", "\tthé\t")
    text += "# sent_id = é\n1\té\té\tX\t_\t_\t0\troot\t_\t_\n\n"
    path = tmp_path / "corpus.conllu.gz"
    path.write_bytes(gzip.compress(text.encode("latin-1")))
    return path


def test_evaluate(corpus: Path) -> None:
    done = run("evaluate", "--predicted", corpus, corpus, "--encoding", "latin-1", "--json")
    assert json.loads(done.stdout)
    assert "say --encoding latin-1" in complaint("evaluate", "--predicted", corpus, corpus)


def test_visualize(corpus: Path) -> None:
    assert "é" in run("visualize", corpus, "--encoding", "latin-1").stdout


@pytest.mark.parametrize(
    "command", [("train",), ("tune", "--task", "upos"), ("evaluate", "--predicted", "x")]
)
def test_encodings_reach_the_reader(corpus: Path, command: tuple[str, ...]) -> None:
    if command[0] == "evaluate":
        command = ("evaluate", "--predicted", str(corpus))
    said = complaint(*command, corpus, "--encoding", "ascii", *_quiet(command[0]))
    assert said.startswith(f"{corpus}:")
    assert ": expected ascii text, got the byte 0xe9 in place of character " in said
    said = complaint(*command, corpus, "--encoding", "latin-l", *_quiet(command[0]))
    assert said.endswith("got 'latin-l'; did you mean latin-1?")


def _quiet(command: str) -> list[str]:
    return [] if command == "evaluate" else ["--quiet"]
