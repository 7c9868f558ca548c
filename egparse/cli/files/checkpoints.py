"""Checkpoints of ``egparse train``: the folder beside the model, and what tells runs apart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from egparse.errors import EgparseError

if TYPE_CHECKING:
    from egparse.config.sections import TrainConfig
    from egparse.fitting.checkpoints.journal import Journal

CheckpointOption = Annotated[
    float | None,
    typer.Option(
        "--checkpoint",
        metavar="MINUTES",
        min=0.0,
        help="Write what --resume needs every so many minutes, into a folder beside the model (0: "
        "after every pass).",
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue a run that wrote checkpoints and was stopped; the model will be the same. "
        "Without a checkpoint that is an error, or with --checkpoint a new run.",
    ),
]


class Checkpoints(NamedTuple):
    """What the user asked for: ``minutes`` between checkpoints, if any, whether to ``resume``, and
    whether a checkpoint of an earlier run may be lost (``force``).
    """

    minutes: float | None = None
    resume: bool = False
    force: bool = False

    @property
    def wanted(self) -> bool:
        """Whether there are to be any."""
        return self.minutes is not None or self.resume

    def check(self, output: Path) -> bool:
        """Check, before anything is read, what is there of an earlier run; returns whether the
        model may be replaced, as the run that is resumed may have written it.

        Raises:
            EgparseError: a checkpoint of another run, none to resume, or a damaged one.
        """
        if not self.wanted:
            return False
        from egparse.fitting.checkpoints import journal

        folder = folder_of(output)
        there = journal.has_journal(folder)
        if self.minutes is None or (self.resume and there):
            return journal.may_replace_model(folder)
        journal.check_free(folder, force=self.force)
        return False

    def journal(
        self, output: Path, config: TrainConfig, facts: Mapping[str, Any]
    ) -> Journal | None:
        """The journal of the run, None if the user asked for none. ``facts`` say what it is made
        of beside its settings, by name.

        Raises:
            EgparseError: see ``check``; a checkpoint of a run with other facts or settings.
            ConfigError: a learner whose state cannot be saved.
        """
        if not self.wanted:
            return None
        from egparse import __version__
        from egparse.config.reading import config_of_model
        from egparse.fitting.checkpoints.journal import Journal, has_journal
        from egparse.fitting.checkpoints.learners import check_savable

        check_savable(config)
        folder = folder_of(output)
        settings = {f"the setting {key}": value for key, value in _flat(config_of_model(config))}
        known = {"the version of egparse": __version__, **facts, **settings}
        if self.minutes is None or (self.resume and has_journal(folder)):
            return Journal.resumed(folder, known, self.minutes)
        return Journal.started(folder, known, self.minutes, force=self.force)


def folder_of(output: Path) -> Path:
    """The folder with the checkpoints of the run that makes a model."""
    return output.with_name(f"{output.stem}.checkpoint")


def facts_of_files(files: Mapping[str, Path | None]) -> dict[str, str]:
    """The SHA-256 digests of files, by what messages call them.

    Raises:
        EgparseError: one that can be read only once, such as a pipe.
    """
    from egparse.storage.model_file import digest_of

    facts = {}
    for name, path in files.items():
        if path is not None:
            if not path.is_file():
                raise EgparseError(
                    f"{path}: expected a regular file beside --checkpoint or --resume"
                )
            facts[name] = digest_of(path)
    return facts


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The settings by dotted name."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", json.loads(json.dumps(value, default=str))
