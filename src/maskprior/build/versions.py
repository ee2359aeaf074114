"""Are the installed packages the locked ones?"""

import importlib.metadata
import sys
from pathlib import Path

from packaging.requirements import Requirement

from maskprior.errors import few


def locked_versions(lock: Path) -> dict[str, str]:
    """Package -> version of every `name==version` line of a pip lock file that applies to this platform."""
    versions = {}
    for line in lock.read_text().splitlines():
        if not line or line.startswith((" ", "#", "--")):
            continue
        requirement = Requirement(line.rstrip(" \\"))
        if requirement.marker is None or requirement.marker.evaluate():
            versions[requirement.name] = next(iter(requirement.specifier)).version
    return versions


def differences(lock: Path) -> list[str]:
    """`numpy 2.4.5 (locked: 2.4.6)`, `scipy missing (locked: 1.17.0)`: where this environment leaves the lock."""
    found = []
    for name, locked in locked_versions(lock).items():
        try:
            installed = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            installed = "missing"
        # A local part names the build of the same source: torch 2.14.1+cpu is torch 2.14.1.
        if installed.partition("+")[0] != locked:
            found.append(f"{name} {installed} (locked: {locked})")
    return found


def warn_of_differences(requirements: Path) -> None:
    """One line on stderr for each lock this environment leaves: what differs, and what to do about it.

    An environment without torch is a reader's: only the lock of the reading environment applies to it.
    """
    with_torch = any(importlib.metadata.distributions(name="torch"))
    for lock, remedy in (("report.txt", "make reproduce"), *([("train.txt", "make setup")] if with_torch else [])):
        if found := differences(requirements / lock):
            print(
                f"warning: not the versions of requirements/{lock}: {few(found)}; `{remedy}` makes a locked one",
                file=sys.stderr,
            )
