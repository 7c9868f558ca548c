"""Modules that need a package of an extra, and the error that names the extra."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from egparse.errors import ConfigError

PACKAGES = {"scipy": "SciPy", "clarabel": "Clarabel", "matplotlib": "matplotlib"}
"""Modules that the extra ``experiments`` installs -> names of their packages."""


def import_with_extra(module: str, user: str) -> ModuleType:
    """The module of that name, imported. ``user`` begins the error message: it is what needs the
    module, such as ``learner lbfgs``.

    Raises:
        ConfigError: a package of the extra ``experiments`` is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = PACKAGES.get((error.name or "").partition(".")[0])
        if package is None:
            raise
        raise ConfigError(f"{user}: needs {package}; pip install 'egparse[experiments]'") from None
