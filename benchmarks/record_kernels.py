"""Which kernels, for which types of arguments, the package is to be built with: those of everyday
use are run, and written down.

The list is ``egparse/compilation/compiler/variants.txt``; building a wheel compiles what it names,
and anything else is compiled when it is first called. Run this after a change of a kernel's
arguments, or when a command compiles although the wheel should have had it.

Usage: python benchmarks/record_kernels.py [--output FILE]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import spacy
from spacy.training import Example

import egparse
from egparse.cli.app import main as command
from egparse.compilation import variants
from egparse.compilation.compiler.build import VARIANTS
from egparse.io.corpus import read_corpus
from egparse.parsing.second_order.decode import OUT_OF_RANGE, Batch, SecondOrderDecoder
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.pipeline.constraints import Constraints
from egparse.structures.second_order.arc_graph import lay_out
from egparse.structures.second_order.projective import inside_outside

ROOT = Path(__file__).parents[1]
CORPORA = ROOT / "corpora"
TRAIN, DEV, TEST = (CORPORA / f"en_sample-{part}.conllu" for part in ("train", "dev", "test"))
TEXT = "Where did your old friend from Lisbon put the keys? He has 12 of them.\n"


def run(*arguments: object) -> None:
    """Run a command of egparse."""
    print("egparse", *arguments, flush=True)
    try:
        command([str(argument) for argument in arguments])
    except SystemExit as stopped:
        if stopped.code:
            raise


def in_everyday_use(scratch: Path) -> Iterator[Callable[[], None]]:
    """What is run: each way of training, annotating, evaluating and drawing that has no setting of
    its own beyond the trees.
    """
    text = scratch / "text.txt"
    text.write_text(TEXT, encoding="utf-8")
    for name, options in {
        "default": [],
        "loopy": ["--set", "parser.trees=non-projective"],
        "arcs": ["--config", ROOT / "configs/parser-non-projective.toml"],
        "projective-arcs": ["--config", ROOT / "configs/parser-projective.toml"],
    }.items():
        model = scratch / f"{name}.msgpack"
        yield lambda model=model, options=options: run(
            "train", TRAIN, "--dev", DEV, "--output", model, "--force", *options
        )
        yield lambda model=model: annotate(str(model), text, scratch)
    yield lambda: run(
        "train", TRAIN, "--dev", DEV, "--jobs", 2, "--output", scratch / "jobs.msgpack"
    )
    yield lambda: run(
        "train", TRAIN, "--base", scratch / "default.msgpack", "--output", scratch / "b.msgpack"
    )
    for name in ("en_ewt", "fr_sequoia"):
        yield lambda name=name: annotate(name, text, scratch)
    yield lambda: in_spacy(scratch)
    yield lambda: run("tune", TRAIN, "--dev", DEV, "--task", "upos", "--output", scratch / "t.toml")
    yield lambda: run("classes", TRAIN, "--output", scratch / "classes.tsv")
    yield lambda: run("package", "en_ewt", "--name", "en_mine", "--output", scratch / "package")


def annotate(model: str, text: Path, scratch: Path) -> None:
    """Everything that a model can do with sentences."""
    run("parse", model, text, "--output", scratch / "out.conllu", "--force")
    run("parse", model, TEST, "--marginals", "--output", scratch / "out.conllu", "--force")
    run("parse", model, TEST, "--respect-input", "--output", scratch / "out.conllu", "--force")
    run("evaluate", model, TEST, "--details", "--gold-tags")
    run("visualize", model, text, "--output", scratch / "page.html", "--force")
    loaded, sentences = egparse.load(model), list(read_corpus(TEST))[:20]
    list(loaded.k_best(sentences, 3))
    constraints = [
        Constraints().fix("upos", 1, "NOUN").forbid("feats", 2, "_").forbid("heads", 2, 1)
        for _ in sentences
    ]
    list(loaded.annotate(sentences, constraints=constraints, probabilities=True))
    if isinstance(loaded.components["parser"], SecondOrderParser):
        out_of_range(loaded.components["parser"])


def out_of_range(parser: SecondOrderParser) -> None:
    """Parse a sentence as those whose scores are too large for scaled probabilities."""
    decoder = SecondOrderDecoder(parser.kernel_model(), 1)
    n_columns = len(parser.pruner.columns.names)
    values = np.zeros((2, n_columns), dtype=np.int32)
    states = np.full(1, OUT_OF_RANGE, dtype=np.uint8)
    decoder.parse_batch(Batch(values, np.array([0, 1]), states, np.zeros(1, np.int32), np.zeros(1)))
    graph = lay_out(np.array([(0, 1), (0, 2), (1, 2)], dtype=np.int16), 3, True, True)
    potentials = np.full(graph.pairs[-1], -2000.0)
    potentials[0] = 2000.0
    inside_outside(graph, potentials, True, np.empty(len(potentials)))


def in_spacy(scratch: Path) -> None:
    """Components that annotate, and some that learn."""
    nlp = spacy.blank("en")
    for name in ("senter", "tagger", "ner", "parser"):
        nlp.add_pipe(f"egparse_{name}", config={"model": "en_ewt"})
    docs = list(nlp.pipe([TEXT, "Kim saw her in Lisbon. She waved."]))
    nlp.update([Example(nlp.make_doc(doc.text), doc) for doc in docs])


@contextmanager
def recording() -> Iterator[set[str]]:
    """The kernels that are called for the first time meanwhile, with the types of arguments."""
    seen: set[str] = set()

    def note(kernel: str, types: str) -> None:
        seen.add(kernel + types)

    variants.requested.append(note)
    yield seen
    variants.requested.remove(note)


def main() -> None:
    """Run everything and write the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=VARIANTS)
    output: Path = parser.parse_args().output
    with tempfile.TemporaryDirectory() as folder, recording() as seen:
        for part in in_everyday_use(Path(folder)):
            part()
    output.write_text("".join(f"{line}\n" for line in sorted(seen)), encoding="utf-8")
    print(f"{len(seen)} kernels and types of arguments in {output}")


if __name__ == "__main__":
    main()
