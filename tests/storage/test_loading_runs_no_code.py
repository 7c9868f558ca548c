"""Loading a model reads its file and does nothing else that Python notes as an audit event: no
import, no code that comes from data, no process, no other file.
"""

from __future__ import annotations

import subprocess
import sys

from fuzzing.targets import MODEL
from house.package import ROOT

LOAD = """
import os, sys
from egparse.pipeline.model import Model

Model.load(sys.argv[1])  # imports what loading needs
seen, armed = set(), True

def note(event, arguments):
    if armed and event == "open":
        writes = arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        seen.add(f"{'write' if writes else 'read'} {arguments[0]}")
    elif armed:
        seen.add(event)

sys.addaudithook(note)
Model.load(sys.argv[1])
armed = False
print(*sorted(seen), sep="\\n")
"""


def test_loading_does_nothing_but_read_the_file() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD, MODEL], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seen = done.stdout.splitlines()
    of_descriptors = [one for one in seen if one.removeprefix("read ").isdigit()]
    assert {*seen} == {f"read {MODEL}", *of_descriptors}
