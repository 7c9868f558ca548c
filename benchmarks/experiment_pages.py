"""Write the pages of the experiments anew from the numbers of their last full runs.

    python benchmarks/experiment_pages.py            # docs/experiments/NAME.md and .png, and the
                                                     # claims in docs/experiments.md
    python benchmarks/experiment_pages.py --check    # say which are not up to date; exit code 1

Nothing is trained: every claim, table and figure is made of docs/experiments/NAME.json, which
``egparse experiment NAME --data DIRECTORY --output docs/experiments`` writes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from egparse.experiments.comparisons.catalogue import Done, report_again
from egparse.experiments.report.claims import Claim, counted
from egparse.experiments.report.markdown import claims_lines

from egparse.cli.completion import EXPERIMENTS as NAMES

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = DOCS / "experiments"
OVERVIEW = DOCS / "experiments.md"
BEGIN, END = "<!-- claims: begin -->\n", "<!-- claims: end -->\n"

PAPERS = (
    "Globerson et al. 2007",
    "Collins et al. 2008",
    "Huang et al. 2009",
    "McDonald 2009",
    "Martins et al. 2010",
)
"""The papers, in the order of their years; claims of others come last."""


def measured() -> list[str]:
    """The experiments of which there are numbers."""
    return [name for name in NAMES if (PAGES / f"{name}.json").is_file()]


def pages(directory: Path) -> list[Done]:
    """Write the files of every experiment into a directory."""
    return [report_again(name, PAGES, directory) for name in measured()]


def claims_of(done: Sequence[Done]) -> str:
    """The claims of all experiments by paper, in Markdown."""
    claims = [(claim, own.name) for own in done for claim in own.outcome.claims]
    parts = [f"All {len(claims)} claims: {counted([claim for claim, _ in claims])}."]
    others = [it for it in claims if not it[0].source.startswith(PAPERS)]
    groups = {paper: [it for it in claims if it[0].source.startswith(paper)] for paper in PAPERS}
    for title, found in {**groups, "Successors": others}.items():
        if found:
            own = [claim for claim, _ in found]
            parts += [f"## {title}", f"{counted(own)}.", claims_lines(_linked(found, title))]
    return "\n\n".join(parts) + "\n"


def _linked(found: Sequence[tuple[Claim, str]], title: str) -> list[Claim]:
    """The claims with the experiment behind the place, without the name of the paper."""
    return [
        claim._replace(
            source=f"{claim.source.removeprefix(title).lstrip(', ') or claim.source} "
            f"([{name}](experiments/{name}.md))"
        )
        for claim, name in found
    ]


def overview(done: Sequence[Done]) -> str:
    """The page of all experiments, with the claims between its marks."""
    before, _, rest = OVERVIEW.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{claims_of(done)}\n{END}{after}"


def stale() -> list[str]:
    """The pages that their numbers would make otherwise. Figures are not compared: their bytes
    depend on the version of matplotlib.
    """
    with tempfile.TemporaryDirectory() as folder:
        done = pages(Path(folder))
        names = [
            f"docs/experiments/{own.name}.md"
            for own in done
            if own.written.page.read_bytes() != (PAGES / own.written.page.name).read_bytes()
        ]
        if overview(done) != OVERVIEW.read_text(encoding="utf-8"):
            names.append("docs/experiments.md")
    return names


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="only say which pages are stale")
    if parser.parse_args().check:
        names = stale()
        print("\n".join(names) or "all pages are up to date")
        return int(bool(names))
    done = pages(PAGES)
    OVERVIEW.write_text(overview(done), encoding="utf-8")
    for own in done:
        own.written.svg.unlink()
        print(f"{own.name}: {counted(own.outcome.claims)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
