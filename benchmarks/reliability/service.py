"""``egparse serve`` as a process, and forms for it."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

PATIENCE = 300.0
"""Seconds for what takes a few."""

URL_ENCODED = "application/x-www-form-urlencoded"


class Service:
    """A process that serves a model."""

    def __init__(self, model: str, folder: Path) -> None:
        self._log = folder / "log"
        command = [sys.executable, "-m", "egparse", "serve", model, "--port", "0"]
        with self._log.open("wb") as said:
            self.process = subprocess.Popen(command, stderr=said)
        end = time.monotonic() + PATIENCE
        while " at http://" not in self.said:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the service does not start: {self.said[-500:]}")
            time.sleep(0.1)
        self.port = int(self.said.partition(" at http://127.0.0.1:")[2].split()[0])

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    @property
    def said(self) -> str:
        """The log so far."""
        return self._log.read_text(encoding="utf-8")


def form(text: str, draw: random.Random) -> tuple[bytes, str]:
    """A form with a text, URL-encoded or in several parts, and its type."""
    parameters = {"data": text, "tokenizer": "", "tagger": "", "parser": ""}
    if draw.random() < 0.5:
        return urlencode(parameters).encode(), URL_ENCODED
    boundary = f"{draw.getrandbits(128):032x}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in parameters.items()
    ]
    body = "".join(parts) + f"--{boundary}--\r\n"
    return body.encode(), f"multipart/form-data; boundary={boundary}"
