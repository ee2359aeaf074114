"""dvc.yaml, dvc.lock and the Snakemake rule, with the real dvc and snakemake."""

import json

import pytest
import yaml
from project import Project, copy_sources

from maskprior import paths
from maskprior.datasets import registry

WITHOUT_LOCK_ENTRY = {"imagenet100", "imagenet100-ilsvrc", "wikitext2-raw", "tinystories"}


def read(name: str) -> dict:
    return yaml.safe_load((paths.root() / name).read_text())


def test_every_data_set_has_its_stage():
    stages = read("dvc.yaml")["stages"]
    assert list(stages) == list(registry.load().names)
    for name, stage in stages.items():
        dataset = registry.load()[name]
        assert stage["cmd"] == f"python -m maskprior data prepare {name}"
        assert stage["params"] == [{"config/datasets.yaml": [name]}]
        assert stage["outs"] == [{f"data/{name}": {"cache": False}}]
        assert {f"data/{needed}/MANIFEST.json" for needed in dataset.needs} <= set(stage["deps"])
        assert dataset.classes is None or f"config/datasets/{dataset.classes}" in stage["deps"]
        assert all((paths.root() / path).exists() for path in stage["deps"] if not path.startswith("data/"))


def test_the_lock_holds_what_was_prepared_and_says_what_was_not():
    locked = read("dvc.lock")["stages"]
    assert set(registry.load().names) - set(locked) == WITHOUT_LOCK_ENTRY
    header = (paths.root() / "dvc.yaml").read_text().partition("stages:")[0]
    assert all(name in header for name in WITHOUT_LOCK_ENTRY)


@pytest.mark.workflow
@pytest.mark.slow
def test_snakemake_prepares_two_sets_at_once_and_names_what_it_cannot_have(tmp_path):
    copy = Project(tmp_path / "archive")  # no .git: an archive of the project
    copy_sources(copy.folder)
    wanted = [f"data/{name}/MANIFEST.json" for name in ("boolean-2parity", "boolean-threesym")]
    copy.call("snakemake", "--cores", "2", *wanted)
    for file in wanted:
        made = json.loads((copy.folder / file).read_text())
        assert made["version"] == registry.dataset_version(made["name"])
    assert "up to date" in copy.call("dvc", "repro", "boolean-2parity")
    copy.call("snakemake", "--cores", "1", "data/imagenet100/MANIFEST.json", expect=1)
    log = (copy.folder / "results" / "logs" / "datasets" / "imagenet100.log").read_text()
    assert "maskprior: imagenet100: data cannot be downloaded without asking" in log
    assert "run: maskprior data import imagenet100 PATH" in log
