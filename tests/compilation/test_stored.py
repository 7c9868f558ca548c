"""Files of compiled kernels: one that does not fit is as if it were not there."""

from __future__ import annotations

import math
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from egparse.compilation import njit, stored, variants
from egparse.compilation.compiler.build import compile_kernel
from egparse.compilation.signatures import from_text
from egparse.compilation.stored import SUFFIX, CompiledKernel, KernelName
from egparse.structures import logsumexp

pytestmark = pytest.mark.compiled_only

LOG_SUM = "egparse.structures.logsumexp.log_sum"
TYPES = "(f8[1])"
TERMS = np.log([1.0, 2.0, 3.0])


def name_of(level: str | None = None, kernel: str = LOG_SUM, types: str = TYPES) -> KernelName:
    return KernelName(kernel, types, level or stored.levels()[0])


@pytest.fixture(scope="module", autouse=True)
def _sources_that_do_not_change() -> Iterator[None]:
    """Whoever edits the package meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "IMPORTED_AT", math.inf)
        yield


@pytest.fixture(scope="module")
def compiled(_sources_that_do_not_change: None) -> CompiledKernel:
    """A small kernel."""
    kernel: Any = logsumexp.log_sum
    [found] = compile_kernel(kernel, from_text(TYPES), stored.levels()[:1])
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this user; nothing is shipped."""
    monkeypatch.setattr(stored, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(stored, "user_folder", lambda: tmp_path / "user")
    monkeypatch.setattr(stored, "claim_user_folder", lambda: tmp_path / "user")
    return tmp_path / "user"


@pytest.fixture
def written(folder: Path, compiled: CompiledKernel) -> Path:
    """The file of the kernel in this folder."""
    stored.write(folder, name_of(), compiled)
    return path_of(folder)


@pytest.fixture
def announced() -> Iterator[list[str]]:
    """The kernels that are compiled meanwhile."""
    seen: list[str] = []
    variants.listeners.append(seen.append)
    yield seen
    variants.listeners.pop()


def path_of(folder: Path, name: KernelName | None = None) -> Path:
    return folder / ((name or name_of()).digest + SUFFIX)


def call() -> float:
    """Call the kernel as the first call of a process does."""
    kernel: Any = njit(logsumexp.log_sum.py_func)  # type: ignore[attr-defined]
    return float(kernel(TERMS))


def test_what_is_written_is_read(folder: Path, written: Path, compiled: CompiledKernel) -> None:
    assert stored.read(folder, name_of()) == compiled
    assert [path.name for path in folder.iterdir()] == [written.name]
    assert stat.S_IMODE(written.stat().st_mode) == 0o644


def test_what_is_there_is_not_compiled(folder: Path, written: Path, announced: list[str]) -> None:
    assert call() == pytest.approx(np.log(6.0))
    assert announced == []


def test_what_is_compiled_is_written(folder: Path, announced: list[str]) -> None:
    assert call() == pytest.approx(np.log(6.0))
    assert call() == pytest.approx(np.log(6.0))
    assert announced == [LOG_SUM]
    assert path_of(folder).exists()


@pytest.mark.parametrize("level", [0, -1])
def test_what_is_shipped_is_taken_also_of_a_lower_level(
    folder: Path, compiled: CompiledKernel, announced: list[str], level: int
) -> None:
    name = name_of(stored.levels()[level])
    stored.write(stored.SHIPPED, name, compiled._replace(level=name.level))
    assert call() == pytest.approx(np.log(6.0))
    assert announced == []
    assert not folder.exists()


def test_a_kernel_is_there_if_all_that_it_calls_is(folder: Path, compiled: CompiledKernel) -> None:
    """As compiled by the same version of the compiler, which decides how kernels are called."""
    called = name_of(kernel="egparse.structures.logsumexp.log_add", types="(float, float)")
    need = called.kernel + called.types
    levels = stored.levels()
    stored.write(folder, name_of(), compiled._replace(needs=[need]))
    assert variants.find(LOG_SUM, TYPES, levels) is None
    stored.write(folder, called, compiled._replace(kernel=called.kernel, compiler="another"))
    assert variants.find(LOG_SUM, TYPES, levels) is None
    stored.write(folder, called, compiled._replace(kernel=called.kernel))
    assert variants.find(LOG_SUM, TYPES, levels) is not None


def test_truncated_and_changed_files_are_not_there(folder: Path, written: Path) -> None:
    data = written.read_bytes()
    assert len(data) > 1000
    for i in (*range(0, len(data), 97), len(data) - 1):
        for harmed in (data[:i], data[:i] + bytes([data[i] ^ 0x10]) + data[i + 1 :]):
            written.write_bytes(harmed)
            assert stored.read(folder, name_of()) is None, i
    written.write_bytes(data + b"\0")
    assert stored.read(folder, name_of()) is None


@pytest.mark.parametrize(
    "other",
    [
        name_of(kernel="egparse.structures.logsumexp.log_add"),
        name_of(types="(f4[1])"),
        name_of("x86-64-v9"),
    ],
)
def test_files_of_another_name_are_not_there(
    folder: Path, written: Path, other: KernelName
) -> None:
    written.rename(path_of(folder, other))
    assert stored.read(folder, other) is None
    assert stored.read(folder, name_of()) is None


@pytest.mark.parametrize(("setting", "value"), [("FORMAT", 0), ("system", lambda: "plan9-vax")])
def test_files_of_another_format_or_system_are_not_there(
    folder: Path, written: Path, setting: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even under the name that they would have here."""
    ours = written.read_bytes()
    monkeypatch.setattr(stored, setting, value)
    assert stored.read(folder, name_of()) is None
    path_of(folder).write_bytes(ours)
    assert stored.read(folder, name_of()) is None


def test_files_of_other_sources_are_not_there(folder: Path, compiled: CompiledKernel) -> None:
    assert {"structures/logsumexp.py", "compilation/compiler/wrapper.py"} <= {*compiled.sources}
    others = [{path: b"12345678"} for path in (*compiled.sources, "structures/gone.py")]
    for other in (*others, {"structures/gone.py": b""}):
        stored.write(folder, name_of(), compiled._replace(sources=compiled.sources | other))
        assert stored.read(folder, name_of()) is None, other


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def fill_with_rubbish(path: Path) -> None:
    path.write_bytes(b"\x93" * 5000)


def replace_by_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def replace_by_stream(path: Path) -> None:
    """A link is replaced itself, not what it leads to."""
    path.unlink()
    os.mkfifo(path.parents[1] / "stream")
    path.symlink_to(path.parents[1] / "stream")


@pytest.mark.parametrize("harm", [cut, fill_with_rubbish, replace_by_loop, replace_by_stream])
def test_files_that_do_not_fit_are_compiled_anew_and_replaced(
    folder: Path, written: Path, harm: Callable[[Path], None], announced: list[str]
) -> None:
    harm(written)
    assert call() == pytest.approx(np.log(6.0))
    assert announced == [LOG_SUM]
    assert stored.read(folder, name_of()) is not None
    assert [path.name for path in folder.iterdir()] == [written.name]


def test_a_folder_in_the_place_of_a_file_is_left_alone(
    folder: Path, written: Path, announced: list[str]
) -> None:
    written.unlink()
    written.mkdir()
    for _ in range(2):
        assert call() == pytest.approx(np.log(6.0))
    assert announced == [LOG_SUM] * 2
    assert [path.name for path in folder.iterdir()] == [written.name]


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError, InterruptedError])
def test_files_that_cannot_be_read_are_compiled_anew(
    folder: Path,
    written: Path,
    error: type[OSError],
    announced: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = os.open

    def refuse(path: Any, *options: Any, **more: Any) -> int:
        if path == written:
            raise error(13, "simulated", str(path))
        return real(path, *options, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        patch.setattr(stored, "digest_of", lambda path: b"12345678")
        assert call() == pytest.approx(np.log(6.0))
    assert announced == [LOG_SUM]


def test_a_writer_that_fails_leaves_the_old_file_and_nothing_else(
    folder: Path, written: Path, compiled: CompiledKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(KeyboardInterrupt):
        stored.write(folder, name_of(), compiled._replace(level="other"))
    assert stored.read(folder, name_of()) == compiled
    assert [path.name for path in folder.iterdir()] == [written.name]


def test_kernels_that_no_file_accounts_for_are_not_written(folder: Path) -> None:
    """Functions within functions, and those of other packages."""
    factor = 3.0

    def times(number: float) -> float:
        return factor * number

    kernel: Any = njit(times)
    assert kernel(2.0) == 6.0
    times.__qualname__ = "times"
    assert njit(times)(3.0) == 9.0
    assert not folder.exists()


def warned(folder: Path) -> str:
    """What is said of kernels that are not read; nothing without a warning."""
    stored._refused.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            assert stored.read(folder, name_of()) is None
    (warning,) = caught or [None]
    return "" if warning is None else str(warning.message)


@pytest.mark.parametrize(
    ("mode", "who"), [(0o775, "its group"), (0o757, "all"), (0o777, "all"), (0o1777, "all")]
)
def test_kernels_that_others_may_write_are_not_read(
    folder: Path, written: Path, compiled: CompiledKernel, mode: int, who: str
) -> None:
    for path in (folder, written):
        before = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode)
        said = f"compiled kernels in {folder} are not read: {path} can be written by {who}"
        assert warned(folder) == said
        path.chmod(before)
        assert stored.read(folder, name_of()) == compiled


def test_kernels_of_other_users_are_not_read(
    folder: Path, written: Path, compiled: CompiledKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = os.geteuid() + 1

    def of_another(status: Callable[[Any], os.stat_result]) -> Callable[[Any], os.stat_result]:
        return lambda of: os.stat_result([*status(of)[:4], another, *status(of)[5:]])

    said = f"belongs to user {another}, neither this one nor root"
    for name, path in (("stat", folder), ("fstat", written)):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, of_another(getattr(os, name)))
            assert warned(folder) == f"compiled kernels in {folder} are not read: {path} {said}"
    assert stored.read(folder, name_of()) == compiled


def test_kernels_of_the_package_are_trusted_as_the_package(
    folder: Path, compiled: CompiledKernel
) -> None:
    stored.write(stored.SHIPPED, name_of(), compiled)
    for path in (stored.SHIPPED, path_of(stored.SHIPPED)):
        path.chmod(0o775)
    assert variants.find(LOG_SUM, TYPES, stored.levels()) == compiled


@pytest.mark.parametrize("is_shipped", [False, True])
def test_a_named_pipe_is_no_kernel(folder: Path, written: Path, is_shipped: bool) -> None:
    written.unlink()
    os.mkfifo(written)
    assert stored.read(folder, name_of(), is_shipped=is_shipped) is None


def test_a_link_counts_as_what_it_leads_to(
    folder: Path, written: Path, compiled: CompiledKernel, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    linked.symlink_to(folder)
    target = written.rename(tmp_path / "target")
    written.symlink_to(target)
    assert stored.read(linked, name_of()) == compiled
    target.chmod(0o666)
    assert f"{written} can be written by all" in warned(folder)
