"""Training on sentences that are annotated in part."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli.program import CORPORA, complaint, run_process
from sample_treebank import SECOND_ORDER, quick, sample

from egparse.errors import ConfigError, EgparseError
from egparse.io.corpus import read_corpus
from egparse.learners.eg.path import PathConfig
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.training.run import train
from egparse.training.tune import tune

TRAIN = sample("train")[:150]
DEV = sample("dev")[:40]


def blanked(
    sentences: Sequence[Sentence], share: float, *layers: str, seed: int = 1
) -> list[Sentence]:
    """The sentences with ``_`` in the layers of a share of the words, the same in all layers."""
    dice, out = random.Random(seed), []
    for one in sentences:
        missing = [dice.random() < share for _ in one.forms]
        changed = {
            layer: tuple(
                (-1 if layer == "heads" else "_") if is_missing else value
                for value, is_missing in zip(getattr(one, layer), missing, strict=True)
            )
            for layer in layers
        }
        out.append(one.with_layers(**changed))
    return out


def accuracy(model: Model, layer: str) -> float:
    right = total = 0
    for gold, found in zip(DEV, model(DEV), strict=True):
        pairs = list(zip(getattr(gold, layer), getattr(found, layer), strict=True))
        right, total = right + sum(a == b for a, b in pairs), total + len(pairs)
    return 100.0 * right / total


def only(*layers: str) -> str:
    listed = ", ".join(f'"{layer}"' for layer in layers)
    return f"layers=[{listed}]"


def test_taggers_sum_out_what_is_not_annotated() -> None:
    settings = quick(only("upos", "xpos", "feats"))
    half = train(blanked(TRAIN, 0.5, "upos", "xpos", "feats"), DEV, settings).model
    whole = train(TRAIN, DEV, settings).model
    for layer in ("upos", "xpos", "feats"):
        assert "_" not in half.columns.labels[layer].values or layer == "feats"
        assert accuracy(half, layer) > accuracy(whole, layer) - 8
        assert accuracy(half, layer) > 75


def test_entities_of_some_words_and_sentences() -> None:
    settings = quick(only("spans"))
    partly = blanked(TRAIN[:100], 0.3, "spans") + [one.with_layers(spans=()) for one in TRAIN[100:]]
    model = train(partly, DEV, settings).model
    assert not any("_" in tag for tag in model.columns.labels["spans"].strings)
    found = [tag for one in model(TRAIN) for tag in one.spans]
    gold = [tag for one in TRAIN for tag in one.spans]
    named = [k for k, tag in enumerate(gold) if tag != "O"]
    assert sum(found[k] == gold[k] for k in named) > len(named) / 6


@pytest.mark.parametrize(
    "settings",
    [
        (),
        SECOND_ORDER,
        pytest.param((*SECOND_ORDER, "parser.trees=non-projective"), marks=pytest.mark.nightly),
    ],
)
def test_parsers_sum_out_missing_heads(settings: tuple[str, ...]) -> None:
    config = quick(*settings, only("upos", "heads", "deprels"))
    half = train(blanked(TRAIN, 0.5, "heads", "deprels"), DEV, config).model
    whole = train(TRAIN, DEV, config).model
    assert accuracy(half, "heads") > 55
    assert accuracy(half, "heads") > accuracy(whole, "heads") - 14
    assert "_" not in half.columns.labels["deprels"].values


@pytest.mark.nightly
@pytest.mark.parametrize("learner", ["dca", "sgd", "eg-cyclic"])
def test_other_learners_complete_trees_too(learner: str) -> None:
    options = ("parser.options.eta0=0.1",) if learner == "sgd" else ()
    config = quick(f"parser.learner={learner}", "parser.c=5", only("heads"), *options)
    model = train(blanked(TRAIN, 0.4, "heads"), DEV, config).model
    assert accuracy(model, "heads") > 40


def test_sentences_without_any_head_train_the_tags_only() -> None:
    """The parser is that of the other sentences, with the same columns."""
    layers = only("upos", "heads", "deprels")
    without = [one.with_layers(heads=(), deprels=()) for one in TRAIN[60:]]
    model = train([*TRAIN[:60], *without], DEV, quick(layers)).model
    assert accuracy(model, "upos") > accuracy(train(TRAIN[:60], DEV, quick(layers)).model, "upos")
    assert accuracy(model, "heads") > 50


def test_a_label_may_be_missing_where_the_head_is_known() -> None:
    config = quick("supertags.train=false", only("upos", "heads", "deprels"))
    model = train(blanked(TRAIN, 0.5, "deprels"), DEV, config).model
    heads = train(TRAIN, DEV, quick(only("upos", "heads"))).model
    assert accuracy(model, "heads") == accuracy(heads, "heads")
    assert accuracy(model, "deprels") > 60


def test_the_development_part_is_scored_on_what_it_has() -> None:
    """Held out of the same file: half of its heads are unknown, and count neither way."""
    partly = blanked(TRAIN, 0.5, "heads", "deprels", "upos")
    trained = train(partly, None, quick("hold_out=0.2", only("upos", "heads", "deprels")))
    tasks = trained.model.record["tasks"]
    assert tasks["upos"]["score"] > 70
    assert tasks["heads"]["score"] > 40
    assert tasks["deprels"]["score"] > 25


@pytest.mark.nightly
def test_more_partial_annotation_is_better_than_dropping_it() -> None:
    """Fifty whole sentences, and a hundred with half of their heads."""
    config = quick(only("heads"))
    few = train(TRAIN[:50], DEV, config).model
    more = train([*TRAIN[:50], *blanked(TRAIN[50:], 0.5, "heads")], DEV, config).model
    assert accuracy(more, "heads") > accuracy(few, "heads")


@pytest.mark.parametrize(
    ("setting", "layers", "message"),
    [
        ("upos.learner=perceptron", ("upos",), "upos: expected a learner that can learn from"),
        ("upos.loss=max-margin", ("upos",), "upos: expected a loss with a finite beta"),
        ("parser.learner=mira", ("heads",), "parser: expected a learner that can learn from"),
    ],
)
def test_learners_that_need_one_structure_are_refused_before_training(
    setting: str, layers: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        train(blanked(TRAIN[:30], 0.5, *layers), DEV, quick(setting, only(*layers)))
    assert train(TRAIN[:30], DEV, quick(setting, only(*layers))).model.layers == layers


def test_a_corpus_whose_only_heads_are_of_no_use_is_refused() -> None:
    long = Sentence(("w",) * 600, heads=(0, *[-1] * 599))
    with (
        pytest.warns(UserWarning, match="without all of its heads"),
        pytest.raises(EgparseError, match="expected a sentence with heads to train the parser on"),
    ):
        train([long], [], quick(only("heads"), "hold_out=0"))


def test_the_command_trains_on_a_half_annotated_file(tmp_path: Path) -> None:
    lines, dice = [], random.Random(2)
    for line in (CORPORA / "en_sample-train.conllu").read_text(encoding="utf-8").split("\n")[:2500]:
        cells = line.split("\t")
        if len(cells) == 10 and cells[0].isdigit():
            if dice.random() < 0.5:
                cells[6] = cells[7] = "_"
            if dice.random() < 0.5:
                cells[3] = cells[4] = cells[5] = "_"
        lines.append("\t".join(cells))
    corpus, model = tmp_path / "half.conllu", tmp_path / "half.model"
    corpus.write_text("\n".join(lines).rsplit("\n\n", 1)[0] + "\n\n", encoding="utf-8")
    quickly = ("--config", CORPORA.parent / "configs" / "quick.toml")
    said = run_process("train", corpus, "--output", model, *quickly).stdout
    assert "parser" in said
    parsed = tmp_path / "parsed.conllu"
    run_process("parse", model, CORPORA / "en_sample-dev.conllu", "--output", parsed)
    assert all(-1 not in one.heads and "_" not in one.upos for one in read_corpus(parsed))
    refused = ("train", corpus, "--output", model, "--force", "--quiet", "--learner", "perceptron")
    assert "learn from distributions" in complaint(*refused)


def test_tuning_trains_anew_at_each_c_where_annotation_is_partial() -> None:
    partly = blanked(TRAIN[:60], 0.4, "upos")
    paths = {"upos": PathConfig(c_from=4.0, c_to=1.0, decay=0.5)}
    tuned = tune(partly, DEV, quick(only("upos")), paths).tasks[0]
    assert not tuned.warm_start
    assert [point.solution.c for point in tuned.points] == [4.0, 2.0, 1.0]
    assert tuned.best is not None
