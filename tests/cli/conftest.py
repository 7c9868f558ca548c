"""A small model, trained once for all tests of the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cli.program import CONFIGS, CORPORA, first_sentences, run_process


class Trained(NamedTuple):
    """A model, the corpora behind it, and what the program said."""

    model: Path
    train: Path
    dev: Path
    done: subprocess.CompletedProcess[str]

    @property
    def json(self) -> dict[str, Any]:
        """What it said on standard output."""
        return dict(json.loads(self.done.stdout))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Trained with the quick configuration on a hundred sentences."""
    folder = tmp_path_factory.mktemp("trained")
    train = first_sentences(
        CORPORA / "en_sample-train.conllu", 100, folder / "en_part-train.conllu"
    )
    dev = first_sentences(CORPORA / "en_sample-dev.conllu", 20, folder / "en_part-dev.conllu")
    model = folder / "model.msgpack"
    config = CONFIGS / "quick.toml"
    done = run_process(
        "train", train, "--dev", dev, "--output", model, "--config", config, "--json", "--seed", 4
    )
    return Trained(model, train, dev, done)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Sentences that train quickly."""
    return first_sentences(CORPORA / "en_sample-train.conllu", 30, tmp_path / "corpus.conllu")
