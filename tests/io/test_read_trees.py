"""Tree faults against a slow definition."""

from __future__ import annotations

from itertools import product

import pytest

from egparse.io.trees import find_missing_head, find_tree_fault


def is_tree(heads: tuple[int, ...], single_root: bool) -> bool:
    """Every word reaches 0 or a word without a head in at most n steps; roots are as many as
    allowed.
    """
    if single_root and heads.count(0) > 1:
        return False
    for start in range(1, len(heads) + 1):
        word, steps = start, 0
        while word > 0:
            word, steps = heads[word - 1], steps + 1
            if steps > len(heads):
                return False
    return True


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("single_root", [True, False])
def test_all_head_sequences(n: int, single_root: bool) -> None:
    for heads in product(range(-1, n + 1), repeat=n):
        fault = find_tree_fault(heads, single_root)
        assert (fault is None) == is_tree(heads, single_root), heads
        if fault is not None:
            assert 1 <= fault.word <= n


def test_out_of_range_and_missing() -> None:
    assert find_tree_fault((), True) is None
    assert (
        str(find_tree_fault((0, 5), True))
        == "TreeFault(word=2, expected='a head from 0 to 2', got='5')"
    )
    assert find_tree_fault((0, -2), True) is not None
    assert find_missing_head((0, 1)) is None
    missing = find_missing_head((0, -1))
    assert missing is not None
    assert missing.word == 2


def test_long_cycle_is_shortened() -> None:
    fault = find_tree_fault([*range(2, 100), 1, 0], True)
    assert fault is not None
    assert fault.got.endswith("-> ...")
    assert len(fault.got) < 60
