"""A project with many published records, all made of one: `records.py COUNT results-of-a-clone results-to-write`."""

import json
import os
import sys
from pathlib import Path

from maskprior.runs.manifest import state_folder


def main(count: int, source: Path, target: Path) -> None:
    found = sorted((source / "published" / "reduced" / "boolean" / "2parity" / "mask").glob("seed0-*.json"))
    one = json.loads(found[0].read_text())
    arrays = found[0].with_suffix(".safetensors")
    identity = found[0].stem.split("-")[1]
    folder = target / "published" / "reduced" / "boolean"
    cell = folder / "2parity" / "mask"
    cell.mkdir(parents=True)
    first = cell / f"seed0-{identity}.safetensors"
    first.write_bytes(arrays.read_bytes())
    for seed in range(count):
        record = cell / f"seed{seed}-{identity}.json"
        record.write_text(json.dumps(one | {"run": one["run"] | {"seed": seed}}))
        if seed:
            # One file under many names: the disk is not what is measured.
            os.link(first, record.with_suffix(".safetensors"))
    state_folder(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
