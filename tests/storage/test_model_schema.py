"""Model files with right checksums and wrong content are refused in one line that names the field,
what was expected and what came.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from storage.mutations import Mutant, plain_of
from storage.small_model import packed, small_model

from egparse.errors import ModelFileError
from egparse.pipeline.model import Model
from egparse.service.hub.cards import card
from egparse.service.hub.facts import CardMetadata
from egparse.storage.arrays import coarse, compress_rows
from egparse.storage.header import read_model_header
from egparse.storage.model_file import read_model
from egparse.storage.schema import Allowance

Change = Callable[[Any, dict[str, Any]], Any]
"""The new value of a field, from the old one and the map that holds it."""


def fault_of(tmp_path: Path, field: str, change: Change) -> str:
    """What loading says after the file's name, if one field of the small model is changed."""
    header, payload = small_model()
    *way, last = field.split(".")
    part: Any = header if way[:1] == ["header"] else payload
    way = way[way[:1] == ["header"] :]
    for key in way:
        part = part[int(key) if isinstance(part, list) else key]
    key = int(last) if isinstance(part, list) else last
    part[key] = change(part[key], part)
    path = Mutant("", header, payload).write(tmp_path / "m")
    with pytest.raises(ModelFileError) as caught:
        Model.load(path)
    text = str(caught.value)
    assert text.isprintable()
    assert text.startswith(f"{path}: ")
    return text.removeprefix(f"{path}: ")


def test_the_small_model_loads(tmp_path: Path) -> None:
    path = Mutant("", *small_model()).write(tmp_path / "m")
    layers = ("upos", "xpos", "feats", "spans", "heads", "deprels")
    assert Model.load(path).layers == layers


def with_(change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Change:
    """A change of a compressed array, whose count stays right."""
    return lambda stored, _: packed(change(plain_of(stored)))


def coarse_with(part: str, change: Callable[[Any], Any]) -> Change:
    """A change of a part of rounded weights."""

    def changed(array: Any, _: object) -> Any:
        stored = compress_rows(coarse(array.astype(np.float32)))
        assert isinstance(stored, dict)
        return {**stored, part: change(stored[part])}

    return changed


def put(place: int, value: float) -> Callable[[Any], Any]:
    """A change of one element."""

    def changed(array: Any) -> Any:
        array = array.copy()
        array.reshape(-1)[place] = value
        return array

    return changed


UPOS = "taggers.upos.model"


@pytest.mark.parametrize(
    ("field", "change", "expected"),
    [
        (
            f"{UPOS}.row_lengths",
            with_(lambda array: array + np.uint16(1)),
            "taggers.upos.model.row_labels: expected 14232 weights, got 10609",
        ),
        (f"{UPOS}.row_lengths", with_(lambda array: array[:-1]), "3623 attributes, got 3622"),
        (
            f"{UPOS}.row_lengths",
            with_(lambda array: array.astype(np.uint64)),
            "taggers.upos.model.row_lengths.type: expected one of uint16, got 'uint64'",
        ),
        (f"{UPOS}.row_labels", with_(put(7, 17)), "numbers from 0 to 16, got 17"),
        (
            f"{UPOS}.row_labels",
            with_(lambda array: np.zeros_like(array)),
            "ascending labels in each row, got others",
        ),
        (
            f"{UPOS}.row_weights",
            coarse_with("levels", put(5, np.nan)),
            "taggers.upos.model.row_weights.levels: expected numbers from -1e+09 to 1e+09, got nan",
        ),
        (
            f"{UPOS}.row_weights",
            lambda *_: np.zeros(10609, dtype=np.float32),
            "an array of float16, got an array of float32 of shape (10609,)",
        ),
        (
            f"{UPOS}.row_weights",
            lambda *_: np.zeros(10608, dtype=np.float16),
            "10609 weights, got 10608",
        ),
        (
            f"{UPOS}.row_weights",
            coarse_with("levels", lambda array: array[:-1]),
            "taggers.upos.model.row_weights.numbers: expected numbers from 0 to 53, got 54",
        ),
        (
            f"{UPOS}.row_weights",
            coarse_with("numbers", lambda stored: packed(plain_of(stored)[1:])),
            "taggers.upos.model.row_weights.numbers: expected 10609 weights, got 10608",
        ),
        (f"{UPOS}.keys", with_(lambda array: array[::-1].copy()), "ascending keys, got others"),
        (f"{UPOS}.keys", with_(put(-1, 2**64 - 1)), "keys of the templates 1 to 32, got 1 to 127"),
        (
            f"{UPOS}.transitions",
            lambda array, _: put(3, np.inf)(array),
            "numbers from -1e+09 to 1e+09 or -inf, got inf",
        ),
        (f"{UPOS}.transitions", lambda array, _: array[:-1], "17 labels, got 16"),
        (
            f"{UPOS}.longer",
            lambda _, model: [model["transitions"]] * 3,
            "a list of at most 0, got 3",
        ),
        (f"{UPOS}.templates", lambda texts, _: texts * 6250, "a list of at most 126, got 200000"),
        (
            f"{UPOS}.templates",
            lambda texts, _: [*texts[:-1], "nose[0]"],
            "templates for this model, got template 'nose[0]': expected one of the columns form, ",
        ),
        (
            f"{UPOS}.templates",
            lambda texts, _: [*texts[:-1], "form[99999999999999999999]"],
            "templates for this model, got template 'form[99999999999999999999]': expected 'bias' "
            "or at most 3 cells",
        ),
        (f"{UPOS}.temperature", lambda *_: 0.0, "a number from 1e-09 to 1e+09, got 0.0"),
        (f"{UPOS}.temperature", lambda *_: True, "a number, got True"),
        (f"{UPOS}.pads", lambda *_: 1, "true or false, got 1"),
        (
            UPOS,
            lambda model, _: {**model, "more": 1},
            "the fields templates, pads, keys, row_lengths, row_labels, row_weights, transitions, "
            "opening, longer, temperature, got 'more'",
        ),
        ("taggers.xpos.dictionary.0.numbers", with_(put(0, 49)), "numbers from 0 to 48, got 49"),
        (
            "taggers.xpos.dictionary.0.numbers",
            with_(lambda array: np.zeros_like(array)),
            "ascending labels of each form, got others",
        ),
        (
            "taggers.xpos.dictionary.1.strings",
            lambda texts, _: [text or "a new one" for text in texts],
            "labels for the empty suffix, got none",
        ),
        (
            "taggers.xpos.dictionary.0.strings",
            lambda texts, _: [texts[1], *texts[1:]],
            "texts that differ, got some twice",
        ),
        ("taggers.xpos.dictionary", lambda lists, _: lists[:1], "a list of at least 2, got 1"),
        ("statistics.casing", lambda array, _: array[:-1], "402 forms, got 401"),
        ("statistics.history", lambda array, _: put(0, 21)(array), "numbers from 0 to 20, got 21"),
        ("parser.pruner.filter.column", lambda *_: 9, "an integer from 0 to 8, got 9"),
        (
            "parser.pruner.filter.column",
            lambda *_: -(2**62),
            "an integer from 0 to 8, got -4611686018427387904",
        ),
        ("parser.pruner.filter.frequency", lambda array, _: array[:, :-1], "19 tags, got 18"),
        (
            "parser.dictionary.starts",
            lambda array, _: put(4, 2**30)(array),
            "numbers that do not decrease, from 0 to 3015, got others",
        ),
        ("parser.dictionary.starts", lambda array, _: array[:5], "723, got 5"),
        (
            "parser.dictionary.labels",
            lambda array, _: put(0, 36)(array),
            "numbers from 0 to 35, got 36",
        ),
        (
            "parser.dictionary.n_tags",
            lambda *_: 2**62,
            "an integer from 1 to 32768, got 4611686018427387904",
        ),
        ("parser.weights.count", lambda *_: 3 << 20, "a power of two, got 3145728"),
        ("parser.weights.count", lambda *_: 1, "an integer from 256 to 268435456, got 1"),
        (
            "parser.pruner.weights.step",
            lambda *_: float("nan"),
            "a number from 0 to 1e+09, got nan",
        ),
        ("parser.order.siblings", lambda *_: 5, "true or false, got 5"),
        (
            "parser.order.single_root",
            lambda *_: False,
            "parser.order: expected projective trees with the roots of the pruner's, exact only "
            "if projective, got Structure(",
        ),
        (
            "parser.templates.siblings",
            lambda texts, _: texts * 40_000,
            "a list of at most 256, got 200000",
        ),
        (
            "parser.pruner.templates",
            lambda *_: ["h.form + d.form"],
            "templates for this model, got expected at least two arc templates without form, "
            "stem, got 0",
        ),
        ("labeller.of_root", lambda *_: [], "a list of at least 1, got 0"),
        ("labeller.of_words", lambda *_: [3, 3], "ascending integers from 0 to 50, got [3, 3]"),
        ("labeller.of_root", lambda *_: [51], "ascending integers from 0 to 50, got [51]"),
        (
            "vocabularies",
            lambda vocabularies, _: {"form": vocabularies["form"]},
            "taggers.upos.model.templates: expected templates for this model, got template "
            "'normal[0]': expected one of the columns form, ",
        ),
        ("scheme", lambda *_: "bilou", "one of iob2, iobes, got 'bilou'"),
        ("header.language", lambda *_: "../x", "the code of a language, got"),
        (
            "header.layers",
            lambda layers, _: layers[:-1],
            "upos, xpos, feats, spans, heads, deprels, got upos, xpos, feats, spans, heads",
        ),
        (
            "header.labels.upos.3",
            lambda *_: "NO\tUN",
            "labels.upos: expected labels without tabs and line ends, got one with '\\t'",
        ),
        (
            "header.labels.upos.3",
            lambda *_: "NOUN",
            "labels.upos: expected texts that differ from each other, got some twice",
        ),
        ("header.labels.upos", lambda *_: [], "a list of at least 1, got 0"),
        *(
            (f"header.labels.{layer}.3", lambda *_, to=label: to, f"labels.{layer}: {expected}")
            for layer in ("upos", "xpos", "feats", "deprels")
            for label, expected in (
                ("", "expected labels that are not blank, got such a one"),
                (" ", "expected labels that are not blank, got such a one"),
                ("\u2028\u00a0", "expected labels that are not blank, got such a one"),
            )
        ),
        *(
            (
                f"header.labels.{layer}.3",
                lambda *_: "_",
                f"labels.{layer}: expected labels other than _, which means that a value is "
                "missing, got such a one",
            )
            for layer in ("upos", "xpos", "deprels")
        ),
        (
            "header.labels.spans.4",
            lambda *_: "L-PER",
            "labels.spans: expected a tag O or TYPE after one of B, I, E, S and a hyphen, got "
            "'L-PER'",
        ),
        ("header.record.tasks.upos.primal", lambda *_: "much", "a number, got 'much'"),
        ("header.config.upos", lambda *_: 3, "a map, got 3"),
        (
            "header.config.upos.c",
            lambda *_: b"ab",
            "a text, a number, a truth value, a list or a map, got bytes of length 2",
        ),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, field: str, change: Change, expected: str) -> None:
    """``expected`` follows the name of the field, or names another one."""
    text = fault_of(tmp_path, field, change)
    possible = expected, f"{field.removeprefix('header.')}: expected {expected}"
    if expected.endswith(("got", "(", ", ", "cells")):
        assert text.startswith(possible)
    else:
        assert text in possible


def test_a_faulty_header_is_refused_without_the_payload(tmp_path: Path) -> None:
    header, payload = small_model()
    header["record"]["tasks"]["upos"] = []
    path = Mutant("", header, payload).write(tmp_path / "m")
    for use in (read_model_header, lambda path: card(path, CardMetadata())):
        with pytest.raises(ModelFileError) as caught:
            use(path)
        assert str(caught.value) == f"{path}: record.tasks.upos: expected a map, got []"


def test_names_that_come_from_the_file_are_cut(tmp_path: Path) -> None:
    header, payload = small_model()
    header["config"]["x" * 100_000] = b""
    path = Mutant("", header, payload).write(tmp_path / "m")
    with pytest.raises(ModelFileError) as caught:
        Model.load(path)
    assert str(caught.value).startswith(f"{path}: config.xxx")
    assert len(str(caught.value)) < 600


def test_keys_of_unknown_values_are_described(tmp_path: Path) -> None:
    """Reading such a file is harmless, and so is showing it."""
    header, payload = small_model()
    spans = payload["taggers"]["spans"]["model"]
    keys = plain_of(spans["keys"]).copy()
    keys |= np.uint64((1 << 57) - 1)
    spans["keys"] = packed(np.unique(keys))
    count = len(np.unique(keys))
    lengths = np.ones(count, dtype=np.uint16)
    spans |= {
        "row_lengths": packed(lengths),
        "row_labels": packed(np.zeros(count, dtype=np.uint8)),
        "row_weights": np.ones(count, dtype=np.float16),
    }
    model = Model.load(Mutant("", header, payload).write(tmp_path / "m"))
    shown = [attribute for attribute, _, _ in model.strongest("spans", count)]
    assert "form[0]=<unknown>" in shown
    assert any(attribute.startswith("casing[0]=unseen") for attribute in shown)


@pytest.mark.parametrize("field", ["forms", "parser.weights"])
def test_arrays_of_an_older_egparse_say_what_to_do(tmp_path: Path, field: str) -> None:
    """Their header is that of today: the format was changed before its first release."""
    text = fault_of(tmp_path, field, lambda stored, _: {"deflated": b"", "count": 0})
    assert text.endswith(
        ", got one of an older egparse: train the model again, or get it anew ('egparse download')"
    )


def test_compressed_content_takes_no_more_memory_than_is_in_proportion(tmp_path: Path) -> None:
    def bomb(stored: dict[str, Any], _: object) -> dict[str, Any]:
        plain = bytes(1 << 27)
        return {**stored, "count": len(plain), "pairs": zlib.compress(plain, 9)}

    text = fault_of(tmp_path, "parser.weights", bomb)
    size = (tmp_path / "m").stat().st_size
    assert text.startswith("parser.weights: expected content that takes at most ")
    assert size < 1_000_000
    assert Allowance(size).total < 1 << 27


@pytest.mark.parametrize("change", [lambda data: data + b"0", lambda data: data[:-1]])
def test_compressed_content_ends_where_it_says(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    for field, key in ((f"{UPOS}.keys", "planes"), ("parser.weights", "pairs")):
        text = fault_of(
            tmp_path, field, lambda stored, _, key=key: {**stored, key: change(stored[key])}
        )
        assert text.startswith(f"{field}: expected ")


def test_keys_that_collide_in_the_index_are_refused(tmp_path: Path) -> None:
    """Every key has the same first slot: filling the index would take quadratic time."""
    inverse = pow(0x9E3779B97F4A7C15, -1, 1 << 64)

    def key_of(mixed: int) -> int:
        key = mixed * inverse % (1 << 64)  # undoes the product, then key ^ (key >> 29)
        return key ^ (key >> 29) ^ (key >> 58)

    def colliding(keys: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        found, high = set(), 0
        while len(found) < len(keys):
            key = key_of(high)  # the lowest 32 bits of the upper half are 0
            high += 1
            if 1 <= key >> 57 <= 32:
                found.add(key)
        return np.array(sorted(found), dtype=np.uint64)

    text = fault_of(tmp_path, f"{UPOS}.keys", with_(colliding))
    assert text == f"{UPOS}.keys: expected keys of words, got keys that collide in the index"


def test_what_is_not_as_declared_is_not_written(tmp_path: Path) -> None:
    path = Mutant("", *small_model()).write(tmp_path / "m")
    model = Model.load(path)
    tagger = model.components["upos"]
    tagger.model.transitions[0, 0] = np.nan
    with pytest.raises(ModelFileError) as caught:
        model.save(tmp_path / "n")
    assert str(caught.value) == (
        f"{tmp_path / 'n'}: not written, as it could not be read again: {UPOS}.transitions: "
        "expected numbers from -1e+09 to 1e+09 or -inf, got nan"
    )
    assert not (tmp_path / "n").exists()


def test_a_model_that_was_read_is_written_in_todays_format(tmp_path: Path) -> None:
    path = Mutant("", *small_model()).write(tmp_path / "m")
    Model.load(path).save(tmp_path / "n")
    assert read_model(tmp_path / "n")[0]["version"] == 2
    assert Model.load(tmp_path / "n").layers == Model.load(path).layers
