"""Values of arguments. Those of usual types are converted here, without pydantic, by which Typer
converts and whose import takes as long as that of numpy. What is not plainly right is left to
Typer, which explains what is wrong.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from typer.core import TyperCommand


def plain_params(command: Any, context: Any) -> list[Any]:
    """The parameters of a command, a method of it: they convert their values here if they can."""
    parameters: list[Any] = TyperCommand.get_params(command, context)
    declared = inspect.signature(command.callback).parameters
    for parameter in parameters:
        if "process_value" not in vars(parameter):
            annotation = get_args(getattr(declared.get(parameter.name), "annotation", None))
            parameter.process_value = _conversion(parameter, *(annotation or (None, None)))
    return parameters


def _conversion(parameter: Any, kind: Any, info: Any) -> Callable[[Any, Any], Any]:
    """The conversion of the values of a parameter of a type, or else the usual one."""
    usual = parameter.process_value
    if NoneType in get_args(kind):
        kind = next(one for one in get_args(kind) if one is not NoneType)

    def process(context: Any, value: Any) -> Any:
        notify = parameter.callback
        if value is None and not parameter.required:
            return None if notify is None else notify(context, parameter, None)
        try:
            if info is not None and notify is None:
                if get_origin(kind) is not list:
                    return _converted(kind, info, value)
                if value:
                    return [_converted(get_args(kind)[0], info, one) for one in value]
        except ValueError:
            pass
        return usual(context, value)

    return process


def _converted(kind: Any, info: Any, value: Any) -> Any:
    """One value. Raises ValueError: Typer is to say what it is, or what is wrong with it."""
    if isinstance(value, str):
        if info.parser is not None:
            return info.parser(value)
        if kind in (str, Path) or issubclass(kind, Enum):
            return kind(value)
        if kind is int and info.max is None and int(value) >= (info.min or 0):
            return int(value)
    elif isinstance(value, kind):  # a default, or a flag
        return value
    raise ValueError
