"""Ctrl-C in training is noted, and takes effect where nothing is half done."""

from __future__ import annotations

import signal
import threading

import pytest

from egparse.fitting import interruption


def test_the_first_interrupt_waits_for_a_check_and_the_second_does_not() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with interruption.deferred():
            interruption.check()
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                interruption.check()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        interruption.check()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_handlers_and_other_threads_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    found = []

    def look() -> None:
        with interruption.deferred():
            found.append(signal.getsignal(signal.SIGINT))

    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        look()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert found == [signal.SIG_IGN, signal.default_int_handler]
