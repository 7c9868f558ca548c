"""``egparse package`` and ``egparse inspect --card`` as users run them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import complaint, run

NAME = "en_egparse_model"


def test_package_says_what_it_made_and_how_to_use_it(trained: Trained, tmp_path: Path) -> None:
    done = run("package", trained.model, "--output", tmp_path / "out")
    (wheel,) = (tmp_path / "out").rglob("*.whl")
    assert f"package   {NAME} 0.1.0\n" in done.stdout
    assert f"pip install {wheel}\n" in done.stdout
    assert f'spacy.load("{NAME}")' in done.stdout
    assert "egparse parse en_model article.txt" in done.stdout
    assert done.stderr == "no licence: state one with --licence before you publish the package\n"


def test_package_takes_facts_and_options_before_them(trained: Trained, tmp_path: Path) -> None:
    facts = tmp_path / "facts.toml"
    facts.write_text('licence = "MIT"\ndescription = "For tests."\n', encoding="utf-8")
    options = ("--name", "en_mine", "--version", "2.0", "--licence", "CC0-1.0", "--facts", facts)
    done = run(
        "package", trained.model, "-o", tmp_path, *options, "--no-wheel", "--sdist", "--json"
    )
    made = json.loads(done.stdout)
    assert (made["name"], made["version"], made["model"], made["licence"]) == (
        "en_mine",
        "2.0",
        "en_mine",
        "CC0-1.0",
    )
    assert [Path(file["path"]).name for file in made["files"]] == ["en_mine-2.0.tar.gz"]
    assert made["files"][0]["bytes"] == Path(made["files"][0]["path"]).stat().st_size
    meta = json.loads((tmp_path / "en_mine-2.0" / "meta.json").read_text(encoding="utf-8"))
    assert (meta["license"], meta["description"]) == ("CC0-1.0", "For tests.")
    assert done.stderr == ""


def test_package_complains_in_one_line(trained: Trained, tmp_path: Path) -> None:
    out = ("--output", tmp_path)
    assert "starts with the model's language, en_" in complaint(
        "package", trained.model, *out, "--name", "fr_x"
    )
    assert "version: expected one such as" in complaint(
        "package", trained.model, *out, "--version", "x"
    )
    assert "facts of a model in TOML" in complaint(
        "package", trained.model, *out, "--facts", tmp_path / "no"
    )
    assert "expected the path, the name or the language of a model" in complaint(
        "package", "no_such_model", *out
    )
    (tmp_path / f"{NAME}-0.1.0").mkdir()
    assert "expected no such folder, or --force" in complaint("package", trained.model, *out)
    (tmp_path / "file").touch()
    assert complaint("package", trained.model, "--output", tmp_path / "file" / "out").endswith(
        f"got a file, {tmp_path / 'file'}"
    )


def test_inspect_writes_a_card(trained: Trained, tmp_path: Path) -> None:
    facts = tmp_path / "facts.toml"
    facts.write_text('licence = "MIT"\n', encoding="utf-8")
    text = run("inspect", trained.model, "--card", "--facts", facts).stdout
    assert text.startswith("# model\n\nA model of egparse for the language `en`: ")
    assert "| Licence | MIT |\n" in text
    assert "## Limits\n" in text


@pytest.mark.parametrize("options", [("--card", "--json"), ("--facts", "facts.toml")])
def test_inspect_explains_which_options_go_together(
    trained: Trained, options: tuple[str, ...]
) -> None:
    assert "Error: " in run("inspect", trained.model, *options, status=2).stderr
