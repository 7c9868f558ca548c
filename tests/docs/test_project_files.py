"""Files of the repository that no other test reads: they are valid, and what they name exists."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from house.package import ROOT

import egparse
from egparse.layers import LAYERS

MAX_README_LINES = 120
MAX_WIDTH = 100
CONFIGURATIONS = sorted(
    path
    for pattern in (".github/**/*.yml", ".pre-commit-config.yaml", "CITATION.cff")
    for path in ROOT.glob(pattern)
)
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "corpora").glob("*.md")]
)
CODE = re.compile(r"`((?:[\w-]+/)+[\w-]+\.(?:py|toml|json))`")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_configurations_are_valid_yaml() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra docs")
    loaded = {path: yaml.safe_load(path.read_text(encoding="utf-8")) for path in CONFIGURATIONS}
    assert [name_of(path) for path, value in loaded.items() if not isinstance(value, dict)] == []


def test_the_citation_is_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {egparse.__version__}\n" in citation


def test_ci_covers_what_the_package_promises() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra docs")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    promised = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    assert matrix["python"] == promised
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos"}
    used = [
        step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step
    ]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", action) for action in used)


def prose_of(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def test_links_between_files_lead_somewhere() -> None:
    assert [
        f"{name_of(page)}: {target}"
        for page in PAGES
        for target in LINK.findall(prose_of(page))
        if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists()
    ] == []


def test_prose_is_not_wide() -> None:
    """Tables and blocks of code are as wide as they have to be."""
    assert [
        f"{name_of(page)}: {line}"
        for page in PAGES
        for line in prose_of(page).splitlines()
        if len(line) > MAX_WIDTH and line[:1] not in "|!"
    ] == []


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_README_LINES


def test_the_site_begins_as_the_readme_does() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    first_page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("\n## ")[0]
    assert first_page == readme.replace("](docs/", "](")


def test_the_readme_has_the_scores_of_the_model_that_is_shipped() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| **egparse**, `en_ewt`"))
    scores = json.loads((ROOT / "models" / "en_ewt.json").read_text(encoding="utf-8"))["raw_text"]
    shown = [f"{scores[metric]:.2f}" for metric in ("UPOS", "Lemmas", "UAS", "LAS")]
    assert [cell for cell in row.split(" | ") if cell in shown] == shown


def test_every_key_of_a_probability_is_explained() -> None:
    page = (ROOT / "docs" / "how-to" / "probabilities.md").read_text(encoding="utf-8")
    assert {layer.probability_key for layer in LAYERS.values()} <= {*re.findall(r"`(\w+)`", page)}


def test_files_that_are_named_exist() -> None:
    """A file of the code is named by its path in the repository or in the package."""
    assert [
        f"{name_of(page)}: {path}"
        for page in PAGES
        for path in sorted({*CODE.findall(page.read_text(encoding="utf-8"))})
        if not path.endswith("mine.py")
        and not any((home / path).exists() for home in (ROOT, ROOT / "egparse", page.parent))
    ] == []


def test_the_tests_that_hold_promises_exist() -> None:
    promises = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", promises)
    assert len(named) > 20
    assert [
        f"{path}::{test}"
        for path, test in named
        if f"\ndef {test}(" not in (ROOT / path).read_text(encoding="utf-8")
    ] == []
