"""The pages of commands and settings say what the program says, also in the repository."""

from __future__ import annotations

import runpy

from house.package import ROOT


def test_the_pages_are_what_the_program_makes() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "program_pages.py"))
    assert script["stale"]() == [], "run python docs/program_pages.py"
    for page, section in (("command-line", "## parse"), ("settings", "## Settings of one section")):
        assert f"\n{section}\n" in (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
