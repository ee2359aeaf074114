"""The registry of all data the paper uses: `config/datasets.yaml` as models, and the version of each data set.

Fast to import: no numpy, no torch. Member checksums are the authority on content; archive checksums only let a bad
download fail early, since other archives of the same files have other hashes.
"""

import functools
import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    RootModel,
    StringConstraints,
    ValidationError,
    model_validator,
)

from maskprior import paths
from maskprior.errors import DATA, UserError

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Url = Annotated[str, StringConstraints(pattern=r"^https?://\S+$")]
RelativePath = Annotated[str, StringConstraints(pattern=r"^(\w[\w.-]*)(/\w[\w.-]*)*$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Checksum(Model):
    """Size in bytes and sha256 of one file; md5 as well where the publisher gives it."""

    size: PositiveInt
    sha256: Sha256
    md5: Md5 | None = None


class Download(Model):
    """One file as its publisher serves it: the primary address first, then mirrors."""

    file: RelativePath
    urls: tuple[Url, ...] = ()
    size: PositiveInt | None = None
    sha256: Sha256 | None = None
    md5: Md5 | None = None
    cut_after: str | None = Field(None, description="the member ends with the last occurrence of this text in the file")


class Source(Model):
    """One way to obtain all members of a data set; an earlier source is tried first.

    plain: every download is a member of the same name (its checksum is the member's). tar, zip: archives that hold the
    members. wikitext-parquet: one parquet file a split, whose rows are the lines. manual: nobody serves it without a
    licence agreement, or with a checksum; `maskprior data import` is the only way.
    """

    format: Literal["plain", "tar", "zip", "wikitext-parquet", "manual"]
    downloads: tuple[Download, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _downloads_can_be_checked(self) -> Self:
        for download in self.downloads:
            if self.format == "manual":
                if download.urls:
                    raise ValueError(f"{download.file}: a manual source has no addresses")
            elif not download.urls:
                raise ValueError(f"{download.file}: needs urls")
            elif self.format != "plain" and download.sha256 is None and download.size is None:
                raise ValueError(
                    f"{download.file}: needs the sha256 of the archive, or its size if no hash is published"
                )
        return self


class Tree(Model):
    """A folder of many files. `digest` is the sha256 of its lines `<sha256>  <path>`, sorted by path; absent where no
    hash is published, in which case only the counts can be checked and the manifest records what was found."""

    files: PositiveInt | None = None
    digest: Sha256 | None = None


class Subset(Model):
    """A named part of another data set: a fixed share of each class of its train split, its other splits untouched."""

    of: Name
    per_class: PositiveInt


class Retokenized(Model):
    """The text of another data set in a byte-pair encoding that is trained on its train split."""

    of: Name
    vocabulary: PositiveInt


class Dataset(Model):
    """One entry of the registry. Every count under `splits` is recomputed from the data when they are prepared."""

    title: str
    citation: str
    licence: str
    homepage: str = ""
    note: str = ""
    kind: Literal[
        "boolean",
        "arithmetic",
        "synthetic",
        "cifar",
        "image-folder",
        "image-parquet",
        "text",
        "stories",
        "bpe",
        "retokenized",
        "sentences",
    ]
    preparation: PositiveInt = Field(description="raise it when the same members are prepared into something else")
    sources: tuple[Source, ...] = ()
    members: dict[RelativePath, Checksum] = {}
    trees: dict[RelativePath, Tree] = {}
    classes: RelativePath | None = Field(None, description="class list, a file in config/datasets")
    subset: Subset | None = None
    retokenized: Retokenized | None = None
    tokenizer: Name | None = Field(None, description="the data set that holds the byte-pair encoding of the text")
    stories: dict[str, PositiveInt] = Field({}, description="how many stories of each split, from the first on")
    generated: Sha256 | None = Field(None, description="of the generated content, where nothing is downloaded")
    splits: dict[str, dict[str, PositiveInt]] = Field(min_length=1)

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the data sets that must be prepared before this one."""
        made_of = (self.subset and self.subset.of, self.retokenized and self.retokenized.of, self.tokenizer)
        return tuple(name for name in made_of if name)


class Registry(RootModel[dict[Name, Dataset]]):
    @model_validator(mode="after")
    def _needed_sets_exist(self) -> Self:
        for name, dataset in self.root.items():
            for needed in dataset.needs:
                if needed not in self.root:
                    raise ValueError(f"{name}: needs {needed}, which is not registered")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.root)

    def __getitem__(self, name: str) -> Dataset:
        try:
            return self.root[name]
        except KeyError:
            known = ", ".join(self.root)
            raise UserError(f"data set {name}: not in config/datasets.yaml; registered: {known}") from None


def registry_file() -> Path:
    return paths.config() / "datasets.yaml"


def class_list_file(dataset: Dataset) -> Path | None:
    return paths.config() / "datasets" / dataset.classes if dataset.classes else None


def class_names(dataset: Dataset) -> list[str]:
    """The class list of an image folder in label order; empty where the data bring their own."""
    path = class_list_file(dataset)
    return path.read_text(encoding="utf-8").split() if path else []


def load() -> Registry:
    try:
        content = registry_file().read_bytes()
    except FileNotFoundError:
        raise UserError(
            f"config/datasets.yaml: not found below {paths.root()}; check out the whole project", DATA
        ) from None
    return _parse(content)


@functools.cache
def _parse(content: bytes) -> Registry:
    try:
        return Registry.model_validate(yaml.safe_load(content))
    except yaml.YAMLError as error:
        raise UserError(f"config/datasets.yaml: not YAML: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UserError(f"config/datasets.yaml: {key}: {first['msg']}") from None


def dataset_version(name: str) -> str:
    """16 hex digits that change if and only if what identifies the prepared content changes.

    sha256 of the canonical JSON of: preparation (kind and number), member checksums, class list, definition of a subset
    or of a new encoding (with the version of the set it is made of) and the hash of generated content; not addresses,
    texts and sizes.
    """
    return _version(load(), name)


def _version(registry: Registry, name: str) -> str:
    dataset, subset, retokenized = registry[name], registry[name].subset, registry[name].retokenized
    class_list = class_list_file(dataset)
    identity = {
        "kind": dataset.kind,
        "preparation": dataset.preparation,
        "members": {path: member.sha256 for path, member in dataset.members.items()},
        "trees": {path: tree.digest for path, tree in dataset.trees.items()},
        "classes": hashlib.sha256(class_list.read_bytes()).hexdigest() if class_list else None,
        "tokenizer": _version(registry, dataset.tokenizer) if dataset.tokenizer else None,
        "stories": dataset.stories,
        "generated": dataset.generated,
        "subset": {"of": _version(registry, subset.of), "per_class": subset.per_class} if subset else None,
        "retokenized": {"of": _version(registry, retokenized.of), "vocabulary": retokenized.vocabulary}
        if retokenized
        else None,
    }
    stated = {key: value for key, value in identity.items() if value}
    canonical = json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
