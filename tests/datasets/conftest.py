import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from http_helpers import Server

from maskprior import paths
from maskprior.datasets import acquire, manifest
from maskprior.datasets.manifest import Manifest
from maskprior.datasets.prepare import prepare


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


SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
NEEDS_JPEG_XL = {"cifar10", "cifar100"}


@pytest.fixture(scope="session")
def official(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpacks a set of the real development data in its publisher's layout; skips where that is impossible."""
    folder = tmp_path_factory.mktemp("official")
    done = set()

    def unpack(name: str) -> Path:
        if not (SHARED_DATA / "unpack.py").is_file():
            pytest.skip("the development data (shared/data beside the project) are not here")
        if name in NEEDS_JPEG_XL and not (find_spec("imagecodecs") or find_spec("pillow_jxl")):
            pytest.skip("no JPEG XL decoder: install imagecodecs or pillow-jxl-plugin")
        if name not in done:
            command = [sys.executable, str(SHARED_DATA / "unpack.py"), "--out", str(folder), name]
            subprocess.run(command, check=True, capture_output=True)
            done.add(name)
        return folder

    return unpack


@pytest.fixture(scope="session")
def _prepared_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("prepared")
    shutil.copytree(paths.config(), root / "config")
    return root


@pytest.fixture
def prepared(
    official: Callable[[str], Path], _prepared_root: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str, str], Manifest]:
    """prepared(name, set, path): imports `path` of the unpacked set as `name`, prepares it once, gives its manifest."""
    monkeypatch.setenv("MASKPRIOR_ROOT", str(_prepared_root))

    def make(name: str, unpacked: str, path: str = ".") -> Manifest:
        if not manifest.prepared_folder(name).is_dir():
            acquire.import_(name, official(unpacked) / path, link=True)
            prepare(name)
        return manifest.read(name)

    return make
