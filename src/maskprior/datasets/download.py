"""One file over HTTP: mirrors in order, resumed by range, retried with back-off, visible only when its check passes.

A file is named by its checksum, so an interrupted download is continued from whichever address answers next; should the
parts not fit together, the check fails and the file is fetched once more from its first byte.
"""

import errno
import http.client
import os
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from maskprior.errors import DATA, UserError

# Some hosts refuse the default one of Python's urllib.
USER_AGENT = "maskprior/0.1 (research artifact; arXiv 2608.00418)"
CHUNK = 1 << 16
TEMPORARY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})

Check = Callable[[Path], str | None]
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Patience:
    """How long to bear with one address."""

    attempts: int = 4
    backoff_s: float = 2.0  # before the second attempt; doubled before each further one
    silence_s: float = 60.0  # without a single byte


class DownloadError(Exception):
    """No address gave the file; the message says for each of them why."""


class _Temporary(Exception):
    """Worth another attempt at the same address."""


class _Permanent(Exception):
    """Not worth another attempt at this address."""


def download(
    urls: Sequence[str],
    target: Path,
    *,
    check: Check,
    size: int | None = None,
    patience: Patience = Patience(),
    progress: Progress = lambda done, total: None,
) -> str:
    """Put the file at `target` and return the address it came from.

    `check` gets the path of the complete file and returns what is wrong with it, or None. Until it passes, the bytes
    lie beside `target` as `.<name>.part`, from where a later call goes on. Raises DownloadError if no address gave it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    failures = []
    for url in urls:
        try:
            _from_one_address(url, part, check, size, patience, progress)
        except _Permanent as failure:
            failures.append(f"{url}: {failure}")
        else:
            os.replace(part, target)
            return url
    raise DownloadError("; ".join(failures))


def _from_one_address(
    url: str, part: Path, check: Check, size: int | None, patience: Patience, progress: Progress
) -> None:
    wait_s = patience.backoff_s
    for attempt in range(1, patience.attempts + 1):
        resumed = part.is_file() and part.stat().st_size > 0
        try:
            if size is None or not resumed or part.stat().st_size < size:
                _receive(url, part, size, patience, progress)
            problem = check(part)
            if problem is None:
                return
            part.unlink()
            if not resumed:
                raise _Permanent(problem)
            failure = problem
            continue
        except _Temporary as error:
            failure = str(error)
        if attempt < patience.attempts:
            time.sleep(wait_s)
            wait_s *= 2
    raise _Permanent(f"{failure} ({patience.attempts} attempts)")


def _receive(url: str, part: Path, size: int | None, patience: Patience, progress: Progress) -> None:
    """Append to `part` what it still lacks."""
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url, headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    with _open(request, part, patience) as response:
        start, total = _extent(response, have)
        if response.headers.get_content_type() == "text/html" and "Content-Type" in response.headers:
            raise _Permanent("answered with an HTML page instead of the file")
        if size is not None and total is not None and total != size:
            raise _Permanent(f"offers {total:,} bytes, expected {size:,}")
        total = size or total
        if total is not None:
            _require_space(part, total - start)
        with space_errors(part), part.open("r+b" if start else "wb") as stream:
            stream.seek(start)
            for chunk in _chunks(response):
                stream.write(chunk)
                progress(stream.tell(), total)
                if size is not None and stream.tell() > size:
                    raise _Permanent(f"sent more than the expected {size:,} bytes")
            done = stream.tell()
            stream.flush()
            os.fsync(stream.fileno())
    if total is not None and done < total:
        raise _Temporary(f"the connection ended after {done:,} of {total:,} bytes")


@contextmanager
def _open(request: urllib.request.Request, part: Path, patience: Patience) -> Iterator[http.client.HTTPResponse]:
    try:
        response = urllib.request.urlopen(request, timeout=patience.silence_s)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                part.unlink(missing_ok=True)
                raise _Temporary("does not have the rest of what was received so far") from None
            if error.code in TEMPORARY_STATUS:
                raise _Temporary(f"HTTP {error.code} {error.reason}") from None
            raise _Permanent(f"HTTP {error.code} {error.reason}") from None
    except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
        raise _Temporary(f"no answer ({getattr(error, 'reason', None) or error or type(error).__name__})") from None
    with response:
        yield response


def _extent(response: http.client.HTTPResponse, have: int) -> tuple[int, int | None]:
    """Where in the file the body begins, and how long the file is if the server says so."""
    if response.status == http.HTTPStatus.PARTIAL_CONTENT:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if not found or int(found[1]) != have:
            raise _Permanent("answered a range request with another range")
        return have, None if found[2] == "*" else int(found[2])
    length = response.headers.get("Content-Length")
    return 0, int(length) if length else None


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read1(CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _Temporary(f"the connection broke ({error or type(error).__name__})") from None
        if not chunk:
            return
        yield chunk


def _require_space(part: Path, needed: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if free < needed:
        raise _no_space(part, f"needs {needed:,} bytes more, {free:,} are free")


@contextmanager
def space_errors(what: Path) -> Iterator[None]:
    """Turn the operating system's "no space left" while `what` is being written into one line for a person."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_space(what, "the disk is full") from None
        raise


def _no_space(what: Path, reason: str) -> UserError:
    name = what.name.removeprefix(".").removesuffix(".part")
    return UserError(
        f"no space left for {name} in {what.parent}: {reason}; "
        "free some and repeat the command, what was complete or received so far is kept",
        DATA,
    )
