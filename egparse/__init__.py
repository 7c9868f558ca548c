"""egparse: tokenisers, taggers, lemmatisers and dependency parsers that learn from a corpus.

Importing the package costs next to nothing: each name of ``__all__`` is imported when it is first
asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # so that type checkers know what ``__getattr__`` returns
    from egparse.api import train as train
    from egparse.config.sections import settings as settings
    from egparse.errors import ConfigError as ConfigError
    from egparse.errors import CorpusError as CorpusError
    from egparse.errors import EgparseError as EgparseError
    from egparse.errors import ModelFileError as ModelFileError
    from egparse.evaluation.report import Report as Report
    from egparse.io.corpus import read_corpus as read_corpus
    from egparse.io.corpus import write_corpus as write_corpus
    from egparse.pipeline.constraints import Constraints as Constraints
    from egparse.pipeline.model import Model as Model
    from egparse.pipeline.model import ScoredSentence as ScoredSentence
    from egparse.sentences import Sentence as Sentence
    from egparse.sentences import SurfaceToken as SurfaceToken
    from egparse.service.hub.resolve import load as load
    from egparse.spacy_components.doc_conversion import doc_from_sentences as doc_from_sentences
    from egparse.spacy_components.doc_conversion import sentences_from_doc as sentences_from_doc

__version__ = "0.2.0"

_EXPORTS = {
    "load": "egparse.service.hub.resolve",
    "train": "egparse.api",
    "settings": "egparse.config.sections",
    "Model": "egparse.pipeline.model",
    "ScoredSentence": "egparse.pipeline.model",
    "Report": "egparse.evaluation.report",
    "Constraints": "egparse.pipeline.constraints",
    "Sentence": "egparse.sentences",
    "SurfaceToken": "egparse.sentences",
    "read_corpus": "egparse.io.corpus",
    "write_corpus": "egparse.io.corpus",
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
