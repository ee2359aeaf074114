"""The paper's PDF: built with LaTeX, or, where there is none, the one that was built before from the same inputs.

`python -m maskprior.build.pdf build` writes paper/main.pdf; `... publish` puts it into the DVC cache.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from maskprior import paths
from maskprior.build.command import exit_code
from maskprior.build.notebooks import SOURCE_DATE_EPOCH, read_notebooks
from maskprior.errors import DATA, UserError, few
from maskprior.files import write_atomically
from maskprior.runs.store import relative

PACKAGES = "texlive-latex-recommended texlive-science texlive-pictures texlive-fonts-recommended latexmk"
SOURCES = (".tex", ".bib", ".bst", ".cls", ".sty", ".pdf")


def inputs() -> list[str]:
    """The files the PDF is made of, relative to the project: what is written in paper/ and what notebooks put there."""
    paper = paths.root() / "paper"
    output = paper / "main.pdf"
    generated = [file for notebook in read_notebooks().values() for file in notebook.outputs]
    written = [
        relative(path)
        for path in sorted(paper.rglob("*"))
        if path.is_file() and path != output and not path.is_relative_to(paper / "generated")
    ]
    return [file for file in [*written, *generated] if file.startswith("paper/") and file.endswith(SOURCES)]


def sources() -> list[str]:
    """Inputs of the workflow's rule. With LaTeX installed later the set differs, and the PDF is built anew."""
    pointer = _published().with_name("pdf.dvc")
    return inputs() if has_latex() or not pointer.exists() else [*inputs(), relative(pointer)]


def has_latex() -> bool:
    return all(shutil.which(program) for program in ("latexmk", "pdflatex"))


def build() -> str:
    """Write paper/main.pdf and say in one line how."""
    return compile_latex() if has_latex() else restore()


def compile_latex() -> str:
    """latexmk in a clean folder, with a fixed date: equal inputs give equal bytes in any folder."""
    folder = paths.root() / "build" / "paper"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fixed = {"SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH, "FORCE_SOURCE_DATE": "1", "TZ": "UTC", "LC_ALL": "C"}
    command = ["latexmk", "-norc", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "-file-line-error"]
    done = subprocess.run(
        [*command, f"-outdir={folder}", "main.tex"],
        cwd=paths.root() / "paper",
        env=os.environ | fixed,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise UserError(f"{tail}\npaper/main.tex: LaTeX failed (above: the end of its output); it needs {PACKAGES}", 1)
    write_atomically(paths.root() / "paper" / "main.pdf", (folder / "main.pdf").read_bytes())
    return "paper/main.pdf: built with LaTeX from the records"


def restore() -> str:
    """The published PDF in place of a built one. UserError (exit code 3) when there is none."""
    folder = _published()
    install = f"to build it here: apt-get install {PACKAGES}, then make reproduce"
    if not (folder / "main.pdf").exists():
        _dvc("pull", "-q", f"{folder}.dvc")
    if not (folder / "main.pdf").exists():
        raise UserError(f"paper/main.pdf: no LaTeX (latexmk) here and no cached PDF to restore; {install}", DATA)
    built_from, here = json.loads((folder / "inputs.json").read_text()), _hashes()
    write_atomically(paths.root() / "paper" / "main.pdf", (folder / "main.pdf").read_bytes())
    changed = sorted(file for file in built_from.keys() | here.keys() if built_from.get(file) != here.get(file))
    if changed:
        return f"paper/main.pdf: no LaTeX; restored the cached PDF, BUT its inputs differ: {few(changed)}; {install}"
    return f"paper/main.pdf: no LaTeX; restored the PDF that was built from these same inputs; {install}"


def publish() -> str:
    """Put paper/main.pdf and the hashes of its inputs under DVC (results/published/pdf).

    UserError where it would show a record that is not published: nobody else could build it.
    """
    # The workflow imports this module, and has none of what reads records.
    from maskprior.analysis.records import load_target
    from maskprior.config.settings import read_settings
    from maskprior.evidence.dvc import prune

    settings = read_settings()
    shown = [*load_target("all", settings), *load_target("all", settings.model_copy(update={"scale": "paper"}))]
    if local := sorted({entry.run.name for entry in shown if entry.source == "local"}):
        raise UserError(f"paper/main.pdf: shows records that are not published: {few(local)}; publish them first", DATA)
    folder = _published()
    write_atomically(folder / "main.pdf", (paths.root() / "paper" / "main.pdf").read_bytes())
    write_atomically(folder / "inputs.json", (json.dumps(_hashes(), indent=1) + "\n").encode())
    if _dvc("add", "-q", str(folder)) or _dvc("push", "-q", f"{folder}.dvc"):
        raise UserError("results/published/pdf: DVC could not store it (its message is above)", DATA)
    prune()  # the PDF before this one
    return "results/published/pdf.dvc: published; commit it with artifacts/dvc-remote"


def _published() -> Path:
    return paths.results("published") / "pdf"


def _dvc(*words: str) -> int:
    return subprocess.run([sys.executable, "-m", "dvc", *words], cwd=paths.root(), check=False).returncode


def _hashes() -> dict[str, str]:
    return {file: hashlib.sha256((paths.root() / file).read_bytes()).hexdigest() for file in inputs()}


def main() -> int:
    commands = {"build": build, "publish": publish}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        print(f"usage: python -m maskprior.build.pdf {'|'.join(commands)}", file=sys.stderr)
        return 2
    return exit_code(lambda: print(commands[sys.argv[1]]()))


if __name__ == "__main__":
    sys.exit(main())
