"""What affixes of up to ten characters bring to tags: UPOS and UFeats with them and without them.

    python benchmarks/affixes.py TREEBANK...

Of each treebank every tenth block of 20 sentences is kept to score on; taggers of UPOS and FEATS
are trained on the others.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import mean
from typing import Any

import egparse
from egparse.features.default_templates import LONG_AFFIX_TEMPLATES, WORD_TEMPLATES
from egparse.io.corpus import read_corpus

_BLOCK, _PARTS, _SCORED = 20, 10, 7
_WAYS = {"short affixes": WORD_TEMPLATES, "long": (*WORD_TEMPLATES, *LONG_AFFIX_TEMPLATES)}


def scores(path: Path, templates: tuple[str, ...]) -> tuple[float, float, float]:
    """UPOS and UFeats in per cent, and CPU seconds."""
    train: list[egparse.Sentence] = []
    scored: list[egparse.Sentence] = []
    for number, sentence in enumerate(read_corpus(path)):
        kept = number // _BLOCK % _PARTS == _SCORED
        (scored if kept else train).append(sentence)
    settings: dict[str, Any] = {
        "layers": ["upos", "feats"],
        "morphology.templates": list(templates),
        **{f"{name}.train": False for name in ("tokeniser", "splitter", "expander")},
    }
    begun = time.process_time()
    model = egparse.train(train, scored, **settings)
    seconds = time.process_time() - begun
    found = model.evaluate(scored).metrics
    return found["UPOS"].f1, found["UFeats"].f1, seconds


def main() -> None:
    """Print a row for each treebank, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("treebanks", type=Path, nargs="+")
    paths = parser.parse_args().treebanks
    print(f"{'':24}" + "".join(f"{way:>24}" for way in _WAYS))
    print(f"{'':24}" + f"{'UPOS':>8}{'UFeats':>8}{'CPU s':>8}" * len(_WAYS))
    rows = []
    for path in paths:
        rows.append([value for way in _WAYS.values() for value in scores(path, way)])
        print(f"{path.name.partition('.')[0]:24}" + "".join(f"{value:8.2f}" for value in rows[-1]))
    means = [mean(column) for column in zip(*rows, strict=True)]
    print(f"{'mean':24}" + "".join(f"{value:8.2f}" for value in means))


if __name__ == "__main__":
    main()
