"""The licences of shipped models stand beside them and in the metadata of the wheel."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from house.package import ROOT

from egparse.service.hub.cards import metadata_of
from egparse.spacy_components.packaging import licence_expression

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODELS = sorted((ROOT / "models").glob("*.msgpack"))
DESCRIBED = sorted((ROOT / "models").glob("*.toml"))
"""What is known of models, some of which may still have to be trained."""


def expression_of(model: Path) -> str:
    """The SPDX identifier that the notice beside a model starts with."""
    notice = model.with_suffix(".LICENSE").read_text(encoding="utf-8")
    match = re.match(r"SPDX-License-Identifier: (\S+)\n\n", notice)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_the_notice_beside_a_model_names_its_sources(model: Path) -> None:
    notice = model.with_suffix(".LICENSE").read_text(encoding="utf-8")
    facts = metadata_of(model)
    assert model.name in notice
    for source in facts.sources:
        assert source.name in notice
        assert source.address in notice
        assert source.licence.replace("CC-BY-SA-", "CC BY-SA ") in notice
    assert licence_expression(facts.licence) == expression_of(model)


def test_the_metadata_name_every_licence_and_hold_every_notice() -> None:
    expressions = dict.fromkeys(["MIT", *map(expression_of, MODELS)])
    assert PROJECT["license"].split(" AND ") == list(expressions)
    held = {path for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)}
    assert held == {ROOT / "LICENSE", *(facts.with_suffix(".LICENSE") for facts in DESCRIBED)}
