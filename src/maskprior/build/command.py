"""What the programs of this folder share: one line for an error, and the options of those that write one file."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from maskprior.config.settings import Settings, read_settings
from maskprior.errors import UserError
from maskprior.files import write_atomically


def exit_code(action: Callable[[], None]) -> int:
    """Do it; an error meant for people is one line on stderr and its exit code."""
    try:
        action()
    except UserError as error:
        print(f"maskprior: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def write_from_records(
    name: str, description: str | None, make: Callable[[Settings], bytes], arguments: list[str] | None = None
) -> int:
    """The program `python -m maskprior.build.<name> FILE`: write what `make` gives for the chosen settings."""
    parser = argparse.ArgumentParser(prog=f"python -m maskprior.build.{name}", description=description)
    parser.add_argument("output", type=Path)
    parser.add_argument("--scale", help="the paper's scale is always looked at too [default: config/config.yaml]")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--recompute", action="store_true", default=None)
    chosen = {key: value for key, value in vars(parser.parse_args(arguments)).items() if value is not None}
    output: Path = chosen.pop("output")
    return exit_code(lambda: write_atomically(output, make(read_settings(chosen))))
