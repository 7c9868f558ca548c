"""The configurations to start from: they are valid, and set what their comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from house.package import ROOT

from egparse.config.reading import learning_sections, load_config
from egparse.config.sections import TASK_SECTIONS, TrainConfig
from egparse.fitting.choose_learner import loss_of
from egparse.learners.losses import HINGE, LOG_LINEAR

CONFIGS = sorted((ROOT / "configs").glob("*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_it_is_valid_and_differs_from_the_defaults(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert load_config(path) != TrainConfig()
    assert max(map(len, text.splitlines())) <= 100
    [command] = re.findall(r"^#   (egparse train .*)$", text, re.MULTILINE)
    assert f"--config configs/{path.name}" in command


def test_max_margin_is_the_loss_of_all_tasks_but_pruner_and_splitter() -> None:
    config = load_config(ROOT / "configs" / "max-margin.toml")
    for section, learning in learning_sections(config):
        loss = HINGE if section in TASK_SECTIONS else LOG_LINEAR
        assert loss_of(learning) == (loss.beta, loss.gamma), section
        assert learning.c == getattr(TrainConfig(), section).c


@pytest.mark.parametrize("trees", ["projective", "non-projective"])
def test_the_parsers_of_order_one_have_no_settings_of_order_two(trees: str) -> None:
    parser = load_config(ROOT / "configs" / f"parser-{trees}.toml").parser
    assert (parser.order, parser.trees, parser.c, parser.algorithm) == (1, trees, 10, "eg-online")
    assert loss_of(parser) == (LOG_LINEAR.beta, LOG_LINEAR.gamma)
