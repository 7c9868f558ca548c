"""``egparse evaluate``: a model's predictions, or another system's, against a gold corpus."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from egparse.cli import corpora, tables
from egparse.cli.exit_codes import reported
from egparse.cli.kernel_cache import NOTICE, kernels_are_compiled
from egparse.cli.options import FormatOption, GoldTagsOption, JsonOption, examples
from egparse.cli.scores import LEGEND, report_text
from egparse.cli.warnings_shown import told

if TYPE_CHECKING:
    from egparse.evaluation.report import Report
    from egparse.pipeline.model import Model
    from egparse.sentences import Sentence

EPILOG = (
    examples(
        "egparse evaluate model.msgpack test.conllu",
        "egparse evaluate model.msgpack test.conllu --gold-tags --details",
        "egparse evaluate --predicted system.conllu test.conllu --json",
    )
    + "\n\n\b\nConventions:\n"
    + "\n".join("  " + line for line in LEGEND.splitlines())
)


def evaluate(
    gold: list[Sentence],
    system: Model | list[Sentence],
    *,
    gold_tags: bool = False,
    bootstrap: int = 1000,
    seed: int = 0,
    details: bool = False,
) -> Report:
    """Score a model's layers, predicted from the words of ``gold``, or sentences that a system
    predicted.

    With ``details`` also whether the model's probabilities can be believed, of the layers that have
    any. The sentences that a model's splitter finds in the paragraphs of ``gold``, of words that
    are given, are scored beside the layers.
    """
    from egparse.evaluation import report

    if isinstance(system, list):
        predicted, layers = system, None
    else:
        marginals = system.probabilistic if details else False
        predicted = list(system.annotate(gold, gold_tags=gold_tags, marginals=marginals))
        layers = set(system.layers)
    found = report.evaluate(
        gold, predicted, layers=layers, bootstrap=bootstrap, seed=seed, details=details
    )
    if isinstance(system, list) or system.splitter is None:
        return found
    from egparse.splitting.training import is_running_text, paragraphs_of, score_splitter

    if not is_running_text(gold):
        return found
    return replace(
        found, segmentation={"Sentences": score_splitter(system.splitter, paragraphs_of(gold))}
    )


def evaluate_cli(
    first: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A model by its path or name; with --predicted, GOLD stands here instead.",
        ),
    ],
    second: Annotated[
        Path | None, typer.Argument(metavar="GOLD", help="The gold corpus.", show_default=False)
    ] = None,
    predicted: Annotated[
        Path | None,
        typer.Option(
            "--predicted", metavar="FILE", help="Score these predictions instead of a model's."
        ),
    ] = None,
    gold_tags: GoldTagsOption = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Break the scores down by relation, tag, length of arc and sentence; and whether "
            "a model's probabilities "
            "can be believed (calibration).",
        ),
    ] = False,
    bootstrap: Annotated[
        int,
        typer.Option(
            "--bootstrap", metavar="N", min=0, help="Resamples for the intervals; 0 for none."
        ),
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the resamples.")] = 0,
    format: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a model, or another system, against a gold corpus.

    Every layer is predicted from the words alone, predicted tags feeding the parser, unless
    --gold-tags. Scores are per cent; intervals are by bootstrap over sentences.
    """
    with reported():
        model, gold = (None, first) if predicted else (first, second)
        if gold is None:
            raise typer.BadParameter(
                "missing; expected MODEL GOLD, or --predicted FILE GOLD", param_hint="'GOLD'"
            )
        if predicted and second:
            raise typer.BadParameter("expected no MODEL beside --predicted", param_hint="'MODEL'")
        path = None if predicted else _found(first)  # before a corpus is read
        with told(quiet=as_json):
            report = evaluate(
                _sentences(gold, format),
                _sentences(predicted, format) if predicted else _load(path or first),
                gold_tags=gold_tags,
                bootstrap=bootstrap,
                seed=seed,
                details=details,
            )
        if as_json:
            from egparse.evaluation.report import report_as_json

            print(json.dumps(tables.finite(report_as_json(report)), ensure_ascii=False, indent=2))
        else:
            who = (
                f"{predicted}"
                if predicted
                else f"{model}, {'gold tags' if gold_tags else 'from the words alone'}"
            )
            size = (
                f"{tables.things(report.sentences, 'sentence')}, "
                f"{tables.things(report.words, 'word')}"
            )
            text = report_text(report, gold_tags=gold_tags and not predicted)
            print(f"{gold}: {size}\n{who}\n\n{text}")


def _sentences(path: Path, format: str | None) -> list[Sentence]:
    """All sentences, trees with several roots too: whether there may be several is not for scores
    to say.
    """
    return corpora.read(path, format, multiple_roots=True, whole_trees=False).sentences


def _found(model: Path) -> Path:
    from egparse.hub.resolve import find_model

    return find_model(model)


def _load(path: Path) -> Model:
    if not kernels_are_compiled():
        print(NOTICE, file=sys.stderr, flush=True)
    from egparse.pipeline.model import Model

    return Model.load(path)
