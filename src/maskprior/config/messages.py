"""Problems of a configuration as one line: which key, what is wrong, which values are allowed."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

Location = tuple[int | str, ...]


def unknown(value: object, allowed: Iterable[str]) -> str:
    """`'msk' unknown (did you mean mask? allowed: default, mask)`."""
    return f"{value!r} unknown {choice(value, allowed)}"


def choice(value: object, allowed: Iterable[str]) -> str:
    """`(did you mean mask? allowed: default, mask)`."""
    allowed = list(allowed)
    guess = get_close_matches(str(value), allowed, n=1, cutoff=0.7)
    return f"({f'did you mean {guess[0]}? ' if guess else ''}allowed: {', '.join(allowed)})"


def one_line(error: ValidationError, model: type[BaseModel], origin: Callable[[Location], str] = lambda _: "") -> str:
    """The most telling problem of a pydantic error as `key: what is wrong (allowed: …)`, `origin` before the key."""
    # A misspelt key shows up twice, as unknown and as missing: the unknown one is what its reader can act on.
    rank = {"extra_forbidden": 0, "missing": 2}
    problem = min(error.errors(include_url=False), key=lambda found: rank.get(found["type"], 1))
    location, kind, value = problem["loc"], problem["type"], problem["input"]
    key = origin(location) + ".".join(str(part) for part in location)
    if kind == "value_error":
        return key + (": " if location else "") + str(problem["ctx"]["error"])
    if kind == "extra_forbidden":
        return f"{key}: unknown key {choice(location[-1], _keys(model, location[:-1]))}"
    if kind == "missing":
        values = _literals(model, location)
        return f"{key}: missing" + (f" (allowed: {', '.join(values)})" if values else "")
    if kind == "literal_error":
        return f"{key}: {unknown(value, _literals(model, location))}"
    return f"{key}: {value!r}: {problem['msg'][0].lower()}{problem['msg'][1:]}"


def _keys(model: type[BaseModel], location: Location) -> list[str]:
    """The keys of the section at `location`."""
    section = _find(_annotation(model, location), _is_section) if location else model
    return list(section.model_fields) if section else []


def _literals(model: type[BaseModel], location: Location) -> list[str]:
    """The values that the key at `location` may have, where it is one of a few words."""
    literal = _find(_annotation(model, location), lambda part: get_origin(part) is Literal)
    return [str(value) for value in get_args(literal)]


def _annotation(model: type[BaseModel], location: Location) -> Any:
    annotation: Any = model
    for part in location:
        section = _find(annotation, _is_section)
        if section is not None and part in section.model_fields:
            annotation = section.model_fields[str(part)].annotation
    return annotation


def _is_section(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _find(annotation: Any, wanted: Callable[[Any], bool]) -> Any:
    """The first part of a type annotation (`X` of `X | None`, of `tuple[X, ...]`) that is wanted, else None."""
    if wanted(annotation):
        return annotation
    found = (_find(part, wanted) for part in get_args(annotation))
    return next((part for part in found if part is not None), None)
