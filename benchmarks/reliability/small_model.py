"""A small model with every layer and the default kind of parser, trained on the sample corpus in
some seconds: what matters here does not depend on its accuracy.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

from findings import ROOT

CORPORA = ROOT / "corpora"


def first_sentences(count: int, target: Path, part: str = "train") -> Path:
    """A file with the first sentences of the sample corpus."""
    source = CORPORA / f"en_sample-{part}.conllu"
    blocks = source.read_text(encoding="utf-8").split("\n\n")[:count]
    target.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    return target


def train_small_model(folder: Path, sentences: int = 400) -> Path:
    """The path of a model in ``folder``; it is trained if it is not there."""
    from egparse.cli.app import main

    model = folder / "small.msgpack"
    if model.exists():
        return model
    corpus = first_sentences(sentences, folder / "small.conllu")
    config = ROOT / "configs" / "quick.toml"
    options = ["--config", str(config), "--set", "parser.order=2", "--language", "en", "--quiet"]
    try:
        with redirect_stdout(io.StringIO()):
            main(["train", str(corpus), "--output", str(model), *options])
    except SystemExit as left:
        if left.code:
            raise
    return model
