"""Compilation that is disturbed: two ``egparse warm`` at once, of which one or a worker of it is
ended by a signal at a random moment; a disk that is full during ``egparse warm``; wheels whose
kernels cannot be compiled.

The other process ends well, and what is there then is whole: after it nothing is missing, and a
third ``egparse warm`` finds all. On a small disk it ends with status 2 and one line that names the
folder, until all fits. A wheel without kernels is built all the same, says so, and what it installs
compiles what it calls. To take seconds, ``egparse warm`` compiles a few kernels.

Usage: python benchmarks/reliability/compiling.py [--kills 20] [--python PYTHON] [--json FILE]
[--what kills disk wheel] [--faults FAULT ...]

Wheels are built by ``--python``, which needs hatchling and what egparse needs.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path

from disks import small_file_system
from findings import ROOT, finish, parser_for
from forks import adopt_orphans, left_of
from kills import PATIENCE, SIGNALS
from processes import children_of
from small_model import CORPORA, first_sentences

PAGES = 60
"""Of the small file system: more than the few kernels need."""

WARM = """
import pathlib, signal, sys
from egparse.cli.app import main
from egparse.compilation import stored
from egparse.compilation.compiler import build

stored.SHIPPED = pathlib.Path("/dev/null")
few = [line for line in build.known_variants() if line.startswith("egparse.features.")][:12]
build.known_variants = lambda: few
if __name__ == "__main__":  # its workers are processes of their own
    sys.argv = ["egparse", "warm", "--jobs", "2"]
    main()
"""

BUILD = """
import os, pathlib, resource, signal, subprocess, sys, tempfile
sys.path.insert(0, os.getcwd())
import hatch_build

def full_disk():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

really = subprocess.run

def run(command, **options):
    if "egparse.compilation.compiler.build" not in command:
        return really(command, **options)
    if sys.argv[2] == "full disk":
        return really(command, preexec_fn=full_disk, **options)
    if sys.argv[2] == "no compiler":
        broken = pathlib.Path(tempfile.mkdtemp())
        (broken / "numba.py").write_text("raise ImportError('no compiler here')")
        options["env"]["PYTHONPATH"] = f"{broken}:{options['env']['PYTHONPATH']}"
        return really(command, **options)
    options = {key: options[key] for key in ("cwd", "env")}
    process = subprocess.Popen(command, start_new_session=True, **options)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, process.wait())

subprocess.run = run  # hatchling loads the hook a second time
print(hatch_build.build_wheel(sys.argv[1]))
"""
FAULTS = ("no compiler", "killed", "full disk")
SAID = "kernels were not compiled; they will be when called"


def main() -> None:
    """Print counts, and what went wrong."""
    parser = parser_for(__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--python", default=sys.executable, help="that builds wheels")
    parser.add_argument("--what", nargs="+", default=["kills", "disk", "wheel"])
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=FAULTS, help="of wheels")
    options = parser.parse_args()
    adopt_orphans()
    with tempfile.TemporaryDirectory() as name:
        trial = Trial(Path(name))
        if "kills" in options.what:
            trial.kills(options.kills, random.Random(options.seed))
        if "disk" in options.what:
            trial.disk()
        if "wheel" in options.what:
            for fault in options.faults:
                trial.wheel(fault, options.python)
    finish(trial.figures, trial.failures, options.json)


class Trial:
    """Runs and judges."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._program = scratch / "warm.py"
        self._program.write_text(WARM, encoding="utf-8")
        self.figures: dict[str, object] = {}
        self.failures: list[str] = []

    def kills(self, kills: int, draw: random.Random) -> None:
        """Two processes at once, one of them ended."""
        begun = time.monotonic()
        self._warm(self._scratch / "usual")
        usual = time.monotonic() - begun
        counts: Counter[str] = Counter()
        for k in range(kills):
            folder = self._scratch / f"kernels-{k}"
            first, second = self._start(folder), self._start(folder)
            moment = draw.uniform(0.3, 1.5) * usual
            time.sleep(moment)
            workers = children_of(first.pid) if first.poll() is None else []
            number, whom, victim = draw.choice(SIGNALS), "a process", first.pid
            if workers and draw.random() < 0.3:  # as the system does where memory is short
                number, whom, victim = signal.SIGKILL, "a worker", draw.choice(workers)
            where = f"{whom} ended by {signal.Signals(number).name}"
            if first.poll() is None:
                # the terminal sends Ctrl-C to a whole group
                (os.killpg if number == signal.SIGINT else os.kill)(victim, number)
                counts[where] += 1
            where += f" after {moment:.1f} s"
            first.wait(600)
            left = left_of(first.pid, PATIENCE)
            counts["was over before"] += first.returncode == 0
            if left:
                self.failures.append(f"{where}: processes are left: {left}")
                for process in left:
                    os.kill(process, signal.SIGKILL)
            said = first.communicate(timeout=600)[1]
            if "Traceback" in said or first.returncode == 1:
                self.failures.append(f"{where}: status {first.returncode}: {said[-600:]}")
            said = second.communicate(timeout=600)[1]
            if second.returncode:
                self.failures.append(f"{where}: the other: {second.returncode}: {said[-300:]}")
            counts["temporary files left"] += len(list(folder.glob("*/tmp*")))
            third = self._warm(folder)
            if "12 of them compiled" not in third.stderr:
                self.failures.append(f"{where}: afterwards: {third.stderr[-300:]}")
            shutil.rmtree(folder)
        self.figures |= {"warm, two at once": kills, **counts}

    def disk(self) -> None:
        """More and more pages free."""
        folder, refused, free, done = self._scratch / "small", 0, 0, None
        try:
            with small_file_system(folder, PAGES) as leave:
                while done is None or done.returncode:
                    leave(free)
                    done = self._warm(folder)
                    line = f"egparse: egparse warm: {folder}"
                    refused += done.returncode == 2
                    is_told = done.stderr.count("egparse: ") == done.stderr.count(line) == 1
                    is_told &= "Traceback" not in done.stderr
                    if done.returncode and not (done.returncode == 2 and is_told):
                        said = f"{done.returncode}: {done.stderr[-600:]}"
                        self.failures.append(f"warm, {free} pages free: {said}")
                    leave(None)
                    if tmp := list(folder.glob("*/tmp*")):
                        self.failures.append(f"warm, {free} pages free: leaves {tmp}")
                    for compiled in folder.iterdir():
                        shutil.rmtree(compiled)
                    free += 3
                    if free > PAGES:
                        break
        except PermissionError as error:
            self.figures["small file system"] = str(error)
        self.figures["warm, sizes of the disk that were too small"] = refused

    def wheel(self, fault: str, python: str) -> None:
        """A wheel whose kernels are not compiled, and what it installs."""
        tree, built = self._scratch / "tree", self._scratch / "built"
        for folder in (tree, built):
            shutil.rmtree(folder, ignore_errors=True)
        built.mkdir()
        ignored = shutil.ignore_patterns("__pycache__", ".git", ".*_cache", "compiled", "docs")
        shutil.copytree(ROOT, tree, ignore=ignored)
        command = [python, "-c", BUILD, str(built), fault]
        environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, check=False
        )
        wheels = list(built.glob("*.whl"))
        if done.returncode or len(wheels) != 1 or not wheels[0].name.endswith("py3-none-any.whl"):
            self.failures.append(f"wheel, {fault}: {done.returncode}: {done.stderr[-600:]}")
            return
        if SAID not in done.stdout + done.stderr:
            self.failures.append(f"wheel, {fault}: says {done.stdout[-300:]} {done.stderr[-300:]}")
        installed = self._scratch / "installed"
        shutil.rmtree(installed, ignore_errors=True)
        with zipfile.ZipFile(wheels[0]) as archive:
            archive.extractall(installed)
            kernels = [name for name in archive.namelist() if name.endswith(".kernel")]
        corpus = first_sentences(40, self._scratch / "train.conllu")
        model = self._scratch / "m.msgpack"
        call = [python, "-m", "egparse"]
        where = environment | {
            "PYTHONPATH": str(installed),
            "EGPARSE_KERNELS": str(self._scratch / "called"),
        }
        tags = ["--set", 'layers=["upos"]', "--language", "en", "--quiet", "--force"]
        test = str(CORPORA / "en_sample-dev.conllu")
        for words in (
            ["train", str(corpus), "-o", str(model), *tags],
            ["parse", str(model), test, "--quiet"],
        ):
            ended = subprocess.run(
                [*call, *words],
                cwd=self._scratch,
                env=where,
                capture_output=True,
                text=True,
                check=False,
            )
            if ended.returncode or ended.stderr:
                self.failures.append(f"wheel, {fault}: {words[0]}: {ended.stderr[-600:]}")
        fine = f"built and works, {len(kernels)} kernels in it"
        self.figures[f"wheel, {fault}"] = fine if not self.failures else "see the failures"

    def _start(self, folder: Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(self._program)],
            env=os.environ | {"EGPARSE_KERNELS": str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def _warm(self, folder: Path) -> subprocess.CompletedProcess[str]:
        process = self._start(folder)
        output, said = process.communicate(timeout=600)
        return subprocess.CompletedProcess([], process.returncode, output, said)


if __name__ == "__main__":
    main()
