"""Errors meant for people: one line that says what is wrong, where, and what to do."""

from collections.abc import Sequence

USAGE = 2
DATA = 3
DIFFERENCE = 4


class UserError(Exception):
    """A problem its reader can solve. The command line prints the message alone and exits with `exit_code`.

    Exit codes: 2 wrong usage or configuration, 3 missing or corrupt data or records, 4 a difference too large.
    """

    def __init__(self, message: str, exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def few(names: Sequence[str], shown: int = 3) -> str:
    """`a, b, c and 4 more`: a list that fits into one line."""
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest} more" if rest > 0 else "")
