"""Turns of requests: work of several clients by one thread."""

from __future__ import annotations

import anyio
import pytest

from egparse.service.rest import application as under_test
from egparse.service.rest.application import Gone, Steps, Turns


@pytest.fixture(autouse=True)
def _short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """One step a turn."""
    monkeypatch.setattr(under_test, "TURN", 0.0)


def steps(name: str, count: int, log: list[str]) -> Steps[str]:
    for _ in range(count):
        log.append(name)
        yield
    return f"{name} is done"


def test_a_large_request_gives_way_between_its_steps() -> None:
    log: list[str] = []
    turns = Turns(threads=1)

    async def ask(name: str, count: int, *, large: bool) -> None:
        log.append(await turns.result(steps(name, count, log), anyio.sleep_forever, large=large))

    async def run() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: ask("large", 20, large=True))
            group.start_soon(lambda: ask("second large", 2, large=True))
            while "large" not in log:
                await anyio.sleep(0)
            group.start_soon(lambda: ask("small", 2, large=False))

    anyio.run(run)
    assert log.index("small is done") < log.index("large is done")
    assert log.index("large is done") < log.index("second large")


def test_work_ends_when_its_client_goes() -> None:
    log: list[str] = []
    turns = Turns(threads=1)

    async def gone() -> None:
        while log.count("work") < 3:
            await anyio.sleep(0)

    async def run() -> None:
        with pytest.raises(Gone):
            await turns.result(steps("work", 1 << 60, log), gone, large=True)
        assert await turns.result(steps("next", 1, log), anyio.sleep_forever, large=True)

    anyio.run(run)


def test_a_client_that_goes_while_it_waits_costs_nothing() -> None:
    log: list[str] = []
    turns = Turns(threads=1)

    async def gone() -> None:
        while log.count("first") < 3:
            await anyio.sleep(0)

    async def second() -> None:
        with pytest.raises(Gone):
            await turns.result(steps("second", 1, log), gone, large=True)
        log.append("second has gone")

    async def run() -> None:
        async with anyio.create_task_group() as group:
            first = steps("first", 50, log)
            group.start_soon(lambda: turns.result(first, anyio.sleep_forever, large=True))
            while "first" not in log:
                await anyio.sleep(0)
            group.start_soon(second)

    anyio.run(run)
    assert "second" not in log
    assert log.index("second has gone") < len(log) - 1


def test_errors_of_work_are_raised_as_they_are() -> None:
    def failing() -> Steps[str]:
        yield
        raise KeyError("x")

    async def run() -> None:
        with pytest.raises(KeyError, match="x"):
            await Turns(1).result(failing(), anyio.sleep_forever, large=False)

    anyio.run(run)
