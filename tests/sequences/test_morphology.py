"""Combinations of tags: their numbers, their parts and their classes."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.features.sequence import NEVER
from egparse.features.vocabulary import Vocabulary
from egparse.sequences.combinations import MOST_FEATURES, MOST_FULL, Combinations

LAYERS = ("upos", "xpos", "feats")
LABELS = {
    "upos": Vocabulary(("NOUN", "VERB", "X")),
    "xpos": Vocabulary(("N", "V")),
    "feats": Vocabulary(("_", "Case=Nom|Number=Sing", "Case=Acc|Number=Sing", "Number=Plur")),
}

rows = st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 1), st.integers(0, 3)), min_size=1)


def table(own: list[tuple[int, int, int]]) -> dict[str, np.ndarray]:
    numbers = np.array(own, dtype=np.int32)
    return {layer: numbers[:, k] for k, layer in enumerate(LAYERS)}


@examples(60)
@given(rows, rows)
def test_combinations_are_numbered_by_frequency_and_keep_their_numbers(
    first: list[tuple[int, int, int]], second: list[tuple[int, int, int]]
) -> None:
    known = Combinations.of(LAYERS, table(first), True)
    listed = [tuple(row) for row in known.numbers.tolist()]
    assert sorted(listed) == sorted(set(first))
    counts = [first.count(row) for row in listed]
    assert counts == sorted(counts, reverse=True)
    found = known.find(table(first))
    assert [listed[number] for number in found] == first
    back = known.in_layers(found)
    for layer, own in table(first).items():
        np.testing.assert_array_equal(back[layer], own)
    longer = known.extended(table(second))
    more = [tuple(row) for row in longer.numbers.tolist()]
    assert more[: len(listed)] == listed
    assert sorted(more) == sorted({*first, *second})
    assert longer.single_features
    unseen = [row not in listed for row in second]
    np.testing.assert_array_equal(known.find(table(second)) < 0, unseen)
    assert (longer.find(table(second)) >= 0).all()
    nothing = known.in_layers(np.array([-1], dtype=np.int32))
    assert all(own.tolist() == [-1] for own in nothing.values())


@examples(60)
@given(rows, rows, st.booleans())
def test_old_parts_and_classes_keep_their_numbers(
    first: list[tuple[int, int, int]], second: list[tuple[int, int, int]], single: bool
) -> None:
    known = Combinations.of(LAYERS, table(first), single)
    longer = known.extended(table(second))
    before, after = (own.division(LABELS, 5) for own in (known, longer))
    n = len(known.numbers)
    np.testing.assert_array_equal(after.parts.starts[: n + 1], before.parts.starts)
    np.testing.assert_array_equal(after.parts.parts[: len(before.parts.parts)], before.parts.parts)
    np.testing.assert_array_equal(after.classes[:n], before.classes)
    np.testing.assert_array_equal(after.full_from[: len(before.full_from)], before.full_from)
    assert before.n_classes == len({row[:2] for row in first})


@examples(60)
@given(rows, st.booleans())
def test_combinations_have_equal_parts_where_they_share_tags_and_features(
    own: list[tuple[int, int, int]], single: bool
) -> None:
    known = Combinations.of(LAYERS, table(own), single)
    division = known.division(LABELS, 5)
    listed = list(known.parts(LABELS))
    numbers: dict[tuple[str, str], int] = {}
    for c, parts in enumerate(listed):
        stored = division.parts.parts[division.parts.starts[c] : division.parts.starts[c + 1]]
        assert len(stored) == len(parts) == len(set(parts))
        for part, number in zip(parts, stored.tolist(), strict=True):
            assert numbers.setdefault(tuple(part), number) == number
            full = part.kind in ("upos", "xpos")
            assert division.full_from[number] == (5 if full else NEVER)
        bundle = int(known.numbers[c, 2])
        features = [part.text for part in parts if part.kind == "feature"]
        wanted = LABELS["feats"].strings[bundle].split("|") if single and bundle else []
        assert features == wanted
    assert sorted(numbers.values()) == list(range(len(division.full_from)))
    rows_of = known.numbers.tolist()
    for c, d in itertools.combinations(range(len(rows_of)), 2):
        same = rows_of[c][:2] == rows_of[d][:2]
        assert (division.classes[c] == division.classes[d]) == same


@examples(60)
@given(rows)
def test_with_agreement_bigrams_see_upos_case_gender_and_number(
    own: list[tuple[int, int, int]],
) -> None:
    coarse = Combinations.of(LAYERS, table(own), False)
    bundles = ("_", "Case=Nom|Person=3", "Case=Nom|Number[psor]=Sing", "Gender=Fem|Number=Sing")
    labels = {**LABELS, "feats": Vocabulary(bundles)}
    seen = ("", "Case=Nom", "Case=Nom", "Gender=Fem|Number=Sing")
    keys = [(upos, seen[feats]) for upos, _, feats in coarse.numbers.tolist()]
    classes = coarse._replace(agreement=True).division(labels, NEVER).classes
    for c, d in itertools.combinations(range(len(keys)), 2):
        assert (classes[c] == classes[d]) == (keys[c] == keys[d])


def test_large_tag_sets_and_long_bundles_get_no_weights_for_what_was_not_seen() -> None:
    many = tuple(f"T{k}" for k in range(MOST_FULL + 1))
    long = "|".join(f"F{k}=1" for k in range(MOST_FEATURES + 1))
    labels = {"xpos": Vocabulary(many), "feats": Vocabulary((long, "A=1|A=1|B=2"))}
    own = {"xpos": np.array([0, 1], np.int32), "feats": np.array([0, 1], np.int32)}
    known = Combinations.of(("xpos", "feats"), own, True)
    first, second = known.parts(labels)
    assert [part.kind for part in first] == ["xpos", "feats"]
    assert [part.text for part in second] == ["T1", "A=1|A=1|B=2", "A=1", "B=2"]
    assert not known.division(labels, 5).full_from.any()
