r"""Which results the paper's text names: the keys of `\result{key}` and `\finding{key}{…}`, and their files."""

import re
from collections.abc import Mapping

from maskprior import paths
from maskprior.errors import UserError
from maskprior.runs.store import relative

COMMENT = re.compile(r"(?<!\\)%.*")
# A definition says `\result{#1}`: that is no key.
NAMED = re.compile(r"\\(?:result|finding)\{([^}#]+)\}")
OF_INTERVENTIONS = ("explanation/", "reach/")


def named_keys() -> dict[str, str]:
    """Key -> the first file of paper/ that names it."""
    paper = paths.root() / "paper"
    found: dict[str, str] = {}
    for path in (*sorted(paper.glob("*.tex")), *sorted((paper / "sections").glob("*.tex"))):
        for key in NAMED.findall(COMMENT.sub("", path.read_text(encoding="utf-8"))):
            found.setdefault(key, relative(path))
    return found


def named(found: Mapping[str, str], *, of_interventions: bool = False) -> dict[str, str]:
    """The results that the text names: of `found`, which holds those of the interventions or all the others.

    LaTeX reads every result in each of its passes, and there are two hundred times as many as the text names.
    UserError for a key that the text names and `found` does not have.
    """
    keys = {key: file for key, file in named_keys().items() if key.startswith(OF_INTERVENTIONS) == of_interventions}
    for key, file in keys.items():
        if key not in found:
            raise UserError(f"{file}: names the result {key}, which no record and no configuration gives")
    return {key: value for key, value in found.items() if key in keys}
