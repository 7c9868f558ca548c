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


@pytest.mark.parametrize("script", [".ci/run", "tests/run"])
def test_scripts_are_executable_and_parse(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", ROOT / script], check=True)


def test_the_checks_stop_at_the_first_failure(tmp_path: Path) -> None:
    """With a Python that fails, the first step is the only one, and its status is that of the
    whole.
    """
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 5\n")
    python.chmod(0o755)
    environment = os.environ | {"PYTHON": str(python)}
    done = subprocess.run(
        [ROOT / "tests" / "run"], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 5
    assert done.stdout == "== ruff check\n== ruff check: exit 5 after 0 s\n"
