import numpy as np
import pytest
import torch
from http_helpers import entry

from maskprior.datasets import images, registry, synthetic


def test_the_content_is_the_registered_one():
    assert synthetic.content_hash() == registry.load()["synthetic-images"].generated


@pytest.mark.parametrize("split", synthetic.SIZES)
def test_the_brightest_quadrant_is_the_label(split):
    pixels, labels = synthetic.images(split)
    half = synthetic.SIDE // 2
    quadrants = pixels.reshape(len(pixels), 3, 2, half, 2, half).mean((1, 3, 5)).reshape(len(pixels), 4)
    assert (quadrants.argmax(1) == labels).all()
    assert np.bincount(labels).tolist() == [synthetic.SIZES[split] // 4] * 4


def test_both_ways_of_loading_give_the_same_images_without_any_file(project):
    project({"synthetic-images": entry(kind="synthetic", generated=synthetic.content_hash())})
    loaded = images.load("synthetic-images", "test")
    assert images.load_labels("synthetic-images", "test").tolist() == loaded.labels.tolist()

    def plain(image):
        return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1)

    kept = {"batch_size": 48, "seed": 0, "epoch": 0, "train": False}
    pixels, labels = next(iter(images.loader("synthetic-images", "test", plain, **kept)))
    assert torch.equal(pixels, loaded.pixels)
    assert torch.equal(labels, loaded.labels)
    assert loaded.normalise(torch.full((3, 1, 1), 255, dtype=torch.uint8)).flatten().tolist() == [1, 1, 1]
