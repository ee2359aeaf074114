"""Errors meant for people: one line that says what is wrong, where, and what to do."""

USAGE = 2
DATA = 3
DIFFERENCE = 4


class UserError(Exception):
    """A problem its reader can solve. The command line prints the message alone and exits with `exit_code`.

    Exit codes: 2 wrong usage or configuration, 3 missing or corrupt data or records, 4 a difference outside the tolerance.
    """

    def __init__(self, message: str, exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.exit_code = exit_code
