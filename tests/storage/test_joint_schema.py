"""Model files with one tagger of several layers: wrong content is refused in one line that names
the field.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from sample_treebank import quick_joint_model
from storage.mutations import Mutant, copy_of, plain_of
from storage.small_model import packed

from egparse.errors import ModelFileError
from egparse.pipeline.model import Model
from egparse.sequences.combinations import MOST_COMBINATIONS
from egparse.storage.model_file import read_model

Section = dict[str, Any]


@cache
def _whole(folder: Path) -> tuple[Section, Section]:
    quick_joint_model().save(folder / "whole")
    return read_model(folder / "whole")


def fault_of(folder: Path, change: Callable[[Section, Section, Section], None]) -> str:
    """What loading says after the file's name, if the header, the payload or the joint tagger in it
    is changed.
    """
    header, payload = map(copy_of, _whole(folder.parent))
    change(header, payload, payload["morphology"])
    path = Mutant("", header, payload).write(folder / "m")
    with pytest.raises(ModelFileError) as caught:
        Model.load(path)
    text = str(caught.value)
    assert text.isprintable()
    return text.removeprefix(f"{path}: ")


def put(section: str, value: Any) -> Callable[[Section, Section, Section], None]:
    """A change of a field of the joint tagger: a new value, or a function of the old one."""

    def change(_header: Section, _payload: Section, joint: Section) -> None:
        part: Any = joint
        *way, last = section.split(".")
        for key in way:
            part = part[key]
        part[last] = value(part[last]) if callable(value) else value

    return change


def element(row: int, column: int, number: int) -> Callable[[np.ndarray], np.ndarray]:
    """A change of one number."""

    def changed(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array[row, column] = number
        return array

    return changed


class Sizes(NamedTuple):
    """The sizes of the joint tagger."""

    combinations: int
    parts: int
    classes: int


@cache
def sizes() -> Sizes:
    tagger = quick_joint_model().components["morphology"]
    assert tagger is not None
    model = tagger.model
    return Sizes(len(tagger.combinations.numbers), model.n_parts, len(model.opening))


def beyond(dictionary: list[Any]) -> list[Any]:
    """A dictionary of combinations that there are not."""
    forms, suffixes = dictionary
    numbers = plain_of(forms["numbers"]) + np.uint16(sizes().combinations)
    return [forms | {"numbers": packed(numbers)}, suffixes]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("layers", ["xpos", "upos", "feats"], "layers: expected upos, xpos, feats, got"),
        ("layers", ["upos", "upos", "feats"], "layers: expected upos, feats, got"),
        ("layers", ["upos"], "layers: expected"),
        ("layers", ["upos", "xpos", "spans"], "layers.2: expected one of upos, xpos"),
        ("layers", ["upos", "xpos"], "numbers: expected 1 to 65535 combinations of 2 tags, got an"),
        ("numbers", lambda own: own.astype(np.int32), "numbers: expected an array of"),
        ("numbers", lambda own: own[:, 0].copy(), "numbers: expected an array of"),
        ("numbers", lambda own: own[:0].copy(), "numbers: expected 1 to 65535"),
        (
            "numbers",
            lambda own: np.zeros((MOST_COMBINATIONS + 1, 3), np.uint16),
            "numbers: expected 1 to 65535 combinations of 3 tags",
        ),
        ("numbers", element(0, 0, 17_000), "numbers: expected numbers below"),
        (
            "numbers",
            lambda own: np.concatenate([own[:1], own[:-1]]),
            "numbers: expected combinations that differ, got some twice",
        ),
        ("single_features", 1, "single_features: expected"),
        ("agreement", 1, "agreement: expected true or false, got 1"),
        (
            "tagger.model.transitions",
            lambda own: own[:-1, :-1].copy(),
            "tagger.model.transitions: expected {classes} classes, got ",
        ),
        (
            "tagger.model.transitions",
            lambda own: np.zeros((sizes().combinations,) * 2, np.float32),
            "tagger.model.transitions: expected {classes} classes, got {combinations}",
        ),
        (
            "tagger.model.opening",
            lambda own: np.zeros(sizes().combinations, np.float32),
            "tagger.model.opening: expected {classes} classes, got {combinations}",
        ),
        (
            "tagger.model.longer",
            lambda _: [np.zeros((sizes().classes,) * 3, np.float32)],
            "tagger.model.longer: expected a list of at most 0, got 1",
        ),
        (
            "tagger.model.row_labels",
            lambda own: packed(np.full_like(plain_of(own), sizes().parts)),
            "tagger.model.row_labels: expected numbers from 0 to ",
        ),
        ("tagger.dictionary", beyond, "tagger.dictionary.0.numbers: expected numbers from 0 to "),
        ("tagger", None, "tagger: expected"),
    ],
)
def test_wrong_content_is_refused(tmp_path: Path, field: str, value: Any, expected: str) -> None:
    expected = f"morphology.{expected.format(**sizes()._asdict())}"
    assert fault_of(tmp_path, put(field, value)).startswith(expected)


def test_fewer_combinations_than_the_tagger_has_are_refused(tmp_path: Path) -> None:
    """Then its classes, parts or candidates are fewer than those that it was trained with."""
    fault = fault_of(tmp_path, put("numbers", lambda own: own[: len(own) // 4].copy()))
    assert fault.startswith("morphology.tagger.")


def test_agreement_without_bundles_is_refused(tmp_path: Path) -> None:
    def change(_header: Section, _payload: Section, joint: Section) -> None:
        joint |= {"layers": ["upos", "xpos"], "agreement": True}

    fault = fault_of(tmp_path, change)
    assert fault == "morphology.agreement: expected false without feats, got True"


def test_a_layer_with_two_taggers_is_refused(tmp_path: Path) -> None:
    def change(_header: Section, payload: Section, joint: Section) -> None:
        payload["taggers"]["upos"] = payload["taggers"]["spans"]

    assert "upos" in fault_of(tmp_path, change)


def test_a_layer_without_labels_is_refused(tmp_path: Path) -> None:
    def change(header: Section, _payload: Section, _joint: Section) -> None:
        del header["labels"]["xpos"]

    assert fault_of(tmp_path, change).startswith("morphology.layers: expected layers with labels")


def test_more_parts_than_can_be_numbered_are_refused(tmp_path: Path) -> None:
    """Labels are many and long in a file that is small when it is compressed."""

    def change(header: Section, _payload: Section, joint: Section) -> None:
        for layer in ("upos", "xpos", "feats"):
            header["labels"][layer] = [f"{layer}{k}" for k in range(30_000)]
        joint["numbers"] = np.repeat(np.arange(30_000, dtype=np.uint16)[:, None], 3, axis=1)

    fault = fault_of(tmp_path, change)
    assert fault.startswith("morphology.numbers: expected combinations of at most 65535 parts")


def test_long_bundles_take_no_time(tmp_path: Path) -> None:
    """A bundle of a hundred thousand features in each of many combinations: its features are not
    listed.
    """

    def change(header: Section, _payload: Section, joint: Section) -> None:
        header["labels"]["feats"][0] = "|".join(f"F{k}=1" for k in range(100_000))
        size = len(header["labels"]["upos"]) * len(header["labels"]["xpos"])
        tags = np.stack(np.divmod(np.arange(size), len(header["labels"]["xpos"])), axis=1)
        joint["numbers"] = np.pad(tags, ((0, 0), (0, 1))).astype(np.uint16)
        joint["single_features"] = True

    assert fault_of(tmp_path, change).startswith("morphology.tagger.")
