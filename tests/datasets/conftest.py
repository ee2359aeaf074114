import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from http_helpers import Server


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.httpd.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield made
    made.httpd.shutdown()
    made.httpd.server_close()
    thread.join()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], Path]:
    """Writes a registry into a project folder of its own and returns the folder."""
    monkeypatch.setenv("MASKPRIOR_ROOT", str(tmp_path))
    (tmp_path / "config" / "datasets").mkdir(parents=True)

    def write(registry: dict[str, Any]) -> Path:
        (tmp_path / "config" / "datasets.yaml").write_text(yaml.safe_dump(registry))
        return tmp_path

    return write
