"""What a reader finds on the page of the experiments, as data: a section for each figure and table
of a paper, with its claims, panels and printed numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from egparse.experiments.claims import Claim, Said, claims
from egparse.experiments.quantities import Runs, Value

Height = Literal["primal", "objective", "score", "excess", "gap"]


class Panel(NamedTuple):
    """One set of axes. ``runs`` are the lines. ``y`` is what is drawn for each point: the primal,
    primal and dual (dashed), the score, the excess of the primal over the best bound or the duality
    gap (both in per cent of the bound); objectives are for each example. ``x_range``, ``y_range``
    limit the axes, as in the paper where it prints them. The dual of ``primal_alone``, by their
    labels, is not drawn: of learners that do not raise it.
    """

    title: str
    runs: Sequence[Runs]
    y: Height
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    x: Literal["passes", "seconds"] = "passes"
    primal_alone: Sequence[str] = ()


class Printed(NamedTuple):
    """A table of the paper beside ours: each row has a name, and what stands in each column: a
    number of the paper, or a number that is measured here.
    """

    headings: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Value | str]]]
    form: str = ".2f"


class Section(NamedTuple):
    """A figure or table of a paper; ``heading`` is its place and title, "Figure 12: ...".
    ``departs`` says where we differ, in a sentence or two; ``says`` is the caption's claim in one
    sentence, where that is not what is ``claimed``.
    """

    heading: str
    claimed: Sequence[Claim] | Said
    panels: Sequence[Panel] = ()
    printed: Printed | None = None
    departs: str = ""
    says: str = ""

    @property
    def place(self) -> str:
        """The figure or table."""
        return self.heading.partition(": ")[0]

    @property
    def title(self) -> str:
        """What it shows; empty for a claim without a figure."""
        return self.heading.partition(": ")[2]

    @property
    def claims(self) -> Sequence[Claim]:
        """The claims with their rules."""
        return claims(self.claimed) if isinstance(self.claimed, Mapping) else self.claimed


class Paper(NamedTuple):
    """``key`` begins the names of its figures; ``further`` are the smaller claims."""

    key: str
    title: str
    sections: Sequence[Section]
    further: Sequence[Claim] = ()
    departs: str = ""
