"""The enhanced dependencies of a sentence by rules over its tree, for the column DEPS of CoNLL-U.

An edge of the tree stays, but for that of a relativiser. The rules, in this order:

markers         the lemma of the preposition, conjunction or coordinator becomes part of the label:
                ``obl:in``, ``advcl:if``, ``acl:to``, ``conj:and``. Of several the last one does;
                words of a fixed expression are joined (``because_of``), a participle keeps its form
                (``including``). A conjunct without coordinator has that of a later one; an
                adverbial clause may have an adverb instead (``advcl:when``).
relative        the relativiser depends on the antecedent as ``ref``, and the antecedent instead of
clauses         it on the head of the relativiser, with its label, ``obl`` for ``advmod``. Without
                relativiser the antecedent is the subject that the clause lacks, or else the object,
                or an oblique if the clause has an object, a clausal complement, a copula, a passive
                or a stranded preposition, or if the antecedent is a noun such as "time".
conjuncts       a conjunct has the head of the first one, with its own markers if it has any; but
                not that of a root, parataxis or another relation between clauses.
shared          a conjunct without subject has the subject of the first one, passive where it is
dependents      passive itself; likewise objects that stand after both, and what ``Language`` says.
control         the subject of an open complement (``xcomp``) is the object of its head, or else the
                indirect object, or else the subject, labelled ``nsubj:xsubj``.

Left out: empty nodes for elided predicates, whose dependents keep the label ``orphan`` of the tree;
the case of a word without adposition; control by obliques and in adverbial clauses. Rules cannot
know which dependents conjuncts share, if not their order says it.

Source: Universal Dependencies, "Enhanced Dependencies" (version 2 of the guidelines), with the
types of Schuster & Manning (2016), "Enhanced English Universal Dependencies: An improved
representation for natural language understanding tasks". The guidelines leave some labels open;
there the rules do what most gold edges of the treebanks that ``languages`` names do.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from egparse.enhanced.languages import LANGUAGES, Language
from egparse.errors import EgparseError
from egparse.sentences import MISSING, MISSING_HEAD, Sentence

_MARKERS = {
    **dict.fromkeys(("nmod", "nmod:pmod", "obl", "obl:arg", "obl:mod", "obl:pmod"), ("case",)),
    **dict.fromkeys(("acl", "advcl"), ("mark", "case")),
    "conj": ("cc",),
}
"""Label -> the relations of its markers. Other labels have none: subtypes say as much."""

_SUBJECTS = ("nsubj", "csubj")
_VOICED = ("nsubj", "nsubj:pass", "csubj", "csubj:pass")
_OF_FIRST = (
    *("root", "parataxis", "conj", "list", "dep", "orphan", "reparandum", "discourse", "vocative"),
    *("aux", "cop", "punct"),
)
"""Relations of the first conjunct that are not those of others."""

_WORD = re.compile(r"[^\W\d_]+")
_RELATIVE = re.compile(r"(?:^|\|)PronType=(?:\w+,)*Rel\b")


def require_rules(language: str) -> Language:
    """What the rules know of a language.

    Raises:
        EgparseError: there are no rules for it.
    """
    if language not in LANGUAGES:
        raise EgparseError(
            f"enhanced dependencies: expected one of the languages {', '.join(LANGUAGES)}, got "
            f"{language}"
        )
    return LANGUAGES[language]


def enhanced_dependencies(sentence: Sentence, language: str) -> tuple[str, ...]:
    """The cells of the column DEPS; ``_`` for a word that heads and labels do not connect with the
    root. Without lemmas, forms are used.

    Raises:
        EgparseError: a language without rules, or a sentence without heads or labels.
    """
    known = require_rules(language)
    if not len(sentence.heads) == len(sentence.deprels) == len(sentence):
        raise EgparseError("enhanced dependencies: expected a sentence with heads and labels")
    graph = _Graph(sentence, known)
    graph.enhance()
    return tuple(
        "|".join(f"{head}:{label}{marker}" for head, label, marker in sorted(edges)) or MISSING
        for edges in graph.edges[1:]
    )


class _Edge(NamedTuple):
    """An edge to a word; ``marker`` is empty or the rest of the label, with its colon."""

    head: int
    label: str
    marker: str = ""


class _Graph:
    """The tree of a sentence, whose words have the numbers from 1, and the edges found so far:
    those of each word, and the words below each head.
    """

    def __init__(self, sentence: Sentence, language: Language) -> None:
        n = len(sentence)
        absent = (MISSING,) * n
        self.language = language
        self.heads = (MISSING_HEAD, *sentence.heads)
        self.labels = (MISSING, *sentence.deprels)
        self.kinds = [label.partition(":")[0] for label in self.labels]
        self.tags = (MISSING, *(sentence.upos or absent))
        self.feats = (MISSING, *(sentence.feats or absent))
        self.lemmas = [
            (form if lemma == MISSING or tag == "VERB" else lemma).lower()
            for form, lemma, tag in zip(
                (MISSING, *sentence.forms),
                (MISSING, *(sentence.lemmas or absent)),
                self.tags,
                strict=True,
            )
        ]
        self.below: list[list[int]] = [[] for _ in range(n + 1)]
        for word in range(1, n + 1):
            if self.heads[word] != MISSING_HEAD and self.labels[word] != MISSING:
                self.below[self.heads[word]].append(word)
        self.words = self.below[0].copy()  # from the root down
        for word in self.words:
            self.words += self.below[word]
        self.edges: list[list[_Edge]] = [[] for _ in range(n + 1)]
        self.dependents: list[list[int]] = [[] for _ in range(n + 1)]

    def enhance(self) -> None:
        for word in self.words:
            label = self.labels[word]
            self.add(word, _Edge(self.heads[word], label, self.marker(word, label)))
        relative = [word for word in self.words if self.labels[word] in self.language.relative]
        bare = [clause for clause in relative if not self.relate(clause)]
        gaps = [(clause, self.gap(clause)) for clause in bare if self.language.has_bare_relatives]
        subjects = [gap for gap in gaps if gap[1] in _VOICED]
        for clause, label in subjects:
            self.add(self.heads[clause], _Edge(clause, label))
        conjuncts = [word for word in self.words if self.kinds[word] == "conj"]
        for word in conjuncts:
            self.inherit(word)
        for word in conjuncts:
            self.share(word)
        for word in self.words:
            self.control(word)
        for clause, label in gaps:  # an object that is known from the gap alone controls nothing
            if label:
                self.add(self.heads[clause], _Edge(clause, label))

    def add(self, word: int, edge: _Edge) -> None:
        if edge.head != word and edge not in self.edges[word]:
            self.edges[word].append(edge)
            self.dependents[edge.head].append(word)

    def having(self, word: int, kinds: Collection[str]) -> list[int]:
        """The words below a word in the tree with these relations."""
        return [one for one in self.below[word] if self.kinds[one] in kinds]

    def marker(self, word: int, label: str) -> str:
        """What the words that mark a word add to a label of it, with the colon."""
        if label not in _MARKERS:
            return ""
        marking = self.having(word, _MARKERS[label])
        if label == "conj":
            for later in self.having(self.heads[word], ("conj",)):
                if later > word:
                    marking = marking or self.having(later, _MARKERS[label])
            marking = marking[:1]
        elif label == "advcl" and not marking:
            adverbs = self.having(word, ("advmod",))
            marking = [one for one in adverbs if self.lemmas[one] in self.language.adverbs][:1]
        marking = [one for one in marking if one < word] or marking
        if not marking:
            return ""
        parts = (marking[-1], *self.having(marking[-1], ("fixed",)))
        lemma = "_".join(found for one in parts for found in _WORD.findall(self.lemmas[one]))
        return lemma and f":{lemma}"

    def relate(self, clause: int) -> bool:
        """Put the antecedent in the place of the relativiser, in the clause and in its conjuncts;
        returns whether the clause has one.
        """
        antecedent = self.heads[clause]
        for part in (clause, *self.having(clause, ("conj",))):
            word = self.relativiser(part)
            if word in (None, part):  # it cannot depend on itself
                if part == clause:
                    return word is not None
                continue
            (edge,) = self.edges[word]
            self.dependents[edge.head].remove(word)
            self.edges[word] = []
            self.add(word, _Edge(antecedent, "ref"))
            label = "obl" if edge.label == "advmod" else edge.label
            if self.kinds[clause] == "advcl" and label in ("nsubj", "nsubj:pass"):
                label = "c" + label[1:]  # the antecedent is a clause
            self.add(antecedent, edge._replace(label=label))
        return True

    def relativiser(self, clause: int) -> int | None:
        """The first relative pronoun or adverb of a clause outside of its conjuncts and of relative
        clauses in it.
        """
        words = [clause]
        for word in words:
            words += [
                one
                for one in self.below[word]
                if self.labels[one] not in self.language.relative
                and not (word == clause and self.kinds[one] == "conj")
            ]
        found = [word for word in words if self.is_relative(word)]
        fixed = [self.heads[word] if self.kinds[word] == "fixed" else word for word in found]
        return min(fixed, default=None)

    def is_relative(self, word: int) -> bool:
        lemma, kind = self.lemmas[word], self.kinds[word]
        if kind == "advmod" and lemma in self.language.adverbs:
            return True
        if kind != "mark" and lemma in self.language.pronouns:
            return True
        return _RELATIVE.search(self.feats[word]) is not None

    def gap(self, clause: int) -> str:
        """The label of the antecedent in a relative clause without relativiser."""
        antecedent = self.heads[clause]
        if self.tags[antecedent] == "ADV":  # "whenever you ask"
            return "advmod"
        if self.kinds[clause] == "advcl":
            return ""
        if not self.having(clause, _SUBJECTS):
            return self.voiced("nsubj", clause)
        is_full = (
            self.having(clause, ("obj", "ccomp", "cop"))
            or self.is_passive(clause)
            or any(self.tags[one] == "ADP" for one in self.having(clause, ("obl",)))
            or self.lemmas[antecedent] in self.language.adjuncts
        )
        return "obl" if is_full else "obj"

    def inherit(self, word: int) -> None:
        """Give a conjunct the heads of the first one."""
        for edge in self.edges[self.heads[word]]:
            if edge.label.partition(":")[0] not in _OF_FIRST and edge.label != "ref":
                marker = self.marker(word, edge.label) or edge.marker
                self.add(word, edge._replace(marker=marker))

    def share(self, word: int) -> None:
        """Give a conjunct dependents of the first one."""
        first = self.heads[word]
        lacks_subject = not self.having(word, _SUBJECTS)
        for one in self.dependents[first].copy():
            for edge in self.edges[one]:
                kind = edge.label.partition(":")[0]
                if edge.head != first:
                    continue
                if kind in _SUBJECTS:
                    is_shared = lacks_subject
                elif one < first:
                    is_shared = kind in self.language.shared_before
                else:
                    is_shared = one > word and kind in self.language.shared_after
                if is_shared and (kind in _SUBJECTS or not self.having(word, (kind,))):
                    self.add(one, edge._replace(head=word, label=self.voiced(edge.label, word)))

    def control(self, word: int) -> None:
        """Give an open complement its subject."""
        if self.having(word, _SUBJECTS):
            return
        for clause, label, _ in self.edges[word]:
            if label == "xcomp":
                of_head = [
                    (edge.label, one)
                    for one in self.dependents[clause]
                    for edge in self.edges[one]
                    if edge.head == clause
                ]
                for roles in (("obj",), ("iobj",), (*_VOICED, "nsubj:xsubj")):
                    controllers = [one for role, one in of_head if role in roles]
                    if controllers:
                        break
                for one in controllers:
                    self.add(one, _Edge(word, self.voiced(self.language.controlled, word)))

    def is_passive(self, word: int) -> bool:
        return any(self.labels[one] == "aux:pass" for one in self.below[word])

    def voiced(self, label: str, word: int) -> str:
        """The label of a subject in the voice of a predicate; a participle without auxiliary has
        that of the predicate that it is coordinated with.
        """
        if label not in _VOICED:
            return label
        kind, _, voice = label.partition(":")
        bare = "VerbForm=Part" in self.feats[word] and not self.having(word, ("aux",))
        return f"{kind}:pass" if self.is_passive(word) or (voice and bare) else kind
