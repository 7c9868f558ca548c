"""The kernels of everyday use: a wheel has them all, and they predict what numba's own do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from egparse.compilation.compiler.build import known_variants
from egparse.compilation.kernel import Kernel
from egparse.compilation.signatures import kernel_of

ROOT = Path(__file__).parents[2]
UD = ROOT.parent / "shared" / "data" / "ud"

pytestmark = pytest.mark.compiled_only

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
    corpora, model = ROOT / "corpora", tmp_path / "model.msgpack"
    tasks = ("splitter", "upos", "xpos", "feats", "spans", "pruner", "parser", "labeller")
    shorter = [part for task in tasks for part in ("--set", f"{task}.stop.iterations=1")]
    files = [corpora / "en_sample-train.conllu", "--dev", corpora / "en_sample-dev.conllu"]
    trained = run("-c", LISTENING, "train", *files, "--output", model, "--quiet", *shorter)
    test = corpora / "en_sample-test.conllu"
    annotated = run("-c", LISTENING, "parse", model, test, "--marginals")
    assert [line for line in (trained + annotated).splitlines() if "not in the list" in line] == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["en_ewt", "fr_sequoia"])
def test_predictions_are_those_of_kernels_that_numba_compiles(name: str) -> None:
    corpus = UD / f"{name}-ud-test.conllu"
    if not corpus.exists():
        pytest.skip(f"{corpus} is not there")
    command = ["-m", "egparse", "parse", name, corpus, "--marginals"]
    assert run(*command) == run(*command, EGPARSE_JIT="1")
