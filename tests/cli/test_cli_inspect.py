"""``egparse inspect``, and what every command says of a file that is no model."""

from __future__ import annotations

import json

from cli.conftest import Trained
from cli.program import run, run_process


def test_json_holds_everything(trained: Trained) -> None:
    found = json.loads(run_process("inspect", trained.model, "--json", "--features", 3).stdout)
    assert found["format"] == "egparse model"
    assert found["layers"] == ["upos", "xpos", "feats", "lemmas", "spans", "heads", "deprels"]
    assert "NOUN" in found["labels"]["upos"]
    assert found["record"]["sentences"] == 100
    assert found["configuration"]["seed"] == 4
    assert [len(found["features"][layer]) for layer in ("upos", "deprels")] == [3, 3]
    weights = [abs(feature["weight"]) for feature in found["features"]["upos"]]
    assert weights == sorted(weights, reverse=True)


def test_the_text_shows_layers_training_and_features(trained: Trained) -> None:
    shown = run("inspect", trained.model, "--layer", "xpos", "--features", 2).stdout
    for text in (
        "\nLayers\n",
        "\nLabels of feats (",
        "\nTraining\n",
        "\nseed ",
        "\nStrongest features of xpos\n",
    ):
        assert text in shown
    assert "Strongest features of upos" not in shown
    assert max(map(len, shown.splitlines()[1:])) <= 80
