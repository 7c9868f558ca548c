"""``egparse train --memory``: the same model with bounded memory, and no trace of files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import COMMAND, CONFIGS, ENVIRONMENT

from egparse.storage.model_file import read_header
from egparse.storage.scratch import anonymous_memory


def test_the_model_is_the_same(trained: Trained, tmp_path: Path) -> None:
    model, files = tmp_path / "model.msgpack", tmp_path / "files"
    files.mkdir()
    command = [*COMMAND, "train", trained.train, "--dev", trained.dev, "--output", model]
    command += ["--config", CONFIGS / "quick.toml", "--seed", "4", "--memory", "200M"]
    most, seen = 0, set[str]()
    with subprocess.Popen(
        list(map(str, command)),
        env=ENVIRONMENT | {"TMPDIR": str(files)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while True:
            most = max(most, _anonymous(process.pid))
            seen.update(os.listdir(files))
            try:
                _, said = process.communicate(timeout=0.05)
                break
            except subprocess.TimeoutExpired:
                pass
    assert process.returncode == 0, said
    of_both = [read_header(one)["payload_sha256"] for one in (model, trained.model)]
    assert of_both[0] == of_both[1]
    first, last = (line for line in said.splitlines() if line.startswith("memory "))
    assert f"at most 200 MB beside temporary files in {files} (TMPDIR)" in first
    assert "MB lay in temporary files at most" in last
    if anonymous_memory() is not None:
        assert 0 < most < 200 << 20
    if hasattr(os, "O_TMPFILE"):
        assert not seen
    assert not os.listdir(files)


def _anonymous(process: int) -> int:
    """The anonymous memory of a process, 0 where the system does not say it."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("RssAnon")]
    return int(lines[0].split()[1]) << 10 if lines else 0


@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_without_room(trained: Trained, tmp_path: Path, is_there: bool) -> None:
    """The error says which folder it is, and that TMPDIR names it; nothing is written."""
    resource = pytest.importorskip("resource")
    folder, model = tmp_path / "files", tmp_path / "model.msgpack"
    folder.mkdir()

    def small_files() -> None:  # 100 KB a file stand for a small disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [*map(str, (*COMMAND, "train", trained.train, "--output", model, "--memory", "200M"))],
        env=ENVIRONMENT | ({"TMPDIR": str(folder)} if is_there else {}),
        preexec_fn=small_files,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "in temporary files" in done.stderr.splitlines()[-1]
    assert "(TMPDIR names the folder)" in done.stderr.splitlines()[-1]
    assert (str(folder) in done.stderr) == is_there
    assert not model.exists()
