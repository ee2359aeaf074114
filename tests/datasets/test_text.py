import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from http_helpers import entry, member, prepared_set

from maskprior.datasets import bpe, manifest, registry, sentences, text
from maskprior.datasets.prepare import prepare
from maskprior.errors import UserError


def test_batches_are_windows_and_targets_come_one_later():
    tokens = np.arange(1000, dtype=np.uint16)
    inputs, targets = text.batch(tokens, block=8, batch_size=5, seed=0, stream="train", step=3)
    assert inputs.shape == targets.shape == (5, 8)
    assert (targets == inputs + 1).all()
    assert (inputs[:, 1:] == inputs[:, :-1] + 1).all()


def test_batches_depend_on_seed_stream_and_step_alone():
    tokens = np.arange(10_000, dtype=np.uint16)
    first = {"block": 8, "batch_size": 5, "seed": 0, "stream": "train", "step": 3}
    same = text.batch(tokens, **first)[0]
    assert (text.batch(tokens, **first)[0] == same).all()
    for change in ({"seed": 1}, {"stream": "validation"}, {"step": 4}):
        assert (text.batch(tokens, **first | change)[0] != same).any()


def test_every_beginning_can_be_drawn_and_none_beyond():
    tokens = np.arange(11, dtype=np.uint16)
    inputs, targets = text.batch(tokens, block=8, batch_size=200, seed=0, stream="train", step=0)
    assert set(inputs[:, 0].tolist()) == {0, 1, 2}
    assert targets.max() == 10


def test_a_split_shorter_than_a_window_is_an_error():
    with pytest.raises(ValueError, match="block 8: the split has only 8 tokens"):
        text.batch(np.arange(8, dtype=np.uint16), block=8, batch_size=1, seed=0, stream="train", step=0)


def test_byte_pair_encoding_is_gpt2s(prepared):
    prepared("gpt2-bpe", "gpt2-bpe", "gpt2-bpe")
    found = bpe.tokenizer(manifest.prepared_folder("gpt2-bpe"))
    assert bpe.encode("Hello world", found).tolist() == [15496, 995]
    assert text.decode([15496, 995]) == "Hello world"
    assert found.get_vocab_size() == text.VOCABULARY == 50257


@pytest.mark.slow
def test_wikitext2_tokens(prepared):
    prepared("gpt2-bpe", "gpt2-bpe", "gpt2-bpe")
    made = prepared("wikitext2-tokens", "wikitext-2", "wikitext-2")
    words = {split: counts["words"] for split, counts in made.counts.items()}
    assert words == {"train": 2_088_628, "valid": 217_646, "test": 245_569}
    assert made.counts["train"]["tokens"] == 2_448_382
    assert made.counts["test"]["tokens"] == 295_877
    tokens = text.load("wikitext2-tokens", "valid")
    raw = (manifest.prepared_folder("raw") / "wikitext2-tokens" / "wikitext-2" / "wiki.valid.tokens").read_text("utf-8")
    assert text.decode(tokens.tolist()) == raw


def test_wikitext2_raw_counts(prepared, official):
    prepared("gpt2-bpe", "gpt2-bpe", "gpt2-bpe")
    found = bpe.tokenizer(manifest.prepared_folder("gpt2-bpe"))
    for split, tokens, words in (("test", 286_221, 245_569), ("valid", 249_887, 217_646)):
        content = (official("wikitext-2") / "wikitext-2-raw" / f"wiki.{split}.raw").read_bytes().decode()
        assert len(bpe.encode(content, found)) == tokens
        assert len(content.split()) + content.count("\n") == words


def test_a_beginning_of_wikitext2_raw_does_not_stand_in_for_it(prepared, official):
    with pytest.raises(UserError, match=r"wikitext2-raw: .*: wikitext-2-raw/wiki.train.raw is missing"):
        prepared("wikitext2-raw", "wikitext-2")
    assert not manifest.prepared_folder("wikitext2-raw").exists()


def test_tinystories_slice(prepared):
    prepared("gpt2-bpe", "gpt2-bpe", "gpt2-bpe")
    made = prepared("tinystories-slice", "tinystories", "tinystories")
    assert made.counts["train"]["stories"] == 2316
    begin = text.decode(text.load("tinystories-slice", "train")[:14].tolist())
    assert begin == "One day, a little girl named Lily found a needle in her room"
    assert "endoftext" not in text.decode(text.load("tinystories-slice", "train").tolist())


@pytest.mark.parametrize("damage", ["version", "file", "manifest", "absent"])
def test_what_is_not_as_prepared_is_refused_in_one_line(project, damage):
    registry = {"a": entry(members={"x": member(b"1")})}
    root = project(registry)
    prepared_set(root, "a", {"train.npy": np.arange(9, dtype=np.uint16)})
    assert len(text.load("a", "train")) == 9
    folder = root / "data" / "a"
    if damage == "version":
        project({"a": entry(members={"x": member(b"2")})})
    elif damage == "file":
        (folder / "train.npy").write_bytes(b"")
    elif damage == "manifest":
        (folder / "MANIFEST.json").write_text("{")
    else:
        (folder / "MANIFEST.json").unlink()
    with pytest.raises(UserError, match=r"^data set a: .*; run: dvc repro a$") as caught:
        text.load("a", "train")
    assert caught.value.exit_code == 3


def test_generated_sentences_are_bytes():
    found = text.corpus("language-sentences")
    assert found.decode(found.splits["train"][:12].tolist()) == sentences.text("train")[:12]
    assert found.text_bytes == {split: len(sentences.text(split)) for split in ("train", "valid", "test")}
    assert max(tokens.max() for tokens in found.splits.values()) < found.vocabulary == 256
    assert all(line.endswith(".") and len(line.split()) == 7 for line in sentences.text("valid").splitlines())
    assert len({sentences.text(split) for split in sentences.SPLITS}) == 3
    assert registry.load()["language-sentences"].generated == sentences.content_hash()


TRAIN = """
import sys
from pathlib import Path
from maskprior.datasets import bpe, sentences
bpe.train(sentences.text("train") * 3 + "naïve — 日本\\n", 300, Path(sys.argv[1]))
"""


def test_a_trained_encoding_depends_on_its_text_alone(tmp_path):
    """Two processes with other hash seeds and thread counts write the same files."""
    for name, threads in (("one", "1"), ("other", "2")):
        (tmp_path / name).mkdir()
        environment = os.environ | {"RAYON_NUM_THREADS": threads, "PYTHONHASHSEED": "random"}
        subprocess.run([sys.executable, "-c", TRAIN, str(tmp_path / name)], check=True, env=environment)
    assert bpe.digest(tmp_path / "one") == bpe.digest(tmp_path / "other")
    found = bpe.tokenizer(tmp_path / "one")
    assert found.get_vocab_size() == 300
    assert len(bpe.vocabulary(tmp_path / "one")) == 300
    assert len(bpe.merges(tmp_path / "one")) == 300 - 256
    for words in ("the small cat", " \n\n x", "a naïve 日本 \x00 emoji 🙂"):
        assert found.decode(bpe.encode(words, found).tolist()) == words


def test_merges_are_the_most_frequent_pairs():
    """In "abab ab" the pair ab comes first; the longest token in reach is then used."""
    with tempfile.TemporaryDirectory() as name:
        bpe.train("abab ab", 257, Path(name))
        assert bpe.merges(Path(name)) == [("a", "b")]
        assert bpe.encode("abab", bpe.tokenizer(Path(name))).tolist() == [256, 256]


def test_the_slice_in_tokens_of_its_own(prepared):
    prepared("gpt2-bpe", "gpt2-bpe", "gpt2-bpe")
    prepared("tinystories-slice", "tinystories", "tinystories")
    made = prepare("tinystories-slice-bpe4096")
    whole, found = text.corpus("tinystories-slice"), text.corpus("tinystories-slice-bpe4096")
    assert (whole.vocabulary, found.vocabulary) == (50257, 4096)
    for split in ("train", "valid"):
        assert found.decode(found.splits[split].tolist()) == whole.decode(whole.splits[split].tolist())
    assert found.text_bytes == whole.text_bytes
    assert found.splits["test"] is found.splits["valid"]
    assert made.counts["valid"]["tokens"] == len(found.splits["valid"])
    assert found.tokenizer_sha256 == bpe.digest(manifest.prepared_folder("tinystories-slice-bpe4096"))
    assert found.tokenizer_sha256 != whole.tokenizer_sha256


def test_version_of_an_encoding_follows_its_text_and_its_size(project):
    part = entry(kind="retokenized", retokenized={"of": "a", "vocabulary": 300})
    project({"a": entry(members={"x": member(b"1")}), "part": part})
    before = registry.dataset_version("part")
    project({"a": entry(members={"x": member(b"2")}), "part": part})
    assert registry.dataset_version("part") != before
    smaller = part | {"retokenized": {"of": "a", "vocabulary": 299}}
    project({"a": entry(members={"x": member(b"1")}), "part": smaller})
    assert registry.dataset_version("part") != before
