"""Mends the site when it is built, and adds the pages of the models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

_LITERAL_BLOCK = re.compile(r"::</p>\s*<div")
_MODELS = Path(__file__).resolve().parents[1] / "models"
_PLACE = 2
"""Where the models stand in the navigation: after the home page and how egparse is used."""


def on_config(config: Any) -> Any:
    """Put the table of all models into the navigation, and the card of each."""
    cards = sorted(path.stem for path in _MODELS.glob("*.md") if path.stem != "README")
    pages = [{name: f"models/{name}.md"} for name in cards]
    config.nav.insert(_PLACE, {"Models": ["models/README.md", *pages]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages, which stand beside the models, and the recipes that they link to."""
    for path in (*_MODELS.glob("*.md"), _MODELS / "recipes.toml"):
        content = path.read_text(encoding="utf-8")
        files.append(File.generated(config, f"models/{path.name}", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to the models lead out of the folder of the site, on which they are a part of it."""
    return re.sub(r"\]\(\.\./((?:\.\./)*models/)", r"](\1", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings announce code with ``::``, of which a reader of the page needs one."""
    return _LITERAL_BLOCK.sub(":</p>\n<div", html)
