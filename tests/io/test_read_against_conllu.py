"""The streaming reader against the ``conllu`` package, and files given back byte for byte."""

from __future__ import annotations

import io

import conllu
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from row_samples import CONLLU_FILES, corpus

from egparse.io.conllu import read_conllu
from egparse.io.corpus import write_corpus
from egparse.sentences import Sentence, SurfaceToken

AS_TEXT = {
    name: lambda line, k: line[k]
    for name in ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
}


def by_package(text: str) -> list[Sentence]:
    """What ``conllu`` reads, in our record; its columns are left as text."""
    sentences = []
    for tokens in conllu.parse(text, field_parsers=AS_TEXT):
        words = [token for token in tokens if isinstance(token["id"], int)]
        misc = [
            dict(item.partition("=")[::2] for item in token["misc"].split("|")) for token in words
        ]
        keys = ("form", "lemma", "upos", "xpos", "feats")
        sentences.append(
            Sentence(
                *(tuple(token[key] for token in words) for key in keys),
                heads=tuple(-1 if token["head"] == "_" else int(token["head"]) for token in words),
                deprels=tuple(token["deprel"] for token in words),
                misc=tuple(token["misc"] for token in words),
                spans=tuple(items.get("NE", "O") for items in misc),
                sentence_id=tokens.metadata.get("sent_id"),
                tokens=tuple(
                    SurfaceToken(
                        token["id"][0] - 1, token["id"][2] - 1, token["form"], token["misc"]
                    )
                    for token in tokens
                    if isinstance(token["id"], tuple) and token["id"][1] == "-"
                ),
            )
        )
    return sentences


@pytest.mark.parametrize(
    "name",
    ["ud/en_ewt-ud-dev.conllu", "ud/fr_sequoia-ud-dev.conllu", "ud/la_perseus-ud-test.conllu"],
)
def test_real_treebanks(name: str) -> None:
    path = corpus(name)
    assert list(read_conllu(path)) == by_package(path.read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("ignore::egparse.io.rows.DepsWarning")
@pytest.mark.parametrize("name", CONLLU_FILES)
def test_real_treebanks_are_written_byte_for_byte(name: str) -> None:
    path = corpus(name)
    text = path.read_text(encoding="utf-8")
    sentences = list(read_conllu(path, require_trees=True))
    stream = io.StringIO()
    write_corpus(sentences, stream, "conllu")
    assert stream.getvalue() == text
    bare = [
        s.with_layers(upos=["X"] * len(s), heads=[-1] * len(s), spans=["O"] * len(s))
        for s in sentences
    ]
    stream = io.StringIO()
    write_corpus(bare, stream, "conllu")
    again = list(read_conllu(io.StringIO(stream.getvalue())))
    assert [(s.upos, s.heads, s.spans) for s in again] == [
        (("X",) * len(s), (-1,) * len(s), ("O",) * len(s)) for s in sentences
    ]
    stream = io.StringIO()
    write_corpus(
        (
            new.with_layers(upos=s.upos, heads=s.heads, spans=s.spans)
            for new, s in zip(again, sentences, strict=True)
        ),
        stream,
        "conllu",
    )
    new_lines, old_lines = stream.getvalue().split("\n"), text.split("\n")
    assert [without_deps(line) for line in new_lines] == [without_deps(line) for line in old_lines]


def without_deps(line: str) -> tuple[list[str], list[str]]:
    """A line without DEPS, which is gone with the heads, and without regard to the order inside
    MISC, where a tag that comes back comes last.
    """
    cells = line.split("\t")
    return cells[:8] if len(cells) > 1 else cells, sorted(cells[-1].split("|"))


LETTERS = st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="#|")
CELLS = st.text(LETTERS, min_size=1, max_size=6)
TAGS = st.sampled_from(
    ["_", "SpaceAfter=No", "NE=B-A", "Gloss=x|NE=B-B", "NE=B-A|SpaceAfter=No", "XNE=B-A"]
)


@st.composite
def sentences(draw: st.DrawFn) -> str:
    n = draw(st.integers(1, 6))
    lines = draw(st.lists(CELLS.map(lambda c: f"# note = {c}"), max_size=2))
    if draw(st.booleans()):
        lines.append(f"# sent_id = {draw(CELLS)}")
    range_end = 0
    for word in range(1, n + 1):
        if word > range_end and word < n and draw(st.integers(0, 4)) == 0:
            range_end = draw(st.integers(word + 1, n))
            lines.append(f"{word}-{range_end}\t{draw(CELLS)}" + "\t_" * 7 + "\tSpaceAfter=No")
        head = draw(st.integers(1, word - 1)) if word > 1 else 0
        tagged = [draw(CELLS) for _ in range(5)]
        lines.append(
            "\t".join([str(word), *tagged, str(head), draw(CELLS), draw(CELLS), draw(TAGS)])
        )
        if word > range_end and draw(st.integers(0, 4)) == 0:
            lines.append(f"{word}.1\t{draw(CELLS)}" + "\t_" * 8)
    return "\n".join(lines) + "\n\n"


@examples(40)
@given(st.lists(sentences(), max_size=4))
def test_generated_files(texts: list[str]) -> None:
    text = "".join(texts)
    read = list(read_conllu(io.StringIO(text)))
    assert read == by_package(text)
    stream = io.StringIO()
    write_corpus(read, stream, "conllu")
    assert stream.getvalue() == text
