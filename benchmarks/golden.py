"""Outputs of the program that a change of its inside must not change, byte for byte.

    python benchmarks/golden.py                      # all sections; 1 if an output differs
    python benchmarks/golden.py parse messages       # some: parse, train, evaluate, ...
    python benchmarks/golden.py train --only jobs    # outputs whose name has "jobs" in it
    python benchmarks/golden.py parse --keep FOLDER  # writes the outputs that differ
    python benchmarks/golden.py parse --record       # after a change that is wanted; --keep: all

benchmarks/golden.json holds each output, or its SHA-256 where it is long. Only the command line and
what docs/python-api.md and docs/spacy.md document is used. Times and the version are left out, and
numbers that are not printed with few digits are rounded. Equal outputs are expected on one kind of
processor; on another one the arrays of trained models may differ in their last bits.

The arrays of a model are compared whatever their names in the file and their order there.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import logging
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import golden_cases as cases
import msgpack

import egparse

ROOT = Path(__file__).resolve().parents[1]
EXPECTED = Path(__file__).with_suffix(".json")
MODELS = {"en": "en_ewt", "fr": "fr_sequoia", "pt": "pt_bosque"}
OF_THE_FILE = {
    "path",
    "bytes",
    "sha256",
    "payload_sha256",
    "version",
    "package_version",
    "needs_egparse",
    "config",
}
"""What ``inspect --json`` says that changes with the format of the file and with the settings."""

WHOLE = 600
"""Outputs of up to so many characters stand in the JSON file themselves."""

Outputs = Iterator[tuple[str, str]]


class Done(NamedTuple):
    """Exit code and streams of a command."""

    status: int
    output: str
    errors: str

    @property
    def text(self) -> str:
        """The output; with exit code and errors if the command failed."""
        return self.output if not self.status else f"{self.status}\n{self.output}{self.errors}"


_only = ""
"""What the names of the outputs have in them that are asked for."""

_wrapped: list[Any] = []
"""Streams that share descriptors, which the first to be collected would close."""


def run(*arguments: object, given: bytes = b"") -> Done:
    """``egparse`` with these arguments in this process, in the present folder."""
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    status: Any = 0
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(given)
        files[0].seek(0)
        sys.argv = ["egparse", *map(str, arguments)]
        streams = [
            os.fdopen(os.dup(file.fileno()), mode, encoding="utf-8", errors="backslashreplace")
            for file, mode in zip(files, "rww", strict=True)
        ]
        sys.stdin, sys.stdout, sys.stderr = streams
        try:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("default")
            runpy.run_module("egparse", run_name="__main__")
        except SystemExit as left:
            status = left.code or 0
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            if sys.stdout is streams[1]:
                for stream in streams:
                    stream.close()
            else:  # the first command has wrapped their descriptors once more
                _wrapped.extend((*streams, sys.stdin, sys.stdout, sys.stderr))
            sys.argv, sys.stdin, sys.stdout, sys.stderr = before
        output, errors = (_written(file) for file in files[1:])
    return Done(int(status), output, _plain(errors))


def _written(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _plain(text: str) -> str:
    """Errors without what depends on the place, the version and the first use of a kernel."""
    text = text.replace(str(Path.cwd()), "FOLDER").replace(str(ROOT), "ROOT")
    text = re.sub(r"\b0\.\d+\.\d+(\.dev\d+)?\b", "VERSION", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "SHA256", text)
    text = re.sub(r"in [\d.,]+ s: [\d,]+ words/s", "in TIME", text)
    return "".join(one for one in text.splitlines(keepends=True) if "ompiling" not in one)


def shown(value: Any, digits: int = 6) -> str:
    """A value as JSON, a line for each key at the top, without times; numbers are rounded."""

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.{digits}g}")
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items() if "seconds" not in k}
        return [plain(one) for one in value] if isinstance(value, list | tuple) else value

    if isinstance(value, dict):
        return "".join(f"{key}: {json.dumps(one)}\n" for key, one in plain(value).items())
    return json.dumps(plain(value)) + "\n"


def model_path(language: str) -> Path:
    """The shipped model of a language."""
    return ROOT / "models" / f"{MODELS[language]}.msgpack"


# Inputs: files in the present folder, which is a temporary one.


def write_inputs() -> None:
    """Texts, corpora and links to the models."""
    for part in ("train", "dev", "test"):
        shutil.copy(ROOT / "corpora" / f"en_sample-{part}.conllu", f"{part}.conllu")
    for name, count in (("train", 150), ("dev", 40)):
        blocks = Path(f"{name}.conllu").read_text(encoding="utf-8").split("\n\n")
        Path(f"small-{name}.conllu").write_text("\n\n".join(blocks[:count]) + "\n\n", "utf-8")
    for language, text in cases.TEXTS.items():
        Path(f"{language}.txt").write_text(text, encoding="utf-8")
        Path(f"{language}.msgpack").symlink_to(model_path(language))
        Path(f"{language}-exceptions.conllu").write_text(cases.EXCEPTIONS[language], "utf-8")
    for name, lines in cases.FILES.items():
        Path(name).write_text(lines, encoding="utf-8")
    blanked("small-train.conllu", "partial.conllu", (3, 4, 5, 6, 7))


def blanked(source: str, target: str, columns: Sequence[int]) -> None:
    """A corpus without some cells of these columns, in a pattern without chance."""
    lines = []
    for number, line in enumerate(Path(source).read_text(encoding="utf-8").splitlines()):
        cells = line.split("\t")
        if len(cells) == 10 and cells[0].isdecimal():
            left_out = {c for c in columns if (number * 7 + c // 3 * 5) % 11 < 5}
            cells = ["_" if c in left_out else cell for c, cell in enumerate(cells)]
        lines.append("\t".join(cells))
    Path(target).write_text("\n".join(lines) + "\n", encoding="utf-8")


# Sections.


def parse() -> Outputs:
    """What the shipped models say of text and of corpora."""
    for language in MODELS:
        model, text = f"{language}.msgpack", f"{language}.txt"
        yield f"{language} text", (plain := run("parse", model, text)).text
        Path(f"{language}.conllu").write_text(plain.output, encoding="utf-8")
        yield f"{language} text, marginals", run("parse", model, text, "--marginals").text
        formats = cases.FORMATS if language == "en" else cases.FEWER_FORMATS
        for name in formats:
            done = run("parse", model, text, "--output-format", name)
            Path(f"{language}.{name}").write_text(done.output, encoding="utf-8")
            yield f"{language} text to {name}", done.text
        blanked(f"{language}.conllu", f"{language}-partial.conllu", (2, 3, 4, 5, 6, 7))
        given = run("parse", model, f"{language}-partial.conllu", "--respect-input", "--marginals")
        yield f"{language} partial input respected, marginals", given.text
        mine = ("--exceptions", f"{language}-exceptions.conllu")
        yield f"{language} exceptions", run("parse", model, text, *mine).text
        yield from (
            (f"{language} from Python, {name}", value) for name, value in from_python(language)
        )
    yield from english()


def english() -> Outputs:
    """Sources, formats and options, by the English model."""
    for part in ("dev", "test"):
        yield f"{part}, marginals", run("parse", "en.msgpack", f"{part}.conllu", "--marginals").text
    for name, options in cases.PARSES.items():
        yield name, run("parse", "en.msgpack", *options).text
    yield "standard input", run("parse", "en.msgpack", "-", given=cases.TEXTS["en"].encode()).text
    latin = "Ren\xe9 was na\xefve.\n".encode("latin-1")
    yield "latin-1", run("parse", "en.msgpack", "-", "--encoding", "latin-1", given=latin).text
    Path("packed.txt.gz").write_bytes(gzip.compress(cases.TEXTS["en"].encode()))
    yield "compressed", run("parse", "en.msgpack", "packed.txt.gz", "-o", "packed.conllu.gz").text
    yield "compressed output", gzip.decompress(Path("packed.conllu.gz").read_bytes()).decode()
    yield "two jobs", run("parse", "en.msgpack", "test.conllu", "en.txt", "--jobs", 2).text
    yield (
        "folder",
        run("parse", "en.msgpack", "en.txt", "small-dev.conllu", "--output-dir", "p").text,
    )
    yield from ((f"folder, {one.name}", one.read_text("utf-8")) for one in _files("p"))
    Path("resumed.txt").write_text(cases.TEXTS["en"], encoding="utf-8")
    yield "resume", run("parse", "en.msgpack", "resumed.txt", "-o", "r.conllu", "--resume").text
    yield "resume, output", Path("r.conllu").read_text(encoding="utf-8")


def _files(folder: str) -> list[Path]:
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


def from_python(language: str) -> Outputs:
    """Calls, probabilities, k best and constraints."""
    model = egparse.load(model_path(language))
    texts = [one for one in cases.TEXTS[language].split("\n\n") if one.strip()][:4]
    documents = model(texts)
    yield "texts", "".join(one.to_conllu() for document in documents for one in document)
    yield "rows", "".join(f"{row}\n" for one in documents[1] for row in one.rows(1))
    sentences = [one for document in documents for one in document if 3 < len(one.forms) < 40]
    likely = list(model.annotate(sentences, probabilities=True))
    lines = [
        f"{layer} " + " ".join("_" if value is None else f"{value:.3f}" for value in values)
        for one in likely
        for layer, values in (one.probabilities or {}).items()
    ]
    yield "probabilities", "\n".join(lines)
    best = [scored for one in model.k_best(sentences[:6], 4) for scored in one]
    yield "k best", "".join(f"{s.log_probability:.3f}\n{s.sentence.to_conllu()}" for s in best)
    constraints = []
    for one in sentences:
        other = next(k for k, head in enumerate(one.heads) if head)
        constraint = egparse.Constraints().forbid("heads", other + 1, one.heads[other])
        constraint = constraint.fix("upos", 2, "PROPN").forbid("deprels", 3, one.deprels[2])
        constraints.append(constraint)
    given = model.annotate(sentences, constraints=constraints, probabilities=True)
    yield "constraints", "".join(one.to_conllu() for one in given)


def train() -> Outputs:
    """Models of equal seeds: what they say, their arrays and the passes of their training."""
    run("parse", "fr.msgpack", "fr.txt", "--output", "fr.conllu")
    columns = run("parse", "en.msgpack", "small-train.conllu", "--output-format", "conll2003")
    Path("en.conll2003").write_text(columns.output, encoding="utf-8")
    for name, options in cases.TRAININGS.items():
        if _only in name or name in cases.BASES:
            yield from trained(name, options)
    if _only in "resumed":
        yield from resumed()
    yield "in Python", in_python()
    if _only in "steps":
        yield from steps()
    options = ("train.conllu", "-o", "classes.tsv", "-c", "30", "-q", "-j", "1")
    said = re.sub(r"CPU time +[\d.,]+ s", "CPU time", run("classes", *options).text)
    yield "word classes", said + _text("classes.tsv")
    yield from trained("word classes, used", (*cases.TAGS, "--classes", "classes.tsv"))
    for name, options in cases.TUNINGS.items():
        done = run("tune", "small-train.conllu", "--dev", "small-dev.conllu", "--json", *options)
        yield f"tune, {name}", shown(json.loads(done.output)) if not done.status else done.text


def trained(name: str, options: Sequence[object], command: Callable[..., Done] = run) -> Outputs:
    """Train a model, and what comes of it."""
    file = re.sub(r"\W+", "-", name) + ".msgpack"
    if str(options[0]).startswith("-"):
        options = ("small-train.conllu", *options)
    options = (*options, *(() if "--dev" in options else ("--dev", "small-dev.conllu")))
    options = (*options, *(() if "--language" in options else ("--language", "en")))
    done = command("train", *options, "--output", file, "--quiet", "--json")
    if done.status:
        yield name, done.text
        return
    said = run("parse", file, "small-dev.conllu", "--marginals")
    if said.status:  # learned with a loss without probabilities
        said = run("parse", file, "small-dev.conllu")
    yield f"{name}, predictions", said.text
    yield f"{name}, text", run("parse", file, "en.txt").text
    yield f"{name}, arrays", "\n".join(arrays(Path(file)))
    yield f"{name}, passes", passes(Path(file).with_suffix(".history.jsonl"))
    yield (
        f"{name}, report",
        shown({k: v for k, v in json.loads(done.output).items() if k not in ("config", "model")}),
    )


def arrays(path: Path) -> list[str]:
    """Type, shape and digest of each array of a model, sorted."""
    data = path.read_bytes()
    start = 44 + int.from_bytes(data[8:12], "little")
    found: list[str] = []

    def visit(value: Any) -> None:
        if isinstance(value, msgpack.ExtType):
            found.append(f"{value.data[:8].strip(bytes(1)).decode()} {_digest(value.data)}")
        elif isinstance(value, dict) and "deflated" in value:
            largest = f" {value['largest']:.6g}" if "largest" in value else ""
            found.append(f"{value['count']}{largest} {_digest(zlib.decompress(value['deflated']))}")
        elif isinstance(value, dict | list):
            for one in value.values() if isinstance(value, dict) else value:
                visit(one)

    visit(msgpack.unpackb(data[start:], strict_map_key=False))
    return sorted(found)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def passes(path: Path) -> str:
    """Task, primal, dual and score of each pass."""
    keys = ("task", "iteration", "c", "primal", "dual", "score", "best")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return "".join(shown([one.get(key) for key in keys]) for one in records)


def resumed() -> Outputs:
    """A run that is killed at its second checkpoint, whenever that is, and goes on."""

    def command(*arguments: object) -> Done:
        file = Path(str(arguments[arguments.index("--output") + 1]))
        words = [sys.executable, "-m", "egparse", *map(str, arguments), "--checkpoint", "0"]
        folder = file.with_suffix(".checkpoint")
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and (not folder.exists() or len(_files(str(folder))) < 3):
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
        return run(*arguments, "--resume") if folder.exists() else Done(1, "", "no checkpoint")

    yield from trained("resumed", cases.RESUMED, command)


def in_python() -> str:
    """Training on sentences."""
    corpus = list(egparse.read_corpus("small-train.conllu"))
    dev = list(egparse.read_corpus("small-dev.conllu"))
    stop = {"iterations": 3}
    model = egparse.train(
        corpus, dev=dev, layers=["upos", "spans"], seed=7, upos={"stop": stop}, spans={"stop": stop}
    )
    return "".join(one.to_conllu() for one in model.annotate(dev, probabilities=True))


def steps() -> Outputs:
    """``nlp.update`` through spaCy: a model that exists, and one from nothing."""
    import spacy
    from spacy.training import Example

    corpus = list(egparse.read_corpus("small-train.conllu"))
    for name, model in (("from a model", str(model_path("en"))), ("from nothing", None)):
        nlp = spacy.blank("en")
        for component in ("egparse_tagger", "egparse_lemmatizer", "egparse_parser", "egparse_ner"):
            nlp.add_pipe(component, config={"model": model})
        docs = [egparse.doc_from_sentences([one], nlp.vocab) for one in corpus[:48]]
        examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
        if model:
            nlp.resume_training()
        else:
            training = {"by_steps": True}
            for component in nlp.pipe_names:
                nlp.config["initialize"]["components"][component] = training
            nlp.initialize(partial(list, examples))
        losses: list[dict[str, float]] = []
        for start in range(0, len(examples), 16):
            losses.append({})
            nlp.update(examples[start : start + 16], losses=losses[-1])
        yield f"steps {name}, losses", shown({str(k): one for k, one in enumerate(losses)}, 4)
        annotated = [
            sentence.to_conllu()
            for doc in nlp.pipe([one.text for one in docs[:24]])
            for sentence in egparse.sentences_from_doc(doc)
        ]
        yield f"steps {name}, predictions", "".join(annotated)


def evaluate() -> Outputs:
    """Scores as JSON and as tables."""
    run("parse", "pt.msgpack", "small-dev.conllu", "-o", "other-dev.conllu")
    for name, options in cases.EVALUATIONS.items():
        done = run("evaluate", *options)
        if "--json" in options and not done.status:
            yield name, shown(json.loads(done.output))
        else:
            yield name, done.text


_PLACES = r' (d|y|height|viewBox|style)="[^"]*"'


def pages() -> Outputs:
    """What people read: help, settings, cards, drawings."""
    for command in ("", *cases.COMMANDS):
        yield f"help {command}".strip(), run(*command.split(), "--help").text
    for name, options in cases.PAGES.items():
        text = _plain(run(*options).text)
        # displaCy stacks arcs that join the same words in the order of a set.
        yield name, re.sub(_PLACES, "", text) if "--compare" in options else text
    for language in MODELS:
        yield f"card {language}", _plain(run("inspect", model_path(language), "--card").text)
        done = run("inspect", f"{language}.msgpack", "--json")
        found = json.loads(done.output)
        yield f"inspect {language}", shown({k: found[k] for k in found if k not in OF_THE_FILE})


def messages() -> Outputs:
    """What faulty commands say, with their exit codes."""
    Path("folder").mkdir()
    data = model_path("en").read_bytes()
    Path("truncated.msgpack").write_bytes(data[: len(data) // 2])
    Path("altered.msgpack").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    Path("cut.gz").write_bytes(gzip.compress(cases.TEXTS["en"].encode())[:60])
    Path("latin.conllu").write_bytes("1\tRen\xe9\t_\t_\t_\t_\t_\t_\t_\t_\n\n".encode("latin-1"))
    run("train", "small-train.conllu", "--language", "en", *cases.TAGS, "-q", "-o", "upos.msgpack")
    run("train", "small-train.conllu", "-q", "-o", "mira.msgpack", "--learner", "mira", *cases.TAGS)
    for command in cases.MESSAGES:
        yield " ".join(command), said(*command)
    for fault, lines in cases.FAULTY_CORPORA.items():
        Path("faulty.conllu").write_text(lines, encoding="utf-8")
        yield f"parse {fault}", said("parse", "upos.msgpack", "faulty.conllu")
        yield f"train {fault}", said("train", "faulty.conllu", "-qo", "new.msgpack")
        predicted = ("--predicted", "faulty.conllu", "small-dev.conllu")
        yield f"evaluate {fault}", said("evaluate", *predicted)


def said(*command: str) -> str:
    """Exit code, errors and, but for times of training, output of a command; its files go."""
    done = run(*command)
    for made in Path().glob("new*"):
        made.unlink()
    return f"{done.status} {done.errors}{'' if 'train' in command else done.output}"


SECTIONS = {one.__name__: one for one in (parse, train, evaluate, pages, messages)}


def _text(name: str) -> str:
    return Path(name).read_text(encoding="utf-8")


@contextmanager
def place() -> Iterator[None]:
    """A temporary folder with the inputs as the present one, and an environment of its own."""
    before = Path.cwd()
    search = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ |= {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1", "PYTHONPATH": search}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            write_inputs()
            yield
        finally:
            os.chdir(before)


def stored(text: str) -> str:
    """What the JSON file has of an output."""
    return text if len(text) <= WHOLE else f"sha256 {_digest(text.encode())[:24]}"


def kept(folder: Path | None, section: str, name: str, text: str) -> None:
    """Write an output for people to compare."""
    if folder:
        path = folder / section / (re.sub(r"[^\w.=-]+", "_", name)[:120] + ".txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main(arguments: Iterable[str] | None = None) -> int:
    """Compare, or record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--record", action="store_true", help="take the outputs as expected")
    parser.add_argument("--only", default="", help="outputs whose name has this in it")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write outputs that differ")
    options = parser.parse_args(None if arguments is None else [*arguments])
    global _only
    _only = options.only
    if unknown := sorted(set(options.sections) - set(SECTIONS)):
        parser.error(f"expected sections of {', '.join(SECTIONS)}, got {', '.join(unknown)}")
    logging.raiseExceptions = False  # a handler of an earlier command has a stream that is closed
    keep = options.keep and options.keep.resolve()
    expected = json.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.exists() else {}
    differing = 0
    for section in options.sections or SECTIONS:
        began = time.process_time(), os.times()
        before, found = expected.get(section, {}), {}
        with place():
            run("--version")  # prepares the process
            for name, text in SECTIONS[section]():
                if _only not in name:
                    continue
                found[name] = stored(text)
                if found[name] != before.get(name) or options.record:
                    kept(keep, section, name, text)
                if found[name] != before.get(name) and not options.record:
                    differing += 1
                    print(f"{section}: {name}\n  expected {before.get(name)!r}")
                    print(f"  got      {found[name]!r}", flush=True)
        missing = [name for name in before if _only in name and name not in found]
        if options.record:
            expected[section] = {**before, **found} if _only else found
        else:
            differing += len(missing)
            print("".join(f"{section}: {name}\n  got nothing\n" for name in missing), end="")
        ended = os.times()
        spent = sum(ended[:4]) - sum(began[1][:4])
        print(f"{section:10} {len(found):4} outputs, {spent:.1f} CPU seconds", flush=True)
    if options.record:
        lines = json.dumps(expected, indent=1, ensure_ascii=False, sort_keys=True)
        EXPECTED.write_text(lines + "\n", encoding="utf-8")
    elif not differing:
        print("all outputs are as expected")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
