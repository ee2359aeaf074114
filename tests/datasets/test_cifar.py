import hashlib
import os
import pickle

import numpy as np
import pytest

from maskprior.datasets import cifar, images
from maskprior.datasets.manifest import prepared_folder
from maskprior.datasets.prepare import subset_rows
from maskprior.errors import UserError

BATCH = (  # what Python 2 wrote for {"data": uint8 array of shape (1, 3) with 1, 2, 3}
    b"\x80\x02}(U\x04datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    b"(K\x01K\x01K\x03\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    b"\x89U\x03\x01\x02\x03tbu."
)
MD5 = {
    "cifar-10-batches-py/data_batch_1": "c99cafc152244af753f735de768cd75f",
    "cifar-10-batches-py/data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "cifar-10-batches-py/data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "cifar-10-batches-py/data_batch_4": "634d18415352ddfa80567beed471001a",
    "cifar-10-batches-py/data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "cifar-10-batches-py/test_batch": "40351d587109b95175f43aff81a1287e",
    "cifar-10-batches-py/batches.meta": "5ff9c542aee3614f3951f8cda6e48888",
    "cifar-100-python/train": "16019d7e3df5f24257cddd939b257f8d",
    "cifar-100-python/test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
    "cifar-100-python/meta": "7973b15100ade9c7d40fb424638fde48",
}


def test_a_batch_is_read(tmp_path):
    (tmp_path / "batch").write_bytes(BATCH)
    assert cifar.read_pickle(tmp_path / "batch")[b"data"].array.tolist() == [[1, 2, 3]]


class Attack:
    def __reduce__(self):
        return os.system, ("touch executed",)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps({"data": Attack()}, protocol=2),
        BATCH.replace(b"cnumpy\nndarray\n", b"cnumpy\nload\n"),
        BATCH[:40],
        b"<html>",
        pickle.dumps([1, 2], protocol=2),
        BATCH.replace(b"\x02u1", b"\x02f8"),
    ],
    ids=["os.system", "numpy.load", "cut", "html", "no-dictionary", "other-type"],
)
def test_anything_but_a_batch_is_refused_and_not_executed(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "batch").write_bytes(content)
    with pytest.raises(UserError, match="batch: refused as a CIFAR batch") as caught:
        cifar.read_pickle(tmp_path / "batch")
    assert caught.value.exit_code == 3
    assert not (tmp_path / "executed").exists()


def test_statistics_by_hand():
    pixels = np.zeros((2, 3, 1, 1), dtype=np.uint8)
    pixels[:, 1] = 255
    pixels[1, 2] = 255
    assert cifar.channel_statistics(pixels) == ([0.0, 1.0, 0.5], [0.0, 0.0, 0.5])


def test_statistics_are_numpys():
    pixels = np.random.default_rng(0).integers(0, 256, size=(50, 3, 8, 8), dtype=np.uint8)
    mean, std = cifar.channel_statistics(pixels)
    assert mean == pytest.approx((pixels / 255).mean((0, 2, 3)), abs=1e-8)
    assert std == pytest.approx((pixels / 255).std((0, 2, 3)), abs=1e-8)


def test_subset_takes_the_rows_with_the_smallest_hashes():
    labels = np.array([0, 1, 0, 1, 0, 0])
    order = sorted(range(6), key=lambda row: hashlib.sha256(str(row).encode()).hexdigest())
    zeros = [row for row in order if labels[row] == 0][:2]
    ones = [row for row in order if labels[row] == 1][:2]
    assert subset_rows(labels, 2).tolist() == sorted(zeros + ones)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "folder"), [("cifar10", "cifar-10-batches-py"), ("cifar100", "cifar-100-python")])
def test_official_files_have_the_published_md5(official, name, folder):
    found = official(name)
    expected = {file: md5 for file, md5 in MD5.items() if file.startswith(folder)}
    assert {file: hashlib.md5((found / file).read_bytes()).hexdigest() for file in expected} == expected


@pytest.mark.slow
def test_cifar10(prepared):
    made = prepared("cifar10", "cifar10", "cifar-10-batches-py")
    train, test = images.load("cifar10", "train"), images.load("cifar10", "test")
    assert train.pixels.shape == (50000, 3, 32, 32)
    assert test.pixels.shape == (10000, 3, 32, 32)
    assert train.labels.bincount().tolist() == [5000] * 10
    assert test.labels.bincount().tolist() == [1000] * 10
    assert made.statistics["train"]["mean"] == pytest.approx((0.4914, 0.4822, 0.4465), abs=5e-5)
    assert made.statistics["train"]["std"] == pytest.approx((0.2470, 0.2435, 0.2616), abs=5e-5)
    assert train.classes[train.labels[0]] == "frog"
    assert train.pixels[0, :, 0, 0].tolist() == [59, 62, 63]
    normalised = train.normalise(train.pixels[:2000])
    assert normalised.mean((0, 2, 3)).abs().max() < 0.02
    assert (normalised.std((0, 2, 3)) - 1).abs().max() < 0.02


@pytest.mark.slow
def test_cifar10_is_what_torchvision_reads(prepared):
    datasets = pytest.importorskip("torchvision.datasets", reason="torchvision is not installed")
    prepared("cifar10", "cifar10", "cifar-10-batches-py")
    theirs = datasets.CIFAR10(prepared_folder("raw") / "cifar10", train=False, download=False)
    ours = images.load("cifar10", "test")
    assert np.array_equal(ours.pixels.numpy().transpose(0, 2, 3, 1), theirs.data)
    assert ours.labels.tolist() == theirs.targets
    assert list(ours.classes) == theirs.classes


@pytest.mark.slow
def test_cifar10_10pct_is_a_part_of_cifar10(prepared):
    prepared("cifar10", "cifar10", "cifar-10-batches-py")
    from maskprior.datasets.prepare import prepare

    made = prepare("cifar10-10pct")
    whole, part = images.load("cifar10", "train"), images.load("cifar10-10pct", "train")
    rows = np.load(prepared_folder("cifar10-10pct") / "train-rows.npy")
    assert part.labels.bincount().tolist() == [500] * 10
    assert np.array_equal(part.pixels, whole.pixels[rows])
    assert np.array_equal(part.labels, whole.labels[rows])
    assert made.counts["test"]["images"] == 10000


@pytest.mark.slow
def test_cifar100(prepared):
    prepared("cifar100", "cifar100", "cifar-100-python")
    train, test = images.load("cifar100", "train"), images.load("cifar100", "test")
    assert train.labels.bincount().tolist() == [500] * 100
    assert test.labels.bincount().tolist() == [100] * 100
    assert train.mean == pytest.approx((0.5071, 0.4865, 0.4409), abs=5e-5)
    assert train.std == pytest.approx((0.2673, 0.2564, 0.2762), abs=5e-5)
    assert train.classes[0] == "apple"
    assert train.classes[99] == "worm"
