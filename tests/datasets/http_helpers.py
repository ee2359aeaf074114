"""A real HTTP server that misbehaves on demand, and pieces of a registry for tests."""

import hashlib
import http.server
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from maskprior.datasets import manifest
from maskprior.datasets.download import Patience
from maskprior.datasets.registry import Checksum, dataset_version

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]
IMPATIENT = Patience(attempts=2, backoff_s=0.01, silence_s=0.5)


class Server:
    """Answers by path; `requests` keeps (path, Range header) of every request."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | list[Answer]] = {}
        self.requests: list[tuple[str, str | None]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.requests.append((self.path, self.headers.get("Range")))
                answer = outer.answers[self.path]
                if isinstance(answer, list):
                    answer = answer.pop(0) if len(answer) > 1 else answer[0]
                self.close_connection = True
                answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.httpd.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.httpd.server_port}"

    def asked(self, path: str) -> int:
        return sum(asked == path for asked, _ in self.requests)


def gives(
    content: bytes, *, etag: str | None = '"1"', ranges: bool = True, pause_s: float = 0, kind: str = "application/gzip"
) -> Answer:
    """The file as a good server gives it: whole, or from the byte asked for; in small pieces if `pause_s`."""

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        asked = handler.headers.get("Range")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and ranges else 0
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        handler.send_header("Content-Length", str(len(content) - start))
        handler.send_header("Content-Type", kind)
        if etag:
            handler.send_header("ETag", etag)
        handler.end_headers()
        piece = 4096 if pause_s else len(content)
        for position in range(start, len(content), piece):
            try:
                handler.wfile.write(content[position : position + piece])
            except OSError:
                return
            time.sleep(pause_s)

    return answer


def fails(status: int) -> Answer:
    return lambda handler: handler.send_error(status)


def truncates(content: bytes, *, after: int) -> Answer:
    """Promises the whole file, sends its beginning and hangs up."""

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[:after])

    return answer


def redirects(url: str) -> Answer:
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", url)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "title": "t", "citation": "c", "licence": "l", "homepage": "https://example.org", "kind": "text",
        "preparation": 1, "splits": {"train": {"lines": 1}},
    } | changes  # fmt: skip


def member(content: bytes) -> dict[str, Any]:
    return {"size": len(content), "sha256": sha256(content)}


def visible(folder: Path) -> set[str]:
    """Files that do not lie under a hidden name."""
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {file.as_posix() for file in files if not any(part.startswith(".") for part in file.parts)}


def prepared_set(root: Path, name: str, files: dict[str, Any], statistics: dict[str, Any] | None = None) -> None:
    """Files (bytes or arrays) with a true manifest at data/<name>, for a registered name."""
    folder = root / "data" / name
    folder.mkdir(parents=True)
    for file, content in files.items():
        if isinstance(content, bytes):
            (folder / file).write_bytes(content)
        else:
            np.save(folder / file, content)
    sums = {file: Checksum(**member((folder / file).read_bytes())) for file in files}
    made = manifest.Manifest(
        name=name,
        version=dataset_version(name),
        source={},
        counts={},
        statistics=statistics or {},
        files=sums,
        content=manifest.content_digest(sums),
    )
    manifest.write(made, folder)
