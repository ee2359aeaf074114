"""Validation errors as one line: which key, what is wrong, which values are allowed."""

from collections.abc import Iterable
from typing import get_args

from pydantic import BaseModel, ValidationError


def one_line(error: ValidationError, model: type[BaseModel]) -> str:
    """The first problem of a pydantic error as `key: what is wrong (allowed: …)`."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"{key}: unknown key (allowed: {', '.join(_keys(model, first['loc'][:-1]))})"
    if first["type"] == "missing":
        return f"{key}: missing (it must be set in one of the sections)"
    if first["type"] == "value_error":
        return str(first["ctx"]["error"])
    return f"{key}: {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}"


def _keys(model: type[BaseModel], location: Iterable[int | str]) -> list[str]:
    for part in location:
        annotation = model.model_fields[str(part)].annotation
        candidates = [annotation, *get_args(annotation)]
        model = next(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))
    return list(model.model_fields)
