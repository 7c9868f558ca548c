"""Constraints on annotation: values that are fixed or forbidden, given sentence by sentence and
resolved to label numbers and arcs for the decoders.

Everything that is not fixed is decoded as the best completion: decoders search only the chains and
trees that satisfy the constraints. The tasks remain a pipeline, though: a fixed head does not
change a tag, for tags are predicted first. One constraint works backwards: if only the DEPREL of a
word is fixed, and the training corpus has it only below the root or only below words, the head of
the word is restricted accordingly.

A fixed value that the model does not know is kept in the output, and tasks that read the tag see
that it is unknown. While the labels of the other words are decoded, that word is unconstrained,
except that a span tag of an unknown type counts as O.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from egparse.errors import CorpusError, EgparseError
from egparse.features.request import ABSENT
from egparse.features.tag_dictionary import AllowedLabels
from egparse.io.trees import find_tree_fault
from egparse.layers import LABELLED, LAYERS, LEMMAS
from egparse.parsing.constraints import FREE, ArcConstraints
from egparse.parsing.long_sentences import LONGEST
from egparse.pipeline.components import LABELLER, PARSER, Components
from egparse.schemes import OUTSIDE, find_tag_fault
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.sequences.lemmatiser import LemmaConstraints
from egparse.text.exceptions.table import FixedValues
from egparse.types import Ints, Mask

Value = str | int
"""A value that can be fixed or forbidden: a label, or the position of a head."""

_IOB2 = {"E": "I", "L": "I", "S": "B", "U": "B"}


@dataclass(frozen=True)
class Constraints:
    """The constraints of one sentence: ``fixed[layer][word]`` is the value that a word must have,
    ``forbidden[layer][word]`` holds values that it must not have.

    Layers are those of ``Sentence`` in ``LAYERS``. Words count from 1, as in the column ID; heads
    are positions of words or 0 for the root. Span tags are IOB2 whatever the model's scheme.
    Immutable: the mappings are copied.

    Raises:
        EgparseError: another layer, a word before the first, a head that is no integer, a label
            that is no string.
    """

    fixed: Mapping[str, Mapping[int, Value]] = field(default_factory=dict)
    forbidden: Mapping[str, Mapping[int, Collection[Value]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fixed = {layer: dict(words) for layer, words in self.fixed.items() if words}
        forbidden = {
            layer: {word: frozenset(values) for word, values in words.items()}
            for layer, words in self.forbidden.items()
            if words
        }
        for layer in (*fixed, *forbidden):
            if layer not in LAYERS:
                raise EgparseError(
                    f"constraints: expected a layer of {', '.join(LAYERS)}, got {layer!r}"
                )
        for layer, words in fixed.items():
            _check(layer, words, words.values())
        for layer, values in forbidden.items():
            _check(layer, values, chain.from_iterable(values.values()))
        object.__setattr__(self, "fixed", fixed)
        object.__setattr__(self, "forbidden", forbidden)

    def __bool__(self) -> bool:
        return bool(self.fixed or self.forbidden)

    @property
    def layers(self) -> frozenset[str]:
        """The layers that have constraints."""
        return frozenset(self.fixed) | frozenset(self.forbidden)

    def fix(self, layer: str, word: int, value: Value) -> Constraints:
        """These constraints and one more fixed value."""
        words = {**self.fixed.get(layer, {}), word: value}
        return Constraints({**self.fixed, layer: words}, self.forbidden)

    def forbid(self, layer: str, word: int, *values: Value) -> Constraints:
        """These constraints and more forbidden values of a word."""
        before = self.forbidden.get(layer, {})
        words = {**before, word: frozenset(before.get(word, ())) | frozenset(values)}
        return Constraints(self.fixed, {**self.forbidden, layer: words})

    def over(self, other: Constraints) -> Constraints:
        """Both together; where they fix different values, these take precedence."""
        fixed = {
            layer: {**other.fixed.get(layer, {}), **self.fixed.get(layer, {})}
            for layer in {**other.fixed, **self.fixed}
        }
        joined = Constraints(fixed, other.forbidden)
        for layer, words in self.forbidden.items():
            for word, values in words.items():
                joined = joined.forbid(layer, word, *values)
        return joined

    @classmethod
    def of(cls, sentence: Sentence, layers: Iterable[str] = LAYERS) -> Constraints:
        """Constraints that fix every value of a sentence in some layers that is not missing."""
        return cls(
            {
                layer: {
                    word: value
                    for word, value in enumerate(getattr(sentence, layer), 1)
                    if value not in (MISSING, MISSING_HEAD)
                }
                for layer in layers
            }
        )


def _check(layer: str, words: Iterable[int], values: Iterable[Value]) -> None:
    if min(words) < 1:
        raise EgparseError(
            f"constraints: {layer}: expected words that count from 1, got {min(words)}"
        )
    kind = int if layer == "heads" else str
    for value in values:
        if not isinstance(value, kind):
            raise EgparseError(
                f"constraints: {layer}: expected values of type {kind.__name__}, got {value!r}"
            )


class LayerConstraints(NamedTuple):
    """The constraints of a batch on a layer.

    ``allowed``: what the decoder may choose (None: anything), ``AllowedLabels``, or
    ``ArcConstraints`` of heads, or ``LemmaConstraints``. ``fixed``: the words whose label is fixed,
    numbered through the batch. ``unknown``: the fixed labels that the model does not know, by word.
    """

    allowed: AllowedLabels | ArcConstraints | LemmaConstraints | None
    fixed: Sequence[int] = ()
    unknown: Mapping[int, str] = {}


class ResolvedConstraints(NamedTuple):
    """The constraints of a batch in the numbers of a model; ``check(layer, values)`` raises
    EgparseError for a sentence without a solution, see ``BatchConstraints.check``.
    """

    of_layers: Mapping[str, LayerConstraints]
    check: Callable[[str, Any], None]


@dataclass(frozen=True)
class BatchConstraints:
    """The constraints of a batch of sentences; ``number`` counts its first sentence in the input,
    from 1, for messages.
    """

    batch: Sequence[Sentence]
    constraints: Sequence[Constraints]
    number: int = 1

    def resolve(
        self,
        layers: Collection[str],
        strings: Mapping[str, Sequence[str]],
        *,
        single_root: bool,
        below: Mapping[str, bool],
    ) -> ResolvedConstraints:
        """The constraints on some layers, with the labels ``strings[layer]`` as numbers; for
        ``single_root`` and ``below`` see ``arcs``.

        Raises:
            EgparseError: see ``labels`` and ``arcs``.
        """
        found = {
            layer: self.labels(layer, strings[layer])
            for layer in layers
            if LAYERS[layer].kind in LABELLED
        }
        if "heads" in layers:
            found["heads"] = LayerConstraints(self.arcs(single_root=single_root, below=below))
        if LEMMAS in layers:
            found[LEMMAS] = LayerConstraints(self.lemmas())
        return ResolvedConstraints(found, self.check)

    def lemmas(self) -> LemmaConstraints | None:
        """The constraints on lemmas, by word of the batch; None if there are none.

        Raises:
            EgparseError: a word beyond the sentence, a lemma both fixed and forbidden.
        """
        fixed: dict[int, str] = {}
        forbidden: dict[int, Collection[str]] = {}
        for i, begin, chosen, barred in self._of_layer(LEMMAS):
            for word, lemma in chosen.items():
                self._check_not_forbidden(i, LEMMAS, word, lemma)
                fixed[begin + word] = str(lemma)
            for word, values in barred.items():
                if word not in chosen:
                    forbidden[begin + word] = frozenset(map(str, values))
        return LemmaConstraints(fixed, forbidden) if fixed or forbidden else None

    def _of_layer(
        self, layer: str
    ) -> Iterator[tuple[int, int, Mapping[int, Value], Mapping[int, Collection[Value]]]]:
        """Each sentence with constraints on a layer: its number, where it begins in the batch if
        words count from 0, and what is fixed and forbidden.

        Raises:
            EgparseError: a word beyond the sentence.
        """
        begin = -1
        for i, (sentence, given) in enumerate(zip(self.batch, self.constraints, strict=True)):
            fixed, forbidden = given.fixed.get(layer, {}), given.forbidden.get(layer, {})
            if fixed or forbidden:
                self._check_words(i, layer, (*fixed, *forbidden))
                yield i, begin, fixed, forbidden
            begin += len(sentence)

    def _check_not_forbidden(self, i: int, layer: str, word: int, value: Value) -> None:
        if value in self.constraints[i].forbidden.get(layer, {}).get(word, ()):
            raise self.fault(i, word, f"a value in {layer} that is not forbidden", repr(value))

    def labels(self, layer: str, strings: Sequence[str]) -> LayerConstraints:
        """The constraints on a layer of labels, in which ``strings`` are numbered.

        Raises:
            EgparseError: a word beyond the sentence, a value both fixed and forbidden, a word
                whose labels are all forbidden, a faulty span tag.
        """
        numbers = (
            _readings(strings)
            if layer == "spans"
            else {name: (k,) for k, name in enumerate(strings)}
        )
        allowed: dict[int, Collection[int]] = {}
        fixed_words: list[int] = []
        unknown: dict[int, str] = {}
        for i, begin, fixed, forbidden in self._of_layer(layer):
            if layer == "spans":
                self._check_spans(i, fixed, numbers)
            for word, value in fixed.items():
                self._check_not_forbidden(i, layer, word, value)
                fixed_words.append(begin + word)
                known = numbers.get(str(value))
                if known is None:
                    unknown[begin + word] = str(value)
                    known = numbers.get(OUTSIDE) if layer == "spans" else None
                if known is not None:
                    allowed[begin + word] = known
            for word, values in forbidden.items():
                if word not in fixed:
                    none = {number for value in values for number in numbers.get(str(value), ())}
                    left = [number for number in range(len(strings)) if number not in none]
                    if not left:
                        expected = f"a label in {layer} that is not forbidden"
                        raise self.fault(i, word, expected, "none")
                    allowed[begin + word] = left
        return LayerConstraints(_allowed_labels(allowed, len(strings)), fixed_words, unknown)

    def arcs(self, *, single_root: bool, below: Mapping[str, bool]) -> ArcConstraints | None:
        """The constraints on heads; None if there are none.

        ``below[label]`` is True for labels that occur only below the root, False for those that
        occur only below words.

        Raises:
            EgparseError: heads that are no part of any tree (with one root word if
                ``single_root``), a head both fixed and forbidden, or free and fixed heads in a
                sentence of more than ``LONGEST`` words.
        """
        lengths = [len(sentence) for sentence in self.batch]
        heads = np.full(sum(lengths), FREE, dtype=np.int32)
        constrained = np.zeros(len(lengths), dtype=bool)
        forbidden: dict[int, Mask] = {}
        begin = 0
        for i, (n, given) in enumerate(zip(lengths, self.constraints, strict=True)):
            fixed, barred = given.fixed.get("heads", {}), given.forbidden.get("heads", {})
            if fixed or barred:
                constrained[i] = True
                self._check_arcs(i, n, fixed, barred, single_root)
                heads[begin : begin + n][[word - 1 for word in fixed]] = [
                    int(head) for head in fixed.values()
                ]
            if n > LONGEST:
                pass  # all heads are fixed or free: no array of n^2 arcs is needed
            elif barred:
                forbidden[i] = _squared(n, barred)
            else:
                inferred, elsewhere = _by_labels(
                    given, n, heads[begin : begin + n], single_root, below
                )
                if inferred:
                    heads[begin + inferred - 1] = 0
                if elsewhere:
                    forbidden[i] = _squared(n, dict.fromkeys(elsewhere, (0,)))
                constrained[i] |= bool(inferred or elsewhere)
            begin += n
        return ArcConstraints(heads, forbidden, constrained) if constrained.any() else None

    def fault(self, i: int, word: int, expected: str, got: str) -> EgparseError:
        """The error of a word of sentence ``i`` of the batch, with its line in the file, if any."""
        sentence = self.batch[i]
        source = sentence.source
        if source is None:
            name = sentence.sentence_id or f"number {self.number + i}"
            return EgparseError(f"sentence {name}, word {word}: expected {expected}, got {got}")
        line = source.word_lines[min(word, len(sentence)) - 1] if len(sentence) else 0
        return CorpusError(
            source.path, source.first_line + line, expected, got, sentence.sentence_id
        )

    def check(self, layer: str, predicted: Any) -> None:
        """Raise EgparseError for the first sentence with a negative value or an empty lemma:
        nothing satisfies its constraints.
        """
        lost = np.array([not one for one in predicted]) if layer == LEMMAS else predicted < 0
        if not lost.any():
            return
        what = {"heads": "a tree", LEMMAS: "a lemma"}.get(layer, "a sequence")
        place = int(np.argmax(lost))
        ends = np.cumsum([len(sentence) for sentence in self.batch])
        i = int(np.searchsorted(ends, place, side="right"))
        given = self.constraints[i]
        word = min((*given.fixed.get(layer, ()), *given.forbidden.get(layer, ())), default=1)
        raise self.fault(
            i, word, f"constraints on {layer} that leave {what}", "some that leave none"
        )

    def _check_words(self, i: int, layer: str, words: Iterable[int]) -> None:
        n = len(self.batch[i])
        last = max(words)
        if last > n:
            raise self.fault(
                i, last, f"constraints on {layer} for words from 1 to {n}", f"word {last}"
            )

    def _check_spans(self, i: int, fixed: Mapping[int, Value], known: Collection[str]) -> None:
        """Raise EgparseError for a tag that is not IOB2, or an I of an unknown type after no fixed
        tag of that type: no label of the model could begin its span.
        """
        for word, value in fixed.items():
            tag = str(value)
            if find_tag_fault([tag], "iob2") is not None:
                raise self.fault(i, word, "a span tag O, B-TYPE or I-TYPE", repr(tag))
            before = fixed.get(word - 1)
            if tag not in known and tag[0] == "I" and before not in ("B" + tag[1:], tag):
                text = f"B{tag[1:]} or {tag} fixed before {tag}, whose type the model does not know"
                raise self.fault(i, word, text, repr(before) if before else "no tag")

    def _check_arcs(
        self,
        i: int,
        n: int,
        fixed: Mapping[int, Value],
        barred: Mapping[int, Collection[Value]],
        single_root: bool,
    ) -> None:
        self._check_words(i, "heads", (*fixed, *barred))
        heads = [int(fixed.get(word, MISSING_HEAD)) for word in range(1, n + 1)]
        negative = next((word for word in fixed if heads[word - 1] < 0), None)
        if negative is not None:
            raise self.fault(i, negative, f"a head from 0 to {n}", str(heads[negative - 1]))
        fault = find_tree_fault(heads, single_root)
        if fault is not None:
            raise self.fault(i, fault.word, fault.expected, fault.got)
        for word, values in barred.items():
            wrong = next((value for value in values if not 0 <= int(value) <= n), None)
            if wrong is not None:
                raise self.fault(i, word, f"forbidden heads from 0 to {n}", str(wrong))
            if fixed.get(word) in values:
                raise self.fault(i, word, "a head that is not forbidden", str(fixed[word]))
        if n > LONGEST and len(fixed) < n:
            text = (
                f"at most {LONGEST} words in a sentence of which some heads are fixed or forbidden"
            )
            raise self.fault(i, min((*fixed, *barred)), text, str(n))


def _allowed_labels(allowed: Mapping[int, Collection[int]], n_labels: int) -> AllowedLabels | None:
    if not allowed:
        return None
    words = sorted(allowed)
    table = np.zeros((len(words), n_labels), dtype=bool)
    rows = np.repeat(np.arange(len(words)), [len(allowed[word]) for word in words])
    table[
        rows, np.fromiter(chain.from_iterable(allowed[word] for word in words), np.int64, len(rows))
    ] = True
    return AllowedLabels(np.array(words, dtype=np.int64), table)


def _readings(tags: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """IOB2 tag -> the numbers of the tags with that meaning in the scheme of ``tags``."""
    readings: dict[str, tuple[int, ...]] = {}
    for number, tag in enumerate(tags):
        name = _IOB2.get(tag[0], tag[0]) + tag[1:]
        readings[name] = (*readings.get(name, ()), number)
    return readings


def _squared(n: int, barred: Mapping[int, Collection[Value]]) -> Mask:
    square = np.zeros((n + 1, n + 1), dtype=bool)
    for word, values in barred.items():
        square[[int(head) for head in values], word] = True
    return square


def _by_labels(
    constraints: Constraints, n: int, heads: Ints, single_root: bool, below: Mapping[str, bool]
) -> tuple[int, list[int]]:
    """``(root, not_root)``: the word whose fixed label forces it below the root (0: none), and the
    words whose labels exclude the root.

    A label restricts heads only where a tree with the fixed heads remains: labels may contradict
    each other and the fixed heads.
    """
    labels = constraints.fixed.get("deprels", {})
    restricting = [
        (word, below[str(label)])
        for word, label in labels.items()
        if str(label) in below and 0 < word <= n and heads[word - 1] == FREE
    ]
    if not restricting or (single_root and (heads == 0).any()):
        return 0, []
    roots = [word for word, at_root in restricting if at_root]
    if single_root and len(roots) == 1:
        return roots[0], []
    elsewhere = [word for word, at_root in restricting if not at_root]
    others = int((heads == FREE).sum()) > len(elsewhere) or bool((heads == 0).any())
    return 0, elsewhere if others else []


def labels_below(
    strings: Sequence[str], of_root: Collection[int], of_words: Collection[int]
) -> dict[str, bool]:
    """The labels seen only below the root (True) and the labels seen only below words (False), from
    the numbers of all labels seen below the root and below words.
    """
    of_one = set(of_root) ^ set(of_words)
    return {name: number in of_root for number, name in enumerate(strings) if number in of_one}


def given_constraints(
    layers: Sequence[str],
    batch: Sequence[Sentence],
    given: Iterator[Constraints] | None,
    respect_input: bool,
) -> list[Constraints]:
    """The constraints of each sentence of a batch: the given ones take precedence over the input's.

    Raises:
        EgparseError: constraints on none of ``layers``, or for fewer sentences.
    """
    from_input = [
        Constraints.of(sentence, layers) if respect_input else Constraints() for sentence in batch
    ]
    if given is None:
        return from_input
    each = list(islice(given, len(batch)))
    if len(each) < len(batch):
        raise EgparseError("expected constraints for every sentence, got fewer")
    constrained = frozenset().union(*(constraints.layers for constraints in each))
    for layer in constrained.difference(layers):
        raise EgparseError(
            f"constraints: expected layers that the model predicts ({', '.join(layers)}), got "
            f"{layer!r}"
        )
    return [given.over(before) for given, before in zip(each, from_input, strict=True)]


def excepted(
    each: Sequence[Constraints] | None,
    fixed: FixedValues,
    batch: Sequence[Sentence],
    layers: Collection[str],
    given: Mapping[str, Ints],
) -> Sequence[Constraints] | None:
    """The constraints ``each`` of a batch, over the values that exceptions fix for the words
    without a ``given`` tag; None if there are none.
    """
    found: list[Constraints] = []
    begin, nothing = -1, Constraints()  # as if words counted from 0 on
    for sentence in batch:
        values = {
            layer: {
                word: value
                for word, value in words.items()
                if layer not in given or given[layer][begin + word] == ABSENT
            }
            for layer, words in fixed.of(sentence.forms, sentence.tokens).items()
            if layer in layers
        }
        found.append(Constraints(values) if values else nothing)
        begin += len(sentence)
    if not any(found):
        return each
    if each is None:
        return found
    return [one.over(other) if other else one for one, other in zip(each, found, strict=True)]


def resolved(model: Components, constraints: BatchConstraints) -> ResolvedConstraints:
    """Constraints in the numbers of a model's labels.

    Raises:
        EgparseError: see ``BatchConstraints.resolve``.
    """
    strings = {layer: labels.strings for layer, labels in model.columns.labels.items()}
    below: dict[str, bool] = {}
    if (labeller := model.get(LABELLER)) is not None:
        below = labels_below(strings["deprels"], labeller.of_root, labeller.of_words)
    single_root = PARSER not in model or model[PARSER].single_root
    return constraints.resolve(model.layers, strings, single_root=single_root, below=below)
