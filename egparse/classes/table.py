"""A table of word classes: the path of a form from the root of a binary tree of classes.

A path is a text of bits such as ``0110``; forms whose paths begin with the same bits are similar
(Brown et al. 1992, "Class-based n-gram models of natural language", section 3). A class is the set
of forms with one path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_BITS = 32
"""The longest path."""

MAX_CLASSES = 1 << 14
"""The largest number of classes of a table."""

VECTOR_CLASSES = 1000
"""The number of classes that are made of word vectors, unless another one is asked for."""


def normal(form: str) -> str:
    """The form in lower case, with every digit as 0."""
    lower = form.lower()
    if lower.isalpha():  # most forms: tables have hundreds of thousands
        return lower
    return "".join(["0" if character.isdigit() else character for character in lower])


@dataclass(frozen=True)
class Origin:
    """Where a table comes from: its name, the source that it was learned from or taken from, and
    its licence; a text is empty where that is not known.
    """

    name: str = ""
    source: str = ""
    licence: str = ""


@dataclass(frozen=True)
class ClassTable:
    """The paths of forms; ``counts`` says how often the forms occurred where they were learned, if
    that is known.
    """

    paths: Mapping[str, str]
    counts: Mapping[str, int] = field(default_factory=dict)
    origin: Origin = Origin()

    def path(self, form: str) -> str | None:
        """The path of a form: of the form as it is, else in lower case, else with its digits as 0
        too; None if the table has none of them.
        """
        for key in (form, form.lower(), normal(form)):
            path = self.paths.get(key)
            if path is not None:
                return path
        return None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(set(self.paths.values()))

    def frequent(self, min_count: int) -> ClassTable:
        """The table without forms that were counted, but less often than ``min_count``."""
        if min_count <= 1 or not self.counts:
            return self
        counts = {form: count for form, count in self.counts.items() if count >= min_count}
        paths = {form: path for form, path in self.paths.items() if form in counts}
        return ClassTable(paths, counts, self.origin)

    def generalised(self) -> ClassTable:
        """The table with what ``path`` falls back to: forms in lower case, and with digits as 0,
        that it lacks, with the most frequent path of the forms that are written so.

        Without counts all forms are equally frequent; of equally frequent paths it is the first.
        """
        frequencies: dict[str, dict[str, int]] = {}
        for form, path in self.paths.items():
            lower = form.lower()
            plain = normal(lower)
            for key in (lower, plain) if plain != lower else (lower,):
                if key not in self.paths:
                    of_key = frequencies.setdefault(key, {})
                    of_key[path] = of_key.get(path, 0) + self.counts.get(form, 1)
        new = {key: max(of_key, key=of_key.__getitem__) for key, of_key in frequencies.items()}
        return ClassTable({**self.paths, **new}, self.counts, self.origin)

    def without_repetitions(self) -> ClassTable:
        """The table without forms that would have the same path if they were left out: ``path`` of
        every form is the same.
        """
        paths = dict(self.paths)
        # a form is looked up in lower case only after itself, and with digits as 0 only after both;
        # so what a form falls back to may be left out in its turn, if it has the same path
        for form, path in self.paths.items():
            lower = form.lower()
            for key in (lower, normal(lower)):
                if key != form and key in self.paths:
                    if self.paths[key] == path:
                        del paths[form]
                    break
        return ClassTable(paths, self.counts, self.origin)
