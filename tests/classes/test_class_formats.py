"""Tables of word classes by file, language code and pipeline: every format by its content, faults
by file and line; and k-means with the tree above its clusters, against what they promise and an
enumeration.
"""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.classes import formats
from egparse.classes.formats import (
    find_table,
    k_means,
    paths_of_integers,
    read_table,
    read_tables,
    ward_paths,
)
from egparse.errors import CorpusError, EgparseError

PATHS = {"the": "00", "a": "010", "dog": "0110", "1": "0111", "runs": "1"}


def written(folder: Path, text: str, name: str = "classes.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_paths_with_words_and_counts(tmp_path: Path) -> None:
    lines = [f"{path}\t{word}\t{k}" for k, (word, path) in enumerate(PATHS.items(), 1)]
    table = read_table(written(tmp_path, "\n".join(lines) + "\n"))
    assert (table.paths, table.origin.name) == (PATHS, "classes.txt")
    assert table.counts == {word: k for k, word in enumerate(PATHS, 1)}


@pytest.mark.parametrize("order", [0, 1])
def test_the_count_may_be_missing_and_the_word_may_come_first(tmp_path: Path, order: int) -> None:
    lines = ["\t".join((path, word)[:: 1 - 2 * order]) for word, path in PATHS.items()]
    table = read_table(written(tmp_path, "\r\n".join(lines)))
    assert (table.paths, table.counts) == (PATHS, {})


@pytest.mark.parametrize("lowest_first", [False, True])
@pytest.mark.parametrize("bits", [4, 16, 18, 32])
def test_integers_from_either_end(tmp_path: Path, bits: int, lowest_first: bool) -> None:
    full = {word: path.ljust(bits, "0") for word, path in PATHS.items()}
    text = "".join(
        f"{word}\t{int(path[::-1] if lowest_first else path, 2)}\n" for word, path in full.items()
    )
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


VECTORS = "dog 1 0.1\ncat 1 0\nruns 0 1\nwalks 0.1 1.0e0\n"
MANY = "\n".join(f"{k % 8:03b}\tw{k}" for k in range(1500))


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
        (f"{MANY}\nx\ty", ":1501: expected a path of 1 to 32 bits"),  # after the sample
        ("00\tthe\n01\t\udcff\n", ":2: expected UTF-8 text"),
        ("".join(f"{k:016b}\tw{k}\n" for k in range(16_386)), ":16385: expected at most 16,384 cl"),
        *(
            (f"dog 1 0.1\ncat 1 0\n{line}\n", ":3: expected a word and 2 numbers")
            for line in ("short 1", "other x y", "large 1e99 1", "nan nan 1")
        ),
    ],
)
def test_faults_name_file_and_line(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "classes.txt"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(CorpusError) as raised:
        read_table(path)
    assert str(raised.value).startswith(f"{path}:")
    assert fault in str(raised.value)


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
    with pytest.raises(EgparseError, match=r"no\.txt: expected a table of word classes: no such"):
        read_tables([str(tmp_path / "no.txt")])


@pytest.mark.parametrize("head", ["", "4 2\n"])
def test_vectors_become_classes(tmp_path: Path, head: str) -> None:
    table = read_table(written(tmp_path, head + VECTORS.replace("\n", " \n")), 2)
    assert table.path("dog") == table.path("cat")
    assert table.path("runs") == table.path("walks")
    assert {table.path("dog"), table.path("runs")} == {"0", "1"}
    with_blanks = read_table(written(tmp_path, "the 1 0\n. . 0 1\n"), 9)
    assert set(with_blanks.paths) == {"the", ". ."}


def test_the_first_of_two_vectors_counts_and_the_rest_of_long_files_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "MOST_WORDS", 3)
    lines = enumerate((VECTORS + "dog 0 1\nno vector").split("\n"), 1)
    words, found = formats.read_vectors(tmp_path, lines)
    assert words == ["dog", "cat", "runs"]
    assert found.shape == (3, 2)
    with pytest.raises(CorpusError, match=r"expected word vectors, got none"):
        formats.read_vectors(tmp_path / "x", iter([(1, "4 2")]))


CLUSTERS = {".": 8, "the": 11, "dog": 6, "cat": 4, "unknown": 0}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package like spacy-lookups-data, of a group of its own, with tables for two languages."""
    monkeypatch.setattr(formats, "_GROUP", "egparse_tested_lookups")
    folder = tmp_path / "installed"
    package = folder / "tested_lookups"
    package.mkdir(parents=True)
    code = "from pathlib import Path\n" + "".join(
        f"{name} = {{{table!r}: str(Path(__file__).with_name('{name}.json'))}}\n"
        for name, table in (("xa", "lexeme_cluster"), ("xb", "lemma_lookup"))
    )
    (package / "__init__.py").write_text(code)
    (package / "xa.json.gz").write_bytes(gzip.compress(json.dumps(CLUSTERS).encode()))
    info = folder / "tested_lookups-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: tested-lookups\nVersion: 1.2\nLicense: MIT\n"
    )
    points = "".join(f"{name} = tested_lookups:{name}\n" for name in ("xa", "xb"))
    (info / "entry_points.txt").write_text(f"[egparse_tested_lookups]\n{points}")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "tested_lookups", raising=False)
    monkeypatch.chdir(tmp_path)
    return package


@pytest.mark.usefixtures("installed")
def test_a_table_by_language_code(tmp_path: Path) -> None:
    table = find_table("xa")
    assert table.paths == {".": "0001", "the": "1101", "dog": "0110", "cat": "0010"}
    assert (table.origin.name, table.origin.licence) == ("xa", "MIT")
    assert table.origin.source == "tested-lookups 1.2, table xa_lexeme_cluster"
    (packed,) = read_tables(["xa"], ["CC0"])
    assert packed.origin.licence == "CC0"
    for code in ("xb", "xc"):
        with pytest.raises(EgparseError) as raised:
            find_table(code)
        assert str(raised.value) == (
            f"{code}: expected a file, or a language for which spacy-lookups-data has word classes "
            "(xa)"
        )
    (tmp_path / "xa").write_text("0\tword\n1\tother\n")  # a file of that name comes first
    assert find_table("xa").paths == {"word": "0", "other": "1"}


@pytest.mark.parametrize(
    ("content", "fault"),
    [("no json", "expected a table in JSON"), ('{"a": "b"}', "expected integers"), ("[1]", "int")],
)
def test_a_faulty_table_is_named(installed: Path, content: str, fault: str) -> None:
    (installed / "xa.json").write_text(content)
    with pytest.raises(EgparseError, match=rf"xa\.json: .*{fault}"):
        find_table("xa")


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_GROUP", "egparse_tested_nothing")
    with pytest.raises(EgparseError, match=r"en: .*pip install spacy-lookups-data"):
        find_table("en")


def test_the_tables_of_the_package() -> None:
    pytest.importorskip("spacy_lookups_data", reason="the package spacy-lookups-data")
    table = find_table("en")
    assert len(table.paths) == 190_129
    assert table.origin.licence == "MIT"
    assert table.path("March") == table.path("April")


def pipeline(folder: Path, vectors: dict[str, list[float]]) -> str:
    nlp = spacy.blank("en")
    for word, vector in vectors.items():
        nlp.vocab.set_vector(word, np.array(vector, dtype=np.float32))
    nlp.to_disk(folder)
    return str(folder)


def test_vectors_of_a_pipeline(tmp_path: Path) -> None:
    vectors = {"dog": [1.0, 0.1], "cat": [1.0, 0.0], "runs": [0.0, 1.0], "walks": [0.1, 1.0]}
    table = find_table(pipeline(tmp_path / "xx_words_md", vectors), 2)
    assert table.path("dog") == table.path("cat") != table.path("runs") == table.path("walks")
    assert table.n_classes == 2
    assert (table.origin.name, table.origin.source) == ("xx_words_md", "vectors of xx_words_md")
    with pytest.raises(EgparseError, match="expected a spaCy pipeline with vectors: "):
        find_table(str(tmp_path))
    with pytest.raises(EgparseError, match="expected a spaCy pipeline with vectors of words"):
        find_table(pipeline(tmp_path / "without", {}))


def drawn(seed: int, n: int, dimensions: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.random.default_rng(seed).normal(size=(n, dimensions)).astype(np.float32)


@given(st.integers(0, 1000), st.integers(1, 30), st.integers(1, 6))
@examples(60)
def test_every_vector_is_with_its_nearest_centre(seed: int, n: int, k: int) -> None:
    vectors = drawn(seed, n, 3)
    centres, classes = k_means(vectors, min(k, n))
    assert 1 <= len(centres) <= min(k, n)
    assert set(classes.tolist()) == set(range(len(centres)))
    distances = ((vectors[:, None] - centres[None]) ** 2).sum(axis=2)
    own = distances[np.arange(n), classes]
    assert (own <= distances.min(axis=1) + 1e-5).all()


def test_separate_groups_are_found_and_equal_vectors_give_equal_classes() -> None:
    groups = np.repeat(np.eye(5, dtype=np.float32), 20, axis=0) + 0.05 * drawn(1, 100, 5)
    centres, classes = k_means(groups, 5)
    assert len(centres) == 5
    assert all(len(set(classes[k : k + 20].tolist())) == 1 for k in range(0, 100, 20))
    again, of_again = k_means(groups.copy(), 5)
    assert (again == centres).all()
    assert (of_again == classes).all()


def test_fewer_distinct_vectors_than_classes() -> None:
    centres, classes = k_means(np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32), 3)
    assert len(centres) == 2
    assert classes[0] == classes[1] != classes[2]


def increase(points: list[np.ndarray], weights: list[float]) -> float:  # type: ignore[type-arg]
    """The sum of squared distances to the mean of weighted points."""
    mean = sum(weight * point for weight, point in zip(weights, points, strict=True)) / sum(weights)
    return float(sum(w * ((p - mean) ** 2).sum() for w, p in zip(weights, points, strict=True)))


def tree_by_enumeration(centres: np.ndarray, sizes: list[int]) -> set[frozenset[int]]:  # type: ignore[type-arg]
    """The sets of leaves below the nodes of Ward's tree, every union being measured anew."""
    clusters = [frozenset([k]) for k in range(len(centres))]
    found = set(clusters)

    def inertia(cluster: frozenset[int]) -> float:
        return increase([centres[k] for k in cluster], [float(sizes[k]) for k in cluster])

    while len(clusters) > 1:
        a, b = min(
            itertools.combinations(clusters, 2),
            key=lambda pair: inertia(pair[0] | pair[1]) - inertia(pair[0]) - inertia(pair[1]),
        )
        clusters = [one for one in clusters if one not in (a, b)] + [a | b]
        found.add(a | b)
    return found


def nodes_of(paths: list[str]) -> set[frozenset[int]]:
    """The sets of leaves below each prefix of the paths."""
    prefixes = {path[:size] for path in paths for size in range(len(path) + 1)}
    return {
        frozenset(k for k, path in enumerate(paths) if path.startswith(prefix))
        for prefix in prefixes
    }


@given(st.integers(0, 1000), st.integers(2, 7))
@examples(60)
def test_the_tree_is_that_of_an_enumeration(seed: int, n: int) -> None:
    centres = drawn(seed, n, 2)
    sizes = np.random.default_rng(seed).integers(1, 5, size=n)
    paths = ward_paths(centres, sizes)
    assert nodes_of(paths) == tree_by_enumeration(centres.astype(np.float64), sizes.tolist())


@pytest.mark.parametrize("n", [1, 2, 40])
def test_paths_are_those_of_a_binary_tree(n: int) -> None:
    paths = ward_paths(drawn(3, n, 4), np.ones(n, dtype=np.int64))
    assert len(set(paths)) == n
    assert all(set(path) <= {"0", "1"} and path for path in paths)
    if n > 1:  # Kraft's equality: every inner node has two children
        assert sum(2.0 ** -len(path) for path in paths) == 1.0


def test_a_deep_tree_is_cut() -> None:
    # each cluster is so far from the others that they are joined before it is
    centres = np.array([[4.0**k] for k in range(40)], dtype=np.float32)
    paths = ward_paths(centres, np.ones(40, dtype=np.int64))
    assert max(map(len, paths)) == 32
