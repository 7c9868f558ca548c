"""The second-order parser from training to trees: what it finds are trees, constraints hold, files
and batches change nothing.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from oracles.trees import is_projective, is_single_rooted, is_tree
from sample_treebank import SECOND_ORDER, quick, sample

from egparse.errors import ConfigError
from egparse.features.word_table import Words
from egparse.fitting.progress import Iteration, Listener, Step, silent
from egparse.io.corpus import read_corpus
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.candidates import ALL_CANDIDATES
from egparse.parsing.constraints import FREE, ArcConstraints
from egparse.parsing.long_sentences import LONGEST, LongSentenceWarning
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.parsing.second_order.parts import Pruning, build_parts, new_work, score_parts
from egparse.pipeline.constraints import Constraints
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.storage.schema import Stored
from egparse.training.run import train

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

LATIN = Path(__file__).resolve().parents[3] / "shared" / "data" / "ud"
TINY = ('layers=["heads"]', "hold_out=0", *SECOND_ORDER)
NON_PROJECTIVE = "parser.trees=non-projective"


def crossed(sentence: Sentence) -> Sentence:
    """The last word hangs from the first one, but for the root's arc and those below it: most such
    arcs cross others.
    """
    heads = list(sentence.heads)
    last = len(heads)
    above, seen = 1, set()
    while above and above not in seen and above != last:
        seen.add(above)
        above = heads[above - 1]
    if last >= 4 and above != last and heads[-1] != 0:
        heads[-1] = 1
    return replace(sentence, heads=tuple(heads))


@cache
def corpus(count: int = 40, *, crossing: bool = False, labels: bool = True) -> tuple[Sentence, ...]:
    sentences = sample("train")[:count]
    if crossing:
        sentences = tuple(map(crossed, sentences))
    return sentences if labels else tuple(replace(own, deprels=()) for own in sentences)


def trained_on(
    sentences: tuple[Sentence, ...], *overrides: str, listener: Listener = silent
) -> Model:
    return train(sentences, None, quick(*TINY, *overrides), listener).model


@cache
def model_of(*overrides: str) -> Model:
    """Trained once for all tests that ask for the same."""
    return trained_on(corpus(), *overrides)


def parser_of(model: Model) -> SecondOrderParser:
    assert isinstance(model.components["parser"], SecondOrderParser)
    return model.components["parser"]


def words_of(model: Model, sentences: tuple[Sentence, ...]) -> Words:
    words = model.columns.words([sentence.forms for sentence in sentences])
    return model.columns.with_input(words, sentences, predicted=())


def accuracy(model: Model, sentences: tuple[Sentence, ...]) -> float:
    found = [head for own in model.annotate(sentences) for head in own.heads]
    return float(np.mean(np.array(found) == np.concatenate([own.heads for own in sentences])))


def trees_in(heads: Ints, words: Words) -> list[tuple[int, ...]]:
    return [(-1, *heads[first:end].tolist()) for first, end in itertools.pairwise(words.starts)]


def free(words: Words) -> Ints:
    return np.full(len(words.form_ids), FREE, dtype=np.int32)


# --- trees ----------------------------------------------------------------------------------------


def test_it_learns_to_parse() -> None:
    assert accuracy(model_of(), corpus()) > 0.95


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("parser.siblings=false",),
        ("parser.grandparents=false",),
        ("parser.labels=false",),
        ("parser.siblings=false", "parser.grandparents=false", "parser.labels=false"),
        pytest.param(("parser.inference=loopy",), marks=pytest.mark.nightly),
        ("parser.single_root=false",),
        ("pruner.max_heads=1",),
        ("pruner.mbr_scale=0",),
        ("parser.learner=perceptron",),
        ("parser.learner=eg-online", "parser.gamma=0", "parser.c=2"),
        ("parser.learner=mira",),
        (NON_PROJECTIVE,),
        (NON_PROJECTIVE, "parser.single_root=false", "parser.siblings=false"),
    ],
    ids=" ".join,
)
def test_whatever_is_scored_and_however_trees_are_found(overrides: tuple[str, ...]) -> None:
    model = model_of(*overrides)
    words = words_of(model, sample("dev"))
    heads, probabilities = parser_of(model).predict_with_probabilities(words)
    assert (heads == parser_of(model).predict(words)).all()
    assert (probabilities > 0).all()
    assert (probabilities <= 1).all()
    for tree in trees_in(heads, words):
        assert is_tree(tree)
        assert is_single_rooted(tree) or "parser.single_root=false" in overrides
        assert is_projective(tree) or NON_PROJECTIVE in overrides
    right = np.concatenate([own.heads for own in sample("dev")]) == heads
    assert right.mean() > 0.6  # the pruner: 0.73


@pytest.mark.parametrize("labels", [True, False])
def test_crossing_trees_are_learned_and_found(labels: bool) -> None:
    sentences = corpus(crossing=True, labels=labels)
    model = trained_on(sentences, "parser.stop.iterations=8")
    parser = parser_of(model)
    assert parser.trees == "non-projective"
    assert not parser.structure.exact
    assert model.record["tasks"]["heads"]["dual"] == -np.inf  # by DCA, which has no bound
    words = words_of(model, sentences)
    found = trees_in(parser.predict(words), words)
    assert all(is_tree(tree) and is_single_rooted(tree) for tree in found)
    gold = [(-1, *own.heads) for own in sentences]
    assert sum(not is_projective(tree) for tree in gold) > 10
    crossing = [a == b for a, b in zip(found, gold, strict=True) if not is_projective(b)]
    assert np.mean(crossing) > 0.5
    heads = words_of(model, sample("dev"))
    assert all(
        is_tree(tree) and is_single_rooted(tree) for tree in trees_in(parser.predict(heads), heads)
    )


def test_latin_is_learned_and_parsed() -> None:
    files = sorted(LATIN.glob("**/la_perseus*train*.conllu"))
    if not files:
        pytest.skip("the Latin treebank is not here")
    sentences = tuple(own for own in itertools.islice(read_corpus(files[0]), 60) if len(own) < 30)
    model = trained_on(sentences)
    assert parser_of(model).trees == "non-projective"
    words = words_of(model, sentences)
    assert all(
        is_tree(tree) and is_single_rooted(tree)
        for tree in trees_in(parser_of(model).predict(words), words)
    )


def test_faulty_settings_are_refused_before_anything_is_trained() -> None:
    unfit = "pruner: expected a learner of trees and a loss that have probabilities.*, got "
    for overrides, message in [
        ((NON_PROJECTIVE, "parser.inference=exact"), 'parser.inference: expected "loopy" .* non-p'),
        *(
            ((f'parser.{k}_templates=["h.nothing"]',), r"h\.nothing")
            for k in ("sibling", "grandparent", "label")
        ),
        (("pruner.learner=perceptron",), f"{unfit}perceptron and auto"),
        (("pruner.learner=mira",), f"{unfit}mira and auto"),
        (("pruner.learner=gis",), f"{unfit}gis and auto"),
        (("pruner.loss=max-margin",), f"{unfit}eg-online and max-margin"),
    ]:
        said: list[object] = []
        with pytest.raises(ConfigError, match=message):
            trained_on(corpus(), *overrides, listener=said.append)
        assert said == []


def test_a_corpus_without_labels_trains_a_parser_without() -> None:
    model = trained_on(corpus(labels=False))
    assert len(parser_of(model).dictionary.labels) == 0
    unlabelled = model_of("parser.labels=false")
    assert (parser_of(model).weights == parser_of(unlabelled).weights).all()


def test_a_corpus_with_labels_for_some_sentences_trains() -> None:
    sentences = tuple(replace(own, deprels=()) if i % 2 else own for i, own in enumerate(corpus()))
    partly = tuple(
        replace(own, deprels=("_", *own.deprels[1:])) if own.deprels else own for own in sentences
    )
    assert accuracy(trained_on(partly), corpus()) > 0.9


# --- what changes nothing -------------------------------------------------------------------------


@pytest.mark.parametrize("overrides", [(), (NON_PROJECTIVE,), ("parser.labels=false",)])
def test_the_payload_holds_all_of_it(overrides: tuple[str, ...]) -> None:
    model = model_of(*overrides)
    parser = parser_of(model)
    again = SecondOrderParser.from_payload(Stored(parser.to_payload()), model.columns)
    words = words_of(model, sample("dev"))
    for own, other in zip(
        parser.predict_with_probabilities(words),
        again.predict_with_probabilities(words),
        strict=True,
    ):
        assert (own == other).all()
    assert again.structure == parser.structure
    assert again.pruning == parser.pruning
    assert again.temperature == parser.temperature


def test_a_model_file_gives_the_same_annotation(tmp_path: Path) -> None:
    model, path = model_of(), tmp_path / "model.msgpack"
    model.save(path)
    again = Model.load(path)
    assert isinstance(again.components["parser"], SecondOrderParser)
    for own, other in zip(
        model.annotate(sample("dev"), probabilities=True),
        again.annotate(sample("dev"), probabilities=True),
        strict=True,
    ):
        assert own == other


@pytest.mark.parametrize("overrides", [(), (NON_PROJECTIVE,)])
def test_batches_of_any_size_give_the_same(overrides: tuple[str, ...]) -> None:
    model = model_of(*overrides)
    parser, sentences = parser_of(model), (*sample("dev")[:25], replace(sample("dev")[0], forms=()))
    whole = parser.predict_with_probabilities(words_of(model, sample("dev")[:25]))
    for size in (1, 4, 9):
        found = [
            parser.predict_with_probabilities(words_of(model, sample("dev")[i : min(25, i + size)]))
            for i in range(0, 25, size)
        ]
        for own, parts in zip(whole, zip(*found, strict=True), strict=True):
            assert own.tobytes() == np.concatenate(parts).tobytes()
    assert len(sentences) == 26


def test_equal_seeds_give_equal_bits() -> None:
    one, other = (parser_of(trained_on(corpus(20), "seed=5")) for _ in range(2))
    assert one.weights.tobytes() == other.weights.tobytes()
    assert one.pruner.weights.tobytes() == other.pruner.weights.tobytes()
    third = parser_of(trained_on(corpus(20), "seed=6"))
    assert one.weights.tobytes() != third.weights.tobytes()


# --- sentences of unusual length ------------------------------------------------------------------


@pytest.mark.parametrize("overrides", [(), (NON_PROJECTIVE,), ("parser.single_root=false",)])
def test_sentences_of_no_one_and_two_words(overrides: tuple[str, ...]) -> None:
    model = model_of(*overrides)
    lengths = (1, 0, 2, 1, 0)
    words = model.columns.words([sample("dev")[0].forms[:n] for n in lengths])
    heads, probabilities = parser_of(model).predict_with_probabilities(words)
    assert [len(tree) - 1 for tree in trees_in(heads, words)] == [*lengths]
    assert all(is_tree(tree) for tree in trees_in(heads, words))
    assert probabilities[[0, 3]] == pytest.approx([1.0, 1.0])
    assert (probabilities > 0).all()
    nothing = model.columns.words([])
    assert len(parser_of(model).predict(nothing)) == 0


def test_a_long_sentence_is_parsed_in_pieces() -> None:
    model = model_of()
    forms = list(
        itertools.islice(
            itertools.chain.from_iterable(own.forms for own in itertools.cycle(sample("dev"))),
            LONGEST + 40,
        )
    )
    words = model.columns.words([forms[:7], forms, forms[:9]])
    with pytest.warns(LongSentenceWarning):
        heads, probabilities = parser_of(model).predict_with_probabilities(words)
    trees = trees_in(heads, words)
    assert all(is_tree(tree) and is_single_rooted(tree) for tree in trees)
    assert (probabilities > 0).all()
    assert (probabilities <= 1).all()
    short = model.columns.words([forms[:7], forms[:9]])
    assert trees_in(parser_of(model).predict(short), short) == [trees[0], trees[2]]


# --- probabilities --------------------------------------------------------------------------------


def test_probabilities_are_those_of_the_scores_over_the_temperature() -> None:
    model = model_of()
    words = words_of(model, sample("dev"))
    at = {
        t: replace(parser_of(model), temperature=t).predict_with_probabilities(words)
        for t in (0.01, 1.0, 4.0, 1e6)
    }
    assert all((own.heads == at[1.0].heads).all() for own in at.values())
    means = [own.probabilities.mean() for own in at.values()]
    assert means == sorted(means, reverse=True)
    # mbr_scale chooses trees; at its inverse the temperature asks for the very same marginals
    likely, sharp, plain = (
        replace(parser_of(model), mbr_scale=scale, temperature=t).predict_with_probabilities(words)
        for scale, t in ((100.0, 0.01), (0.25, 4.0), (1.0, 4.0))
    )
    assert likely.probabilities.mean() > 0.98
    same = sharp.heads == plain.heads
    assert same.mean() > 0.5
    assert sharp.probabilities[same] == pytest.approx(plain.probabilities[same], abs=1e-9)


def test_what_is_certain_at_first_sight_has_probability_one() -> None:
    """With one head a word there is nothing left to choose."""
    model = model_of()
    parser = replace(parser_of(model), pruning=Pruning(1, 0.0))
    words = words_of(model, sample("dev"))
    constraints = ArcConstraints(parser.predict(words), {}, np.ones(words.n_sentences, dtype=bool))
    assert (parser.predict_with_probabilities(words, constraints).probabilities == 1.0).all()


def test_the_tree_has_the_most_expected_arcs_with_their_labels() -> None:
    parser = parser_of(model_of())
    words = words_of(model_of(), [one for one in sample("dev") if 3 <= len(one) <= 8])
    model, values = parser.kernel_model(), parser.sentences(words)
    is_most_probable = []
    for found, rows in zip(trees_in(parser.predict(words), words), values, strict=True):
        work = new_work(len(rows) - 1, model.structure)
        codes, parts = build_parts(rows, ALL_CANDIDATES, model, work)
        scores = np.empty(parts.graph.pairs[-1] + len(parts.labels.labels))
        score_parts(codes, model.templates, parts, model.weights, work.buffers.places, scores)
        likeliest = np.zeros((len(rows), len(rows)))  # the probability of the best label of an arc
        bounds = itertools.pairwise(parts.graph.pairs[-1] + parts.labels.starts)
        for arc, (first, end) in zip(parts.graph.arcs, bounds, strict=True):
            shares = np.exp(scores[first:end]) / np.exp(scores[first:end]).sum()
            likeliest[tuple(arc)] = shares.max(initial=0.0) if end > first else 1.0
        trees = parser.k_best_of(rows, 10_000)  # all of them; labels are summed out
        expected = np.zeros(likeliest.shape)
        for tree in trees:
            expected[tree.heads, np.arange(1, len(rows))] += np.exp(tree.log_probability)
        risks = [
            (expected * likeliest)[heads, np.arange(1, len(rows))].sum()
            for heads in (found[1:], *(tree.heads for tree in trees))
        ]
        assert risks[0] == pytest.approx(max(risks[1:]), abs=1e-9)
        is_most_probable.append(found[1:] == tuple(trees[0].heads.tolist()))
    assert not all(is_most_probable)


# --- constraints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("overrides", [(), (NON_PROJECTIVE,)])
def test_fixed_heads_are_kept_and_forbidden_arcs_are_absent(overrides: tuple[str, ...]) -> None:
    model = model_of(*overrides)
    parser = parser_of(model)
    sentences = tuple(own for own in sample("dev") if len(own) >= 3)
    words = words_of(model, sentences)
    plain = parser.predict(words)
    random = np.random.default_rng(1)
    heads, forbidden, constrained = free(words), {}, random.random(len(sentences)) < 0.7
    for i, (first, end) in enumerate(itertools.pairwise(words.starts)):
        if not constrained[i]:
            continue
        n, gold = end - first, np.array(sentences[i].heads)
        heads[first:end] = np.where(random.random(n) < 0.3, gold, FREE)
        forbidden[i] = np.zeros((n + 1, n + 1), dtype=bool)
        wrong = plain[first:end] != gold
        forbidden[i][plain[first:end][wrong], 1 + np.flatnonzero(wrong)] = True
    found, probabilities = parser.predict_with_probabilities(
        words, ArcConstraints(heads, forbidden, constrained)
    )
    assert (found == parser.predict(words, ArcConstraints(heads, forbidden, constrained))).all()
    assert (found[heads != FREE] == heads[heads != FREE]).all()
    assert (probabilities[heads != FREE] == 1.0).all()
    assert ((probabilities > 0) & (probabilities <= 1)).all()
    changed = False
    for i, tree in enumerate(trees_in(found, words)):
        first, end = words.starts[i], words.starts[i + 1]
        assert is_tree(tree)
        assert is_single_rooted(tree)
        if constrained[i]:
            assert not forbidden[i][list(tree[1:]), np.arange(1, len(tree))].any()
            changed |= bool((found[first:end] != plain[first:end]).any())
        else:
            assert (found[first:end] == plain[first:end]).all()
    assert changed


def test_fixed_heads_that_cross_fall_back_to_the_pruner() -> None:
    model = model_of()
    parser = parser_of(model)
    sentences = tuple(own for own in sample("dev") if len(own) >= 4)
    words = words_of(model, sentences)
    heads, constrained = free(words), np.arange(len(sentences)) % 2 == 0
    for first in words.starts[:-1][constrained]:
        heads[first : first + 2] = (3, 4)
    constraints = ArcConstraints(heads, {}, constrained)
    found, probabilities = parser.predict_with_probabilities(words, constraints)
    by_pruner = parser.pruner.predict_with_probabilities(words, constraints)
    plain = parser.predict_with_probabilities(words)
    for i, tree in enumerate(trees_in(found, words)):
        own = slice(words.starts[i], words.starts[i + 1])
        assert is_tree(tree)
        assert is_single_rooted(tree)
        assert is_projective(tree) != constrained[i]
        expected = by_pruner if constrained[i] else plain
        assert (found[own] == expected.heads[own]).all()
        assert (probabilities[own] == expected.probabilities[own]).all()
        if constrained[i]:
            assert tree[1:3] == (3, 4)


@pytest.mark.parametrize("crossing", [False, True])
def test_where_all_heads_are_fixed_they_are_what_comes_out(crossing: bool) -> None:
    model = model_of()
    sentences = tuple(map(crossed, sample("dev"))) if crossing else sample("dev")
    words = words_of(model, sentences)
    heads = np.concatenate([own.heads for own in sentences]).astype(np.int32)
    constraints = ArcConstraints(heads, {}, np.ones(len(sentences), dtype=bool))
    found = parser_of(model).predict_with_probabilities(words, constraints)
    assert (found.heads == heads).all()
    assert (found.probabilities == 1.0).all()


def test_constraints_that_leave_no_tree_yield_no_heads() -> None:
    model = model_of()
    words = words_of(model, sample("dev")[:3])
    n = int(words.starts[1])
    constraints = ArcConstraints(
        free(words), {0: np.ones((n + 1, n + 1), dtype=bool)}, np.array([True, False, False])
    )
    found = parser_of(model).predict(words, constraints)
    assert (found[:n] == -1).all()
    assert (found[n:] == parser_of(model).predict(words)[n:]).all()


def test_a_long_sentence_may_have_all_its_heads_fixed() -> None:
    model = model_of()
    forms = list(itertools.islice(itertools.cycle(sample("dev")[0].forms), LONGEST + 5))
    sentences = [Sentence(forms=tuple(forms)), sample("dev")[1]]
    chain = Constraints({"heads": {word: word - 1 for word in range(1, len(forms) + 1)}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = list(model.annotate(sentences, constraints=[chain, Constraints()]))
    assert found[0].heads == tuple(range(len(forms)))
    assert found[1] == next(iter(model.annotate(sentences[1:])))


# --- training -------------------------------------------------------------------------------------


def stops_at(task: str, iteration: int) -> tuple[Listener, list[object]]:
    """A listener that interrupts training after a pass of a task (0: before the first), as Ctrl-C
    does.
    """
    said: list[object] = []

    def listener(event: object) -> None:
        said.append(event)
        begun = isinstance(event, Step) and iteration == 0 and event.task == task
        passed = (
            isinstance(event, Iteration) and event.task == task and event.iteration == iteration > 0
        )
        if begun or passed:
            raise KeyboardInterrupt

    return listener, said


def interrupted(task: str, iteration: int) -> Model:
    listener, _ = stops_at(task, iteration)
    found = train(corpus(20), None, quick(*TINY), listener)
    assert found.interrupted
    return found.model


def test_training_tells_of_its_two_parts() -> None:
    said: list[object] = []
    trained_on(corpus(20), listener=said.append)
    passes = [(event.task, event.iteration) for event in said if isinstance(event, Iteration)]
    expected = [(task, k) for task in ("pruner", "parser") for k in (1, 2, 3)]
    assert [one for one in passes if one[0] in ("pruner", "parser")] == expected


@pytest.mark.parametrize(
    ("task", "iteration", "least"), [("pruner", 2, 0.2), ("pruner", 3, 0.6), ("parser", 0, 0.6)]
)
def test_stopped_before_there_is_a_second_order_parser_the_pruner_is_the_parser(
    task: str, iteration: int, least: float
) -> None:
    model = interrupted(task, iteration)
    assert isinstance(model.components["parser"], ArcParser)
    assert accuracy(model, corpus(20)) > least
    assert model.record["tasks"]["heads"]["task"] == "pruner"


def test_stopped_later_the_best_so_far_is_the_parser() -> None:
    model = interrupted("parser", 2)
    assert isinstance(model.components["parser"], SecondOrderParser)
    assert accuracy(model, corpus(20)) > 0.7


def test_the_best_pass_on_the_development_part_is_kept() -> None:
    said: list[object] = []
    kept = train(
        corpus(), sample("dev")[:20], quick(*TINY, "parser.stop.iterations=6"), said.append
    ).model
    passes = [event for event in said if isinstance(event, Iteration) and event.task == "parser"]
    assert all(event.score is not None for event in passes)
    best = max(event.score or 0 for event in passes)
    assert 100 * accuracy(kept, sample("dev")[:20]) == pytest.approx(best, abs=0.01)
