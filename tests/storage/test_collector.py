"""The garbage collector is paused for a while, and left as it was."""

from __future__ import annotations

import gc

import pytest

from egparse.storage.collector import collector_paused


def _fail_while_paused() -> None:
    with collector_paused():
        assert not gc.isenabled()
        raise ValueError("within")


def test_the_collector_pauses_and_resumes() -> None:
    assert gc.isenabled()
    with pytest.raises(ValueError, match="within"):
        _fail_while_paused()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
