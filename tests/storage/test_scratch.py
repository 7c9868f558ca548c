"""Arrays in files: they are what they would be in memory; limits and disks have their errors."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest

from egparse.errors import EgparseError
from egparse.storage import scratch
from egparse.storage.scratch import LEAST, described, limited, size_of

_LARGE = 1 << 18  # float64 of 2 MB


@pytest.fixture(autouse=True)
def small_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever other tests of this process have left in memory."""
    monkeypatch.setattr(scratch, "anonymous_memory", lambda: 0)


def test_large_arrays_lie_in_files_and_small_ones_do_not() -> None:
    with limited(LEAST) as files:
        before = files.in_files
        small = np.zeros(10)
        assert files.in_files == before
        large = np.zeros(_LARGE)
        assert files.in_files == before + large.nbytes
        assert small.sum() == large.sum() == 0
        del large
        assert files.in_files == before
        assert files.most_in_files >= before + 8 * _LARGE


def test_expressions_have_the_same_values() -> None:
    def work() -> np.ndarray:
        numbers = np.random.default_rng(0).integers(1000, size=_LARGE)
        distinct, counts = np.unique(numbers, return_counts=True)
        order = np.argsort(numbers * 3 % 7, kind="stable")
        return np.concatenate([np.cumsum(numbers)[order], distinct, counts])

    expected = work()
    with limited(LEAST):
        assert np.array_equal(work(), expected)


@pytest.mark.parametrize(("before", "after"), [(10, _LARGE), (_LARGE, 2 * _LARGE), (_LARGE, 10)])
def test_an_array_keeps_its_content_when_its_size_changes(before: int, after: int) -> None:
    with limited(LEAST):
        numbers = np.arange(before)
        numbers.resize(after, refcheck=False)
        kept = min(before, after)
        assert np.array_equal(numbers[:kept], np.arange(kept))
        assert not numbers[kept:].any()


def test_arrays_outlive_the_block() -> None:
    with limited(LEAST) as files:
        kept = np.arange(_LARGE)
    assert scratch.active() is None
    assert kept.sum() == _LARGE * (_LARGE - 1) // 2
    after = np.zeros(_LARGE)
    assert files.in_files == kept.nbytes
    del kept, after
    gc.collect()
    assert files.in_files == 0


def test_a_program_ends_well_with_arrays_that_live_to_its_end() -> None:
    program = (
        "import numpy\nfrom egparse.storage import scratch\n"
        f"with scratch.limited({LEAST}):\n    large, small = numpy.ones({_LARGE}), numpy.ones(3)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_disk_that_is_too_small_is_an_error() -> None:
    fault = r"expected room for another 65,536 GB .*TMPDIR"
    with pytest.raises(EgparseError, match=fault), limited(LEAST):
        np.empty(1 << 46, dtype=np.uint8)


def test_a_memory_error_of_something_else_is_passed_on() -> None:
    with pytest.raises(MemoryError), limited(LEAST):
        raise MemoryError


def test_more_memory_than_the_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "anonymous_memory", lambda: LEAST + 1)
    fault = "expected to use at most 200 MB, got 200 MB"
    with pytest.raises(EgparseError, match=fault), limited(LEAST):
        np.zeros(_LARGE)
    fault = "at least 300 MB for 7 sentences, got 200 MB"
    with pytest.raises(EgparseError, match=fault), limited(LEAST) as files:
        files.require(100 << 20, "7 sentences")


def test_a_limit_that_no_program_keeps_is_refused() -> None:
    fault = "--memory: expected at least 200 MB, got 1 MB"
    with pytest.raises(EgparseError, match=fault), limited(1 << 20):
        pass


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2G", 2 << 30),
        ("1.5g", 3 << 29),
        ("500M", 500 << 20),
        ("800000K", 800000 << 10),
        ("123", 123),
        ("2GB", 2 << 30),
        ("2GiB", 2 << 30),
        *((text, None) for text in ("2 GiB", "-1", "", "much", "1e9")),
    ],
)
def test_sizes(text: str, size: int | None) -> None:
    if size is None:
        with pytest.raises(EgparseError, match=f"a size such as 2G or 500M, got '{text}'"):
            size_of(text)
    else:
        assert size_of(text) == size


def test_sizes_for_people() -> None:
    assert [described(size) for size in (1 << 31, 3 << 29, 300 << 20, 5 << 10)] == [
        "2 GB",
        "1.5 GB",
        "300 MB",
        "5 KB",
    ]
