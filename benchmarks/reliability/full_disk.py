"""A disk that is full at each write of ``train``, ``parse``, ``download``, ``package``,
``visualize``, ``inspect --card`` and ``evaluate``: exit status 2 and one line that names the file,
the older result as it was, nothing left behind. Where kernels are cached, a full disk must not
matter.

Each command runs once to count its writes (bytes, new files and folders, flushing), and
then once for each of them, which fails together with all that follow; then on a small file system,
where this process may mount one, with more and more pages free; and with standard output on
/dev/full.

Usage: python benchmarks/reliability/full_disk.py [--every 1] [--json FILE] [--command train ...]
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from disks import FullDisk, small_file_system
from findings import ROOT, finish, parser_for
from forks import Ended, adopt_orphans, build_commands_once, run
from kills import Content, content_of, forced, serving
from small_model import CORPORA, first_sentences, train_small_model

PAGES = 2000
"""Of the small file system."""


NOTHING_SHIPPED = """
import pathlib
from egparse.cli.app import main
from egparse.compilation import stored

stored.SHIPPED = pathlib.Path("/dev/null")
main()
"""
"""A program that has to compile its kernels, if none are in its cache."""


class Job(NamedTuple):
    """A command. Its files are in the folder that ``arguments`` puts at FOLDER, or its result is
    its standard output.
    """

    name: str
    arguments: list[str]
    to_output: bool = False
    may_leave: tuple[str, ...] = ()

    def in_folder(self, folder: Path) -> list[str]:
        """The arguments with a folder for files."""
        return [word.replace("FOLDER", str(folder)) for word in self.arguments]


def main() -> None:
    """Print counts for each command, and what went wrong."""
    parser = parser_for(__doc__, seed=False)
    parser.add_argument("--every", type=int, default=1, help="fail at every so many writes only")
    parser.add_argument("--command", nargs="*", help="only these; 'cache' is that of kernels")
    options = parser.parse_args()
    os.environ["COLUMNS"] = "200"
    adopt_orphans()
    build_commands_once()
    with tempfile.TemporaryDirectory() as name, serving(Path(name)):
        scratch = Path(name)
        model = train_small_model(scratch)
        trial = Trial(scratch, options.every)
        for job in jobs(scratch, model):
            if not options.command or job.name in options.command:
                trial.writes(job)
                trial.pages(job)
        if not options.command or "cache" in options.command:
            trial.cache(scratch)
    finish(trial.figures, trial.failures, options.json)


def jobs(scratch: Path, model: Path) -> list[Job]:
    """The commands."""
    corpus = first_sentences(40, scratch / "train.conllu")
    test = first_sentences(20, scratch / "test.conllu", "test")
    quick = ["--config", str(ROOT / "configs" / "quick.toml"), "--language", "en", "--quiet"]
    quick += ["--set", 'layers=["upos", "heads", "deprels"]']
    whole = str(CORPORA / "en_sample-train.conllu")
    parse = ["parse", str(model), whole, "--quiet"]
    package = ["package", str(model), "--name", "en_egparse_x", "--sdist", *forced("package")]
    download = ["download", "UD_French-Sequoia", "--quiet"]
    return [
        Job(
            "train",
            ["train", str(corpus), *quick, "-o", "FOLDER/m.msgpack", *forced("train")],
            may_leave=("m.history.jsonl.part",),
        ),
        Job("parse", [*parse, "-o", "FOLDER/out.conllu", *forced("parse")]),
        Job("parse --jobs 2", [*parse, "-j", "2", "-o", "FOLDER/out.conllu", *forced("parse")]),
        Job("parse > file", parse, to_output=True),
        Job("download", [*download, "-o", "FOLDER"], may_leave=(".part", ".sha256", ".conllu")),
        Job("package", [*package, "--quiet", "-o", "FOLDER"]),
        Job(
            "visualize",
            ["visualize", str(model), str(test), "-o", "FOLDER/p.html", *forced("visualize")],
        ),
        Job("visualize > file", ["visualize", str(model), str(test)], to_output=True),
        Job("inspect --card > file", ["inspect", str(model), "--card"], to_output=True),
        Job("evaluate > file", ["evaluate", str(model), str(test)], to_output=True),
        Job("evaluate --json > file", ["evaluate", str(model), str(test), "--json"], True),
    ]


class Trial:
    """Runs and judges."""

    def __init__(self, scratch: Path, every: int) -> None:
        self._scratch, self._every = scratch, every
        self._folder = scratch / "results"
        self._said = scratch / "said"
        self._said.mkdir()
        self.figures: dict[str, object] = {}
        self.failures: list[str] = []

    def writes(self, job: Job) -> None:
        """Fail at each write."""
        count = self._count(job)
        self.figures[f"{job.name}: writes"] = count
        kinds: Counter[str] = Counter()
        for room in range(0, count, self._every):
            before = self._lay(self._folder, job)
            disk = FullDisk(self._folder, room, output=job.to_output)
            done = run(job.in_folder(self._folder), self._said, disk.install)
            where = f"{job.name}, write {room + 1} of {count}"
            kinds[self._judge(where, job, self._folder, before, done)] += 1
        if job.to_output:
            done = run(job.arguments, self._said, output_to_full_device)
            kinds[self._judge(f"{job.name}, /dev/full", job, self._folder, {}, done)] += 1
        self._lay(self._folder, job)
        done = run(job.in_folder(self._folder), self._said)
        if done.status:
            self.failures.append(f"{job.name}: afterwards: status {done.status}: {done.said}")
        self.figures |= {f"{job.name}: {kind}": number for kind, number in kinds.items()}

    def pages(self, job: Job) -> None:
        """The same on a file system that has so many pages left."""
        if job.to_output:
            return
        folder = self._scratch / "small"
        kinds: Counter[str] = Counter()
        try:
            with small_file_system(folder, PAGES) as leave:
                needed = PAGES
                free = 0
                while free < needed:
                    leave(None)
                    before = self._lay(folder, job)
                    leave(free)
                    done = run(job.in_folder(folder), self._said)
                    leave(None)
                    where = f"{job.name}, {free} pages free"
                    if done.status == 0:
                        needed = free
                        kinds["succeeded"] += 1
                        break
                    kinds[self._judge(where, job, folder, before, done)] += 1
                    free += max(1, free // 8) * self._every
        except PermissionError as error:
            self.figures["small file system"] = str(error)
            return
        self.figures[f"{job.name}: pages needed, at most"] = needed
        self.figures |= {f"{job.name}, pages: {kind}": number for kind, number in kinds.items()}

    def cache(self, scratch: Path) -> None:
        """Parsing by processes that compile their kernels and cannot keep them."""
        model, test = scratch / "tags.msgpack", scratch / "test.conllu"
        layers = ["--set", 'layers=["upos"]', "--language", "en", "--quiet"]
        done = run(
            ["train", str(first_sentences(40, scratch / "t.conllu")), "-o", str(model), *layers],
            self._said,
        )
        if done.status:
            raise RuntimeError(done.said)
        command = [sys.executable, "-c", NOTHING_SHIPPED, "parse", str(model), str(test), "--quiet"]
        expected = run(["parse", str(model), str(test), "--quiet"], self._said).output
        for size in (0, 20_000):
            empty = scratch / f"cache-{size}"
            empty.mkdir()
            found = subprocess.run(
                command,
                env=os.environ | {"EGPARSE_KERNELS": str(empty)},
                preexec_fn=file_size_limit(size),
                capture_output=True,
                text=True,
                check=False,
            )
            self._judge_cache(f"files of at most {size} bytes", found, expected)
        try:
            with small_file_system(scratch / "cache", 64) as leave:
                for free in (0, 2, 40):
                    leave(free)
                    environment = os.environ | {"EGPARSE_KERNELS": str(scratch / "cache")}
                    found = subprocess.run(
                        command, env=environment, capture_output=True, text=True, check=False
                    )
                    self._judge_cache(f"{free} pages free", found, expected)
                    leave(None)
        except PermissionError as error:
            self.figures["small file system"] = str(error)

    def _judge_cache(
        self, where: str, found: subprocess.CompletedProcess[str], expected: str
    ) -> None:
        fine = (found.returncode, found.stdout) == (0, expected)
        self.figures[f"kernels' cache, {where}"] = "the same output" if fine else "failed"
        if not fine:
            self.failures.append(
                f"kernels' cache, {where}: status {found.returncode}: {found.stderr[-300:]}"
            )

    def _count(self, job: Job) -> int:
        """The number of writes: the least room in which the command succeeds, found by a run that
        leaves its count in a file.
        """
        self._lay(self._folder, job)
        report = self._said / "writes"
        disk = FullDisk(self._folder, float("inf"), output=job.to_output)

        def install() -> None:
            disk.install()
            leave = os._exit

            def counted(status: int) -> None:
                report.write_text(str(disk.writes))
                leave(status)

            os._exit = counted  # type: ignore[assignment]

        done = run(job.in_folder(self._folder), self._said, install)
        if done.status:
            raise RuntimeError(f"{job.name} does not work: {done.said}")
        return int(report.read_text())

    def _lay(self, folder: Path, job: Job) -> Content:
        """An older result."""
        for path in [*folder.glob("*"), *folder.glob(".egparse*")] if folder.exists() else []:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        folder.mkdir(exist_ok=True)
        for name in ("m.msgpack", "m.history.jsonl", "out.conllu", "p.html"):
            (folder / name).write_text("what was there\n")
        if job.name == "package":
            kept = self._scratch / "older-package"
            if not kept.exists():
                done = run([*job.in_folder(kept), "--licence", "MIT"], self._said)
                if done.status:
                    raise RuntimeError(done.said)
            shutil.copytree(kept, folder, dirs_exist_ok=True)
        return content_of(folder)

    def _judge(self, where: str, job: Job, folder: Path, before: Content, done: Ended) -> str:
        """The kind of the outcome; what is wrong becomes a failure."""
        after = content_of(folder) if before else {}
        after.pop(".filler", None)
        wrong = []
        if done.status == 0:
            return "a write that does not matter"
        if done.status != 2:
            wrong.append(f"status {done.status}")
        if done.said.count("\n") != 1 or not done.said.startswith("egparse: "):
            wrong.append(f"says {done.said[-300:]!r}")
        names = "standard output" if job.to_output else str(folder)
        if "No space left" not in done.said or names not in done.said:
            wrong.append(f"does not name {names}: {done.said[-200:]!r}")
        if any(after.get(file) != content for file, content in before.items()):
            wrong.append("the older result is not what it was")
        extra = [f for f in after if f not in before and not f.endswith(job.may_leave or "\0")]
        if extra:
            wrong.append(f"leaves {extra[:3]}")
        self.failures += [f"{where}: {text}" for text in wrong]
        return "failed" if wrong else "refused, all as before"


def output_to_full_device() -> None:
    """Standard output is a device that is always full."""
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, 1)


def file_size_limit(size: int) -> Callable[[], None]:
    """Lets a process write no larger files."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


if __name__ == "__main__":
    main()
