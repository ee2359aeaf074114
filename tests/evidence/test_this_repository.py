"""The evidence in this repository: pointers, manifests and the remote say the same."""

import hashlib

from maskprior.evidence.dvc import left_over, object_of, pointers, remote_in_project
from maskprior.runs.manifest import read_manifest


def test_the_published_remote_holds_the_files_of_the_manifests_and_nothing_else() -> None:
    remote = remote_in_project()
    assert remote is not None
    assert left_over(remote) == []
    counted = 0
    for file in pointers():
        md5, folder = object_of(file), file.with_suffix("")
        assert remote.intact(md5)
        if folder.name == "pdf":
            continue
        listing, stated = remote.listing(md5), read_manifest(folder)
        assert listing.keys() == stated.keys()
        for name, below in listing.items():
            assert hashlib.sha256(remote.path(below).read_bytes()).hexdigest() == stated[name], name
            counted += 1
    assert counted > 1000
