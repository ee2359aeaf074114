"""Reading YAML so that every mistake is one line with its place, and no key is silently given twice."""

import functools
from pathlib import Path
from typing import Any

import yaml

from maskprior.errors import UserError


def read_text(path: Path, name: str) -> str:
    """The text of a file that belongs to the project; `name` is what messages call it."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{name}: no such file; check out the whole project") from None


@functools.lru_cache(maxsize=32)
def parse_mapping(text: str, name: str) -> dict[str, Any]:
    """The keys and values of a YAML text. The result is shared between callers: do not change it."""
    try:
        content = yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "somewhere"
        raise UserError(f"{name}: {place}: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{name}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise UserError(
            f"{name}: must be keys with values, and is {'empty' if content is None else repr(content)[:40]}"
        )
    return content


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value}: given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)
