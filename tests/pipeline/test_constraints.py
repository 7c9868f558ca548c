"""Constrained decoding: what is fixed and forbidden holds, and the rest is the best that it leaves,
by enumeration.
"""

from __future__ import annotations

import io
import itertools
import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from oracles.trees import all_trees, is_projective, is_single_rooted, is_tree, tree_score
from sample_treebank import quick_model, sample, without

from egparse.errors import CorpusError, EgparseError
from egparse.features.tag_dictionary import (
    AllowedLabels,
    Candidates,
    TagDictionary,
    all_labels,
    restrict,
)
from egparse.features.word_table import Words
from egparse.io.conllu import read_conllu
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.constraints import FREE, NO_TREE, ArcConstraints, all_arcs, constrain_arcs
from egparse.parsing.long_sentences import LONGEST
from egparse.pipeline.constraints import Constraints, labels_below
from egparse.schemes import to_iob2
from egparse.sentences import Sentence
from egparse.sequences.model import SequenceModel
from egparse.sequences.tagger import Tagger
from egparse.structures.trees.nonprojective import argmax

Flags = npt.NDArray[np.bool_]
NOTHING: Flags = np.zeros((0, 0), dtype=bool)


def constrained(
    arcs: npt.NDArray[np.int16], fixed: npt.NDArray[np.int32], forbidden: Flags, single_root: bool
) -> set[tuple[int, int]] | None:
    """The arcs that are left, None where no tree is allowed."""
    out = np.empty((len(fixed) ** 2, 2), dtype=np.int16)
    count = constrain_arcs(arcs, len(arcs), fixed, forbidden, single_root, out)
    found = [(int(head), int(dependent)) for head, dependent in out[: max(count, 0)]]
    assert found == sorted(found, key=lambda arc: (arc[1], arc[0]))
    return None if count == NO_TREE else set(found)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_arcs_hold_a_tree_exactly_if_one_is_allowed(n: int, single_root: bool) -> None:
    random = np.random.default_rng(n)
    every = {(h, d) for h in range(n + 1) for d in range(1, n + 1) if h != d}
    trees = all_trees(n, single_root, projective=False)
    seen = set()
    for _ in range(300):
        density = random.choice([0.2, 0.5, 0.9])
        arcs = np.array(
            [a for a in sorted(every) if random.random() < density], dtype=np.int16
        ).reshape(-1, 2)
        fixed = np.full(n + 1, FREE, dtype=np.int32)
        for word in range(1, n + 1):
            if random.random() < 0.3:
                fixed[word] = random.choice([h for h in range(n + 1) if h != word])
        forbidden = random.random((n + 1, n + 1)) < 0.2 if random.random() < 0.7 else NOTHING
        allowed = {
            (h, d)
            for h, d in every
            if fixed[d] in (FREE, h) and not (len(forbidden) and forbidden[h, d])
        }
        candidates = {(int(h), int(d)) for h, d in arcs}
        candidates = {(h, d) for h, d in allowed if (h, d) in candidates or fixed[d] == h}

        def holds(own: set[tuple[int, int]]) -> bool:
            return any(all((tree[d], d) in own for d in range(1, n + 1)) for tree in trees)

        found = constrained(arcs, fixed, forbidden, single_root)
        expected = candidates if holds(candidates) else allowed if holds(allowed) else None
        assert found == expected
        seen.add(0 if expected is None else 1 if holds(candidates) else 2)
    assert seen == ({0, 1, 2} if n > 1 else {0, 1, 2} & seen)


def test_the_best_tree_on_constrained_arcs_is_the_best_that_is_allowed() -> None:
    random = np.random.default_rng(7)
    n = 4
    out = np.empty(((n + 1) ** 2, 2), dtype=np.int16)
    for single_root in (True, False):
        for _ in range(60):
            scores = random.normal(size=(n + 1, n + 1))
            tree = random.permutation(all_trees(n, single_root, projective=False))[0]
            fixed = np.where(random.random(n + 1) < 0.4, tree, FREE).astype(np.int32)
            fixed[0] = FREE
            forbidden = random.random((n + 1, n + 1)) < 0.3
            forbidden[tree[1:], np.arange(1, n + 1)] = False
            count = constrain_arcs(out, all_arcs(n + 1, out), fixed, forbidden, single_root, out)
            square = np.full((n + 1, n + 1), -np.inf)
            square[out[:count, 0], out[:count, 1]] = scores[out[:count, 0], out[:count, 1]]
            best = max(
                tree_score(scores, heads)  # type: ignore[arg-type]
                for heads in all_trees(n, single_root, projective=False)
                if all(
                    fixed[d] in (FREE, heads[d]) and not forbidden[heads[d], d]
                    for d in range(1, n + 1)
                )
            )
            assert argmax(square, single_root).score == pytest.approx(best)


def parser_and_words(longest: int) -> tuple[ArcParser, Words]:
    """The parser with all arcs as candidates, and the sample's sentences of a few words with their
    tags.
    """
    model = quick_model()
    short = [
        s for part in ("dev", "test", "train") for s in sample(part) if 3 <= len(s) <= longest
    ][:25]
    words = model.columns.words([sentence.forms for sentence in short])
    for layer in ("upos", "xpos", "feats"):
        words = model.columns.with_tags(words, layer, model.columns.label_numbers(short, layer))
    every = model.components["parser"].arc_filter._replace(share=0.0)
    return replace(model.components["parser"], arc_filter=every), words


def scored(parser: ArcParser, words: Words) -> Iterator[tuple[int, int, npt.NDArray[np.float64]]]:
    """First word, end and arc scores of each sentence."""
    values = parser.columns.values(words)
    for i, (first, end) in enumerate(itertools.pairwise(words.starts)):
        own = values[first + i : end + i + 1]
        square = parser.decoder(len(own), False).scores(own)
        yield int(first), int(end), square


@pytest.mark.parametrize("trees", ["projective", "non-projective"])
def test_the_parser_finds_the_best_tree_with_the_fixed_and_without_the_forbidden_arcs(
    trees: str,
) -> None:
    parser, words = parser_and_words(5)
    parser = replace(parser, trees=trees, mbr_scale=0.0)
    random = np.random.default_rng(2)
    heads = np.full(int(words.starts[-1]), FREE, dtype=np.int32)
    forbidden = {}
    for i, (first, end, square) in enumerate(scored(parser, words)):
        own = random.permutation(all_trees(end - first, True, projective=True))[0]
        heads[first:end] = np.where(random.random(end - first) < 0.4, own[1:], FREE)
        forbidden[i] = random.random(square.shape) < 0.3
        forbidden[i][own[1:], np.arange(1, end - first + 1)] = False
    constraints = ArcConstraints(heads, forbidden, np.ones(words.n_sentences, dtype=bool))
    found = parser.predict(words, constraints)
    assert (found != parser.predict(words)).any()
    for i, (first, end, square) in enumerate(scored(parser, words)):
        fixed, tree = heads[first:end], (-1, *found[first:end].tolist())
        best = max(
            tree_score(square, other)  # type: ignore[arg-type]
            for other in all_trees(end - first, True, trees == "projective")
            if all(
                fixed[d - 1] in (FREE, other[d]) and not forbidden[i][other[d], d]
                for d in range(1, len(tree))
            )
        )
        assert is_tree(tree)
        assert all(a in (FREE, b) for a, b in zip(fixed, tree[1:], strict=True))
        assert tree_score(square, tree) == pytest.approx(best)  # type: ignore[arg-type]


@pytest.mark.parametrize("mbr_scale", [0.0, 0.7])
def test_crossing_arcs_that_are_fixed_make_the_search_non_projective(mbr_scale: float) -> None:
    parser, words = parser_and_words(12)
    parser = replace(parser, trees="projective", mbr_scale=mbr_scale)
    heads = np.full(int(words.starts[-1]), FREE, dtype=np.int32)
    limited = np.diff(words.starts) >= 4
    for first in words.starts[:-1][limited]:
        heads[first : first + 4] = (3, 4, FREE, FREE)
    found = parser.predict(words, ArcConstraints(heads, {}, limited))
    plain = parser.predict(words)
    for (first, end), crossed in zip(itertools.pairwise(words.starts), limited, strict=True):
        own = (-1, *found[first:end].tolist())
        assert is_tree(own)
        assert is_single_rooted(own)
        assert is_projective(own) != crossed
        if crossed:
            assert own[1:3] == (3, 4)
        else:
            assert own[1:] == tuple(plain[first:end])


def test_a_projective_tree_is_found_among_arcs_that_were_no_candidates() -> None:
    parser, words = parser_and_words(8)
    pruned = replace(parser, trees="projective", arc_filter=parser.arc_filter._replace(share=1.0))
    heads = np.full(int(words.starts[-1]), FREE, dtype=np.int32)
    last = words.starts[1:] - 1
    heads[last] = (
        1  # every word between hangs on a candidate from the word before it, but for a single root
    )
    heads[last - 1] = 0
    found = pruned.predict(words, ArcConstraints(heads, {}, np.ones(words.n_sentences, dtype=bool)))
    for first, end in itertools.pairwise(words.starts):
        own = (-1, *found[first:end].tolist())
        assert is_tree(own)
        assert own[-1] == 1
        assert own[-2] == 0


def unary_scores(model: SequenceModel, words: Words) -> npt.NDArray[np.float64]:
    """Scores (words, labels)."""
    every = all_labels(len(words.form_ids), model.n_labels)
    return model.unary_scores(words.values, words.starts, every).reshape(-1, model.n_labels)


def path_score(
    model: SequenceModel, unary: npt.NDArray[np.float64], path: tuple[int, ...]
) -> float:
    total = float(model.opening[path[0]]) + sum(unary[k, label] for k, label in enumerate(path))
    return float(total + sum(model.transitions[a, b] for a, b in itertools.pairwise(path)))


@pytest.mark.parametrize("layer", ["upos", "spans"])
def test_taggers_find_the_best_sequence_that_is_allowed(layer: str) -> None:
    model = quick_model()
    tagger = Tagger(model.components[layer].model, None, (layer,))
    own = tagger.model
    words = model.columns.words([s.forms[:4] for s in sample("dev")[:12]])
    unary = unary_scores(own, words)
    random = np.random.default_rng(3)
    limited = np.flatnonzero(random.random(len(unary)) < 0.8)
    allowed = random.random((len(limited), own.n_labels)) < 0.3
    allowed[np.arange(len(limited)), random.integers(own.n_labels, size=len(limited))] = True
    options = [list(range(own.n_labels))] * len(unary)
    for row, word in enumerate(limited):
        options[word] = np.flatnonzero(allowed[row]).tolist()
    found = tagger.choose(words, AllowedLabels(limited, allowed))
    possible = set()
    for first, end in itertools.pairwise(words.starts):
        # a free word's labels: all that matter are the best few, but for spans every one is tried
        tried = [
            labels
            if len(labels) < 8 or layer == "spans"
            else sorted(labels, key=lambda label: -unary[k, label])[:8]
            for k, labels in enumerate(options[first:end], first)
        ]
        best = max(path_score(own, unary[first:end], path) for path in itertools.product(*tried))
        chosen = tuple(found[first:end].tolist())
        possible.add(bool(np.isfinite(best)))
        if np.isfinite(best):
            assert all(
                label in labels for label, labels in zip(chosen, options[first:end], strict=True)
            )
            assert path_score(own, unary[first:end], chosen) >= best - 1e-6
        else:
            assert set(chosen) == {-1}
    assert possible == ({True} if layer == "upos" else {True, False})


def test_allowed_labels_may_leave_the_dictionary() -> None:
    candidates = Candidates(np.array([0, 1, 2, 3], dtype=np.uint16), np.array([0, 2, 3, 4]))
    allowed = np.array([[False, True, False, True], [True, False, False, True]])
    left = restrict(candidates, AllowedLabels(np.array([0, 1]), allowed))
    assert left.labels.tolist() == [1, 0, 3, 3]
    assert left.starts.tolist() == [0, 1, 3, 4]
    model = quick_model()
    own = model.components["spans"].model
    outside = model.columns.labels["spans"].strings.index("O")
    inside = next(k for k, tag in enumerate(model.columns.labels["spans"].strings) if tag[0] == "I")
    only_outside = TagDictionary({}, {"": [outside]})  # has no tag that could stand before I
    tagger = Tagger(own, only_outside, ("spans",))
    words = model.columns.words([("a", "b"), ("c", "d")])
    only = np.zeros((1, own.n_labels), dtype=bool)
    only[0, inside] = True
    found = tagger.choose(words, AllowedLabels(np.array([1]), only))
    assert found[1] == inside
    assert own.transitions[found[0], inside] > -np.inf
    assert found[2:].tolist() == [outside, outside]


def test_no_constraints_change_nothing() -> None:
    model, sentences = quick_model(), sample("test")[:40]
    plain = list(model.annotate(sentences))
    bare = [Sentence(sentence.forms, source=sentence.source) for sentence in sentences]
    assert list(model.annotate(sentences, constraints=[Constraints()] * 40)) == plain
    without = list(model.annotate(bare))
    assert list(model.annotate(bare, respect_input=True)) == without
    assert list(model.annotate(bare, respect_input=True, gold_tags=True)) == without


def test_everything_given_is_kept_and_what_is_predicted_again_does_not_change() -> None:
    model, sentences = quick_model(), sample("test")[:30]
    every = list(model.annotate(sentences, respect_input=True, gold_tags=True))
    assert every == list(sentences)
    found = list(model.annotate(sentences))
    assert list(model.annotate(found, respect_input=True)) == found


@pytest.mark.parametrize("every", [2, 5])
def test_what_is_given_is_kept_and_helps(every: int) -> None:
    model, gold = quick_model(), sample("test")[:40]

    def masked(
        values: tuple[str, ...] | tuple[int, ...], missing: str | int
    ) -> tuple[str | int, ...]:
        return tuple(value if k % every == 0 else missing for k, value in enumerate(values))

    missing = {layer: -1 if layer == "heads" else "_" for layer in model.layers}
    partial = [
        Sentence(one.forms, **{k: masked(tuple(getattr(one, k)), missing[k]) for k in missing})  # type: ignore[arg-type]
        for one in gold
    ]
    found = list(model.annotate(partial, respect_input=True))
    plain = list(model.annotate(gold))
    for layer in model.layers:
        right = [0, 0]
        for own, given, new, before in zip(gold, partial, found, plain, strict=True):
            kept = [k for k, value in enumerate(getattr(given, layer)) if value not in ("_", -1)]
            assert [getattr(new, layer)[k] for k in kept] == [
                getattr(own, layer)[k] for k in kept
            ], layer
            for side, other in enumerate((before, new)):
                pairs = zip(getattr(own, layer), getattr(other, layer), strict=True)
                right[side] += sum(a == b for k, (a, b) in enumerate(pairs) if k % every)
        assert right[1] >= right[0], layer
    for sentence in found:
        assert is_tree((-1, *sentence.heads))
        assert is_single_rooted((-1, *sentence.heads))


def test_forbidden_values_do_not_come_back() -> None:
    model, sentences = quick_model(), sample("test")[:20]
    plain = list(model.annotate(sentences))
    constraints = []
    for sentence in plain:
        own = Constraints()
        for layer in model.layers:
            own = own.forbid(layer, 2, getattr(sentence, layer)[1]) if len(sentence) > 2 else own
        constraints.append(own)
    for before, after in zip(
        plain, model.annotate(sentences, constraints=constraints), strict=True
    ):
        if len(before) > 2:
            assert all(
                getattr(before, layer)[1] != getattr(after, layer)[1] for layer in model.layers
            )
        assert is_tree((-1, *after.heads))
        for previous, tag in itertools.pairwise(("O", *after.spans)):
            assert tag[0] != "I" or previous[2:] == tag[2:]


def test_labels_that_the_model_does_not_know_are_kept_and_seen_as_unknown() -> None:
    model, gold = quick_model(), sample("test")[:10]
    odd = [
        Sentence(
            s.forms, (), ("NEW", *s.upos[1:]), s.xpos, s.feats, (), ("new", *"_" * (len(s) - 1))
        )
        for s in gold
    ]
    kept = list(model.annotate(odd, respect_input=True))
    assert all(sentence.upos[0] == "NEW" and sentence.deprels[0] == "new" for sentence in kept)
    assert [s.upos for s in kept] == [s.upos for s in odd]
    like_gold = list(model.annotate(odd, gold_tags=True))
    respected = [Sentence(s.forms, upos=s.upos, xpos=s.xpos, feats=s.feats) for s in odd]
    both = list(model.annotate(respected, respect_input=True, gold_tags=True))
    assert [s.heads for s in both] == [s.heads for s in like_gold]
    sentence = Sentence(("a", "b", "c", "d"))
    own = Constraints({"spans": {2: "B-NEW", 3: "I-NEW"}})
    (found,) = model.annotate([sentence], constraints=[own])
    assert found.spans[1:3] == ("B-NEW", "I-NEW")
    assert found.spans[3][0] != "I"


def test_a_root_label_that_is_fixed_makes_the_root() -> None:
    model = quick_model()
    strings = model.columns.labels["deprels"].strings
    labeller = model.components["labeller"]
    below = labels_below(strings, labeller.of_root, labeller.of_words)
    assert below["root"]
    assert below["det"] is False
    sentences = [s for s in sample("test") if len(s) > 4][:20]
    moved = 0
    for word in (1, 3):
        constraints = [Constraints({"deprels": {word: "root"}})] * 20
        for before, after in zip(
            model.annotate(sentences),
            model.annotate(sentences, constraints=constraints),
            strict=True,
        ):
            assert after.heads[word - 1] == 0
            assert after.heads.count(0) == 1  # type: ignore[attr-defined]
            moved += before.heads[word - 1] != 0
    assert moved > 10
    own = Constraints({"deprels": dict.fromkeys(range(1, 4), "det")})
    (found,) = model.annotate([Sentence(("a", "b", "c"))], constraints=[own])
    assert found.deprels == ("det",) * 3  # nothing is left for the root: heads do without
    assert is_tree((-1, *found.heads))


def test_constraints_are_immutable_values() -> None:
    fixed = {"heads": {1: 0}}
    own = Constraints(fixed)
    fixed["heads"][1] = 5
    assert own == Constraints().fix("heads", 1, 0)
    assert pickle.loads(pickle.dumps(own)) == own
    both = own.forbid("upos", 2, "X").over(
        Constraints({"heads": {1: 2, 2: 0}}).forbid("upos", 2, "NOUN")
    )
    assert both.fixed == {"heads": {1: 0, 2: 0}}
    assert both.forbidden == {"upos": {2: {"X", "NOUN"}}}
    assert not Constraints({"upos": {}})


NONE_OF_HEADS = "word 1: expected constraints on heads that leave a tree, got some that leave none"
UNKNOWN_TYPE = "expected B-ZZZ or I-ZZZ fixed before I-ZZZ, whose type the model does not know, got"


@pytest.mark.parametrize(
    ("fixed", "forbidden", "text"),
    [
        ({"heads": {1: 2, 2: 1}}, {}, "number 2, word 1: expected a tree, got the cycle 1 -> 2 ->"),
        (
            {"heads": {1: 0, 3: 0}},
            {},
            "expected one root, got a second word with head 0 after word",
        ),
        ({"heads": {2: 2}}, {}, "word 2: expected a head other than the word itself, got 2"),
        ({"heads": {2: 9}}, {}, "word 2: expected a head from 0 to 3, got 9"),
        ({"heads": {2: -1}}, {}, "word 2: expected a head from 0 to 3, got -1"),
        ({"upos": {4: "X"}}, {}, "word 4: expected constraints on upos for words from 1 to 3, got"),
        ({}, {"heads": {k: {0} for k in (1, 2, 3)}}, NONE_OF_HEADS),
        ({"heads": {1: 2}}, {"heads": {1: {2}}}, "expected a head that is not forbidden, got 2"),
        ({"xpos": {1: "DT"}}, {"xpos": {1: {"DT"}}}, "a value in xpos that is not forbidden, got "),
        ({"spans": {1: "I-ZZZ"}}, {}, f"{UNKNOWN_TYPE} no tag"),
        ({"spans": {1: "S-PER"}}, {}, "expected a span tag O, B-TYPE or I-TYPE, got 'S-PER'"),
    ],
)
def test_what_nothing_can_meet_is_refused_with_its_place(
    fixed: Any, forbidden: Any, text: str
) -> None:
    constraints = [Constraints(), Constraints(fixed, forbidden)]
    with pytest.raises(EgparseError) as fault:
        list(quick_model().annotate([Sentence(("a", "b", "c"))] * 2, constraints=constraints))
    assert text in str(fault.value)


def test_places_in_files_are_named() -> None:
    sentence = sample("test")[3]
    assert sentence.source is not None
    line = sentence.source.first_line + sentence.source.word_lines[1]
    with pytest.raises(CorpusError) as fault:
        list(quick_model().annotate([sentence], constraints=[Constraints({"heads": {2: 3, 3: 2}})]))
    assert f"en_sample-test.conllu:{line}: sentence {sentence.sentence_id}: expected a tree" in str(
        fault.value
    )


def test_spans_that_cannot_be_valid_are_refused() -> None:
    model = quick_model()
    kind = next(tag[2:] for tag in model.columns.labels["spans"].strings if tag[0] == "I")
    two, lost = [Sentence(("a", "b"))], Constraints({"spans": {1: "O", 2: f"I-{kind}"}})
    with pytest.raises(EgparseError, match="on spans that leave a sequence, got some that leave"):
        list(model.annotate(two, constraints=[lost]))
    (found,) = model.annotate(two, constraints=[Constraints({"spans": {2: f"I-{kind}"}})])
    assert found.spans == (f"B-{kind}", f"I-{kind}")


def test_spans_are_read_with_their_gaps_and_filled() -> None:
    model = quick_model()
    kind = next(tag[2:] for tag in model.columns.labels["spans"].strings if tag[0] == "I")
    text = f"_ NE=E-{kind} NE=O A=1|NE=I-{kind} NE=E-{kind} NE=_ NE=U-{kind} _"
    tags = text.split()
    rows = [f"{k}\tw{k}\t_\t_\t_\t_\t_\t_\t_\t{misc}" for k, misc in enumerate(tags, 1)]
    text = "\n".join(rows) + "\n\n"
    (sentence,) = read_conllu(io.StringIO(text), partial_spans=True)
    begin, inside = f"B-{kind}", f"I-{kind}"
    assert sentence.spans == ("_", inside, "O", begin, inside, "_", begin, "_")
    (found,) = model.annotate([sentence], respect_input=True)
    assert found.spans[:5] == (begin, inside, "O", begin, inside)
    assert found.spans[6] == begin
    assert to_iob2(found.spans) == found.spans
    with pytest.raises(CorpusError, match=r":2: expected a tag O or TYPE .*, got '\?'"):
        list(read_conllu(io.StringIO(text.replace(f"E-{kind}", "?", 1)), partial_spans=True))
    (plain,) = read_conllu(io.StringIO(text.replace("\tNE=_\n", "\t_\n")))
    assert plain.spans == ("O", begin, "O", begin, inside, "O", begin, "O")


def test_constraints_must_fit_the_model_and_the_sentences() -> None:
    model, two = quick_model(), [Sentence(("a",))] * 2
    with pytest.raises(EgparseError, match="expected constraints for every sentence, got fewer"):
        list(model.annotate(two, constraints=[Constraints()]))
    with pytest.raises(EgparseError, match="expected constraints for 2 sentences, got more"):
        list(model.annotate(two, constraints=[Constraints()] * 3))
    tagger = without(model, "parser", "labeller")
    with pytest.raises(
        EgparseError, match=r"layers that the model predicts \(.*spans\), got 'heads'"
    ):
        list(tagger.annotate(two[:1], constraints=[Constraints({"heads": {1: 0}})]))
    for fixed, text in (
        ({"forms": {1: "a"}}, "expected a layer of upos, .*, got 'forms'"),
        ({"heads": {1: "0"}}, "heads: expected values of type int, got '0'"),
        ({"upos": {0: "X"}}, "upos: expected words that count from 1, got 0"),
    ):
        with pytest.raises(EgparseError, match=text):
            Constraints(fixed)  # type: ignore[arg-type]


def test_long_sentences_are_kept_whole_or_refused() -> None:
    n = LONGEST + 1
    model, forms = quick_model(), ("a",) * n
    whole = Sentence(forms, heads=(0, *range(1, n)))
    (found,) = model.annotate([whole], respect_input=True)
    assert found.heads == whole.heads
    with pytest.raises(
        EgparseError, match=f"expected at most {LONGEST} words in a sentence of which some heads"
    ):
        list(model.annotate([Sentence(forms)], constraints=[Constraints({"heads": {7: 0}})]))
