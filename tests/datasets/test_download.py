"""One file from servers that misbehave in the ways real ones have."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from http_helpers import IMPATIENT, fails, gives, redirects, sha256, truncates, visible

from maskprior.datasets.checksums import mismatch
from maskprior.datasets.download import USER_AGENT, DownloadError, download

CONTENT = bytes(range(256)) * 400
HTML = b"<html><body>Service unavailable</body></html>"


def fetch(tmp_path: Path, *urls: str, size: int | None = len(CONTENT)) -> str:
    return download(
        urls,
        tmp_path / "file.bin",
        check=lambda path: mismatch(path, sha256=sha256(CONTENT)),
        size=size,
        patience=IMPATIENT,
    )


def test_a_good_server_is_asked_once_and_told_who_asks(server, tmp_path):
    agents = []
    server.answers["/a"] = lambda handler: (agents.append(handler.headers["User-Agent"]), gives(CONTENT)(handler))
    assert fetch(tmp_path, f"{server.url}/a") == f"{server.url}/a"
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert server.asked("/a") == 1
    assert agents == [USER_AGENT]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (fails(503), "HTTP 503 Service Unavailable (2 attempts)"),
        (fails(404), "HTTP 404 Not Found"),
        (gives(HTML, kind="text/html; charset=utf-8"), "answered with an HTML page instead of the file"),
        (gives(HTML), f"offers {len(HTML)} bytes, expected 102,400"),
        (truncates(CONTENT, after=0), "the connection ended after 0 of 102,400 bytes (2 attempts)"),
        (gives(CONTENT[::-1]), f"found sha256 {sha256(CONTENT[::-1])}, expected {sha256(CONTENT)}"),
    ],
    ids=["503", "404", "html", "html-typed-as-archive", "truncated", "wrong-checksum"],
)
def test_a_bad_address_is_named_with_its_reason_and_the_mirror_is_used(server, tmp_path, bad, reason):
    server.answers = {"/bad": bad, "/good": gives(CONTENT)}
    with pytest.raises(DownloadError) as caught:
        fetch(tmp_path, f"{server.url}/bad")
    assert str(caught.value) == f"{server.url}/bad: {reason}"
    assert visible(tmp_path) == set()
    assert fetch(tmp_path, f"{server.url}/bad", f"{server.url}/good") == f"{server.url}/good"
    assert visible(tmp_path) == {"file.bin"}


def test_a_file_of_unknown_size_is_checked_all_the_same(server, tmp_path):
    server.answers = {"/html": gives(HTML), "/good": gives(CONTENT)}
    assert fetch(tmp_path, f"{server.url}/html", f"{server.url}/good", size=None) == f"{server.url}/good"


def test_a_truncated_body_is_continued_where_it_ended(server, tmp_path):
    server.answers["/a"] = [truncates(CONTENT, after=30_000), gives(CONTENT, etag=None)]
    fetch(tmp_path, f"{server.url}/a")
    assert server.requests == [("/a", None), ("/a", "bytes=30000-")]


def test_the_mirror_continues_what_another_address_began(server, tmp_path):
    server.answers = {"/a": [truncates(CONTENT, after=30_000), fails(503)], "/b": gives(CONTENT)}
    assert fetch(tmp_path, f"{server.url}/a", f"{server.url}/b") == f"{server.url}/b"
    assert server.requests[-1] == ("/b", "bytes=30000-")


def test_a_server_without_ranges_starts_over(server, tmp_path):
    server.answers["/a"] = [truncates(CONTENT, after=30_000), gives(CONTENT, ranges=False)]
    fetch(tmp_path, f"{server.url}/a")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_parts_that_do_not_fit_together_are_fetched_again_from_the_first_byte(server, tmp_path):
    (tmp_path / ".file.bin.part").write_bytes(b"x" * 30_000)
    server.answers["/a"] = gives(CONTENT)
    fetch(tmp_path, f"{server.url}/a")
    assert server.requests == [("/a", "bytes=30000-"), ("/a", None)]


def test_a_part_longer_than_the_file_is_no_obstacle(server, tmp_path):
    (tmp_path / ".file.bin.part").write_bytes(CONTENT + b"x")
    server.answers["/a"] = gives(CONTENT)
    fetch(tmp_path, f"{server.url}/a", size=None)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_redirects_and_a_slow_body_are_followed_to_the_end(server, tmp_path):
    server.answers = {"/a": redirects(f"{server.url}/b"), "/b": gives(CONTENT, pause_s=0.03)}
    fetch(tmp_path, f"{server.url}/a")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_silent_server_is_given_up(server, tmp_path):
    server.answers = {"/silent": lambda handler: time.sleep(1.5), "/good": gives(CONTENT)}
    assert fetch(tmp_path, f"{server.url}/silent", f"{server.url}/good") == f"{server.url}/good"
    assert server.asked("/silent") == IMPATIENT.attempts


def test_nobody_listens(tmp_path):
    with pytest.raises(DownloadError, match=r"^http://127.0.0.1:9/a: no answer \(.*refused.*\) \(2 attempts\)$"):
        fetch(tmp_path, "http://127.0.0.1:9/a")


def test_a_killed_download_goes_on_where_it_was(server, tmp_path):
    server.answers["/a"] = gives(CONTENT, pause_s=0.1)
    code = (
        "import sys; from pathlib import Path; from maskprior.datasets.download import download\n"
        "download([sys.argv[1]], Path(sys.argv[2]), check=lambda path: None, size=int(sys.argv[3]))"
    )
    arguments = [f"{server.url}/a", str(tmp_path / "file.bin"), str(len(CONTENT))]
    process = subprocess.Popen([sys.executable, "-c", code, *arguments])
    part = tmp_path / ".file.bin.part"
    while not (part.is_file() and part.stat().st_size >= 8192):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert visible(tmp_path) == set()
    kept = part.stat().st_size
    assert 0 < kept < len(CONTENT)
    server.answers["/a"] = gives(CONTENT)
    fetch(tmp_path, f"{server.url}/a")
    assert server.requests[-1] == ("/a", f"bytes={kept}-")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
