"""``egparse serve``: models behind UDPipe's REST interface."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from egparse.cli.notices import announce_compilation, say, warnings_shown
from egparse.cli.options import FROM_1, MODEL
from egparse.errors import import_with_extra

_MIB = 1 << 20


def serve(
    models: Annotated[list[Path], MODEL],
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8001,
    threads: Annotated[int, FROM_1] = 1,
    max_size: Annotated[int, FROM_1] = 4,
    allow_origin: list[str] | None = None,
    exceptions: Path | None = None,
    quiet: bool = False,
) -> None:
    """Serve models over HTTP, as UDPipe's service does.

    /process annotates the parameter data, /models lists the models, /health replies while the
    service runs, and / is a page to type a text and see its trees. /inception/MODEL is an external
    recommender of INCEpTION (pip install 'egparse[inception]'). Ctrl-C and SIGTERM stop it:
    requests that it has taken are still answered. There is neither encryption nor a password: to
    serve other machines, put it behind a web server that has them.

    It needs packages that are installed by pip install 'egparse[serve]'.

    Arguments:
        MODEL: Paths or names of models; the first one is the default.

    Options:
        --host ADDRESS: Address to listen at; others than this machine are served only if it says so
            (0.0.0.0: all).
        --port N: Port; 0: any that is free.
        --threads N: Requests that are annotated at a time.
        --max-size MIB: Largest request, in MiB of 1,048,576 bytes.
        --allow-origin ORIGIN: Let web pages from there use the service, such as
            https://example.org; *: from anywhere; may be repeated.

    Examples:
        egparse serve en_ewt fr_sequoia
        egparse serve model.msgpack --port 8080 --threads 4
        curl http://127.0.0.1:8001/models
        curl -F data=@letter.txt -F tokenizer= -F tagger= -F parser= http://127.0.0.1:8001/process
    """
    with warnings_shown(quiet=True):
        server = import_with_extra("egparse.service.rest.server", "serve")
        from egparse.service.hub.resolve import find_model

        for name in models:  # a wrong name fails before anything is loaded
            find_model(name)
        with server.opened(host, port) as listening:
            if not quiet:
                announce_compilation()
            from egparse.service.rest.application import Limits, application
            from egparse.service.rest.served_models import load_models

            served = load_models(models, None if exceptions is None else str(exceptions))
            for one in served:
                one.prepare()
            _log_to_stderr(quiet)
            app = application(served, Limits(max_size * _MIB, threads), allow_origin or ())
            if not quiet:
                names = ", ".join(one.name for one in served)
                say(f"serving {names} at {server.address_of(listening)}")
            server.run(app, listening)
        if not quiet:
            say("stopped")


def _log_to_stderr(quiet: bool) -> None:
    """A line on standard error for each request; if ``quiet``, for errors alone."""
    handler = logging.StreamHandler(sys.stderr)
    form = "%(asctime)s %(levelname)s %(message)s"
    handler.setFormatter(logging.Formatter(form, datefmt="%Y-%m-%dT%H:%M:%S%z"))
    for name, level in (("egparse.service.rest", logging.INFO), ("uvicorn.error", logging.WARNING)):
        log = logging.getLogger(name)
        log.addHandler(handler)
        log.setLevel(logging.ERROR if quiet else level)
        log.propagate = False
