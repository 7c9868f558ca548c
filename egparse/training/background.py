"""Tasks that no later task reads, learned in one thread beside those that are."""

from __future__ import annotations

import threading
from collections.abc import Callable

from egparse.fitting.jobs import Jobs, beside_others, present_jobs, working_with
from egparse.fitting.progress import Iteration, Listener, Step


class _Work(threading.Thread):
    """Work that begins when the one before it has ended, and not if that one failed. The thread
    does not keep a process alive that ends otherwise.
    """

    def __init__(self, work: Callable[[], object], before: _Work | None) -> None:
        super().__init__(name="egparse-background", daemon=True)
        self._work, self._before = work, before
        self.error: BaseException | None = None

    def run(self) -> None:
        """Do the work."""
        try:
            if self._before is not None:
                self._before.join()
                if self._before.error is not None:
                    raise self._before.error
            with beside_others():
                self._work()
        except BaseException as error:  # KeyboardInterrupt too: it is raised again by ``wait``
            self.error = error


class Background:
    """Work for one job where a run has several in this process: in a thread beside the main one,
    one after the other; or immediately in the calling thread, if tasks take ``turns``. Models do
    not depend on it, to the last digit of their records.

    ``notify`` is a listener that passes events on; events of the thread are passed on by ``wait``,
    so that their order is always the same.
    """

    def __init__(self, listener: Listener, *, turns: bool) -> None:
        self._listener, self._turns = listener, turns
        self._last: _Work | None = None
        self._events: list[Iteration | Step] = []
        self._main = threading.get_ident()

    def notify(self, event: Iteration | Step) -> None:
        """Pass an event on, or keep it until ``wait``."""
        if threading.get_ident() == self._main:
            self._listener(event)
        else:
            self._events.append(event)

    def start(self, work: Callable[[], object], *, beside: bool) -> None:
        """Do work in the thread or at once; ``beside`` says whether there is anything else to do
        meanwhile, without which all jobs do it.
        """
        jobs = present_jobs()
        if not (beside and jobs.count > 1 and jobs.connect is None):
            work()
        elif self._turns:
            with working_with(Jobs()):
                work()
        else:
            self._last = _Work(work, self._last)
            self._last.start()

    def wait(self) -> None:
        """Wait for all work, and pass its events on.

        Raises:
            BaseException: what some work has raised; what came after it was not begun.
        """
        last, self._last = self._last, None
        if last is None:
            return
        last.join()
        events, self._events = self._events, []
        for event in events:
            self._listener(event)
        if last.error is not None:
            raise last.error
