"""A learner in the middle of training, as a checkpoint records it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from egparse.config.reading import learning_sections
from egparse.config.sections import TrainConfig
from egparse.errors import ConfigError
from egparse.fitting.checkpoints.record_file import Record
from egparse.fitting.checkpoints.states import Packer, Unpacker
from egparse.fitting.optimise import problem_of
from egparse.learners.learner import Learner
from egparse.learners.registry import LEARNERS

# The memory of SciPy's optimisers is inside of SciPy; kernel perceptrons train no models of text.
_NOT_SAVED = ("lbfgs", "cg", "kernel-perceptron")

CHECKPOINTED = tuple(name for name in LEARNERS if name not in _NOT_SAVED)
"""Learners whose state can be saved."""


def check_savable(config: TrainConfig) -> None:
    """Check, before time is spent on training, that the states of all learners can be saved.

    Raises:
        ConfigError: one that cannot, with its section.
    """
    for section, learning in learning_sections(config):
        if learning.learner in _NOT_SAVED:
            raise ConfigError(
                f"{section}.learner: expected one whose state can be saved, as --checkpoint needs, "
                f"got {learning.learner!r}"
            )


def pack_learner(learner: Learner, state: Any, packer: Packer) -> dict[str, Any]:
    """All that passes change: v, the state, and what the learner itself says.

    Raises:
        CannotBeSaved: see ``Packer.pack``.
    """
    return {
        "v": [packer.pack(array) for array in problem_of(learner).vectors()],
        "state": packer.pack(state),
        "learner": packer.pack(learner.saved()),
    }


def restore_learner(
    record: Record, packed: Mapping[str, Any], learner: Learner, state: Any
) -> None:
    """Bring a learner, just initialised, to where the packed one was.

    What is not as it should be raises ValueError, TypeError, KeyError or IndexError.
    """
    unpacker = Unpacker(record)
    for one, array in zip(packed["v"], problem_of(learner).vectors(), strict=True):
        found = unpacker.unpack(one, array)
        if found is not array:
            array[...] = found
    if unpacker.unpack(packed["state"], state) is not state:
        raise ValueError("expected the state of this learner, got another one")
    learner.restore(unpacker.unpack(packed["learner"], learner.saved()))
