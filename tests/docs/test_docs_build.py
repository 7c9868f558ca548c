"""The documentation site: it builds without a warning, loads nothing from elsewhere, and its
generated pages say what the program says.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from house.package import ROOT

import egparse
from egparse.cli.app import program

pytest.importorskip("mkdocs", reason="the site needs the extra docs")
pytest.importorskip("mkdocstrings", reason="the site needs the extra docs")


@pytest.fixture(scope="module")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def text_of(page: Path) -> str:
    """The visible text of a page, white space as single blanks."""
    html = page.read_text(encoding="utf-8")
    plain = re.sub(r"<[^>]+>", "", html).replace("&lt;", "<").replace("&gt;", ">")
    return " ".join(plain.replace("&amp;", "&").split())


def test_every_page_loads_nothing_from_elsewhere(built_site: Path) -> None:
    pages = sorted(built_site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        html = page.read_text(encoding="utf-8")
        assert re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?https?:", html) == []


def test_every_command_and_option_is_on_its_page(built_site: Path) -> None:
    page = text_of(built_site / "command-line.html")
    commands = typer.main.get_command(program()).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        assert f"egparse {name} [OPTIONS]" in page
        for option in (own for own in command.params if own.param_type_name == "option"):
            assert all(spelling in page for spelling in option.opts), (name, option.opts)


def test_each_model_has_a_page_in_the_navigation(built_site: Path) -> None:
    table = (built_site / "models" / "index.html").read_text(encoding="utf-8")
    for card in (ROOT / "models").glob("*_*.md"):
        assert f'href="{card.stem}.html"' in table
        assert "SHA-256" in text_of(built_site / "models" / f"{card.stem}.html")


def test_no_table_shows_the_escape_of_a_vertical_bar(built_site: Path) -> None:
    for page in ("command-line.html", "settings.html"):
        assert "\\|" not in text_of(built_site / page)


def test_every_setting_is_on_its_page(built_site: Path) -> None:
    page = text_of(built_site / "settings.html")
    for setting in egparse.settings():
        section, _, key = setting.key.rpartition(".")
        assert section in page
        assert f"{key} " in page, setting.key
        assert " ".join(setting.meaning.replace("`", "").split()) in page, setting.key


def test_every_public_name_is_on_the_python_page(built_site: Path) -> None:
    page = (built_site / "python-api.html").read_text(encoding="utf-8")
    names = set(egparse.__all__) - {"__version__"}
    assert {name for name in names if not re.search(rf'id="[\w.]*\.{name}"', page)} == set()


def test_no_docstring_shows_its_markup(built_site: Path) -> None:
    """A double colon before code, or doubled backquotes, would be those of another markup."""
    for page in ("python-api.html", "reference.html"):
        text = text_of(built_site / page)
        assert "``" not in text
        assert "::" not in text.replace("egparse::", "")
