"""The trees that parsers learn from: completions of those of which some words have no head, against
enumeration, and pieces of long ones.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from learners.small_problems import trees
from oracles.trees import all_trees, is_projective, is_tree, tree_score
from parsing.test_second_order_problem import CORRECT, made, structures_of
from sample_treebank import SECOND_ORDER, quick, sample
from scipy.special import logsumexp

from egparse.errors import EgparseError
from egparse.learners.completion import complete, set_completion
from egparse.parsing import training
from egparse.parsing.arc_problem import TreeProblem
from egparse.parsing.candidates import NO_LABEL, build_arc_filter, log_frequencies
from egparse.parsing.gold_trees import (
    LONGEST_LEARNED,
    choose_trees,
    complete_by_frequency,
    crossing_arcs,
    crossing_known_arcs,
    headed_sentences,
    heads_of_pieces,
    known_heads,
    ranks_of_pieces,
    training_pieces,
    values_of_pieces,
    warn_of_long,
)
from egparse.parsing.long_sentences import LONGEST, WINDOW, LongSentenceWarning
from egparse.parsing.tree_inference import Trees
from egparse.sentences import MISSING_HEAD, Sentence, Source
from egparse.training.run import train
from egparse.types import Ints, Mask

Floats = npt.NDArray[np.float64]
KNOWN = [
    np.array(mask, dtype=bool) for mask in ([1, 0, 1], [0], [0, 0, 1, 0], [0, 0], [1, 1, 0, 0, 1])
]
"""Which words of the sentences of ``CORRECT`` have heads."""


def partly(problem: TreeProblem, known: list[Mask]) -> TreeProblem:
    """The same problem, in which only some heads are known."""
    return TreeProblem(
        codes=problem._codes,
        arcs=problem._parts,
        heads=problem._heads_of,
        templates=problem._templates,
        bits=12,
        trees="projective",
        single_root=True,
        known=known,
    )


def test_completions_of_arcs_are_the_trees_with_the_known_heads() -> None:
    problem = trees()
    lengths = [len(heads) for heads in problem._heads_of]
    random = np.random.default_rng(4)
    known = [random.random(n) < 0.5 for n in lengths]
    known[1][:] = True
    problem = partly(problem, known)
    partial = [i for i, mask in enumerate(known) if not mask.all()]
    assert problem.partial.tolist() == partial
    assert 1 not in partial
    for i in partial:
        n, arcs, heads = lengths[i], problem.arcs(i), problem._heads_of[i]
        potentials, out = random.normal(size=len(arcs)), np.empty(len(arcs))
        scores = np.full((n + 1, n + 1), -np.inf)
        scores[arcs[:, 0], arcs[:, 1]] = potentials
        agreeing = [
            tree
            for tree in all_trees(n, True, True)
            if all(tree[d] == heads[d - 1] for d in range(1, n + 1) if known[i][d - 1])
        ]
        total = np.array([tree_score(scores, tree) for tree in agreeing])
        log_z = complete(problem, i, potentials, out)
        assert log_z == pytest.approx(float(logsumexp(total)))
        shares = np.exp(total - log_z)
        expected = [
            sum(share for share, tree in zip(shares, agreeing, strict=True) if tree[d] == h)
            for h, d in arcs.tolist()
        ]
        np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("variant", [{}, {"n_labels": 0}, {"kinds": "s"}, {"density": 0.7}])
def test_completions_of_second_order_parts_are_those_of_enumeration(
    variant: dict[str, Any],
) -> None:
    whole = made(CORRECT, known=KNOWN, **variant)
    problem, random = whole.problem, np.random.default_rng(5)
    assert problem.partial.tolist() == [0, 1, 2, 3, 4]
    for i, parts in enumerate(whole.parts):
        correct = problem.gold(i).copy()
        arcs, (n, starts) = parts.graph.arcs, (int(parts.graph.pairs[-1]), parts.labels.starts)
        fixed = np.zeros(len(correct), dtype=bool)
        for a, (_, d) in enumerate(arcs.tolist()):
            if KNOWN[i][d - 1]:
                fixed[a] = True
                fixed[n + starts[a] : n + starts[a + 1]] = True
        agreeing = np.array(
            [
                vector
                for vector in structures_of(parts)
                if np.array_equal(vector[fixed], correct[fixed])
            ]
        )
        potentials, out = random.normal(size=len(correct)), np.empty(len(correct))
        log_z = complete(problem, i, potentials, out)
        scores = agreeing @ potentials
        assert log_z == pytest.approx(float(logsumexp(scores)))
        np.testing.assert_allclose(out, np.exp(scores - log_z) @ agreeing, atol=1e-9)


@pytest.mark.parametrize("kind", ["projective", "non-projective"])
def test_loopy_completions_keep_the_known_arcs(kind: Trees) -> None:
    whole = made(CORRECT, known=KNOWN, trees=kind, inference="loopy")
    for i, parts in enumerate(whole.parts):
        correct = whole.problem.gold(i).copy()
        potentials = np.random.default_rng(i).normal(size=len(correct))
        out = np.empty(len(correct))
        assert np.isfinite(complete(whole.problem, i, potentials, out))
        for a, (_, d) in enumerate(parts.graph.arcs.tolist()):
            if KNOWN[i][d - 1]:
                # messages bound the odds of arcs, so that marginals are not quite 0 and 1
                assert out[a] == pytest.approx(correct[a], abs=1e-3)


def test_only_words_with_heads_cost() -> None:
    whole, problem = (
        made(CORRECT, known=KNOWN),
        partly(trees(), [np.arange(n) % 2 == 0 for n in (3, 1, 4, 5, 2)]),
    )
    for i, parts in enumerate(whole.parts):
        cost = whole.problem.cost(i).copy()
        words = np.array([d for _, d in parts.graph.arcs.tolist()]) - 1
        assert not cost[: len(words)][~KNOWN[i][words]].any()
        assert whole.problem.cost_constant(i) == KNOWN[i].sum()
    for i in range(5):
        unknown = problem.arcs(i)[:, 1] % 2 == 0
        before = problem.cost(i).copy()
        assert not before[unknown].any()
        assert problem.cost_constant(i) == -(before @ problem.gold(i))
        set_completion(problem, i, np.zeros(len(before)))
        # whatever the completion: the objective stays the same from pass to pass
        np.testing.assert_allclose(problem.cost(i), before, atol=1e-12)


def random_values(seed: int, n: int) -> Ints:
    random = np.random.default_rng(seed)
    return np.concatenate([[1], random.integers(2, 6, size=n)]).astype(np.int32)[:, None]


@pytest.mark.parametrize("seed", range(20))
def test_the_first_completion_is_the_most_frequent_tree_with_the_known_heads(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 6))
    values = [random_values(seed + k, n) for k in range(4)]
    chosen = [
        all_trees(n, True, True)[int(random.integers(len(all_trees(n, True, True))))]
        for _ in values
    ]
    heads = [np.array(tree[1:], dtype=np.int32) for tree in chosen]
    arc_filter = build_arc_filter(values, heads, 0, 2, 0.003)
    scores = log_frequencies(values[0], arc_filter)
    partial = np.where(random.random(n) < 0.5, heads[0], np.int32(MISSING_HEAD))
    known = partial != MISSING_HEAD
    found = complete_by_frequency(values[0], partial, arc_filter, "projective", True)
    assert np.array_equal(found[known], partial[known])
    tree = (-1, *found.tolist())
    assert is_tree(tree)
    assert is_projective(tree)
    assert tree.count(0) == 1
    best = max(
        tree_score(scores, other)
        for other in all_trees(n, True, True)
        if all(other[d] == partial[d - 1] for d in range(1, n + 1) if known[d - 1])
    )
    assert tree_score(scores, tree) == pytest.approx(best)


def test_known_arcs_that_cross_are_completed_by_a_tree_that_crosses() -> None:
    values = random_values(1, 4)
    arc_filter = build_arc_filter([values], [np.array([2, 0, 2, 3], dtype=np.int32)], 0, 2, 0.003)
    heads = np.array([3, 4, MISSING_HEAD, MISSING_HEAD], dtype=np.int32)  # 3 -> 1 and 4 -> 2 cross
    found = complete_by_frequency(values, heads, arc_filter, "projective", True)
    assert found[:2].tolist() == [3, 4]
    assert is_tree((-1, *found.tolist()))


def test_heads_that_no_tree_has_are_a_fault() -> None:
    values = random_values(1, 3)
    arc_filter = build_arc_filter([values], [np.array([2, 0, 2], dtype=np.int32)], 0, 2, 0.003)
    cycle = np.array([2, 1, MISSING_HEAD], dtype=np.int32)
    with pytest.raises(EgparseError, match=r"some tree over 3 words has, got 2 1 -1"):
        complete_by_frequency(values, cycle, arc_filter, "projective", True)


def test_words_without_heads_are_not_counted_as_arcs() -> None:
    """The frequencies of a corpus with two sentences, one of them without any head, are those of
    the other.
    """
    first, second = random_values(1, 4), random_values(2, 4)
    heads = np.array([2, 0, 2, 3], dtype=np.int32)
    missing = np.full(4, MISSING_HEAD, dtype=np.int32)
    both = build_arc_filter([first, second], [heads, missing], 0, 2, 0.003)
    alone = build_arc_filter([first], [heads], 0, 2, 0.003)
    n = len(alone.frequency)
    assert np.array_equal(both.frequency[:n, :n], alone.frequency)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_crossing_arcs_of_whole_trees(n: int) -> None:
    """Two arcs of a tree cross exactly if some arc has a word between its ends that does not
    descend from its head; the numbers of words differ.
    """
    for tree in all_trees(n, True, False):
        heads = np.array(tree[1:], dtype=np.int32)
        assert (crossing_known_arcs(heads) > 0) == (crossing_arcs(heads) > 0)


def test_crossing_arcs_need_both_heads() -> None:
    heads = np.array([3, 4, MISSING_HEAD, MISSING_HEAD], dtype=np.int32)
    assert crossing_known_arcs(heads) == 2
    assert crossing_known_arcs(np.array([3, MISSING_HEAD, 0, 3], dtype=np.int32)) == 0


def test_sentences_with_some_head_are_chosen() -> None:
    def sentence(*heads: int) -> Sentence:
        return Sentence(("w",) * max(1, len(heads)), heads=heads)

    found = headed_sentences([sentence(0), sentence(), sentence(-1, -1), sentence(-1, 1)])
    assert found.chosen.tolist() == [True, False, False, True]
    assert [heads.tolist() for heads in found.heads] == [[0], [-1, 1]]
    assert known_heads(found.heads[:1]) is None
    assert [mask.tolist() for mask in known_heads(found.heads) or []] == [[True], [False, True]]


def test_a_long_sentence_needs_all_heads() -> None:
    n = LONGEST + 1
    whole = Sentence(("w",) * n, heads=tuple(range(n)))
    partial = Sentence(("w",) * n, heads=(0, -1, *range(2, n)))
    with pytest.warns(LongSentenceWarning, match=f"a sentence of {n} words without all of its"):
        assert headed_sentences([whole, partial]).chosen.tolist() == [True, False]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert headed_sentences([whole]).chosen.all()


# --- pieces ---------------------------------------------------------------------------------------


def projective_tree(n: int, seed: int) -> Ints:
    """A random projective tree with one root."""
    rng = np.random.default_rng(seed)
    heads = np.zeros(n, dtype=np.int32)
    spans = [(0, n, 0)]
    while spans:
        first, end, head = spans.pop()
        if first < end:
            word = int(rng.integers(first, end))
            heads[word] = head
            spans += [(first, word, word + 1), (word + 1, end, word + 1)]
    return heads


def joined(count: int) -> Sentence:
    """At least ``count`` words: sentences side by side, their roots below the first one's root."""
    columns: dict[str, list[Any]] = {}
    root = 0
    for sentence in sample("train"):
        begin = len(columns.get("forms", ()))
        if begin >= count:
            break
        own = [head + begin if head else root for head in sentence.heads]
        root = root or own.index(0) + 1
        values = {"heads": own, "deprels": sentence.deprels, "upos": sentence.upos}
        for name, column in {"forms": sentence.forms, **values}.items():
            columns.setdefault(name, []).extend(column)
    return Sentence(
        **columns, source=Source("corpus.conllu", 17, ("1",), [0] * len(columns["forms"]))
    )


def pieces_of(heads: Ints, single_root: bool = True) -> list[tuple[slice, Ints]]:
    pieces = training_pieces([heads])
    trees = heads_of_pieces(pieces, [heads], single_root)
    return [(slice(*one[1:]), tree) for one, tree in zip(pieces.tolist(), trees, strict=True)]


def test_sentences_up_to_the_limit_are_learned_whole() -> None:
    heads = [projective_tree(n, n) for n in (LONGEST_LEARNED, 1, 30)]
    values = [np.arange(3 * (len(own) + 1)).reshape(-1, 3) for own in heads]
    pieces = training_pieces(heads)
    assert pieces.tolist() == [[0, 0, LONGEST_LEARNED], [1, 0, 1], [2, 0, 30]]
    assert all(map(lambda new, old: new is old, heads_of_pieces(pieces, heads, True), heads))
    assert all(map(lambda new, old: new is old, values_of_pieces(pieces, values), values))
    assert all(map(lambda new, old: new is old, ranks_of_pieces(pieces, heads, heads), heads))


def test_sentences_without_all_heads_are_learned_whole() -> None:
    heads = projective_tree(LONGEST_LEARNED + 50, 3)
    heads[7] = MISSING_HEAD
    assert training_pieces([heads]).tolist() == [[0, 0, len(heads)]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_long([Sentence(("word",) * len(heads), heads=tuple(heads.tolist()))])


@pytest.mark.parametrize("seed", range(5))
def test_inner_arcs_stay_and_each_piece_is_a_projective_tree(seed: int) -> None:
    heads = projective_tree(LONGEST_LEARNED + 1 + 150 * seed, seed)
    found = pieces_of(heads)
    assert [piece.start for piece, _ in found] == [0, *(piece.stop for piece, _ in found[:-1])]
    assert found[-1][0].stop == len(heads)
    for piece, tree in found:
        assert 0 < len(tree) == piece.stop - piece.start <= WINDOW
        own = heads[piece]
        is_inside = (own > piece.start) & (own <= piece.stop)
        assert (tree[is_inside] == own[is_inside] - piece.start).all()
        assert (tree == 0).sum() == 1
        assert not (own == 0).any() or tree[np.argmin(own)] == 0
        assert crossing_arcs(tree) == 0
        other = int(np.argmin(tree)) + 1
        assert (tree[~is_inside & (tree > 0)] == other).all()


def test_with_several_roots_words_with_outer_heads_are_roots() -> None:
    heads = projective_tree(900, 1)
    for piece, tree in pieces_of(heads, single_root=False):
        own = heads[piece]
        assert ((tree == 0) == ~((own > piece.start) & (own <= piece.stop))).all()


def test_sentences_that_were_not_split_stay_whole() -> None:
    """Pieces end where sentences do."""
    sentence = joined(700)
    starts = {0}
    for one in sample("train"):
        starts.add(max(starts) + len(one))
    heads = np.array(sentence.heads, dtype=np.int32)
    pieces = training_pieces([heads])
    assert len(pieces) > 3
    assert set(pieces[:, 1].tolist()) <= starts


def test_values_and_labels_of_pieces() -> None:
    heads = projective_tree(700, 3)
    values = np.stack([np.arange(701), np.arange(701) + 1000], axis=1)
    ranks = np.arange(700) % 7
    pieces = training_pieces([heads])
    cut = values_of_pieces(pieces, [values])
    labels = ranks_of_pieces(pieces, [heads], [ranks])
    for (_, first, end), rows, own in zip(pieces.tolist(), cut, labels, strict=True):
        words = np.arange(first, end)
        assert rows.tolist() == values[[0, *(words + 1)]].tolist()
        inside = (heads[words] > first) & (heads[words] <= end) | (heads[words] == 0)
        assert own.tolist() == np.where(inside, ranks[words], NO_LABEL).tolist()


def test_the_corpus_decides_on_crossing_arcs_in_linear_time() -> None:
    """A hundred thousand words below one: 5 * 10^9 steps if each arc were followed whole."""
    flat = np.ones(100_000, dtype=np.int32)
    flat[0] = 0
    assert choose_trees([flat], quick().parser) == "projective"


def test_cutting_is_told_with_place_and_length() -> None:
    sentence = joined(600)
    assert sentence.source is not None
    with pytest.warns(LongSentenceWarning) as said:
        warn_of_long([sample("train")[0], sentence, joined(550)])
    assert [str(one.message) for one in said] == [
        f"the parser learns 2 sentences of more than {LONGEST_LEARNED} words in pieces of at most "
        f"{WINDOW}: the longest has {len(sentence)} words (corpus.conllu:17)"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_long(sample("train")[:5])


@pytest.mark.parametrize("order", ["parser.order=1", "second"])
@pytest.mark.parametrize("trees", ["projective", "non-projective"])
def test_no_problem_has_a_sentence_of_more_words(
    order: str, trees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The problems that learners see hold pieces: their sizes bound time and memory of a pass."""
    sizes: dict[str, list[int]] = {}

    def noting(name: str, problem: type) -> Any:
        def made(**arguments: Any) -> Any:
            sizes[name] = [len(heads) for heads in arguments["heads"]]
            return problem(**arguments)

        return made

    for name in ("TreeProblem", "SecondOrderProblem"):
        monkeypatch.setattr(training, name, noting(name, getattr(training, name)))
    settings = SECOND_ORDER if order == "second" else (order,)
    config = quick(
        "hold_out=0",
        'layers=["upos", "heads", "deprels"]',
        f'parser.trees="{trees}"',
        *settings,
        *(f"{task}.stop.iterations=1" for task in ("upos", "parser", "labeller")),
        *(("pruner.stop.iterations=1",) if order == "second" else ()),
    )
    short = [replace(one, xpos=(), feats=(), spans=()) for one in sample("train")[:5]]
    long = joined(1200)
    with pytest.warns(LongSentenceWarning, match="the parser learns 1 sentence"):
        model = train([*short, long], None, config).model
    assert "parser" in model.components
    assert len(sizes) == (2 if order == "second" else 1)
    for own in sizes.values():
        assert own[:5] == [len(sentence) for sentence in short]
        assert max(own[5:]) <= WINDOW
        assert sum(own[5:]) == len(long)
