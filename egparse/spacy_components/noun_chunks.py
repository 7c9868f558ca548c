"""``doc.noun_chunks`` for trees with the labels of Universal Dependencies.

A noun chunk is a nominal with what belongs to it and stands beside it, without chunks inside: "the
book of the president" has two. In terms of UD (https://universaldependencies.org/u/dep):

* The head of a chunk is a NOUN, PROPN or PRON that is no part of another word or nominal: not a
  determiner, modifier by compound, flat or fixed, expletive, or the like.
* To its left the chunk has determiners, numerals, adjectives, classifiers, compounds and nominal
  modifiers, each with all of its own dependents. It ends before an adposition, a conjunction,
  punctuation, a clause, a copula, or a subject of the nominal itself. Adverbs and punctuation may
  stand between its words, but not at its edge.
* To its right, as far as they follow one another: flat, fixed and compound parts, and determiners,
  numerals and adjectives without complements. So appositions, conjuncts, adpositional phrases and
  relative clauses are left out; they may have chunks themselves.

spaCy has an iterator for a language, and those of some languages know the labels of other schemes:
English has ``dobj`` and ``pobj``, where UD has ``obj`` and ``obl`` with ``case``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, cast

from spacy.errors import Errors
from spacy.symbols import NOUN, PRON, PROPN
from spacy.tokens import Doc, Span, Token
from spacy.vocab import Vocab

Chunks: TypeAlias = Iterator[tuple[int, int, int]]
"""The first token, the token after the last, and the label of each chunk."""

ITERATORS_OF_OTHER_LABELS = frozenset({"de", "en", "fa", "ja"})
"""Languages whose iterators in spaCy do not know ``obj``, the object of UD."""

_UD_ONLY = frozenset({"obj", "obl", "case", "nsubj:pass", "nmod", "aux:pass"})
"""Labels of UD that no ClearNLP or TIGER treebank has."""

_NOT_UD = frozenset({"dobj", "pobj", "nsubjpass", "auxpass", "prep", "sb", "oa", "nk"})
"""Labels of the schemes that the iterators of spaCy for English, Persian and German know."""

_INSIDE = frozenset({"det", "nummod", "amod", "clf", "nmod", "compound", "flat", "fixed"})
_BETWEEN = frozenset({"advmod", "punct", "goeswith", "dep", "cc", "discourse"})
_JOINED = frozenset({"flat", "fixed", "compound", "goeswith"})
_SIMPLE = frozenset({"det", "nummod", "amod", "clf"})
_WITHIN_SIMPLE = frozenset({"advmod", "cc", "conj", "det", "nummod", "amod", *_JOINED})
_NO_HEADS = frozenset(
    {"det", "nummod", "amod", "clf", "compound", "flat", "fixed", "goeswith", "case", "mark", "cc"}
) | frozenset({"expl", "discourse", "advmod", "aux", "cop", "punct"})


def has_ud_labels(labels: Iterable[str]) -> bool:
    """Whether labels of arcs are those of UD."""
    found = set(labels)
    return bool(found & _UD_ONLY) and not found & _NOT_UD


def install(vocab: Vocab, labels: Iterable[str]) -> None:
    """Make the Docs of a vocabulary use ``noun_chunks`` if a parser has the labels of UD, and the
    language has no iterator that knows them.
    """
    known = vocab.get_noun_chunks
    if (known is None or vocab.lang in ITERATORS_OF_OTHER_LABELS) and has_ud_labels(labels):
        vocab.get_noun_chunks = cast("Any", noun_chunks)  # typed as if it gave Spans


def noun_chunks(doclike: Doc | Span) -> Chunks:
    """The noun chunks of a Doc or Span, in order; none overlaps another.

    A Doc with the labels of another scheme, which another parser of the same vocabulary may have
    made, gets spaCy's own iterator for the language.

    Raises:
        ValueError: the Doc has no tree.
    """
    doc = doclike.doc
    if not doc.has_annotation("DEP"):
        raise ValueError(Errors.E029)
    own = _own_iterator(doc.vocab.lang) if _has_other_labels(doc) else None
    if own is not None:
        yield from own(doclike)
        return
    label = doc.vocab.strings.add("NP")
    first, last = (doclike.start, doclike.end) if isinstance(doclike, Span) else (0, len(doc))
    # The chunk of a head that stands to the right contains those of nominals in its modifiers, so
    # the later chunk wins where two overlap.
    found: list[tuple[int, int]] = []
    for token in doclike:
        if token.pos in (NOUN, PROPN, PRON) and _relation(token) not in _NO_HEADS:
            chunk = _left_end(token), _right_end(token) + 1
            while found and found[-1][1] > chunk[0]:
                inner = found.pop()
                chunk = min(inner[0], chunk[0]), max(inner[1], chunk[1])
            found.append(chunk)
    for start, end in found:
        if first <= start and end <= last:
            yield start, end, label


def _relation(token: Token) -> str:
    return token.dep_.partition(":")[0]


def _left_end(head: Token) -> int:
    end = head.i
    for child in reversed(list(head.lefts)):
        relation = _relation(child)
        if relation in _INSIDE and not _has_case_before(child):
            end = child.left_edge.i
        elif relation not in _BETWEEN:
            break
    return end


def _has_case_before(child: Token) -> bool:
    """Whether a modifier begins with an adposition of its own."""
    return any(_relation(each) == "case" for each in child.lefts)


def _right_end(head: Token) -> int:
    end = head.i
    for child in head.rights:
        relation, start = _relation(child), child.left_edge.i
        is_part = relation in _JOINED or (relation in _SIMPLE and _is_simple(child))
        if start != end + 1 or not is_part:
            break
        end = child.right_edge.i
    return end


def _is_simple(modifier: Token) -> bool:
    """Whether nothing but adverbs, conjuncts and the like depends on a modifier."""
    return all(each == modifier or _relation(each) in _WITHIN_SIMPLE for each in modifier.subtree)


def _has_other_labels(doc: Doc) -> bool:
    labels = {token.dep_ for token in doc}
    return bool(labels & _NOT_UD)


def _own_iterator(language: str) -> Callable[[Doc | Span], Chunks] | None:
    from spacy.util import get_lang_class

    try:
        iterators = get_lang_class(language).Defaults.syntax_iterators
    except ImportError:
        return None
    found: Callable[[Doc | Span], Chunks] | None = iterators.get("noun_chunks")
    return found
