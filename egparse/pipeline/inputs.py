"""What a model can be given to annotate: texts, or sentences."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeGuard

from egparse.errors import EgparseError
from egparse.pipeline.constraints import Constraints
from egparse.sentences import Sentence

if TYPE_CHECKING:
    from egparse.sentences import TokenList

    Sentences = Sentence | TokenList | Iterable[Sentence | TokenList]

_EACH = "a list with Constraints for each sentence"
_ANYTHING = "a text, several texts, or sentences"


def as_sentences(source: Sentences, call: str) -> Iterator[Sentence]:
    """The sentences that a method was given, also one alone, or ``TokenList`` of conllu. ``call``
    names the method.

    Raises:
        EgparseError: something else.
    """
    if isinstance(source, Sentence) or _is_token_list(source):
        return _checked(iter([source]), call)
    return _checked(_iterator(source, call, "sentences"), call)


def _checked(given: Iterator[Any], call: str) -> Iterator[Sentence]:
    for one in given:
        if isinstance(one, Sentence):
            yield one
        elif _is_token_list(one):
            yield Sentence.from_token_list(one)
        else:
            raise _unexpected(call, "sentences", one)


def texts_in(source: Any) -> tuple[list[str] | None, Any]:
    """The texts that a model was called with, None if they are something else; and that, with
    nothing of it taken away.

    Raises:
        EgparseError: neither texts nor sentences.
    """
    if isinstance(source, str):
        return [source], source
    if isinstance(source, Sentence) or _is_token_list(source):
        return None, source
    given = _iterator(source, "model", _ANYTHING)
    for first in given:
        if not isinstance(first, str):
            if not isinstance(first, Sentence) and not _is_token_list(first):
                raise _unexpected("model", _ANYTHING, first)
            return None, chain([first], given)
        texts = [first, *given]
        for one in texts:
            if not isinstance(one, str):
                raise _unexpected("model", "texts", one)
        return texts, source
    return None, ()


def each_constraints(given: Iterable[Constraints]) -> Iterator[Constraints]:
    """The constraints of one sentence after the other.

    Raises:
        EgparseError: something else.
    """
    for one in _iterator(given, "constraints", _EACH):
        if not isinstance(one, Constraints):
            raise _unexpected("constraints", _EACH, one)
        yield one


def batches(sentences: Iterable[Sentence], n_words: int) -> Iterator[list[Sentence]]:
    """Lists of consecutive sentences with about ``n_words`` words each."""
    batch: list[Sentence] = []
    size = 0
    for sentence in sentences:
        batch.append(sentence)
        size += len(sentence)
        if size >= n_words:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _is_token_list(value: object) -> TypeGuard[TokenList]:
    conllu = sys.modules.get("conllu")  # who has such a list has imported it
    return conllu is not None and isinstance(value, conllu.TokenList)


def _iterator(source: Any, call: str, expected: str) -> Iterator[Any]:
    if isinstance(source, Mapping | str | bytes) or not hasattr(source, "__iter__"):
        raise _unexpected(call, expected, source)
    return iter(source)


def _unexpected(call: str, expected: str, got: object) -> EgparseError:
    what = "None" if got is None else f"a value of type {type(got).__name__}"
    if isinstance(got, str):
        what = "a text; model(text) makes sentences of it"
    return EgparseError(f"{call}: expected {expected}, got {what}")
