"""A process that loads model files and annotates with them: a path a line comes in, and a line of
JSON goes out, with the outcome, the seconds and the bytes that it took.

Run as ``python -m storage.annotating_process``, in the folder of the tests.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import traceback
from pathlib import Path

from egparse.errors import ModelFileError
from egparse.pipeline.model import Model
from egparse.sentences import Sentence

IS_LINUX = sys.platform == "linux"

TEXT = "I saw Dr. Smith in Paris (twice), didn't I? Yes!"
SENTENCES = [
    Sentence(("The", "old", "man", "who", "ran", "the", "shop", "in", "ABC", "sold", "it", ".")),
    Sentence(("2024", "x")),
    Sentence(("Go",)),
]


def annotate(model: Model) -> None:
    """Use everything that a model can do, on a few words."""
    if model.splitter is not None:
        model.splitter.probabilities(TEXT.split(), [True] * len(TEXT.split()))
    layers = dict.fromkeys(model.probabilistic, True)
    list(model.annotate(SENTENCES, probabilities=list(layers)))
    list(model.annotate(SENTENCES, respect_input=True))
    if model.language == "en":  # other languages take seconds to import
        model(TEXT)
    if model.parser is not None:
        list(model.k_best(SENTENCES, 3))
    repr(model)
    model.sizes()
    for layer in model.layers:
        model.strongest(layer, 3)


def peak() -> int:
    """The most memory that the process has had since ``reset_peak``, in bytes."""
    if not IS_LINUX:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def reset_peak() -> int:
    """Let ``peak`` start from the memory of now, which is returned; elsewhere than on Linux it
    goes on from the most that there has been.
    """
    if IS_LINUX:
        Path("/proc/self/clear_refs").write_text("5")
    return peak()


def outcome_of(path: str) -> dict[str, str]:
    """What became of a file: ``refused``, ``accepted``, or the traceback of a fault."""
    try:
        model = Model.load(path)
    except ModelFileError as error:
        is_one_line = str(error).isprintable() and str(error).startswith(path)
        return {"outcome": "refused" if is_one_line else "fault", "text": str(error)}
    except Exception:
        return {"outcome": "fault", "text": traceback.format_exc()}
    try:
        annotate(model)
    except Exception:
        return {"outcome": "fault", "text": traceback.format_exc()}
    return {"outcome": "accepted", "text": ""}


def main() -> None:
    """Answer until there are no more paths."""
    for line in sys.stdin:
        before, begun = reset_peak(), time.perf_counter()
        found = outcome_of(line.rstrip("\n"))
        facts = {"seconds": time.perf_counter() - begun, "bytes": peak() - before}
        sys.stdout.write(json.dumps(found | facts) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
