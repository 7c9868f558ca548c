"""How probable a model finds what it chooses: marginals by enumeration, given the constraints, and
their way into files.
"""

from __future__ import annotations

import io
import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.sequences import sequence_facts
from oracles.trees import all_trees, tree_score
from sample_treebank import (
    changed,
    quick,
    quick_model,
    sample,
    taggers,
    with_predicted_tags,
)

from egparse.errors import EgparseError
from egparse.evaluation.calibration import calibrations
from egparse.features.word_table import Words
from egparse.io.conllu import format_sentence, read_conllu
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.constraints import FREE, ArcConstraints
from egparse.parsing.long_sentences import LONGEST, LongSentenceWarning
from egparse.pipeline.constraints import Constraints
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.sequences.tagger import iob2_kinds
from egparse.structures.chains.batch import chosen_marginals
from egparse.training.run import train

Floats = npt.NDArray[np.float64]
ALL = ("upos", "xpos", "feats", "lemmas", "spans", "heads", "deprels")


@cache
def arc_factored() -> Model:
    """A model of trees alone, with the arc-factored parser and all arcs as candidates."""
    config = quick(
        "hold_out=0", 'layers=["upos", "xpos", "heads"]', "parser.order=1", "parser.arc_share=0"
    )
    return train(sample("train")[:60], None, config).model


def parser_and_words(sentences: Sequence[Sequence[str]]) -> tuple[ArcParser, Words]:
    """The parser of that model, and words with predicted tags."""
    model = arc_factored()
    assert isinstance(model.components["parser"], ArcParser)
    return model.components["parser"], with_predicted_tags(model, sentences)


def short() -> list[Sequence[str]]:
    """Sentences of which all trees can be listed."""
    return [s.forms for part in ("dev", "test", "train") for s in sample(part) if 3 <= len(s) <= 5][
        :20
    ]


def scored(parser: ArcParser, words: Words) -> Iterator[tuple[int, int, Floats]]:
    """First word, end and arc scores of each sentence."""
    values = parser.columns.values(words)
    for i, (first, end) in enumerate(itertools.pairwise(words.starts.tolist())):
        own = values[first + i : end + i + 1]
        square = parser.decoder(len(own), False).scores(own)
        yield first, end, square


@cache
def told() -> tuple[Sentence, ...]:
    """The test part, annotated with probabilities."""
    return tuple(quick_model().annotate(sample("test"), probabilities=True))


# --- chains ---------------------------------------------------------------------------------------


@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    n_labels=st.integers(1, 4),
    seed=st.integers(0, 10_000),
    scale=st.sampled_from([0.0, 1.0, 400.0]),
    forbids=st.booleans(),
    n_classes=st.integers(0, 3),
)
def test_marginals_of_a_batch_are_those_of_enumeration(
    lengths: list[int], n_labels: int, seed: int, scale: float, forbids: bool, n_classes: int
) -> None:
    """With bigrams of the labels, or of so many classes of labels."""
    random = np.random.default_rng(seed)
    size = n_classes or n_labels
    classes = np.arange(n_labels, dtype=np.uint16)
    if n_classes:
        classes = random.integers(0, n_classes, size=n_labels).astype(np.uint16)
    transitions = (scale * random.normal(size=(size, size))).astype(np.float32)
    opening = np.zeros(size, dtype=np.float32)
    if forbids:
        transitions[random.random(size=transitions.shape) < 0.3] = -np.inf
        opening[random.random(size) < 0.3] = -np.inf
    sentences = np.cumsum([0, *lengths]).astype(np.int64)
    lists = [
        np.flatnonzero(random.random(n_labels) < 0.7).tolist() or [0] for _ in range(sum(lengths))
    ]
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    labels = np.array([label for own in lists for label in own], dtype=np.uint16)
    unary = random.normal(size=len(labels))
    chosen = np.array([random.choice([-1, *own]) for own in lists], dtype=np.int32)
    kinds = random.integers(0, 3, size=n_labels).astype(np.int32)
    found = chosen_marginals(
        unary, starts, labels, classes[labels], sentences, transitions, opening, chosen, kinds
    )
    for first, end in itertools.pairwise(sentences.tolist()):
        own = [unary[starts[k] : starts[k + 1]].tolist() for k in range(first, end)]
        if first < end:
            own[0] = [
                score + float(opening[classes[q]])
                for score, q in zip(own[0], lists[first], strict=True)
            ]
        in_bigrams = [classes[labels_of].tolist() for labels_of in lists[first:end]]
        facts = sequence_facts(own, in_bigrams, transitions.astype(float))  # type: ignore[arg-type]
        for k in range(first, end):
            if chosen[k] < 0 or not facts.ranked:
                assert np.isnan(found[k])
                continue
            each = zip(facts.unary[k - first], lists[k], strict=True)
            expected = sum(p for p, label in each if kinds[label] == kinds[chosen[k]])
            assert found[k] == pytest.approx(expected, abs=1e-6)


def test_tags_that_are_written_alike_count_as_one() -> None:
    kinds = iob2_kinds(["B-X", "S-X", "I-X", "E-X", "B-Y", "O"]).tolist()
    assert kinds == [0, 0, 1, 1, 2, 3]


def test_a_temperature_flattens_probabilities_and_changes_no_choice() -> None:
    model = quick_model()
    for layer, tagger in taggers(model).items():
        hot = replace(tagger, model=replace(tagger.model, temperature=3.0))
        found = list(changed(model, hot).annotate(sample("test"), probabilities=[layer]))
        assert [s.probabilities and tuple(s.probabilities) for s in found] == [(layer,)] * len(
            found
        )
        assert [getattr(s, layer) for s in found] == [getattr(s, layer) for s in told()]
        assert mean(found, layer) < mean(told(), layer)


def mean(sentences: list[Sentence] | tuple[Sentence, ...], layer: str) -> float:
    return float(np.mean([p for s in sentences if s.probabilities for p in s.probabilities[layer]]))


# --- trees ----------------------------------------------------------------------------------------


def tree_marginals(
    square: Floats, heads: list[int], trees: str, temperature: float, fixed: list[int]
) -> list[float]:
    """The probability of each arc of a tree among all trees with the fixed heads, by
    enumeration.
    """
    n = len(heads)
    weights = {
        other: np.exp(tree_score(square, other) / temperature)  # type: ignore[arg-type]
        for other in all_trees(n, True, trees == "projective")
        if all(fixed[d] in (FREE, other[d + 1]) for d in range(n))
    }
    total = sum(weights.values())
    return [
        sum(w for other, w in weights.items() if other[d + 1] == heads[d]) / total for d in range(n)
    ]


@pytest.mark.parametrize("trees", ["projective", "non-projective"])
@pytest.mark.parametrize("mbr_scale", [0.0, 1.5])
@pytest.mark.parametrize("fixes", [False, True])
def test_the_probability_of_a_head_is_its_marginal(
    trees: str, mbr_scale: float, fixes: bool
) -> None:
    parser, words = parser_and_words(short())
    parser = replace(parser, trees=trees, mbr_scale=mbr_scale, temperature=1.7)
    fixed = np.full(int(words.starts[-1]), FREE, dtype=np.int32)
    if fixes:
        fixed[words.starts[:-1]] = 2
    constraints = (
        ArcConstraints(fixed, {}, np.ones(words.n_sentences, dtype=bool)) if fixes else None
    )
    heads, probabilities = parser.predict_with_probabilities(words, constraints)
    assert (heads == parser.predict(words, constraints)).all()
    for first, end, square in scored(parser, words):
        expected = tree_marginals(
            square, heads[first:end].tolist(), trees, 1.7, fixed[first:end].tolist()
        )
        assert probabilities[first:end] == pytest.approx(expected, abs=1e-6)
    assert (probabilities[fixed != FREE] == 1.0).all()


def test_all_heads_fixed_and_none_possible() -> None:
    parser, words = parser_and_words(short())
    heads = parser.predict(words)
    every = np.ones(words.n_sentences, dtype=bool)
    assert (
        parser.predict_with_probabilities(words, ArcConstraints(heads, {}, every)).probabilities
        == 1.0
    ).all()
    nowhere = {i: np.ones((n + 1, n + 1), dtype=bool) for i, n in enumerate(np.diff(words.starts))}
    free = ArcConstraints(np.full_like(heads, FREE), nowhere, every)
    assert np.isnan(parser.predict_with_probabilities(words, free).probabilities).all()


def test_in_a_sentence_of_pieces_the_piece_is_what_counts() -> None:
    forms = list(
        itertools.chain.from_iterable(own.forms for own in (*sample("train"), *sample("dev")))
    )
    parser, words = parser_and_words([forms[: LONGEST + 50], forms[:12]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LongSentenceWarning)
        heads, probabilities = parser.predict_with_probabilities(words)
        assert (heads == parser.predict(words)).all()
    assert ((probabilities >= 0.0) & (probabilities <= 1.0)).all()
    _, alone = parser_and_words([forms[:12]])
    assert probabilities[-12:] == pytest.approx(
        parser.predict_with_probabilities(alone).probabilities
    )


# --- models ---------------------------------------------------------------------------------------


def test_annotation_is_the_same_and_every_layer_tells_its_probabilities() -> None:
    plain = list(quick_model().annotate(sample("test")))
    assert [replace(own, probabilities=None) for own in told()] == plain
    assert all(own.probabilities is None for own in plain)
    for own in told():
        assert own.probabilities is not None
        assert tuple(own.probabilities) == ALL
        for values in own.probabilities.values():
            assert len(values) == len(own)
            assert all(value is not None and 0.0 <= value <= 1.0 for value in values)
    # what was told before is not true of what is annotated anew
    again = next(quick_model().annotate(told()))
    assert again.probabilities is None


def test_probabilities_do_not_depend_on_the_batch() -> None:
    alone = [next(quick_model().annotate([own], probabilities=True)) for own in sample("test")[:5]]
    for one, many in zip(alone, told(), strict=False):
        assert one.probabilities is not None
        assert many.probabilities is not None
        for layer in ALL:
            assert one.probabilities[layer] == pytest.approx(many.probabilities[layer])


def test_tags_that_are_kept_have_none_and_what_is_fixed_is_certain() -> None:
    gold = sample("test")[:8]
    for own in quick_model().annotate(gold, gold_tags=True, probabilities=True):
        assert own.probabilities is not None
        assert set(own.probabilities["upos"]) == {None}
        assert None not in own.probabilities["heads"]
    for brings, own in zip(
        gold, quick_model().annotate(gold, respect_input=True, probabilities=True), strict=True
    ):
        assert own.probabilities is not None
        for layer in ALL:
            brought = zip(getattr(brings, layer), own.probabilities[layer], strict=True)
            sure = [value for cell, value in brought if cell != "_" and value is not None]
            assert sure == pytest.approx([1.0] * len(sure))


def test_a_fixed_tag_that_the_model_does_not_know_has_no_probability_and_others_are_given_it() -> (
    None
):
    own = Sentence(("The", "cat", "sat"))
    fixed = Constraints().fix("xpos", 2, "NEW").fix("deprels", 1, "new").fix("upos", 3, "NOUN")
    (found,) = quick_model().annotate([own], constraints=[fixed], probabilities=True)
    assert found.probabilities is not None
    assert (found.xpos[1], found.deprels[0], found.upos[2]) == ("NEW", "new", "NOUN")
    assert found.probabilities["xpos"][1] is None
    assert found.probabilities["deprels"][0] is None
    assert found.probabilities["upos"][2] == pytest.approx(1.0)
    assert found.probabilities["xpos"][0] is not None


def test_sentences_without_words_are_no_trouble() -> None:
    first, second = quick_model().annotate([Sentence(()), Sentence(("a",))], probabilities=True)
    assert first.probabilities == dict.fromkeys(ALL, ())
    assert second.probabilities is not None
    assert second.probabilities["heads"] == (1.0,)


def test_models_without_probabilities_say_so() -> None:
    layers = 'layers=["upos", "heads"]'
    config = quick(
        layers, "parser.order=1", "parser.loss=max-margin", "parser.stop.iterations=1", "hold_out=0"
    )
    model = train(sample("train")[:20], None, config).model
    assert model.probabilistic == ("upos",)
    wanted = (
        "^probabilities: expected layers learned with a loss that has probabilities, such as "
        "log-linear, got heads$"
    )
    with pytest.raises(EgparseError, match=wanted):
        next(model.annotate(sample("test"), probabilities=True))
    with pytest.raises(
        EgparseError,
        match=r"^probabilities: expected layers of the model \(upos, heads\), got xpos$",
    ):
        next(model.annotate(sample("test"), probabilities=["xpos"]))
    found = next(model.annotate(sample("test"), probabilities=["upos"]))
    assert found.probabilities is not None
    assert tuple(found.probabilities) == ("upos",)


def test_temperatures_are_fitted_on_the_development_part_and_stored(tmp_path: Path) -> None:
    model = train(sample("train")[:60], sample("dev"), quick("parser.order=1")).model
    assert "parser" in model.components
    assert "labeller" in model.components
    temperatures = {layer: own.model.temperature for layer, own in taggers(model).items()}
    assert "lemmas" in model.components
    others = {"heads": "parser", "deprels": "labeller", "lemmas": "lemmas"}
    temperatures |= {layer: model.components[name].temperature for layer, name in others.items()}
    assert {layer: model.record["tasks"][layer]["temperature"] for layer in ALL} == temperatures
    assert all(0.2 <= value <= 5.0 and value != 1.0 for value in temperatures.values())
    before, after = (
        calibrations(sample("dev"), list(own.annotate(sample("dev"), probabilities=True)))
        for own in (_at_one(model), model)
    )
    assert all(after[layer].nll <= before[layer].nll for layer in ("upos", "xpos", "spans"))
    assert after["heads"].nll <= before["heads"].nll
    path = tmp_path / "model.msgpack"
    model.save(path)
    assert list(Model.load(path).annotate(sample("test"), probabilities=True)) == list(
        model.annotate(sample("test"), probabilities=True)
    )


def _at_one(model: Model) -> Model:
    names = (*taggers(model), "parser", "labeller")
    return changed(model, *(model.components[name].with_temperature(1.0) for name in names))


# --- CoNLL-U --------------------------------------------------------------------------------------

ROWS = "1\ta\t_\tX\t_\t_\t_\t_\t_\tSpaceAfter=No|PHead=0.111|PUpos=0.5\n"
ROWS += "1.1\te\t_\t_\t_\t_\t_\t_\t_\tX=Y\n2\tb\t_\tY\t_\t_\t_\t_\t_\t_\n\n"


def test_misc_is_kept_and_what_was_told_before_is_replaced() -> None:
    (own,) = read_conllu(io.StringIO(ROWS))
    assert format_sentence(own) == ROWS
    found = replace(
        own,
        spans=("O", "B-X"),
        probabilities={"heads": (0.97349, None), "spans": (1.0, 0.25), "upos": (None, None)},
    )
    cells = [line.split("\t")[9] for line in format_sentence(found).splitlines() if line]
    assert cells == ["SpaceAfter=No|PHead=0.973|PNE=1.000", "X=Y", "NE=B-X|PNE=0.250"]
    assert [c.split("\t")[9] for c in format_sentence(found, "Span").splitlines() if c][
        2
    ] == "Span=B-X|PSpan=0.250"
    plain = Sentence(("a",), probabilities={"heads": (0.5,)})
    assert format_sentence(plain).splitlines()[-2].endswith("\tPHead=0.500")
    with pytest.raises(ValueError, match="a probability or None for each of 2 words"):
        format_sentence(replace(own, probabilities={"heads": (0.5,)}))
