"""The page of the experiments in Markdown, made of numbers alone: findings against the papers on
top, a section for each figure and table in the order of the papers, smaller claims in one table.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from egparse.experiments.claims import (
    NOT_RUN,
    VERDICTS,
    Judged,
    Judgement,
    Rule,
    Verdict,
    figure,
    judge,
)
from egparse.experiments.quantities import Found, Number, Runs, Value, value_of
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
_CLAIM = ("The paper says", "Verdict", "Rule", "Found")


class Page(NamedTuple):
    """The text, the sections that have a figure (name of the file -> section), and every claim of
    the papers with its verdict.
    """

    text: str
    figures: dict[str, Section]
    verdicts: list[tuple[str, Verdict]]


class _Part(NamedTuple):
    """A section with its judgements, or a smaller claim as a section without a title."""

    paper: Paper
    section: Section
    judged: list[Judgement]

    @property
    def heading(self) -> str:
        return f"{self.section.place}: {self.section.title}" if self.section.title else ""


def page(papers: Sequence[Paper], found: Found) -> Page:
    """The page of all papers, from the results there are: without sections, panels and smaller
    claims of which nothing was run.
    """
    every = [
        _Part(paper, section, [judge(claim, found) for claim in section.claims])
        for paper in papers
        for section in (*paper.sections, *(Section(c.place, [c]) for c in paper.further))
    ]
    shown = [
        part._replace(section=_with_panels_that_were_run(part.section, found))
        for part in every
        if any(_was_run(value, found) for value in values_in(part.section))
    ]
    texts = [_HEAD.rstrip(), _findings(shown), _overview(shown, found)]
    for paper in papers:
        own = [part for part in shown if part.paper is paper]
        if own:
            texts += [f"## {paper.title}", _filled(paper.departs)]
            texts += [text for part in own if part.heading for text in _texts_of(part, found)]
    smaller = [
        (f"{_short_title(part.paper)}, {part.section.place}", *_cells(judgement))
        for part in shown
        if not part.heading
        for judgement in part.judged
    ]
    if smaller:
        texts += ["## Smaller claims", _table(("Where", *_CLAIM), smaller)]
    drawn = [part for part in shown if part.section.panels]
    figures = {figure_name(part.paper, part.section): part.section for part in drawn}
    verdicts = [
        (f"{part.paper.key}: {judgement.claim.says}", judgement.verdict)
        for part in every
        for judgement in part.judged
    ]
    return Page("\n\n".join(text for text in texts if text) + "\n", figures, verdicts)


def values_in(part: Any) -> Iterator[Runs | Number]:
    """All runs and numbers of a section, or of a part of it: of panels, printed numbers, claims."""
    if isinstance(part, Section):
        part = (part.panels, part.printed, part.claims)
    if isinstance(part, Runs | Number):
        yield part
    elif isinstance(part, tuple | list):
        for each in part:
            yield from values_in(each)


def _was_run(value: Runs | Number, found: Found) -> bool:
    if isinstance(value, Runs):
        return bool(value.of(found))
    return not math.isnan(value.value(found))


def _with_panels_that_were_run(section: Section, found: Found) -> Section:
    panels = [panel for panel in section.panels if any(runs.of(found) for runs in panel.runs)]
    return section._replace(panels=panels)


def figure_name(paper: Paper, section: Section) -> str:
    """The name of the figure's file, without its ending: ``collins-2008-figure-12``."""
    place = section.place.lower().replace(" ", "-").replace(".", "").replace(",", "")
    return f"{paper.key}-{place}"


def _short_title(paper: Paper) -> str:
    return paper.title.split(":")[0]


def _findings(parts: Sequence[_Part]) -> str:
    items = [
        _filled(f"- {own.claim.finding} The paper: {own.claim.says} Found: {_decided(own)}.", "  ")
        for part in parts
        for own in part.judged
        if own.claim.finding and own.verdict == "not reproduced"
    ]
    return "\n".join(["## Findings against the papers\n", *items]) if items else ""


def _overview(parts: Sequence[_Part], found: Found) -> str:
    groups: dict[tuple[str, str], list[Judgement]] = {}
    for part in parts:
        # the anchor that Python-Markdown gives a heading
        kept = "".join(c for c in part.heading.lower() if c.isalnum() or c in " -_")
        link = f"[{part.section.place}](#{'-'.join(kept.split())})"
        place = link if part.heading else "[smaller claims](#smaller-claims)"
        groups.setdefault((_short_title(part.paper), place), []).extend(part.judged)
    rows, last = [], ""
    for (paper, place), judgements in groups.items():
        rows.append(("" if paper == last else paper, place, _verdicts(judgements)))
        last = paper
    every = [own for judgements in groups.values() for own in judgements]
    head = f"## Overview\n\nAll {len(every)} claims: {_verdicts(every)}."
    table = _table(("Paper", "Figure or table", "Claims"), rows)
    return f"{head}\n\n{table}\n\n{_filled(_made(found))}"


def _made(found: Found) -> str:
    """By which state of the program and on which processors everything was measured."""
    states = {results.made["versions"]["egparse"] for results in found.values()}
    machines = {
        one.machine for results in found.values() for one in results.comparisons.values()
    } - {""}
    hours = sum(results.seconds for results in found.values()) / 3600
    on = f" on {', '.join(sorted(machines))}" if machines else ""
    return f"Measured by egparse {', '.join(sorted(states))}{on}, in {hours:.1f} hours of CPU time."


def _verdicts(judgements: Iterable[Judgement]) -> str:
    """How many claims have which verdict."""
    numbers = Counter(own.verdict for own in judgements)
    return ", ".join(f"{numbers[verdict]} {verdict}" for verdict in VERDICTS if numbers[verdict])


def _texts_of(part: _Part, found: Found) -> Iterator[str]:
    section, judgements = part.section, part.judged
    yield f"### {part.heading}"
    yield _filled(section.says or " ".join(own.claim.says for own in judgements))
    if section.panels:
        yield f"![{part.heading}]({figure_name(part.paper, section)}.png)"
    if section.printed is not None:
        yield _printed(section.printed, found)
    if judgements:
        yield _table(_CLAIM, [_cells(own) for own in judgements])
    yield _filled(f"{_budget(section, found)} {section.departs}")


def _printed(table: Printed, found: Found) -> str:
    def cell(value: Value | str) -> str:
        return value if isinstance(value, str) else figure(value_of(value, found), table.form)

    rows = [(name, *map(cell, values)) for name, values in table.rows]
    return _table(table.headings, rows, numbers=True)


def _cells(own: Judgement) -> tuple[str, ...]:
    """What a claim says, the verdict, the rules, and what was found by case: ✗ marks those that do
    not hold, ? undecided ones; those that were not run are named last.
    """
    rules = dict.fromkeys(rule.rule for rule, _ in own.cases)
    cases = [_case(*case) for case in own.cases if case[1].why != NOT_RUN]
    missing = [rule.case for rule, judged in own.cases if judged.why == NOT_RUN]
    if missing:
        cases.append(f"not run: {', '.join(missing)} ?")
    return own.claim.says, f"**{own.verdict.capitalize()}**", "; ".join(rules), "; ".join(cases)


def _decided(own: Judgement) -> str:
    return "; ".join(_case(*case) for case in own.cases if case[1].holds is not None)


def _case(rule: Rule, judged: Judged) -> str:
    why = f" ({judged.why})" if judged.why else ""
    name = f"{rule.case}: " if rule.case else ""
    return f"{name}{judged.found}{why}{_MARKS[judged.holds]}"


def _budget(section: Section, found: Found) -> str:
    """Examples, seeds, budget and gaps of the runs that the section is about, and its numbers."""
    values = [*dict.fromkeys(values_in(section))]
    runs = [value for value in values if isinstance(value, Runs)]
    values.sort(key=lambda value: isinstance(value, Number))
    sources = dict.fromkeys(one.experiment for one in values if one.experiment in found)
    links = f"Numbers: {', '.join(f'[{name}.json]({name}.json)' for name in sources)}."
    measured = [
        (comparison, curve)
        for own in runs
        if (comparison := own.comparison_in(found)) is not None
        for curve in own.of(found)
    ]
    if not measured:
        return links
    numbers = ", ".join(f"{n:,}" for n in sorted({comparison.n for comparison, _ in measured}))
    seeds = len({curve.seed for _, curve in measured})
    passes = max(curve.points[-1].passes for _, curve in measured)
    seconds = max(curve.points[-1].seconds for _, curve in measured)
    excesses = [comparison.excesses(curve)[-1] for comparison, curve in measured]
    farthest = max(filter(math.isfinite, excesses), default=math.nan)
    return (
        f"n = {numbers}; {seeds} seed{'s' * (seeds > 1)}; runs of up to {passes:,.0f} passes and "
        f"{seconds:,.0f} CPU seconds, which end at most {figure(farthest)} % above the best bound. "
        f"{links}"
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> str:
    """A table in Markdown; columns of numbers, all but the first, stand to the right."""
    rule = ["---:" if numbers and k else "---" for k in range(len(headings))]
    lines = [[cell.replace("|", "\\|") for cell in row] for row in (headings, rule, *rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _filled(text: str, indent: str = "") -> str:
    """Lines that an editor shows whole."""
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
