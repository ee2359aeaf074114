"""What `make reproduce` does not do again, and what it shows of a program that fails."""

import sys
from pathlib import Path

import pytest

from maskprior.build import reproduce

PLACES = ("config", "Snakefile")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MASKPRIOR_ROOT", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "a.yaml").write_text("a: 1")
    (tmp_path / "Snakefile").write_text("rule")
    reproduce.log().parent.mkdir(parents=True)
    return tmp_path


def test_a_stamp_holds_until_a_file_is_changed_added_or_gone(folder: Path) -> None:
    stamp = folder / "build" / "stamp.txt"
    assert reproduce._read(stamp, PLACES) is None
    for change in (
        lambda: (folder / "config" / "a.yaml").write_text("a: 12"),
        lambda: (folder / "Snakefile").unlink(),
        lambda: (folder / "config" / "b.yaml").touch(),
        lambda: (folder / "config" / "b.yaml").unlink(),
    ):
        reproduce._write(stamp, PLACES, "two\nlines")
        assert reproduce._read(stamp, PLACES) == "two\nlines"
        change()
        assert reproduce._read(stamp, PLACES) is None


def test_all_output_goes_to_the_log_and_a_failure_shows_why(folder: Path) -> None:
    program = (
        "print('as planned'); print('Error in rule notebook_a:'); print('    ' + 'x' * 9); raise ValueError('no a')"
    )
    with pytest.raises(reproduce.Failed) as failure:
        reproduce._call("count", sys.executable, "-c", program)
    told = str(failure.value).splitlines()
    assert told == [
        "could not count",
        "Error in rule notebook_a:",
        "ValueError: no a",
        "All of the output: results/logs/reproduce.log",
    ]
    assert "as planned\nError in rule notebook_a:\n" in reproduce.log().read_text()


def test_where_no_line_gives_a_reason_the_last_ones_are_shown() -> None:
    assert reproduce.useful([f"step {n}" for n in range(30)]) == [f"step {n}" for n in range(18, 30)]


def test_a_program_that_succeeds_gives_its_lines() -> None:
    assert reproduce._call("count", sys.executable, "-c", "print('1'); print(); print('2')") == ["1", "2"]
