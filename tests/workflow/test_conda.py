"""`snakemake --use-conda` with the unmodified envs/*.yaml, through a stand-in conda (see standin_conda.py)."""

import hashlib
import os
import platform
import sys
from pathlib import Path

import pytest
import standin_conda
import yaml
from project import HERE, Project, write_yaml

pytestmark = pytest.mark.workflow
ENVIRONMENTS = sorted(path.stem for path in (HERE / "envs").glob("*.yaml"))


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11) or (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="the local channel is made of the running Python, and envs/*.yaml ask for 3.11 on linux-64",
)
def test_everything_is_made_in_conda_environments(clone: Project, tmp_path: Path) -> None:
    shorten(clone)
    programs = standin_conda.install(tmp_path / "conda")
    told = clone.snakemake(
        "--use-conda", "--config", "recompute=true", PATH=os.pathsep.join([str(programs), os.environ["PATH"]])
    )
    assert told.count("Environment for") == 2
    assert {path.parent.name for path in clone.records("local")} == {"default", "mask"}
    assert (clone.folder / "paper" / "generated" / "where.txt").read_text().startswith(".snakemake/conda/")
    clone.maskprior("compare", "table1")


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_files_are_thin_and_follow_their_lock(name: str) -> None:
    text, lock = (HERE / "envs" / f"{name}.yaml").read_text(), HERE / "requirements" / f"{name}.txt"
    assert yaml.safe_load(text) == {
        "channels": ["conda-forge"],
        "dependencies": ["python=3.11", "pip", {"pip": [f"-r ../../requirements/{name}.txt"]}],
    }
    # Snakemake makes a new environment when the file changes: so it must change with the lock.
    assert hashlib.sha256(lock.read_bytes()).hexdigest() in text


def shorten(project: Project) -> None:
    """Two cells, one notebook, which says where its interpreter lies, and a paper of one line."""
    for file in (project.folder / "config" / "experiments").glob("*.yaml"):
        targets = yaml.safe_load(file.read_text())["targets"]
        cells = {"tasks": ["2parity"], "methods": ["default", "mask"]}
        write_yaml(file, targets=dict.fromkeys(targets, cells) if file.stem == "boolean" else {})
    (project.folder / "notebooks" / "where.py").write_text(
        "# %%\nimport os, sys\nfrom pathlib import Path\nimport seaborn\n"
        "Path('paper/generated/where.txt').write_text(os.path.relpath(sys.prefix))\n"
    )
    (project.folder / "config" / "notebooks.yaml").write_text(
        "where: {targets: [where], records: [all], outputs: [paper/generated/where.txt]}\n"
    )
    (project.folder / "paper" / "main.tex").write_text(
        r"\documentclass{article}\pdftrailerid{}\begin{document}\LaTeX\end{document}"
    )
