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
from typing import Any

from egparse.errors import ModelFileError
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.text.word_columns import Paragraph

IS_LINUX = sys.platform == "linux"

SAVED_EVERY = 4
"""One in so many files is saved and loaded again, which takes as long as all the rest."""

TEXT = "I saw Dr. Smith in Paris (twice), didn't I? Yes!"
SENTENCES = [
    Sentence(("The", "old", "man", "who", "ran", "the", "shop", "in", "ABC", "sold", "it", ".")),
    Sentence(("2024", "x")),
    Sentence(("Go",)),
]


def annotate(model: Model) -> list[Any]:
    """Use everything that a model can do, on a few words; returns the annotations."""
    found: list[Any] = []
    if "splitter" in model.components:
        forms = TEXT.split()
        paragraph = Paragraph(forms, [True] * len(forms))
        found += model.components["splitter"].probabilities([paragraph])[0].tolist()
    layers = dict.fromkeys(model.probabilistic, True)
    found += model.annotate(SENTENCES, probabilities=list(layers))
    found += model.annotate(SENTENCES, respect_input=True)
    if model.language == "en":  # other languages take seconds to import
        found += model(TEXT)
    if "parser" in model.components:
        found += model.k_best(SENTENCES, 3)
    repr(model)
    model.sizes()
    for layer in model.layers:
        model.strongest(layer, 3)
    return found


def change_by_saving(model: Model, annotations: list[Any], folder: Path) -> str:
    """How a model differs from what it was when it is saved and loaded again, or ``""``."""
    saved, again = folder / "saved.msgpack", folder / "again.msgpack"
    model.save(saved)
    loaded = Model.load(saved)
    loaded.save(again)
    if saved.read_bytes() != again.read_bytes():
        return "saves to other bytes than before"
    return "" if repr(annotate(loaded)) == repr(annotations) else "annotates otherwise"


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


def outcome_of(path: str, saves: bool) -> dict[str, Any]:
    """What became of a file: ``refused``, ``accepted``, the traceback of a fault, or, if it
    ``saves``, ``changed`` where it is not the same when it is saved and loaded again; and what
    loading it and annotating took.
    """
    before, begun = reset_peak(), time.perf_counter()
    model, annotations, found = None, list[Any](), {"outcome": "accepted", "text": ""}
    try:
        model = Model.load(path)
        annotations = annotate(model)
    except ModelFileError as error:
        is_refused = model is None and str(error).isprintable() and str(error).startswith(path)
        found = {"outcome": "refused" if is_refused else "fault", "text": str(error)}
    except Exception:
        found = {"outcome": "fault", "text": traceback.format_exc()}
    facts = {"seconds": time.perf_counter() - begun, "bytes": peak() - before}
    if saves and model is not None and found["outcome"] == "accepted":
        try:
            changed = change_by_saving(model, annotations, Path(path).parent)
            found = {"outcome": "changed", "text": changed} if changed else found
        except Exception:
            found = {"outcome": "fault", "text": traceback.format_exc()}
    return found | facts


def main() -> None:
    """Answer until there are no more paths."""
    for number, line in enumerate(sys.stdin):
        found = outcome_of(line.rstrip("\n"), number % SAVED_EVERY == 0)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
