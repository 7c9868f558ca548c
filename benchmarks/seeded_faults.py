"""Whether the tests find faults seeded into structures and learners, one at a time.

    python benchmarks/seeded_faults.py /tmp/faults

clones this repository's HEAD into the folder, changes one line of the package in the clone, runs
the tests of structures, laws and learners there until one fails, and puts the line back. A fault is
found if a test fails. About a minute a fault on one core.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Fault(NamedTuple):
    """A line of the package and what takes its place; where it lies is found by its text."""

    line: str
    instead: str
    tests: tuple[str, ...] = ("tests/structures", "tests/laws")
    interpreted: bool = True


_LEARNERS = ("tests/learners", "tests/laws")


def _learning(line: str, instead: str) -> Fault:
    return Fault(line, instead, _LEARNERS, interpreted=False)


FAULTS = (
    # chains
    Fault(
        "log_z += np.log(total)\n        inverse = 1.0 / total",
        "log_z += np.log(total)\n        inverse = 1.0",
    ),
    Fault("count[q] += mass * message[q]", "count[q] += message[q]"),
    Fault("if ahead < -MAX_TAIL_LOSS:", "if ahead < -1e9:"),
    Fault("back = marginals[c] / forward[c] if forward[c] > 0.0 else 0.0", "back = marginals[c]"),
    Fault(
        "total, forward[b] + parts[n_unary + labels[b] * n_labels + labels[c]]",
        "total, forward[b] + parts[n_unary + labels[c] * n_labels + labels[b]]",
    ),
    Fault("pointers[c] = b - starts[k - 1]", "pointers[c] = b"),
    # projective trees
    Fault(
        "joint = dot(complete[i, i:j], complete[j, i + 1 : j + 1])",
        "joint = dot(complete[i, i:j], complete_t[j, i + 1 : j + 1])",
    ),
    Fault("right += weight[0, i] * complete[i, 1] / z", "right += weight[0, i] * complete[i, 1]"),
    Fault("joint = weight[i, j] * right + weight[j, i] * left", "joint = weight[i, j] * right"),
    Fault(
        "incomplete[j, i] = scores[j, i] + joint if i > 0 else -np.inf",
        "incomplete[j, i] = scores[j, i] + joint",
    ),
    Fault(
        "stack[2 * top + 4], stack[2 * top + 5] = j, split + 1",
        "stack[2 * top + 4], stack[2 * top + 5] = j, split",
    ),
    # other trees
    Fault("best = -np.inf if single_root else gain[0]", "best = gain[0]"),
    Fault("gain = gains[member, head] - values[member]", "gain = gains[member, head]"),
    Fault("target[place] += through * row[place]", "target[place] += row[place]"),
    Fault(
        "return largest + ROOT_DISCOUNT if largest > -np.inf else 0.0",
        "return largest if largest > -np.inf else 0.0",
    ),
    Fault("log_scale += highest + math.log(total)", "log_scale += highest"),
    # second-order trees
    Fault(
        "between *= weights.pairs[pair + 1 + s - first]\n        for k",
        "between *= weights.pairs[pair + s - first]\n        for k",
    ),
    Fault(
        "outer_incomplete[place + k] += total * weights.stops[b]",
        "outer_incomplete[place + k] += total",
    ),
    Fault("rest[a] = math.exp(-highest)", "rest[a] = 1.0"),
    Fault("odds = max(odds, MIN_ODDS)", "odds = max(odds, 1.0)"),
    Fault(
        "messages.belief[a] = messages.tree[a] * incoming", "messages.belief[a] = messages.tree[a]"
    ),
    Fault(
        "chart.posterior[k] = chart.heads[k] * chart.sides[0, k] * chart.sides[1, k]",
        "chart.posterior[k] = chart.heads[k] * chart.sides[0, k]",
    ),
    # learners
    _learning("return highest - correct + constant", "return highest - correct"),
    _learning(
        "return problem.marginals(i, potentials, expected) / self.beta, constant",
        "return problem.marginals(i, potentials, expected), constant",
    ),
    _learning(
        "gain = estimate - step.eta * step.gradient_norm / 2 if estimate < math.inf else 0.0",
        "gain = estimate if estimate < math.inf else 0.0",
    ),
    _learning(
        "kept, weight = 1.0 - eta * rule.entropy, eta * rule.gamma",
        "kept, weight = 1.0 - eta, eta * rule.gamma",
    ),
    _learning(
        "slope += change * (theta[r] - scale * scores[r])",
        "slope += change * (theta[r] + scale * scores[r])",
    ),
    _learning("stored[r] -= changes[r]", "stored[r] += changes[r]"),
    _learning("accepted = increase >= -noise", "accepted = True"),
    _learning("changes *= self._weight\n        self._moments", "self._moments"),
)


def place_of(line: str, package: Path) -> Path:
    """The file of the package that has a line, once.

    Raises:
        SystemExit: none has, or several.
    """
    found = [
        path for path in sorted(package.rglob("*.py")) if path.read_text("utf-8").count(line) == 1
    ]
    # what an experiment has in common with the package is sought in the package
    found = [path for path in found if "experiments" not in path.parts] or found
    if len(found) != 1:
        sys.exit(f"expected one file with {line!r}, found {[str(path) for path in found]}")
    return found[0]


def is_found(fault: Fault, clone: Path) -> bool:
    """Whether a test fails with the fault in place."""
    path = place_of(fault.line, clone / "egparse")
    source = path.read_text("utf-8")
    environment = {**os.environ, "PYTHONPATH": str(clone), "NUMBA_DISABLE_JIT": "1"}
    if not fault.interpreted:
        del environment["NUMBA_DISABLE_JIT"]
    path.write_text(source.replace(fault.line, fault.instead), "utf-8")
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not nightly and not compiled_only"]
    if fault.interpreted:
        options += ["-W", "ignore:divide by zero encountered:RuntimeWarning"]
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *fault.tests],
            cwd=clone,
            env=environment,
            capture_output=True,
            text=True,
        )
    finally:
        path.write_text(source, "utf-8")
    if ran.returncode not in (0, 1):
        sys.exit(ran.stdout[-2000:] + ran.stderr[-2000:])
    return ran.returncode == 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder that does not exist")
    parser.add_argument("--check", action="store_true", help="look only for the lines")
    chosen = parser.parse_args()
    if chosen.check:
        for fault in FAULTS:
            print(place_of(fault.line, ROOT / "egparse").relative_to(ROOT))
        return
    subprocess.run(["git", "clone", "-q", str(ROOT), str(chosen.folder)], check=True)
    found = 0
    for number, fault in enumerate(FAULTS, 1):
        begun = time.monotonic()
        seen = is_found(fault, chosen.folder)
        found += seen
        seconds = time.monotonic() - begun
        print(f"{number:2} {'found' if seen else 'NOT FOUND':9} {seconds:5.0f} s  {fault.instead}")
        sys.stdout.flush()
    print(f"{found} of {len(FAULTS)} found")


if __name__ == "__main__":
    main()
