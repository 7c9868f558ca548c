"""The scripts that run the checks: they run what the README says and pass its status on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from house.package import ROOT

README = """# A title

<!-- run: main -->

```bash
exit 9
```

<!-- run: test -->
```bash
echo first
{last}
```

```bash
echo another block
```
"""


def run_ci(folder: Path, readme: str) -> subprocess.CompletedProcess[str]:
    """Run a copy of ``.ci/run`` beside this README, from another working directory."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    (folder / "README.md").write_text(readme, encoding="utf-8")
    return subprocess.run(
        [folder / ".ci" / "run"], capture_output=True, text=True, cwd="/", check=False
    )


@pytest.mark.parametrize(
    ("last", "status", "output"),
    [
        ("ls README.md", 0, "first\nREADME.md\n"),
        ("exit 3", 3, "first\n"),
        ("false\necho unreachable", 1, "first\n"),
        ("false | cat\necho unreachable", 1, "first\n"),
        ('echo "$egparse_unset"', 1, "first\n"),
    ],
)
def test_ci_runs_the_block_and_passes_its_status_on(
    tmp_path: Path, last: str, status: int, output: str
) -> None:
    done = run_ci(tmp_path, README.format(last=last))
    assert (done.returncode, done.stdout) == (status, output)


def test_ci_says_when_the_readme_has_no_such_block(tmp_path: Path) -> None:
    done = run_ci(tmp_path, "# A title\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ".ci/run: README.md has no fenced block under <!-- run: test -->\n"


@pytest.mark.parametrize("script", [".ci/run", "tests/run", "tests/soak"])
def test_scripts_are_executable_and_parse(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", ROOT / script], check=True)


def run_with(
    python: Path, program: str, script: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a script of the tests with a shell program in place of Python."""
    python.write_text(f"#!/bin/sh\n{program}\n")
    python.chmod(0o755)
    return subprocess.run(
        [ROOT / "tests" / script, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHON": str(python)},
        check=False,
    )


def test_the_checks_stop_at_the_first_failure(tmp_path: Path) -> None:
    """With a Python that fails, the first step is the only one, and its status is that of the
    whole.
    """
    done = run_with(tmp_path / "python", "exit 5", "run")
    assert done.returncode == 5
    assert done.stdout == "== ruff check\n== ruff check: exit 5 after 0 s\n"


def test_a_soak_says_its_seed_and_how_to_repeat_a_failure(tmp_path: Path) -> None:
    python = tmp_path / "python"
    fails = 'echo "$EGPARSE_SOAK_EXAMPLES: $@"; exit 5'
    done = run_with(python, fails, "soak", "tests/laws", "--examples", "30", "-k", "a or b")
    assert done.returncode == 5
    first, call, last = done.stdout.splitlines()
    seed = first.removeprefix("== soak: seed ").removesuffix(", 30 examples")
    assert seed.isdecimal()
    assert call.startswith("30: -m pytest ")
    assert call.endswith(f"--hypothesis-seed {seed} tests/laws -k a or b")
    assert last == (
        f"== soak: exit 5 with seed {seed}; again: "
        f"tests/soak --seed {seed} --examples 30 tests/laws -k a\\ or\\ b"
    )
    again = run_with(python, fails, "soak", "--seed", seed, "--examples", "30")
    assert again.stdout.splitlines()[0] == first


def test_a_soak_that_holds_ends_well_and_without_more_words(tmp_path: Path) -> None:
    done = run_with(tmp_path / "python", "exit 0", "soak", "--seed", "7")
    assert (done.returncode, done.stdout) == (0, "== soak: seed 7, 1000 examples\n")


def test_a_soak_of_models_runs_them_alone(tmp_path: Path) -> None:
    done = run_with(tmp_path / "python", 'echo "$@"', "soak", "--models", "50", "--seed", "7")
    assert (done.returncode, done.stdout) == (
        0,
        "== soak: seed 7, 50 crafted models\n-m storage.hostile_models 50 --seed 7\n",
    )


@pytest.mark.parametrize("option", ["--seed", "--examples", "--models"])
@pytest.mark.parametrize("value", [["many"], []])
def test_a_soak_names_a_number_that_is_none(tmp_path: Path, option: str, value: list[str]) -> None:
    done = run_with(tmp_path / "python", "exit 0", "soak", option, *value)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"tests/soak: expected a number after {option}, got '{''.join(value)}'\n"
