"""Files of word classes: every format by its content, and faults by file and line."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

from egparse.classes import formats as vectors
from egparse.classes.formats import paths_of_integers, read_table, read_tables
from egparse.errors import CorpusError, EgparseError

PATHS = {"the": "00", "a": "010", "dog": "0110", "1": "0111", "runs": "1"}


def written(folder: Path, text: str, name: str = "classes.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def integers(paths: dict[str, str], bits: int, *, lowest_first: bool) -> str:
    """Lines of words and integers, paths being filled up with zeros."""
    full = {word: path.ljust(bits, "0") for word, path in paths.items()}
    return "".join(
        f"{word}\t{int(path[::-1] if lowest_first else path, 2)}\n" for word, path in full.items()
    )


def test_paths_with_words_and_counts(tmp_path: Path) -> None:
    lines = [f"{path}\t{word}\t{k}" for k, (word, path) in enumerate(PATHS.items(), 1)]
    table = read_table(written(tmp_path, "\n".join(lines) + "\n"))
    assert table.paths == PATHS
    assert table.counts == {word: k for k, word in enumerate(PATHS, 1)}
    assert table.origin.name == "classes.txt"


@pytest.mark.parametrize("order", [0, 1])
def test_the_count_may_be_missing_and_the_word_may_come_first(tmp_path: Path, order: int) -> None:
    lines = ["\t".join((path, word)[:: 1 - 2 * order]) for word, path in PATHS.items()]
    table = read_table(written(tmp_path, "\r\n".join(lines)))
    assert (table.paths, table.counts) == (PATHS, {})


@pytest.mark.parametrize("lowest_first", [False, True])
@pytest.mark.parametrize("bits", [4, 16, 18, 32])
def test_integers_from_either_end(tmp_path: Path, bits: int, lowest_first: bool) -> None:
    text = integers(PATHS, bits, lowest_first=lowest_first)
    table = read_table(written(tmp_path, text))
    for word, path in PATHS.items():
        assert table.paths[word].startswith(path)
        assert set(table.paths[word][len(path) :]) <= {"0"}
    assert table.n_classes == len(PATHS)


def test_one_class_and_integers_whose_end_is_known() -> None:
    assert paths_of_integers([0]) == ["0"]
    assert paths_of_integers([1, 2, 4], lowest_first=True) == ["100", "010", "001"]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_compressed_files(tmp_path: Path, compress: object) -> None:
    path = tmp_path / "classes.tsv.z"
    path.write_bytes(compress(b"00\tthe\n01\ta\n"))  # type: ignore[operator]
    assert read_table(path).paths == {"the": "00", "a": "01"}


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    text = "00\ta\u2028b\n\n  \n01\t c\n1\tx\x85\n"
    assert read_table(written(tmp_path, text)).paths == {"a\u2028b": "00", " c": "01", "x\x85": "1"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", ":1: expected a table of word classes, got an empty file"),
        ("\n\n", ":1: expected a table of word classes, got an empty file"),
        ("Some text.\n", ":1: expected path TAB word TAB count, "),
        ("a\tb\tc\td\n", "got 4 cells between tabs"),
        ("a\tb\n", ":1: expected path TAB word TAB count, "),
        ("the\t3\nof\t-1\n", ":2: expected path TAB word TAB count, "),
        ("the\t3\nof\t4294967296\n", ":2: expected an integer of at most 32 bits, got 4294967296"),
        ("the\t3\nof\t" + "9" * 5000 + "\n", ":2: expected an integer of at most 32 bits"),
        ("00\tthe\t1\n01\ta\n", ":2: expected 3 cells as in the first line, got 2 cells"),
        ("00\tthe\n\n01\tthe\n", ":3: expected each word once, got 'the' with another class"),
        ("00\tthe\n01\t\n", ":2: expected a word, got an empty cell"),
        ("00\tthe\t1\n01\ta\tx\n", ":2: expected a count, got 'x'"),
        ("00\tthe\n" + "0" * 33 + "\ta\n", ":2: expected a path of 1 to 32 bits"),
    ],
)
def test_faults_name_file_and_line(tmp_path: Path, text: str, fault: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(CorpusError) as raised:
        read_table(path)
    assert str(raised.value).startswith(f"{path}:")
    assert fault in str(raised.value)


def test_a_path_that_is_none_after_the_sample(tmp_path: Path) -> None:
    lines = [f"{k % 8:03b}\tw{k}" for k in range(1500)]
    path = written(tmp_path, "\n".join([*lines, "x\ty"]))
    with pytest.raises(CorpusError, match=r"classes\.txt:1501: expected a path of 1 to 32 bits"):
        read_table(path)


def test_no_more_classes_than_a_model_may_have(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(f"{k:016b}\tw{k}\n" for k in range(16_386)))
    with pytest.raises(CorpusError, match=":16385: expected at most 16,384 classes"):
        read_table(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "classes.txt"
    path.write_bytes(b"00\tthe\n01\t\xff\n")
    with pytest.raises(CorpusError, match=r"classes\.txt:2: expected UTF-8 text"):
        read_table(path)


def test_licences_sources_and_counts_of_settings(tmp_path: Path) -> None:
    first = written(tmp_path, "0\ta\t5\n10\tb\t1\n", "one.txt")
    second = written(tmp_path, "0\ta\n", "two.txt")
    names = [str(first), str(second)]
    one, two = read_tables(names, ("MIT", ""), ("", "somewhere"), min_count=2)
    assert one.as_record() == {
        "name": "one.txt", "source": "", "licence": "MIT", "forms": 1, "classes": 1,
    }  # fmt: skip
    assert (two.origin.source, two.origin.licence, len(two)) == ("somewhere", "", 1)
    with pytest.raises(EgparseError, match="expected words of at least 9 occurrences"):
        read_tables(names, min_count=9)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EgparseError, match=r"no\.txt: expected a table of word classes: no such"):
        read_tables([str(tmp_path / "no.txt")])


VECTORS = "dog 1 0.1\ncat 1 0\nruns 0 1\nwalks 0.1 1.0e0\n"


@pytest.mark.parametrize("head", ["", "4 2\n"])
def test_vectors_become_classes(tmp_path: Path, head: str) -> None:
    table = read_table(written(tmp_path, head + VECTORS.replace("\n", " \n")), 2)
    assert table.path("dog") == table.path("cat")
    assert table.path("runs") == table.path("walks")
    assert {table.path("dog"), table.path("runs")} == {"0", "1"}


def test_words_of_vectors_may_hold_blanks(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "the 1 0\n. . 0 1\n"), 9)
    assert set(table.paths) == {"the", ". ."}


def test_the_first_of_two_vectors_counts_and_the_rest_of_long_files_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "MOST_WORDS", 3)
    lines = enumerate((VECTORS + "dog 0 1\nno vector").split("\n"), 1)
    words, found = vectors.read_vectors(tmp_path, lines)
    assert words == ["dog", "cat", "runs"]
    assert found.shape == (3, 2)


@pytest.mark.parametrize(
    ("line", "number"), [("short 1", 3), ("other x y", 3), ("large 1e99 1", 3), ("nan nan 1", 3)]
)
def test_faulty_vectors_name_file_and_line(tmp_path: Path, line: str, number: int) -> None:
    path = written(tmp_path, f"dog 1 0.1\ncat 1 0\n{line}\n")
    with pytest.raises(CorpusError, match=f":{number}: expected a word and 2 numbers"):
        read_table(path)


def test_vectors_without_a_word(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"expected word vectors, got none"):
        vectors.read_vectors(tmp_path / "x", iter([(1, "4 2")]))
