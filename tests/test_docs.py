"""The documents name what exists."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[1]


def test_every_test_that_the_promises_name_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", (PROJECT / "docs" / "reliability.md").read_text()))
    there = {
        name
        for path in (PROJECT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    assert len(named) > 20
    assert named <= there, named - there


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for page in (PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose(page)):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
