import random
from io import BytesIO

import numpy as np
import pytest
import torch
from http_helpers import entry, prepared_set
from PIL import Image

from maskprior.datasets import images, packed
from maskprior.errors import UserError


@pytest.fixture
def tiny(project):
    """12 images of 4x4 pixels under the name `tiny`, prepared as CIFAR is."""
    root = project({"tiny": entry(kind="cifar", splits={"train": {"images": 12}})})
    pixels = np.random.default_rng(0).integers(0, 256, size=(12, 3, 4, 4), dtype=np.uint8)
    statistics = {"train": {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}}
    files = {"train-images.npy": pixels, "train-labels.npy": np.arange(12) % 3, "classes.txt": b"a\nb\nc\n"}
    prepared_set(root, "tiny", files, statistics)
    return pixels


def test_normalisation_by_hand(tiny):
    loaded = images.load("tiny", "train")
    pixels = torch.tensor([0, 51, 255], dtype=torch.uint8).reshape(3, 1, 1)
    assert loaded.normalise(pixels).flatten().tolist() == pytest.approx([-2.0, -1.2, 2.0])
    assert loaded.classes == ("a", "b", "c")
    assert loaded.labels.tolist() == [0, 1, 2] * 4


def test_crop_and_mirror_by_hand():
    pixels = torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8).expand(4, 1, 2, 2)
    top, left = torch.tensor([1, 1, 0, 2]), torch.tensor([1, 1, 0, 1])
    mirrored = torch.tensor([False, True, False, True])
    found = images.crop_and_mirror(pixels, top, left, mirrored, padding=1)
    assert found[:, 0].tolist() == [[[1, 2], [3, 4]], [[2, 1], [4, 3]], [[0, 0], [0, 1]], [[4, 3], [0, 0]]]


def test_an_epoch_has_every_image_once_and_a_fate_of_its_own(tiny):
    loaded = images.load("tiny", "train")
    numbered = torch.arange(12, dtype=torch.uint8).reshape(12, 1, 1, 1).expand(12, 3, 1, 1)
    plain = images.Images(numbered, loaded.labels, (0.0,) * 3, (1 / 255,) * 3, ())
    batches = [images.train_batches(plain, batch_size=4, seed=0, epoch=epoch, padding=0) for epoch in (0, 0, 1)]
    rows = [[round(value.item()) for x, _ in epoch for value in x[:, 0, 0, 0]] for epoch in batches]
    assert sorted(rows[0]) == list(range(12))
    assert rows[0] == rows[1] != rows[2]
    assert rows[0] == images.epoch_order(12, seed=0, epoch=0).tolist()


def test_what_happens_to_an_image_does_not_depend_on_the_batch_size(tiny):
    loaded = images.load("tiny", "train")
    whole = [torch.cat([x for x, _ in images.train_batches(loaded, batch_size=b, seed=3, epoch=5)]) for b in (2, 6)]
    assert torch.equal(*whole)
    assert whole[0].shape == (12, 3, 4, 4)


def test_the_incomplete_batch_is_dropped_in_training_only(tiny):
    loaded = images.load("tiny", "train")
    assert [len(y) for _, y in images.train_batches(loaded, batch_size=5, seed=0, epoch=0)] == [5, 5]
    batches = list(images.eval_batches(loaded, batch_size=5))
    assert [len(y) for _, y in batches] == [5, 5, 2]
    assert torch.equal(torch.cat([y for _, y in batches]), loaded.labels)
    assert torch.equal(torch.cat([x for x, _ in batches]), loaded.normalise(loaded.pixels))


def noisy(image: Image.Image) -> torch.Tensor:
    pixels = torch.from_numpy(np.array(image).transpose(2, 0, 1)).float()
    return pixels + random.random() + torch.from_numpy(np.random.rand(1, 1, 1)).float() + torch.rand(1)


def test_random_transforms_do_not_depend_on_workers_or_batches_and_leave_the_global_generators_alone(tiny):
    def epoch(number, *, workers, batch_size):
        made = images.loader(
            "tiny", "train", noisy, batch_size=batch_size, seed=1, epoch=number, train=True, workers=workers
        )
        batches = list(made)
        return torch.cat([x for x, _ in batches]), torch.cat([y for _, y in batches])

    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    first, labels = epoch(0, workers=0, batch_size=4)
    for workers, batch_size in ((0, 3), (2, 4)):
        again, same = epoch(0, workers=workers, batch_size=batch_size)
        assert torch.equal(again, first)
        assert torch.equal(same, labels)
    assert not torch.equal(epoch(1, workers=0, batch_size=4)[0], first)
    assert before == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())


def test_in_evaluation_the_loader_keeps_the_order(tiny):
    plain = lambda image: torch.from_numpy(np.array(image).transpose(2, 0, 1).copy())  # noqa: E731
    made = images.loader("tiny", "train", plain, batch_size=5, seed=0, epoch=0, train=False)
    assert np.array_equal(torch.cat([x for x, _ in made]), tiny)


def jpeg(side: int, colour: int) -> bytes:
    stream = BytesIO()
    Image.new("L", (side, side), colour).save(stream, "JPEG")
    return stream.getvalue()


@pytest.mark.parametrize("sides", [(8, 8), (8, 9)])
def test_packed_images_are_decoded_as_colour(project, tmp_path, sides):
    root = project({"p": entry(kind="image-folder", splits={"val": {"images": 2}})})
    encoded = [packed.Encoded(jpeg(side, 100 * i), i, "x") for i, side in enumerate(sides)]
    assert packed.write(encoded, tmp_path, "val").tolist() == [0, 1]
    names = ("val-images.bin", "val-offsets.npy", "val-labels.npy")
    files = {name: (tmp_path / name).read_bytes() for name in names} | {"classes.txt": b"a\nb\n"}
    prepared_set(root, "p", files)
    made = images.loader(
        "p", "val", lambda im: torch.tensor(im.getpixel((0, 0))), batch_size=2, seed=0, epoch=0, train=False
    )
    assert next(iter(made))[0].tolist() == [[0, 0, 0], [100, 100, 100]]
    if sides == (8, 8):
        loaded = images.load("p", "val")
        assert loaded.pixels.shape == (2, 3, 8, 8)
        assert loaded.mean == images.IMAGENET_MEAN
    else:
        with pytest.raises(UserError, match=r"^data set p: its images have different sizes"):
            images.load("p", "val")


def test_a_file_that_is_no_image_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"^train/n01/x.JPEG: neither a JPEG nor a PNG image$"):
        packed.write([packed.Encoded(b"<html>", 0, "train/n01/x.JPEG")], tmp_path, "train")


def test_imagenet100_14class_32px(prepared):
    made = prepared("imagenet100-14class-32px", "imagenet", "imagenet100-14cls-32px")
    assert made.counts["train"] == {"images": 7000, "classes": 14, "images_per_class": 500}
    validation = images.load("imagenet100-14class-32px", "val")
    assert validation.pixels.shape == (700, 3, 32, 32)
    assert validation.labels.bincount().tolist() == [50] * 14
    assert validation.classes[0] == "n03085013"


@pytest.mark.parametrize("in_memory", [True, False])
def test_skipping_leaves_the_other_batches_as_they_are(tiny, in_memory):
    def epoch(skip):
        if in_memory:
            return list(images.train_batches(images.load("tiny", "train"), batch_size=5, seed=1, epoch=2, skip=skip))
        kept = {"batch_size": 5, "seed": 1, "epoch": 2, "train": True}
        return list(images.loader("tiny", "train", noisy, skip=skip, **kept))

    whole = epoch(0)
    assert len(whole) == 2
    rest = epoch(1)
    assert len(rest) == 1
    assert torch.equal(rest[0][0], whole[1][0])
    assert torch.equal(rest[0][1], whole[1][1])
    assert epoch(2) == []


def test_a_loader_of_some_rows_has_them_in_their_order(tiny):
    rows = np.array([7, 0, 2])
    found = list(images.loader("tiny", "train", noisy, batch_size=2, seed=0, epoch=0, train=False, rows=rows))
    assert torch.cat([labels for _, labels in found]).tolist() == [1, 0, 2]


def test_labels_alone(tiny):
    assert images.load_labels("tiny", "train").tolist() == images.load("tiny", "train").labels.tolist()
