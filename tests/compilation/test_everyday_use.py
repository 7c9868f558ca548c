"""The kernels of everyday use: a wheel has them all, and they predict what numba's own do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.program import first_sentences

from egparse.compilation.compiler.build import known_variants
from egparse.compilation.kernel import Kernel
from egparse.compilation.signatures import kernel_of

ROOT = Path(__file__).parents[2]
UD = ROOT.parent / "shared" / "data" / "ud"

pytestmark = pytest.mark.compiled_only

TASKS = (
    "splitter", "tokeniser", "upos", "xpos", "feats", "lemmas", "spans", "pruner", "parser",
    "labeller",
)  # fmt: skip

LISTENING = """
import sys
from egparse.compilation import variants
from egparse.compilation.compiler.build import known_variants
known = set(known_variants())
def note(kernel, types):
    if kernel + types not in known:
        print("not in the list:", kernel + types)
variants.requested.append(note)
from egparse.__main__ import main
main()
"""


def run(*arguments: object, **environment: str) -> str:
    """What a program of Python prints."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_every_line_names_a_kernel() -> None:
    for line in known_variants():
        assert isinstance(kernel_of(line)[0], Kernel)


def test_training_and_annotating_need_no_other_kernels(tmp_path: Path) -> None:
    model, parts = tmp_path / "model.msgpack", dict[str, Path]()
    for part, count in (("train", 120), ("dev", 30)):
        source = ROOT / "corpora" / f"en_sample-{part}.conllu"
        parts[part] = first_sentences(source, count, tmp_path / source.name)
    shorter = [f"--set={task}.stop.iterations=1" for task in TASKS]
    files = [parts["train"], "--dev", parts["dev"], "--output", model]
    trained = run("-c", LISTENING, "train", *files, "--quiet", *shorter)
    annotated = run("-c", LISTENING, "parse", model, parts["dev"], "--marginals")
    assert [line for line in (trained + annotated).splitlines() if "not in the list" in line] == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["en_ewt", "fr_sequoia"])
def test_predictions_are_those_of_kernels_that_numba_compiles(name: str) -> None:
    corpus = UD / f"{name}-ud-test.conllu"
    if not corpus.exists():
        pytest.skip(f"{corpus} is not there")
    command = ["-m", "egparse", "parse", name, corpus, "--marginals"]
    assert run(*command) == run(*command, EGPARSE_JIT="1")
