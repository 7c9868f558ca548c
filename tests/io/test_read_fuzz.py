"""Broken files of every kind end in sentences or CorpusError, and what was read can be written and
read.
"""

from __future__ import annotations

import pytest
from fuzzing.targets import corpus
from hypothesis import given
from hypothesis import strategies as st
from lines_run import lines_run
from properties import examples
from row_samples import FULL

from egparse.io.detection import FORMATS

SEEDS = {
    "conllu": FULL,
    "conllx": "1\ta\tl\tn\tnc\tg=m\t2\tX\t2\tX\n2\tb\tl\tn\tnc\t_\t0\tX\t0\tX\n\n",
    "conll2000": "a DT B-NP\nb NN I-NP\n\nc IN O\n",
    "conll2002": "a DT B-X\nb NN I-X\n\n-DOCSTART- O\n\nc\tO\n",
    "conll2003": "-DOCSTART- -X- O O\n\na DT I-NP I-PER\nb NN I-NP O\n",
}
PIECES = [
    "\t", "\n", " ", "\r", "\n\n", "#", "-", ".", "_", "0", "1", "2", "7", "NE=", "B-X", "|",
    "\ufeff", "é", "-DOCSTART-",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, text: str) -> bytes:
    content = text.encode()
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 12)))
        new = draw(st.one_of(st.sampled_from(PIECES).map(str.encode), st.binary(max_size=3)))
        content = content[:start] + new + content[end:]
    return content


def check(content: bytes, format: str | None) -> None:
    """Reading it ends, and soon: all that is drawn here takes a few thousand lines of Python."""
    assert lines_run(lambda: corpus(content, format)) < 1_000_000


@pytest.mark.parametrize("format", FORMATS)
@examples(120)
@given(st.data())
def test_mutated_files(format: str, data: st.DataObject) -> None:
    content = data.draw(mutated(SEEDS[format]))
    check(content, format)
    check(content, None)


@examples(150)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from(PIECES), max_size=60).map(lambda p: "".join(p).encode()),
    )
)
def test_random_files(content: bytes) -> None:
    for format in (None, *FORMATS):
        check(content, format)
