"""Tasks that are learned in a thread beside others: the same model as one after the other, events
in a fixed order, and errors that arrive.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from sample_treebank import SECOND_ORDER, quick, sample

from egparse.errors import EgparseError
from egparse.fitting.jobs import Jobs, present_jobs, working_with
from egparse.fitting.progress import Iteration, Step, silent
from egparse.storage.model_file import read_header
from egparse.training import run as training
from egparse.training.run import Background, train


@pytest.fixture
def two_jobs() -> Any:
    with working_with(Jobs(2)):
        yield


def test_works_are_done_in_order_and_events_are_passed_on_at_the_end(two_jobs: Any) -> None:
    heard: list[Iteration | Step] = []
    background = Background(heard.append, turns=False)
    go, threads = threading.Event(), set[int]()

    def work(name: str) -> None:
        assert go.wait(30)
        threads.add(threading.get_ident())
        background.notify(Step(name, 1, 0))

    background.start(lambda: work("first"), beside=True)
    background.start(lambda: work("second"), beside=True)
    background.notify(Step("main", 1, 0))
    go.set()
    background.wait()
    assert [one.task for one in heard] == ["main", "first", "second"]
    assert threading.get_ident() not in threads
    background.wait()  # once more changes nothing
    assert len(heard) == 3


@pytest.mark.parametrize(
    ("count", "turns", "beside", "by"),
    [(1, False, True, 1), (2, True, True, 1), (2, False, False, 2)],
)
def test_elsewhere_works_are_done_at_once(count: int, turns: bool, beside: bool, by: int) -> None:
    done = list[tuple[int, int]]()

    def work() -> None:
        done.append((threading.get_ident(), present_jobs().count))

    with working_with(Jobs(count)):
        Background(silent, turns=turns).start(work, beside=beside)
    assert done == [(threading.get_ident(), by)]


@pytest.mark.parametrize("kind", [EgparseError, KeyboardInterrupt])
def test_an_error_arrives_and_what_follows_is_not_begun(
    kind: type[BaseException], two_jobs: Any
) -> None:
    background, done = Background(silent, turns=False), list[int]()

    def fail() -> None:
        raise kind("wrong")

    background.start(fail, beside=True)
    background.start(lambda: done.append(1), beside=True)
    with pytest.raises(kind, match="wrong"):
        background.wait()
    assert done == []
    background.wait()


def test_the_model_and_the_events_are_those_of_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = quick(*SECOND_ORDER, "parser.trees=projective", "jobs=2", "jackknife.folds=2")
    found = []
    for turns in (False, True):
        heard: list[Iteration | Step] = []
        with monkeypatch.context() as patch:
            if turns:
                patch.setattr(
                    training, "Background", lambda listener, turns: Background(listener, turns=True)
                )
            model = train(sample("train")[:60], None, config, heard.append).model
        model.save(tmp_path / "model.msgpack")
        header = read_header(tmp_path / "model.msgpack")
        last = {one.task: one._replace(seconds=0.0) for one in heard if isinstance(one, Iteration)}
        found.append((header["payload_sha256"], list(model.record["tasks"]), last))
    assert found[0] == found[1]
    assert {"tokeniser", "lemmas", "spans"} <= set(found[0][1])
