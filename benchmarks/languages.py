"""UDPipe 1 on the treebanks of recipes: it learns from the same sentences as a model of
``models/recipes.toml`` and is scored on the same test part, from raw text and with given sentences
and words.

What it does is written as docs/languages/NAME.json; what is there is not trained again.
``python docs/program_pages.py`` puts it beside the scores of the models, in
docs/languages/index.md.

Needs ``pip install ufal.udpipe`` (1.4). Where a recipe has no development part, the last tenth of
its first file is UDPipe's, which chooses among its iterations by it.

Usage: python benchmarks/languages.py NAME ... [--treebanks DIRECTORY] [--folder docs/languages]
[--tokenizer epochs=20] [--tagger iterations=5] [--parser iterations=8]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from udpipe import annotate, train, udpipe

from egparse.evaluation.ud import score
from egparse.io.corpus import read_corpus, write_corpus
from egparse.sentences import Sentence
from egparse.service.hub.ingredients import files_for, ingredients_of
from egparse.service.hub.recipes import Recipes, read_recipes
from egparse.storage.files import write_atomically
from egparse.text.treebank_text import raw_text

ROOT = Path(__file__).resolve().parents[1]
RECIPES, FOLDER = ROOT / "models" / "recipes.toml", ROOT / "docs" / "languages"
METRICS = ("UPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "MLAS", "BLEX")
RAW_METRICS = ("Words", "Sentences", *METRICS)
HELD_OUT = 10
FILES = ("tokeniser", "model", "found.conllu", "train.conllu", "dev.conllu", "test.conllu")


def of_udpipe(recipes: Recipes, name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Train UDPipe on what a model learns from; its scores on the first test part, CPU seconds,
    words a CPU second from raw text, and size in bytes.
    """
    recipe, files = recipes.models[name], files_for(recipes, name, options.treebanks)
    read = ingredients_of(recipe, files)
    learned, dev = list(read.train), read.dev
    if dev is None:
        end = min(len(list(read_corpus(files[recipe.train[0]]))), len(learned))
        begin = end - end // HELD_OUT
        learned, dev = learned[:begin] + learned[end:], learned[begin:end]
    gold = next(iter(read.tests.values()))
    with tempfile.TemporaryDirectory() as folder:
        tokeniser, model, found, train_part, dev_part, test_part = (
            Path(folder, file) for file in FILES
        )
        parts = argparse.Namespace(train=train_part, dev=dev_part)
        for part, path in ((learned, train_part), (dev, dev_part), (gold, test_part)):
            write_corpus(part, path)
        none, begun = udpipe().Trainer.NONE, time.process_time()
        train(parts, tokeniser, options.tokenizer, none, none)
        train(parts, model, none, options.tagger, options.parser)
        trained = time.process_time() - begun
        annotate(model, test_part.read_text(encoding="utf-8"), found)
        predicted = _scores(gold, found, METRICS)
        seconds = annotate(model, raw_text(gold), found, tokeniser)
        return {
            "options": [options.tokenizer, options.tagger, options.parser],
            "predicted": predicted,
            "raw_text": _scores(gold, found, RAW_METRICS),
            "cpu_seconds": round(trained),
            "words_per_second": round(sum(map(len, gold)) / seconds, -2),
            "bytes": model.stat().st_size + tokeniser.stat().st_size,
        }


def _scores(gold: Sequence[Sentence], found: Path, metrics: Sequence[str]) -> dict[str, float]:
    align = metrics is RAW_METRICS
    totals = score(gold, list(read_corpus(found)), always_align=align).totals
    return {metric: totals[metric].f1 for metric in metrics}


def main() -> None:
    """Train UDPipe where it has not been."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--treebanks", type=Path)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--tokenizer", default="epochs=20")
    parser.add_argument("--tagger", default="iterations=5")
    parser.add_argument("--parser", default="iterations=8")
    options = parser.parse_args()
    recipes = read_recipes(RECIPES)
    for name in options.names:
        target = options.folder / f"{name}.json"
        if not target.exists():
            found = of_udpipe(recipes, name, options)
            write_atomically(target, (json.dumps(found, indent=2) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
