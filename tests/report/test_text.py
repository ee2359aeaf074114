"""What the paper's text names, and what is written for it."""

from pathlib import Path

import pytest

from maskprior.errors import UserError
from maskprior.report.text import named, named_keys


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MASKPRIOR_ROOT", str(tmp_path))
    folder = tmp_path / "paper"
    (folder / "sections").mkdir(parents=True)
    (folder / "main.tex").write_text("\\newcommand{\\result}[1]{…}\\finding{#1}{#2}\n\\result{records/all}\\,\\%\n")
    (folder / "sections" / "one.tex").write_text(
        "5\\,\\% of \\result{a/b+c/n} % \\result{remark}\n\\finding{explanation/t/x}{survives}, \\result{records/all}\n"
    )
    return folder


@pytest.mark.usefixtures("paper")
def test_keys_are_those_of_the_text_and_not_of_comments_and_definitions() -> None:
    assert named_keys() == {
        "records/all": "paper/main.tex",
        "a/b+c/n": "paper/sections/one.tex",
        "explanation/t/x": "paper/sections/one.tex",
    }


@pytest.mark.usefixtures("paper")
def test_only_named_results_are_kept() -> None:
    assert named({"records/all": "3", "a/b+c/n": "5/5", "a/b/n": "1/5"}) == {"records/all": "3", "a/b+c/n": "5/5"}
    found = {"explanation/t/x": "open", "explanation/t/y": "open", "reach/t": "1"}
    assert named(found, of_interventions=True) == {"explanation/t/x": "open"}


@pytest.mark.usefixtures("paper")
def test_a_result_that_nothing_gives_is_named_with_its_file() -> None:
    with pytest.raises(UserError, match=r"^paper/sections/one\.tex: names the result a/b\+c/n, which no"):
        named({"records/all": "3"})
    with pytest.raises(UserError, match="explanation/t/x"):
        named({}, of_interventions=True)
