"""From the publishers' files to data/<name>: the same bytes everywhere, everything counted, nothing half-made."""

import json
import shutil

import numpy as np
import pytest
import yaml
from http_helpers import entry, member
from PIL import Image
from typer.testing import CliRunner

from maskprior.datasets import acquire, manifest, prepare, registry, verify
from maskprior.datasets.cli import app
from maskprior.errors import UserError

BPE = {"vocab.bpe": b"#version: 0.2\na b\n", "encoder.json": b'{"a": 0, "b": 1, "ab": 2}'}


def registered(members: dict[str, bytes], **changes: object) -> dict[str, object]:
    return entry(members={name: member(content) for name, content in members.items()}, **changes)


@pytest.fixture
def text(project, tmp_path):
    """A text of two lines and a vocabulary of three tokens, both imported."""
    files = {"lines.txt": b"ab\nab\n"}
    for name, content in (BPE | files | {"encoder.json": b'{"a": 0, "b": 1, "ab": 2, "\\u010a": 3}'}).items():
        (tmp_path / name).write_bytes(content)
    bpe = {name: (tmp_path / name).read_bytes() for name in BPE}
    root = project(
        {
            "gpt2-bpe": registered(bpe, kind="bpe", splits={"vocabulary": {"tokens": 4, "merges": 1}}),
            "t": registered(files, tokenizer="gpt2-bpe", splits={"train": {"lines": 2, "words": 4, "tokens": 4}}),
        }
    )
    for name in ("gpt2-bpe", "t"):
        acquire.import_(name, tmp_path)
    prepare.prepare("gpt2-bpe")
    return root


def test_text_is_encoded_counted_and_described(text):
    made = prepare.prepare("t")
    assert np.load(text / "data" / "t" / "train.npy").tolist() == [2, 3, 2, 3]
    assert made.counts == {"train": {"tokens": 4, "lines": 2, "words": 4}}
    assert made.statistics == {"train": {"bytes": 6, "distinct_tokens": 2}}
    assert made == manifest.read("t")
    assert set(made.source) == {"lines.txt", "gpt2-bpe"}


def test_preparing_twice_gives_the_same_bytes(text):
    prepare.prepare("t")
    first = (text / "data" / "t" / "MANIFEST.json").read_bytes()
    shutil.rmtree(text / "data" / "t")
    prepare.prepare("t")
    assert (text / "data" / "t" / "MANIFEST.json").read_bytes() == first
    assert str(text).encode() not in first


def test_a_wrong_count_leaves_nothing(text, project):
    changed = {
        name: registry.load()[name].model_dump(mode="json", exclude_defaults=True) for name in registry.load().names
    }
    changed["t"]["splits"]["train"]["words"] = 5
    project(changed)
    with pytest.raises(UserError, match=r"^t: train: counted 4 words, expected 5$") as caught:
        prepare.prepare("t")
    assert caught.value.exit_code == 3
    assert sorted(path.name for path in (text / "data").iterdir()) == ["gpt2-bpe", "raw"]


def test_what_it_is_made_from_must_be_prepared_first(text):
    shutil.rmtree(text / "data" / "gpt2-bpe")
    with pytest.raises(UserError, match=r"^data set gpt2-bpe: not prepared"):
        prepare.prepare("t")


def test_what_it_is_made_from_is_not_fetched_again(text):
    shutil.rmtree(text / "data" / "raw" / "gpt2-bpe")
    prepare.prepare("t")


def test_verify_finds_what_was_changed(text):
    prepare.prepare("t")
    assert verify.verify("t") == ["data/raw/t is as registered", "data/t is as its manifest says"]
    tokens = text / "data" / "t" / "train.npy"
    tokens.write_bytes(tokens.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match=r"^t: data/t/train.npy found sha256 [0-9a-f]{64}, expected"):
        verify.verify("t")


def test_verify_of_nothing(project):
    project({"a": registered({"x": b"1"})})
    with pytest.raises(UserError, match=r"^a: nothing here yet; run: maskprior data fetch a$"):
        verify.verify("a")


@pytest.fixture
def own_registry():
    """The project's own, read before `project` moves the root."""
    return yaml.safe_load(registry.registry_file().read_text())


@pytest.mark.parametrize("task", ["2parity", "cyclic3", "majority3", "threesym"])
def test_boolean_content_has_the_registered_hash(own_registry, project, task):
    name = f"boolean-{task}"
    project({name: own_registry[name]})
    made = prepare.prepare(name)
    assert made.counts["cube"] == {"rows": 2**15}
    assert made.content == own_registry[name]["generated"]
    assert verify.verify(name) == ["generated content has the registered hash", f"data/{name} is as its manifest says"]


def test_generated_content_that_is_not_the_registered_one_is_refused(project):
    project({"boolean-2parity": entry(kind="boolean", generated="0" * 64)})
    with pytest.raises(UserError, match=r"^boolean-2parity: the generated content is not what the registry says"):
        prepare.prepare("boolean-2parity")


def image_bytes(colour: int, tmp_path) -> bytes:
    Image.new("RGB", (6, 5), (colour, 0, 0)).save(tmp_path / "x.jpg")
    return (tmp_path / "x.jpg").read_bytes()


def test_imagenet_from_parquet_records_its_own_class_list(project, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    features = {"info": {"features": {"label": {"names": ["robin", "hare"]}}}}
    folder = tmp_path / "given"
    folder.mkdir()
    pictures = [image_bytes(colour, tmp_path) for colour in (10, 200, 90)]
    files = {"train-00000-of-00002": (0, 1), "train-00001-of-00002": (1, 0), "validation-00000-of-00001": (2, 1)}
    for file, (picture, label) in files.items():
        columns = {"image": [{"bytes": pictures[picture], "path": None}], "label": [label]}
        table = pyarrow.table(columns).replace_schema_metadata({"huggingface": json.dumps(features)})
        parquet.write_table(table, folder / f"{file}.parquet")
    splits = {"train": {"images": 2, "classes": 2, "images_per_class": 1}, "val": {"images": 1}}
    root = project({"imagenet100": entry(kind="image-parquet", trees={"data": {}}, splits=splits)})
    acquire.import_("imagenet100", folder)
    prepare.prepare("imagenet100")
    out = root / "data" / "imagenet100"
    assert (out / "classes.txt").read_text() == "robin\nhare\n"
    assert np.load(out / "train-labels.npy").tolist() == [1, 0]
    assert (out / "train-images.bin").read_bytes() == pictures[0] + pictures[1]
    assert np.load(out / "train-offsets.npy").tolist() == [0, len(pictures[0]), len(pictures[0] + pictures[1])]


def test_imagenet_from_an_ilsvrc_folder_takes_the_classes_of_the_list_in_its_order(project, tmp_path):
    folder = tmp_path / "ILSVRC2012"
    for split in ("train", "val"):
        for colour, synset in enumerate(("n01", "n02", "n03")):
            (folder / split / synset).mkdir(parents=True)
            (folder / split / synset / f"{synset}_1.JPEG").write_bytes(image_bytes(colour, tmp_path))
    splits = {split: {"images": 2, "classes": 2, "images_per_class": 1} for split in ("train", "val")}
    trees = {"train": {}, "val": {}}
    root = project({"i": entry(kind="image-folder", classes="list.txt", trees=trees, splits=splits)})
    (root / "config" / "datasets" / "list.txt").write_text("n03\nn01\n")
    acquire.import_("i", folder, link=True)
    prepare.prepare("i")
    assert (root / "data" / "i" / "classes.txt").read_text() == "n03\nn01\n"
    assert (root / "data" / "i" / "val-images.bin").read_bytes() == b"".join(image_bytes(c, tmp_path) for c in (2, 0))


def test_commands(text, tmp_path):
    def call(*words: str) -> str:
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    assert "t                          raw" in call("list")
    assert call("import", "t", str(tmp_path)) == "t: data/raw/t complete, all checksums as registered\n"
    assert call("prepare", "t").startswith("t: data/t prepared, version ")
    assert "t                          prepared" in call("list")
    assert call("path", "t") == f"{text / 'data' / 't'}\n"
    assert "t: data/t is as its manifest says\n" in call("verify", "t")
    with pytest.raises(UserError, match=r"data set u: not in config/datasets.yaml; registered: gpt2-bpe, t"):
        call("fetch", "u")
