from pathlib import Path

import pytest

from maskprior.config.settings import read_settings
from maskprior.errors import UserError


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose config/config.yaml is valid."""
    monkeypatch.setenv("MASKPRIOR_ROOT", str(tmp_path))
    (tmp_path / "config").mkdir()
    path = tmp_path / "config" / "config.yaml"
    path.write_text("scale: reduced\nseeds: 5\ndevice: auto\nrecompute: false\n")
    return path


def problem(overrides: dict[str, object] | None = None) -> str:
    with pytest.raises(UserError) as caught:
        read_settings(overrides)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_overrides_win(config: Path) -> None:
    settings = read_settings({"scale": "smoke"})
    assert (settings.scale, settings.seeds, settings.device, settings.recompute) == ("smoke", 5, "auto", False)


def test_words_of_a_command_line_are_read_as_numbers_and_switches(config: Path) -> None:
    assert read_settings({"seeds": "2", "recompute": "true"}).model_dump() == {
        "scale": "reduced", "seeds": 2, "device": "auto", "recompute": True
    }  # fmt: skip


def test_a_missing_scale_names_file_key_and_choices(config: Path) -> None:
    config.write_text("seeds: 5\ndevice: auto\nrecompute: false\n")
    assert problem() == "config/config.yaml: scale: missing (allowed: smoke, reduced, paper)"


def test_an_unknown_key_names_file_key_and_choices(config: Path) -> None:
    config.write_text(config.read_text() + "seed: 1\n")
    assert problem() == (
        "config/config.yaml: seed: unknown key (did you mean seeds? allowed: scale, seeds, device, recompute)"
    )


def test_a_bad_override_does_not_blame_the_file(config: Path) -> None:
    assert problem({"seeds": -1}) == "command line: seeds: -1: input should be greater than or equal to 1"


@pytest.mark.parametrize("seeds", [True, "true", 10**20, 0])
def test_seeds_is_a_number_worth_its_time(config: Path, seeds: object) -> None:
    with pytest.raises(UserError, match=r"^command line: seeds: .*") as caught:
        read_settings({"seeds": seeds})
    assert caught.value.exit_code == 2
