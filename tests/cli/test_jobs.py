"""``egparse parse --jobs``: the output of one process, and no process left behind."""

from __future__ import annotations

import copy
import io
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import COMMAND, ENVIRONMENT, complaint, words_of
from cli.program import run_process as run
from hypothesis import given
from hypothesis import strategies as st
from sample_treebank import without

from egparse.cli.annotating.pieces import Chunk, Passage, passages, split
from egparse.cli.annotating.work import Annotation
from egparse.cli.workers import AHEAD, Processes, map_in_order, map_pieces
from egparse.errors import CorpusError, EgparseError
from egparse.io.blocks import read_blocks
from egparse.io.corpus import read_corpus, write_corpus
from egparse.pipeline.model import Model

READING = {"trees": False, "spans_key": None}

forks = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")


@pytest.fixture(scope="module")
def model(trained: Trained) -> Model:
    return Model.load(trained.model)


def by_one(model: Model, data: bytes, format: str) -> str:
    text = io.StringIO()
    write_corpus(
        model.annotate(read_corpus(io.BytesIO(data), format, name="in", **READING)),  # type: ignore[arg-type]
        text,
        format,
    )
    return text.getvalue()


def by_several(
    model: Model,
    trained: Trained,
    data: bytes,
    format: str | None,
    *,
    size: int = 3000,
    jobs: int = 2,
) -> str:
    work = Annotation(model, trained.model, READING, {})
    found = passages(model, io.BytesIO(data), "in", format, size=size)
    each = ([passage] for passage in found)  # one is a piece: many pieces of a small corpus
    text, number = [], 1
    with closing(map_pieces(work, each, jobs)) as results:
        for annotated in results:
            for written in annotated.written:
                text.append(written.data(number))
                number += written.amount.sentences
            if annotated.fault is not None:
                raise EgparseError(annotated.fault)
    return b"".join(text).decode()


@pytest.mark.parametrize(("size", "jobs"), [(1, 3), (20_000, 1), (10**9, 2)])
def test_the_output_is_that_of_one_process(
    model: Model, trained: Trained, size: int, jobs: int
) -> None:
    data = trained.dev.read_bytes()
    assert by_several(model, trained, data, None, size=size, jobs=jobs) == by_one(
        model, data, "conllu"
    )


def test_line_ends_and_marks_do_not_matter(model: Model, trained: Trained) -> None:
    data = (
        b"\xef\xbb\xbf"
        + trained.dev.read_bytes().replace(b"\n", b"\r\n")
        + b"\r\n\r\n\xef\xbb\xbf\n"
    )
    assert by_several(model, trained, data, "conllu") == by_one(model, data, "conllu")


def test_column_files_keep_document_lines_with_what_follows(model: Model, trained: Trained) -> None:
    sentence = b"Mary X X O\nlives X X O\nin X X O\nParis X X O\n\n"
    data = (b"-DOCSTART- -X- -X- O\n\n" + sentence * 3) * 5 + b"-DOCSTART- -X- -X- O\n\n"
    whole = by_one(model, data, "conll2003")
    assert whole.count("DOCSTART") == 5
    for size in (1, 21, 22, 70, 10**6):
        assert by_several(model, trained, data, "conll2003", size=size) == whole


@pytest.mark.parametrize("rules", [False, True], ids=["tokeniser", "rules"])
def test_text_is_read_and_annotated_by_workers(model: Model, trained: Trained, rules: bool) -> None:
    text = "The cat sat on the mat. It didn't move.\n \n\n  And\n\n" * 30
    used = without(model, "tokeniser") if rules else model
    alone = io.StringIO()
    write_corpus(used.annotate(used.text_reader().sentences(text)), alone, "conllu")
    shared = by_several(used, trained, text.encode(), "text", size=2000, jobs=1 + (not rules))
    assert shared == alone.getvalue()
    assert "# sent_id = 90\n" in shared


PIECES = st.lists(
    st.sampled_from(["a b", "# c", "-DOCSTART- x", "", "", "\r", "  ", "\ufeff", "é"]), max_size=30
)


@given(PIECES, st.integers(1, 40), st.integers(1, 40))
def test_chunks_are_the_input_cut_between_blocks(lines: list[str], size: int, reads: int) -> None:
    class Slow(io.BytesIO):
        def read1(self, _: int | None = -1) -> bytes:
            return self.read(reads)

    data = "\n".join(lines).encode()
    chunks = list(split(Slow(data), size))
    assert b"".join(chunk.data for chunk in chunks) == data
    found = [
        (block.first_line + chunk.first_line - 1, block.lines)
        for chunk in chunks
        for block in read_blocks(io.BytesIO(chunk.data))
    ]
    assert found == [(block.first_line, block.lines) for block in read_blocks(io.BytesIO(data))]
    for chunk in chunks[:-1]:
        assert not chunk.data.rstrip().rpartition(b"\n")[2].startswith(b"-DOCSTART-")


@pytest.mark.parametrize(
    "fault", [b"1\tno columns\n\n", b"1\t\xff" + b"\t_" * 8 + b"\n\n", b"# no words\n\n"]
)
@pytest.mark.parametrize("before", [0, 1, 7])
def test_a_fault_is_that_of_one_process(
    model: Model, trained: Trained, fault: bytes, before: int
) -> None:
    good = trained.dev.read_bytes()
    data = good * before + fault + good + b"1\tanother\n\n"
    with pytest.raises(CorpusError) as alone:
        by_one(model, data, "conllu")
    with pytest.raises(EgparseError) as shared:
        by_several(model, trained, data, "conllu")
    assert str(shared.value) == str(alone.value)


@pytest.mark.parametrize(
    ("data", "format"), [(b"", "conllu"), (b"\n\n", "conllu"), (b"", None), (b"\n", None)]
)
def test_nothing_has_no_passages(
    model: Model, trained: Trained, data: bytes, format: str | None
) -> None:
    assert by_several(model, trained, data, format) == ""


def test_without_shared_memory_the_model_is_loaded_from_its_file(
    model: Model, trained: Trained
) -> None:
    work = Annotation(model, trained.model, READING, {})
    loaded = copy.copy(work)  # by what pickle would do
    assert loaded.model is not model
    piece = [Passage("in", "conllu", Chunk(1, trained.dev.read_bytes()))]
    assert loaded(piece) == work(piece)


@forks
def test_results_come_in_order_and_few_are_ahead() -> None:
    taken = 0

    def pieces() -> Iterator[int]:
        nonlocal taken
        while taken < 40:
            taken += 1
            yield taken

    def slow_at_first(piece: int) -> int:
        time.sleep(0.2 if piece == 1 else 0)
        return -piece

    for place, result in enumerate(
        map_in_order(Processes(slow_at_first, 3, forks=True), pieces()), 1
    ):
        assert result == -place
        assert taken < place + 3 * AHEAD


def test_workers_can_be_spawned() -> None:
    assert list(map_in_order(Processes(abs, 2, forks=False), [-1, 2, -3])) == [1, 2, 3]


@forks
def test_the_first_fault_counts_after_the_results_before_it() -> None:
    def work(piece: int) -> int:
        if piece == 2:
            time.sleep(0.1)
        if piece >= 2:
            raise EgparseError(f"piece {piece}")
        return piece

    results = map_in_order(Processes(work, 2, forks=True), iter(range(9)))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(EgparseError, match=r"^piece 2$"):
        next(results)


@forks
def test_a_fault_of_the_source_comes_after_the_results_before_it() -> None:
    def pieces() -> Iterator[int]:
        yield 5
        raise OSError("unreadable")

    results = map_in_order(Processes(abs, 2, forks=True), pieces())
    assert next(results) == 5
    with pytest.raises(OSError, match="unreadable"):
        next(results)


def _without_memory(_: object) -> None:
    raise MemoryError


def _leave(_: object) -> None:
    os._exit(3)


def _kill(_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@forks
@pytest.mark.parametrize(
    ("work", "kind", "text"),
    [
        (_without_memory, MemoryError, "^$"),
        (_leave, EgparseError, "a worker process ended before its work, with exit code 3"),
        (
            _kill,
            EgparseError,
            "ended by SIGKILL: perhaps there is not enough memory for so many jobs",
        ),
    ],
)
def test_the_death_of_a_worker_is_told(
    work: Callable[[object], None], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        list(map_in_order(Processes(work, 2, forks=True), [1, 2]))


@forks
def test_what_workers_warn_of_is_warned_of_here() -> None:
    def work(piece: int) -> int:
        warnings.warn("mind the gap", UserWarning, stacklevel=1)
        return piece

    with pytest.warns(UserWarning, match="mind the gap"):
        assert list(map_in_order(Processes(work, 2, forks=True), range(4))) == [0, 1, 2, 3]


@forks
def test_an_iterator_that_is_closed_ends_its_workers() -> None:
    before = children(os.getpid())
    with closing(map_in_order(Processes(abs, 2, forks=True), count())) as results:
        assert next(results) == 0
        assert len(children(os.getpid())) > len(before)
    assert children(os.getpid()) == before


def children(process: int) -> list[int]:
    """The processes that a process has started and that are still there."""
    return [
        int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def large(trained: Trained, folder: Path, times: int) -> Path:
    path = folder / "large.conllu"
    path.write_bytes(trained.dev.read_bytes() * times)
    return path


def test_the_program_gives_the_same(trained: Trained, tmp_path: Path) -> None:
    source, alone, shared = large(trained, tmp_path, 60), tmp_path / "alone", tmp_path / "shared"
    run("parse", trained.model, source, "-o", alone)
    done = run("parse", trained.model, source, "-o", shared, "--jobs", 2)
    assert done.stderr.startswith("1,200 sentences, ")
    assert shared.read_bytes() == alone.read_bytes()


@pytest.mark.nightly
def test_a_fault_of_what_is_to_be_kept_is_that_of_one_process(
    trained: Trained, tmp_path: Path
) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    words = "".join(f"{k}\tx\t_\t_\t_\t_\t_\t_\t_\t_\n" for k in (1, 2)) + "\n"
    below_itself = words.replace("2\tx\t_\t_\t_\t_\t_", "2\tx\t_\t_\t_\t_\t2")
    source.write_text(words * 15_000 + below_itself, encoding="utf-8")
    arguments = ["parse", trained.model, source, "-o", output, "--respect-input"]
    text = complaint(*arguments, "-j", 2)
    assert text.startswith(f"{source}:4500")
    assert text == complaint(*arguments)


@pytest.mark.nightly
def test_long_sentences_are_told_once_or_not_at_all(trained: Trained, tmp_path: Path) -> None:
    long = "".join(f"{k}\tword" + "\t_" * 8 + "\n" for k in range(1, 502)).encode() + b"\n"
    source = large(trained, tmp_path, 60)
    source.write_bytes(long + source.read_bytes() + long)
    told = "egparse: sentences of more than 500 words are parsed in pieces of at most 200\n"
    assert run("parse", trained.model, source, "-j", 2).stderr == told
    assert run("parse", trained.model, source, "-j", 2, "--quiet").stderr == ""
    source.write_bytes(long * 2)
    assert run("parse", trained.model, source).stderr == told


def heed_interrupts() -> None:
    """A shell's background jobs ignore SIGINT, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def running(trained: Trained, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The program over an input without an end, with its workers at work, in a group of processes
    of its own.
    """
    command = [*COMMAND, *words_of(f"parse {trained.model} {folder}/in -o {folder}/out -j 2")]
    os.mkfifo(folder / "in")
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    ) as process:
        writer = os.fork()
        if writer == 0:
            feed(folder / "in", trained.dev.read_bytes())
        try:
            until(lambda: len(children(process.pid)) == 2)
            yield process
        finally:
            process.kill()
            os.waitpid(writer, 0)


def feed(path: Path, data: bytes) -> None:
    """In a process of its own: write until nobody reads."""
    try:
        with open(path, "wb") as stream:
            while True:
                stream.write(data)
    finally:
        os._exit(0)


def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def is_gone(group: int) -> bool:
    """Whether no process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@forks
def test_an_interrupt_ends_all_processes(trained: Trained, tmp_path: Path) -> None:
    with running(trained, tmp_path) as process:
        for _ in range(2):
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, said = process.communicate(timeout=20)
        assert (process.returncode, said) == (130, b"egparse: interrupted\n")
        until(lambda: is_gone(process.pid), 2)
        assert [path.name for path in tmp_path.iterdir()] == ["in"]


@forks
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_a_stopped_worker_does_not_hold_the_end_up(
    trained: Trained, tmp_path: Path, number: signal.Signals
) -> None:
    with running(trained, tmp_path) as process:
        os.kill(children(process.pid)[0], signal.SIGSTOP)
        process.send_signal(number)
        process.communicate(timeout=20)
        assert process.returncode == 128 + number
        until(lambda: is_gone(process.pid), 2)
        assert [path.name for path in tmp_path.iterdir()] == ["in"]


@forks
def test_a_killed_worker_is_told(trained: Trained, tmp_path: Path) -> None:
    with running(trained, tmp_path) as process:
        os.kill(children(process.pid)[1], signal.SIGKILL)
        _, said = process.communicate(timeout=20)
        assert process.returncode == 2
        assert said.startswith(b"egparse: a worker process was ended by SIGKILL")
        assert said.count(b"\n") == 1
        until(lambda: is_gone(process.pid), 2)


@forks
def test_workers_do_not_outlive_a_killed_program(trained: Trained, tmp_path: Path) -> None:
    with running(trained, tmp_path) as process:
        process.kill()
        _, said = process.communicate(timeout=20)
        assert said == b""
        until(lambda: is_gone(process.pid), 10)


@forks
def test_a_closed_pipe_ends_all_quietly(trained: Trained, tmp_path: Path) -> None:
    command = [
        *COMMAND,
        "parse",
        str(trained.model),
        str(large(trained, tmp_path, 400)),
        "--jobs",
        "2",
    ]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (141, b"")
    until(lambda: is_gone(process.pid), 2)
