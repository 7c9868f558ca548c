"""The page of the experiments in Markdown, made of numbers alone: findings against the papers on
top, a section for each figure and table in the order of the papers, smaller claims in one table.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from egparse.experiments.claims import (
    NOT_RUN,
    VERDICTS,
    Above,
    Better,
    Claim,
    Judged,
    Judgement,
    Linear,
    NoDifference,
    Rule,
    Sooner,
    Within,
    figure,
    judge,
)
from egparse.experiments.quantities import Found, Number, Quantity, Runs, Value, parts_of, value_of
from egparse.experiments.record import Curve
from egparse.experiments.sections import Paper, Printed, Section

_WIDTH = 100
_HEAD = """\
# Experiments

The figures and tables of the papers that egparse implements, made anew, and for each claim of the
papers whether it holds here. Everything below is made of the numbers beside it (JSON).

```bash
pip install 'egparse[experiments]'                            # SciPy and matplotlib
egparse experiment all --data DIRECTORY -o OUT                # every figure and table; hours
egparse experiment all --quick -o OUT                         # the same on toy problems
egparse experiment all --from docs/experiments -o OUT         # this page, from its numbers
```

- **Passes** are effective iterations: examples visited, divided by the number of examples; a step
  that is tried and halved counts again. **Above the bound**: how far the primal is above the best
  dual value of any learner at that C, in per cent; "to 1 %" is the first pass there. **CPU
  seconds** are those of learning alone on one core, without certificates and scores.
- **Verdicts follow from the numbers by the rule beside them.** *Reproduced*: every case that could
  be decided holds; *in part*: some do; *not reproduced*: none; *within the noise*: a paired test
  (approximate randomisation, p up to 0.05) or interval decides nothing; *not tested*: no case could
  be decided. In the column *Found* stand the two numbers of the rule for each case; ✗ marks cases
  that do not hold, ? undecided ones. Scores count only where the objective is within 10 % of the
  best bound, unless the claim is about models as they end.
- **EG** is as published in 2008 (Fig. 2): examples drawn with replacement, rates halved until the
  dual rises, from a start near the correct structures. The papers ask for a point in the interior;
  the uniform distribution, which their bounds are about, is a contender of its own.
"""
_MARKS = {True: "", False: " ✗", None: " ?"}


class Page(NamedTuple):
    """The text, and the sections that have a figure: name of the file -> section."""

    text: str
    figures: dict[str, Section]


def page(papers: Sequence[Paper], found: Found) -> Page:
    """The page of all papers, from the results there are: without sections, panels and smaller
    claims of which nothing was run.
    """
    papers = [_of_what_was_run(paper, found) for paper in papers]
    papers = [paper for paper in papers if paper.sections or paper.further]
    judged = {paper.key: _judged(paper, found) for paper in papers}
    every = [own for paper in judged.values() for one in paper for own in one]
    parts = [_HEAD.rstrip(), _findings(every), _overview(papers, judged)]
    figures: dict[str, Section] = {}
    for paper in papers:
        *of_sections, _ = judged[paper.key]
        parts.append(f"## {paper.title}")
        if paper.departs:
            parts.append(_filled(paper.departs))
        for section, judgements in zip(paper.sections, of_sections, strict=True):
            name = figure_name(paper, section)
            if section.panels:
                figures[name] = section
            parts.append(_section(section, judgements, name, found))
    rows = [
        (f"{paper.title.split(':')[0]}, {own.claim.place}", own)
        for paper in papers
        for own in judged[paper.key][-1]
    ]
    if rows:
        parts += ["## Smaller claims", _table_of_claims(rows, placed=True)]
    return Page("\n\n".join(part for part in parts if part) + "\n", figures)


def _of_what_was_run(paper: Paper, found: Found) -> Paper:
    def was_run(section: Section) -> bool:
        return any(not math.isnan(value) for value in _measured(section, found))

    further = [own for own in paper.further if was_run(Section("", [own]))]
    sections = [
        one._replace(panels=[own for own in one.panels if any(r.of(found) for r in own.runs)])
        for one in paper.sections
        if was_run(one)
    ]
    return paper._replace(sections=sections, further=further)


def _measured(section: Section, found: Found) -> Iterator[float]:
    """Numbers of runs and probes, nan where they are not there."""
    for value in values_in(section):
        if isinstance(value, Runs):
            value = Quantity(value, "last passes")
        if isinstance(value, Quantity | Number):
            yield value.value(found)


def figure_name(paper: Paper, section: Section) -> str:
    """The name of the figure's file, without its ending: ``collins-2008-figure-12``."""
    place = section.place.lower().replace(" ", "-").replace(".", "").replace(",", "")
    return f"{paper.key}-{place}"


def verdicts_in_words(judgements: Iterable[Judgement]) -> str:
    """How many claims have which verdict."""
    numbers = Counter(own.verdict for own in judgements)
    return ", ".join(f"{numbers[verdict]} {verdict}" for verdict in VERDICTS if numbers[verdict])


def _judged(paper: Paper, found: Found) -> list[list[Judgement]]:
    """The judgements of each section, and last those of the smaller claims."""
    groups: list[Sequence[Claim]] = [*(one.claims for one in paper.sections), paper.further]
    return [[judge(claim, found) for claim in claims] for claims in groups]


def _findings(every: Sequence[Judgement]) -> str:
    found = [own for own in every if own.claim.finding and own.verdict == "not reproduced"]
    if not found:
        return ""
    items = [
        _filled(f"- {own.claim.finding} The paper: {own.claim.says} Found: {_decided(own)}.", "  ")
        for own in found
    ]
    return "\n\n".join(["## Findings against the papers", "\n".join(items)])


def _overview(papers: Sequence[Paper], judged: dict[str, list[list[Judgement]]]) -> str:
    rows = [("Paper", "Figure or table", "Claims")]
    for paper in papers:
        *sections, further = judged[paper.key]
        own = [
            (f"[{section.place}](#{_anchor(section.heading)})", verdicts_in_words(judgements))
            for section, judgements in zip(paper.sections, sections, strict=True)
        ]
        if further:
            own.append(("[smaller claims](#smaller-claims)", verdicts_in_words(further)))
        names = (paper.title.split(":")[0], *[""] * len(own))
        rows += [(name, *row) for name, row in zip(names, own, strict=False)]
    every = [own for groups in judged.values() for group in groups for own in group]
    head = f"All {len(every)} claims: {verdicts_in_words(every)}."
    return "\n\n".join(["## Overview", head, "\n".join(_rows(rows))])


def _anchor(heading: str) -> str:
    """The anchor that Python-Markdown gives a heading."""
    kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
    return "-".join(kept.split())


def _section(section: Section, judgements: Sequence[Judgement], name: str, found: Found) -> str:
    says = section.says or " ".join(own.claim.says for own in judgements)
    parts = [f"### {section.heading}", _filled(says)]
    if section.panels:
        parts.append(f"![{section.heading}]({name}.png)")
    if section.printed is not None:
        parts.append(_printed(section.printed, found))
    if judgements:
        parts.append(_table_of_claims([("", own) for own in judgements], placed=False))
    parts.append(
        _filled(_budget(section, found) + (f" {section.departs}" if section.departs else ""))
    )
    return "\n\n".join(parts)


def _printed(table: Printed, found: Found) -> str:
    def cell(value: Value | str) -> str:
        if isinstance(value, str):
            return value
        return figure(value_of(value, found), table.form)

    rows = [tuple(table.headings)]
    rows += [(name, *(cell(value) for value in values)) for name, values in table.rows]
    return "\n".join(_rows(rows, numbers=True))


def _table_of_claims(rows: Sequence[tuple[str, Judgement]], *, placed: bool) -> str:
    """One row for each claim: what it says, the verdict, the rules, and what was found by case."""
    heads = ("The paper says", "Verdict", "Rule", "Found")
    table: list[tuple[str, ...]] = [(*(("Where",) if placed else ()), *heads)]
    for place, own in rows:
        cells = (own.claim.says, f"**{own.verdict.capitalize()}**", _rules(own), _cases(own))
        table.append((*((place,) if placed else ()), *cells))
    return "\n".join(_rows(table))


def _rules(own: Judgement) -> str:
    return "; ".join(dict.fromkeys(rule.rule for rule, _ in own.cases))


def _decided(own: Judgement) -> str:
    """The cases that hold or do not, with their numbers; ✗ marks those that do not hold."""
    return "; ".join(_case(*case) for case in own.cases if case[1].holds is not None)


def _cases(own: Judgement) -> str:
    """All cases with their numbers; undecided ones are marked ?, those that were not run are named
    last.
    """
    missing = [rule.case for rule, judged in own.cases if judged.why == NOT_RUN]
    rest = [_case(rule, judged) for rule, judged in own.cases if judged.why != NOT_RUN]
    return "; ".join([*rest, *([f"not run: {', '.join(missing)} ?"] if missing else [])])


def _case(rule: Rule, judged: Judged) -> str:
    why = f" ({judged.why})" if judged.why else ""
    name = f"{rule.case}: " if rule.case else ""
    return f"{name}{judged.found}{why}{_MARKS[judged.holds]}"


def _budget(section: Section, found: Found) -> str:
    """Examples, seeds, budget and gaps of the runs that the section is about, and its numbers."""
    runs = [*_runs_in(section)]
    sources = dict.fromkeys(
        [*(own.experiment for own in runs), *(n.experiment for n in _numbers_in(section))]
    )
    links = ", ".join(f"[{name}.json]({name}.json)" for name in sources)
    curves = [(own, curve) for own in dict.fromkeys(runs) for curve in own.of(found)]
    if not curves:
        return f"Numbers: {links}." if links else ""
    numbers = sorted({_n_of(own, found) for own, _ in curves})
    seeds = len({curve.seed for _, curve in curves})
    passes = max(curve.points[-1].passes for _, curve in curves)
    seconds = max(curve.points[-1].seconds for _, curve in curves)
    excesses = [_last_excess(own, curve, found) for own, curve in curves]
    far = [own for own in excesses if math.isfinite(own)]
    return (
        f"n = {', '.join(f'{n:,}' for n in numbers)}; {seeds} seed{'s' * (seeds > 1)}; runs of up "
        f"to {passes:,.0f} passes and {seconds:,.0f} CPU seconds, which end at most "
        f"{figure(max(far, default=math.nan))} % above the best bound. Numbers: {links}."
    )


def _n_of(runs: Runs, found: Found) -> int:
    comparison = runs.comparison_in(found)
    return 0 if comparison is None else comparison.n


def _last_excess(runs: Runs, curve: Curve, found: Found) -> float:
    comparison = runs.comparison_in(found)
    return math.nan if comparison is None else comparison.excesses(curve)[-1]


def values_in(section: Section) -> Iterator[Quantity | Number | Runs | float]:
    """All runs and numbers that a section is about."""
    for value in _stated_in(section):
        yield from parts_of(value)


def _stated_in(section: Section) -> Iterator[Value | Runs]:
    for panel in section.panels:
        yield from panel.runs
    if section.printed is not None:
        for _, values in section.printed.rows:
            yield from (value for value in values if not isinstance(value, str))
    for claim in section.claims:
        for rule in claim.rules:
            yield from _values_of(rule)


def _values_of(rule: Rule) -> Iterator[Value | Runs]:
    match rule:
        case Linear():
            if isinstance(rule.points, Runs):
                yield rule.points
            else:
                yield from (value for pair in rule.points for value in pair)
        case Sooner() | Better() | NoDifference() | Within() | Above():
            yield from (rule.first, rule.second)


def _runs_in(section: Section) -> Iterator[Runs]:
    for value in values_in(section):
        if isinstance(value, Runs):
            yield value
        elif isinstance(value, Quantity):
            yield value.runs


def _numbers_in(section: Section) -> Iterator[Number]:
    yield from (value for value in values_in(section) if isinstance(value, Number))


def _rows(rows: Sequence[Sequence[str]], *, numbers: bool = False) -> Iterator[str]:
    """A table in Markdown; columns of numbers, all but the first, stand to the right."""
    for place, row in enumerate(rows):
        cells = " | ".join(cell.replace("|", "\\|") for cell in row)
        yield f"| {cells} |"
        if place == 0:
            rules = " | ".join("---:" if numbers and k else "---" for k in range(len(row)))
            yield f"| {rules} |"


def _filled(text: str, indent: str = "") -> str:
    """Lines that an editor shows whole."""
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
