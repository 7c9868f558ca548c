"""egparse: taggers and dependency parsers trained by online exponentiated gradient.

Importing the package costs next to nothing: each name of ``__all__`` is imported when it is first
asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_EXPORTS = {
    "load": "egparse.hub.resolve",
    "train": "egparse.api",
    "settings": "egparse.fitting.settings",
    "Model": "egparse.pipeline.model",
    "ScoredSentence": "egparse.pipeline.model",
    "Report": "egparse.evaluation.report",
    "Constraints": "egparse.pipeline.constraints",
    "Sentence": "egparse.sentences",
    "read_corpus": "egparse.readers.corpus",
    "write_corpus": "egparse.readers.corpus",
    "sentences_from_doc": "egparse.spacy_components.doc_conversion",
    "doc_from_sentences": "egparse.spacy_components.doc_conversion",
    "EgparseError": "egparse.errors",
    "CorpusError": "egparse.errors",
    "ModelFileError": "egparse.errors",
    "ConfigError": "egparse.errors",
}
"""Public name -> the module that defines it."""

__all__ = ["__version__", *_EXPORTS]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
