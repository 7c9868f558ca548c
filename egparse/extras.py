"""Modules that need a package of an extra, and the error that names the extra."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from egparse.errors import ConfigError

PACKAGES = {
    "scipy": ("SciPy", "experiments"),
    "clarabel": ("Clarabel", "experiments"),
    "matplotlib": ("matplotlib", "experiments"),
    "starlette": ("Starlette", "serve"),
    "uvicorn": ("uvicorn", "serve"),
    "python_multipart": ("python-multipart", "serve"),
    "anyio": ("AnyIO", "serve"),
    "ray": ("Ray", "ray"),
    "smart_open": ("smart_open", "ray"),
}
"""Modules that an extra installs -> names of their packages, and the extra."""


def import_with_extra(module: str, user: str) -> ModuleType:
    """The module of that name, imported. ``user`` begins the error message: it is what needs the
    module, such as ``learner lbfgs``.

    Raises:
        ConfigError: a package of an extra is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = PACKAGES.get((error.name or "").partition(".")[0])
        if missing is None:
            raise
        package, extra = missing
        raise ConfigError(f"{user}: needs {package}; pip install 'egparse[{extra}]'") from None
