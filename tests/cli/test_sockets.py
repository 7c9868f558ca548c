"""No socket is opened but by what is asked to: ``download``, ``serve``, ``build-model`` for files
that are not there, ``train`` and ``tune`` with the name of a treebank, and ``--engine ray``.

A hook of Python's audit events stands in every process, also those that ``--jobs`` starts. It sees
the sockets and addresses that Python's ``socket`` makes and asks for, which all of egparse, spaCy
and requests use; it would not see those of a compiled library. One is left out: spaCy imports
urllib3, which binds a socket to an address of this machine once, to see whether it has IPv6.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from cli.program import CONFIGS, CORPORA, ENVIRONMENT, first_sentences

HOOK = """
import os, sys

def looks_for_ipv6():
    frame = sys._getframe(2)
    while frame and frame.f_code.co_name != "_has_ipv6":
        frame = frame.f_back
    return frame is not None and frame.f_globals["__name__"] == "urllib3.util.connection"

def refuse(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname" and not looks_for_ipv6():
        with open(os.environ["SEEN_SOCKETS"], "a") as file:
            print(event, arguments[1:], file=file)
        raise PermissionError(f"the test allows no {event}")

sys.addaudithook(refuse)
"""

COMMANDS = """
import json, sys
from egparse.cli.app import main
for status, *arguments in json.loads(sys.argv[1]):
    try:
        main(arguments)
    except SystemExit as left:
        assert (left.code or 0) == status, (arguments, left.code)
"""

LIBRARY = """
import sys
import egparse, spacy
model = egparse.load("en")
assert len(model("She saw him. He waved.")) == 2
model.evaluate(sys.argv[1], bootstrap=2)
egparse.train(sys.argv[1], layers=["upos"], upos={"stop": {"iterations": 1}})
nlp = spacy.blank("en")
for name in ("tagger", "lemmatizer", "ner", "parser", "senter"):
    nlp.add_pipe(f"egparse_{name}", config={"model": "en_ewt"})
assert [doc.has_annotation("DEP") for doc in nlp.pipe(["She saw him."])] == [True]
try:
    egparse.load("he_none")
except egparse.EgparseError:
    pass
"""


def sockets_of(folder: Path, script: str, *arguments: object) -> tuple[str, str]:
    """The sockets that a script asked for in its processes, and what it said on standard error."""
    (folder / "sitecustomize.py").write_text(HOOK)
    seen = folder / "seen"
    environment = ENVIRONMENT | {
        "PYTHONPATH": os.pathsep.join([str(folder), ENVIRONMENT["PYTHONPATH"]]),
        "SEEN_SOCKETS": str(seen),
        "EGPARSE_HOME": str(folder / "home"),
        "EGPARSE_INDEX": "http://127.0.0.1:9/index.json",  # would be asked for names
    }
    words = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(
        words, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return (seen.read_text() if seen.exists() else ""), done.stderr


def test_commands_open_no_socket(tmp_path: Path) -> None:
    corpus = first_sentences(CORPORA / "en_sample-dev.conllu", 20, tmp_path / "en_a-dev.conllu")
    quick = ("--config", CONFIGS / "quick.toml", "--set", 'layers=["upos","heads","deprels"]')
    (tmp_path / "text.txt").write_text("She saw the man. He waved.\n")
    commands: list[tuple[object, ...]] = [
        (0, "train", corpus, "--output", "m.msgpack", "--language", "en", *quick),
        (0, "evaluate", "m.msgpack", corpus, "--bootstrap", 2),
        (0, "parse", "en", "text.txt", "--marginals", "--output", "out.conllu"),
        (0, "parse", "m.msgpack", corpus, "--jobs", 2, "--output", "again.conllu"),
        (0, "visualize", "m.msgpack", "text.txt", "--output", "page.html"),
        (0, "inspect", "m.msgpack", "--card"),
        (0, "models"),
        (0, "classes", "text.txt", "--output", "classes.txt", "--classes", 2),
        (0, "package", "m.msgpack", "--name", "en_egparse_mine", "--version", "1.0.0"),
        (0, "settings"),
        (2, "parse", "kk", "text.txt"),
        (2, "parse", "nothing", "text.txt"),
    ]
    given = json.dumps([[words[0], *map(str, words[1:])] for words in commands])
    assert sockets_of(tmp_path, COMMANDS, given)[0] == ""


def test_loading_training_and_pipelines_open_no_socket(tmp_path: Path) -> None:
    corpus = first_sentences(CORPORA / "en_sample-dev.conllu", 12, tmp_path / "en_a-dev.conllu")
    assert sockets_of(tmp_path, LIBRARY, corpus)[0] == ""


def test_the_hook_sees_a_download(tmp_path: Path) -> None:
    seen, said = sockets_of(tmp_path, COMMANDS, json.dumps([[2, "download", "en_ewt"]]))
    assert "socket.getaddrinfo" in seen
    assert "the test allows no socket." in said or "cannot be reached" in said
