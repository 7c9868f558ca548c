"""Pair features: scores are linear in the weights, changes are exact, what differs has features of
its own, templates are checked.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from egparse.errors import ConfigError
from egparse.features.default_templates import GRANDPARENT_TEMPLATES, SIBLING_TEMPLATES
from egparse.features.pairs import (
    GRANDPARENT_PLACES,
    SIBLING_PLACES,
    PairCodes,
    add_pairs,
    compile_pair_templates,
    encode_pairs,
    score_pairs,
)
from egparse.features.templates import MAX_HASHED_CELLS
from egparse.storage.arrays import Weights
from egparse.structures.second_order.arc_graph import ArcGraph, lay_out

Floats = npt.NDArray[np.float64]

NAMES = ("form", "upos", "xpos")
SIBLINGS = ("h.upos s.upos d.upos", "s.form d.form", "h.xpos s.upos d.xpos[-1] d.xpos")
GRANDPARENTS = ("g.upos h.upos d.upos", "g.form d.form", "g.xpos h.upos[+1] d.xpos")


def every_arc(n: int) -> list[tuple[int, int]]:
    return [(h, d) for h in range(n + 1) for d in range(1, n + 1) if h != d]


def laid_out(arcs: Sequence[tuple[int, int]], n: int, kinds: str = "sg") -> ArcGraph:
    return lay_out(np.array(arcs, dtype=np.int16), n + 1, "s" in kinds, "g" in kinds)


def encoded(
    values: npt.NDArray[np.int32],
    siblings: Sequence[str] = SIBLINGS,
    grandparents: Sequence[str] = GRANDPARENTS,
) -> tuple[PairCodes, PairCodes]:
    return (
        encode_pairs(values, compile_pair_templates(siblings, SIBLING_PLACES, NAMES, 1)),
        encode_pairs(values, compile_pair_templates(grandparents, GRANDPARENT_PLACES, NAMES, 2)),
    )


def drawn(n: int, seed: int) -> npt.NDArray[np.int32]:
    return np.random.default_rng(seed).integers(0, 4, size=(n + 1, len(NAMES))).astype(np.int32)


def alike(n: int) -> npt.NDArray[np.int32]:
    """Words that differ in nothing, and neither does the root."""
    return np.full((n + 1, len(NAMES)), 2, dtype=np.int32)


def features_of(graph: ArcGraph, codes: tuple[PairCodes, PairCodes], bits: int) -> Floats:
    """(parts, 2^bits): how often a part has the feature of each place, by adding one part at a
    time.
    """
    found = np.zeros((graph.pairs[-1], 1 << bits))
    for part in range(len(graph.arcs), len(found)):
        weights = np.zeros(1 << bits, dtype=np.float32)
        changes = np.zeros(len(found))
        changes[part] = 1.0
        add_pairs(graph, *codes, changes, weights)
        found[part] = weights
    return found


def scores_of(
    graph: ArcGraph, codes: tuple[PairCodes, PairCodes], weights: npt.NDArray[np.float32] | Weights
) -> Floats:
    table = weights if isinstance(weights, Weights) else Weights(weights)
    scores = np.zeros(graph.pairs[-1])
    score_pairs(graph, *codes, table, scores)
    return scores


def named(graph: ArcGraph) -> dict[tuple[str, int, int, int], int]:
    """The place of each part, as ``arc_graph`` says: ("sibling", s, h, d), ("grandparent", g, h,
    d); START is -1, STOP a dependent -2.
    """
    places = {}
    arcs = [(int(h), int(d)) for h, d in graph.arcs]
    for a, (h, d) in enumerate(arcs):
        place = int(graph.pairs[a])
        if graph.siblings:
            inward = [
                s
                for head, s in arcs
                if head == h and (s > h) == (d > h) and abs(s - h) < abs(d - h)
            ]
            for s in (-1, *sorted(inward, key=lambda s: abs(s - h))):
                places["sibling", s, h, d] = place
                place += 1
            places["sibling", d, h, -2] = place
            place += 1
        if graph.grandparents:
            for g in sorted(g for g, word in arcs if word == h):
                places["grandparent", g, h, d] = place
                place += 1
        assert place == graph.pairs[a + 1]
    return places


@pytest.mark.parametrize(("bits", "kinds"), [(8, "sg"), (16, "s"), (16, "g")])
def test_scores_after_a_change_are_its_products_with_the_gram_matrix(bits: int, kinds: str) -> None:
    """With 2^8 weights most features share theirs with others, and the law is the same."""
    random = np.random.default_rng(bits)
    arcs = [arc for arc in every_arc(4) if random.random() < 0.7]
    graph, codes = laid_out(random.permutation(arcs).tolist(), 4, kinds), encoded(drawn(4, 1))
    features = features_of(graph, codes, bits)
    gram = features @ features.T
    assert (np.linalg.eigvalsh(gram) > -1e-9).all()
    before = random.normal(size=1 << bits).astype(np.float32)
    changes = random.normal(size=len(gram)) * (random.random(len(gram)) < 0.6)
    weights = before.copy()
    grown = add_pairs(graph, *codes, changes, weights)
    moved = scores_of(graph, codes, weights) - scores_of(graph, codes, before)
    assert moved == pytest.approx(gram @ changes, abs=1e-4)
    squared = np.sum(weights.astype(np.float64) ** 2) - np.sum(before.astype(np.float64) ** 2)
    assert grown == pytest.approx(squared, rel=1e-9, abs=1e-9)


def test_a_part_has_each_template_and_those_without_words_once_more() -> None:
    graph, codes = laid_out(every_arc(4), 4), encoded(drawn(4, 2))
    counts = features_of(graph, codes, 16).sum(axis=1)
    assert (counts[: len(graph.arcs)] == 0).all()
    for (kind, third, _, dependent), place in named(graph).items():
        no_tree = kind == "grandparent" and third == dependent
        assert counts[place] == (0 if no_tree else 5), (kind, third, dependent)


def test_weights_in_bytes_give_the_scores_of_the_same_weights_in_full() -> None:
    graph, codes = laid_out(every_arc(4), 4), encoded(drawn(4, 2))
    table = Weights(np.random.default_rng(5).integers(-127, 128, 1 << 10).astype(np.int8), 0.25)
    np.testing.assert_array_equal(
        scores_of(graph, codes, table), scores_of(graph, codes, table.in_full())
    )


def test_a_word_that_is_its_own_grandparent_scores_nothing() -> None:
    graph, codes = laid_out(every_arc(3), 3), encoded(drawn(3, 3))
    weights = np.ones(1 << 10, dtype=np.float32)
    scores = np.full(graph.pairs[-1], 7.0)
    score_pairs(graph, *codes, Weights(weights), scores)
    assert (scores[: len(graph.arcs)] == 7.0).all()
    for (kind, third, _, dependent), place in named(graph).items():
        assert scores[place] == (0 if kind == "grandparent" and third == dependent else 5)


def test_all_pairs_of_distinct_words_have_features_of_their_own() -> None:
    n = 6
    values = np.stack(
        [np.arange(n + 1), 7 + np.arange(n + 1), 40 + np.arange(n + 1)], axis=1
    ).astype(np.int32)
    graph = laid_out(every_arc(n), n)
    codes = encoded(values, over_names(SIBLING_TEMPLATES), over_names(GRANDPARENT_TEMPLATES))
    weights = np.random.default_rng(4).normal(size=1 << 18).astype(np.float32)
    scores = scores_of(graph, codes, weights)
    own = [place for (_, third, _, dependent), place in named(graph).items() if third != dependent]
    assert len(np.unique(scores[own].round(4))) == len(own)


def over_names(texts: Sequence[str]) -> list[str]:
    """The templates that name no other columns."""
    return [text for text in texts if all(cell[2:].split("[")[0] in NAMES for cell in text.split())]


def groups_of(graph: ArcGraph, features: Floats) -> dict[tuple[str, int, int, int], int]:
    """Parts, and a number that they share with those of the same features."""
    numbers: dict[bytes, int] = {}
    return {
        part: numbers.setdefault(features[place].tobytes(), len(numbers))
        for part, place in named(graph).items()
        if features[place].any()
    }


@pytest.mark.parametrize("template", ["s.form", "s.form[+1]", "s.form[-1]", "s.form h.form[+9]"])
def test_start_the_root_and_words_of_any_value_differ(template: str) -> None:
    """Leftward siblings of one head below: only the third word is looked at."""
    n = 9
    values = np.tile(np.arange(n + 1, dtype=np.int32)[:, None], (1, 3))
    graph = laid_out([(n, d) for d in range(1, n)], n, "s")
    groups = groups_of(graph, features_of(graph, encoded(values, [template]), 16))
    thirds = {part[1]: set() for part in groups}  # type: ignore[var-annotated]
    for (_, third, _, _), group in groups.items():
        thirds[third].add(group)
    assert set(thirds) == {-1, *range(1, n)}
    assert all(len(own) == 1 for own in thirds.values())
    assert len({min(own) for own in thirds.values()}) == n


def test_stop_is_no_word_whatever_its_value() -> None:
    n = 9
    values = np.tile(np.arange(n + 1, dtype=np.int32)[:, None], (1, 3))
    graph = laid_out([(0, d) for d in range(1, n + 1)], n, "s")
    groups = groups_of(graph, features_of(graph, encoded(values, ["d.form"]), 16))
    (stop,) = {group for (_, _, _, d), group in groups.items() if d == -2}
    words = {d: group for (_, _, _, d), group in groups.items() if d > 0}
    assert len({stop, *words.values()}) == n + 1


def test_what_lies_beyond_either_end_differs_from_the_other_end_and_from_words() -> None:
    n = 5
    graph = laid_out(every_arc(n), n, "g")
    groups: dict[str, set[int]] = {}
    for template in ("h.form[-9]", "h.form[+9]", "h.form[+0]"):
        for value in range(12):
            values = np.full((n + 1, 3), value, dtype=np.int32)
            features = features_of(graph, encoded(values, grandparents=[template]), 16)
            places = np.flatnonzero(features[named(graph)["grandparent", 0, 1, 2]])
            groups.setdefault(template, set()).add(int(places[0]))
    before, beyond, words = groups.values()
    assert len(before) == len(beyond) == 1
    assert len(words) == 12
    assert len(before | beyond | words) == 14


def test_directions_are_told_apart() -> None:
    n = 5
    graph = laid_out(every_arc(n), n)
    groups = groups_of(
        graph, features_of(graph, encoded(alike(n), ["s.form"], ["g.form h.form"]), 16)
    )
    found: dict[tuple[object, ...], set[int]] = {}
    for (kind, third, head, dependent), group in groups.items():
        if kind == "grandparent" and third > 0:
            found.setdefault((kind, *np.argsort((third, head, dependent))), set()).add(group)
        elif kind == "sibling" and third > 0 and dependent > 0:
            found.setdefault((kind, dependent > head), set()).add(group)
    assert len(found) == 6 + 2
    assert all(len(own) == 1 for own in found.values())
    assert len({min(own) for own in found.values()}) == 8


def test_lengths_are_told_apart_for_templates_without_words() -> None:
    """From a sibling to the dependent, or from the head to an innermost one; from a grandparent to
    the dependent.
    """
    n = 5
    graph = laid_out([(0, d) for d in range(1, n + 1)] + [(h, h + 1) for h in range(1, n)], n)
    for templates in ((["s.upos"], ["g.upos"]), (["s.form"], ["g.form"])):
        groups = groups_of(graph, features_of(graph, encoded(alike(n), *templates), 16))
        lengths: dict[tuple[str, bool], dict[int, set[int]]] = {}
        for (kind, third, head, dependent), group in groups.items():
            if dependent > 0 and head == (0 if kind == "sibling" else head):
                between = head if third < 0 else third
                own = lengths.setdefault((kind, third < 0), {})
                own.setdefault(abs(between - dependent), set()).add(group)
        has_lengths = templates[0] == ["s.upos"]
        for own in lengths.values():
            assert len(own) >= n - 1
            assert all(len(groups) == 1 for groups in own.values())
            assert len(set(itertools.chain(*own.values()))) == (len(own) if has_lengths else 1)


def test_a_template_of_siblings_shares_no_weights_with_one_of_grandparents() -> None:
    n = 4
    graph = laid_out(every_arc(n), n)
    features = features_of(graph, encoded(alike(n), ["h.form d.form"], ["h.form d.form"]), 18)
    used = {kind: set() for kind in ("sibling", "grandparent")}  # type: ignore[var-annotated]
    for (kind, *_), place in named(graph).items():
        used[kind] |= set(np.flatnonzero(features[place]).tolist())
    assert not used["sibling"] & used["grandparent"]


def test_encoding_is_that_of_each_position_alone() -> None:
    """The codes of a word depend on nothing but the values at the offsets that its cells name."""
    values = drawn(6, 5)
    changed = values.copy()
    changed[4] += 10
    templates = compile_pair_templates(("h.form s.upos[+1] d.xpos[-1]",), SIBLING_PLACES, NAMES, 1)
    differ = encode_pairs(values, templates).codes != encode_pairs(changed, templates).codes
    # places s, h, d
    assert [np.flatnonzero(own.any(axis=1)).tolist() for own in differ] == [[3], [4], [5]]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("h.xpos s.lemma", "s.lemma"),
        ("h.xpos g.xpos", "g.xpos"),
        ("s.form[a]", "s.form[a]"),
        ("form", "form"),
    ],
)
def test_a_faulty_template_is_refused_with_its_cell_and_what_was_expected(
    text: str, cell: str
) -> None:
    with pytest.raises(ConfigError) as fault:
        compile_pair_templates([*SIBLINGS, text], SIBLING_PLACES, NAMES, 1)
    assert str(fault.value) == (
        f"pair template {text!r}: expected cells such as s.form or d.xpos[-1] at s, h, d "
        f"over the columns form, upos, xpos, with offsets from -999 to 999, got {cell!r}"
        + ("; did you mean xpos?" if cell == "g.xpos" else "")
    )


def test_too_many_cells_are_refused() -> None:
    text = " ".join(f"h.xpos[{offset}]" for offset in range(MAX_HASHED_CELLS + 1))
    with pytest.raises(
        ConfigError, match=f"at most {MAX_HASHED_CELLS} cells a word, got {MAX_HASHED_CELLS + 1}"
    ):
        compile_pair_templates([text], SIBLING_PLACES, NAMES, 1)
