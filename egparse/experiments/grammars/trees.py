"""Phrase-structure trees, and how they are read and written in brackets (Penn Treebank)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from egparse.errors import CorpusError

ROOT = "ROOT"
"""The label of the top of every tree."""

_TOKEN = re.compile(r"[()]|[^\s()]+")
_EMPTY = "-NONE-"
_TOPS = ("TOP", ROOT)
_DEEPEST = 200
"""Levels of a tree; what is deeper is no analysis of a sentence."""


class Tree(NamedTuple):
    """A phrase with children, or a tag with its word and no children."""

    label: str
    children: tuple[Tree, ...] = ()
    word: str = ""

    @property
    def is_tag(self) -> bool:
        """Whether this is a tag above a word."""
        return not self.children

    def leaves(self) -> Iterator[Tree]:
        """The tags with their words, from left to right."""
        if self.is_tag:
            yield self
        for child in self.children:
            yield from child.leaves()

    def words(self) -> list[str]:
        """The words."""
        return [leaf.word for leaf in self.leaves()]

    def __str__(self) -> str:
        """The tree in brackets, on one line. Brackets that are words are written -LRB- and -RRB-,
        as in the Penn Treebank.
        """
        if self.is_tag:
            return f"({self.label} {self.word.replace('(', '-LRB-').replace(')', '-RRB-')})"
        return f"({self.label} {' '.join(map(str, self.children))})"


@dataclass
class _Open:
    """A phrase whose bracket is not closed. ``label`` is None before it is read; ``empty`` says
    that empty elements in it were left out.
    """

    line: int
    label: str | None = None
    word: str = ""
    children: list[Tree] = field(default_factory=list)
    empty: bool = False


def read_brackets(path: str | Path) -> Iterator[Tree]:
    """The trees of a file in brackets, ``(S (NP (PRP I)) (VP (VBP know)))``, on any number of
    lines.

    As is usual, function tags are left out of labels (NP-SBJ becomes NP), and empty elements with
    the phrases that hold nothing else. An outer bracket without a label, or one labelled TOP or
    ROOT, becomes ``ROOT``; a tree without one gets one. The words -LRB- and -RRB- are brackets.

    Raises:
        CorpusError: brackets that do not match, or what is not a tree; a byte that is not UTF-8.
    """
    name = str(path)
    stack: list[_Open] = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            for token in _TOKEN.findall(_decoded(name, number, line)):
                if token == ")":
                    tree = _close(name, number, stack)
                    if tree is not None:
                        yield tree
                else:
                    _read(name, number, token, stack)
    if stack:
        raise CorpusError(name, stack[-1].line, "a bracket that is closed", "the end of the file")


def _decoded(path: str, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        got = f"the byte 0x{line[error.start]:02x}"
        raise CorpusError(path, number, "UTF-8 text", got) from None


def _read(path: str, number: int, token: str, stack: list[_Open]) -> None:
    """Take an opening bracket, a label or a word."""
    phrase = stack[-1] if stack else None
    if token == "(":
        if phrase is not None and phrase.word:
            raise CorpusError(path, number, "one word in the bracket of a tag", "a bracket")
        if len(stack) == _DEEPEST:
            raise CorpusError(path, number, f"at most {_DEEPEST} levels", "more")
        if phrase is not None and phrase.label is None:
            if len(stack) > 1:
                raise CorpusError(path, number, "a label", "a bracket")
            phrase.label = ROOT
        stack.append(_Open(number))
    elif phrase is None:
        raise CorpusError(path, number, "an opening bracket", repr(token))
    elif phrase.label is None:
        phrase.label = token
    elif phrase.word or phrase.children or phrase.empty:
        expected = "one word in the bracket of a tag" if phrase.word else "brackets in a phrase"
        raise CorpusError(path, number, expected, repr(token))
    else:
        phrase.word = token.replace("-LRB-", "(").replace("-RRB-", ")")


def _close(path: str, number: int, stack: list[_Open]) -> Tree | None:
    """Close the last phrase; returns it if it is a whole tree."""
    if not stack:
        raise CorpusError(path, number, "an opening bracket", "')'")
    phrase = stack.pop()
    if phrase.label is None or not (phrase.word or phrase.children or phrase.empty):
        got = f"({phrase.label or ''})"
        raise CorpusError(path, number, "a label and what is below it", got)
    tree = None
    if phrase.word and phrase.label != _EMPTY:
        tree = Tree(phrase.label, (), phrase.word)
    elif phrase.children:
        label = ROOT if phrase.label in _TOPS and not stack else _plain(phrase.label)
        tree = Tree(label, tuple(phrase.children))
    if stack:
        if tree is None:
            stack[-1].empty = True
        else:
            stack[-1].children.append(tree)
        return None
    if tree is None or tree.is_tag:
        raise CorpusError(path, number, "a tree with a phrase", "a word" if tree else "none")
    return tree if tree.label == ROOT else Tree(ROOT, (tree,))


def _plain(label: str) -> str:
    """The label without function tags: NP of NP-SBJ-1 and NP=2."""
    return re.split(r"[-=]", label)[0] or label
