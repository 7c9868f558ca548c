"""Where the real corpora are, and sentences small enough to be written out."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"

CONLLU_FILES = [f"ud/en_ewt-ud-{part}.conllu" for part in ("dev", "test")] + [
    "ud/fr_sequoia-ud-dev.conllu",
    "ud/fr_sequoia-ud-test.conllu",
    "ud/la_perseus-ud-test.conllu",
]


def corpus(name: str) -> Path:
    """The path of a real corpus; the test is skipped where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no corpus at {path}")
    return path


def row(number: int | str, form: str = "w", head: int | str = 0, **cells: str) -> str:
    """One CoNLL-U line."""
    names = ("lemma", "upos", "xpos", "feats")
    values = [cells.get(name, "_") for name in names]
    tail = [cells.get("deprel", "_"), cells.get("deps", "_"), cells.get("misc", "_")]
    return "\t".join([str(number), form, *values, str(head), *tail])


FULL = "\n".join(
    [
        "# newdoc",
        "# sent_id = s-1",
        "# text = Del vamos a Roma",
        "1-2\tDel\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No",
        row(
            1, "De", 3, lemma="de", upos="ADP", xpos="IN", feats="A=B", deprel="case", deps="3:case"
        ),
        row(2, "el", 3, lemma="el", upos="DET", deprel="det"),
        row(3, "vamos", 0, lemma="ir", upos="VERB", deprel="root", misc="Gloss=go|NE=B-X"),
        row("3.1", "e", "_", deps="3:x"),
        row("3.2", "f", "_", deps="3:y"),
        row(4, "a", 5, upos="ADP", deprel="case", misc="NE=I-X|SpaceAfter=No"),
        row(5, "Roma", 3, upos="PROPN", deprel="obl", misc="NE=I-LOC"),
        "",
        "",
    ]
)
