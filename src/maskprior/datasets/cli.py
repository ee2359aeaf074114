"""`maskprior data …`: the data sets of the registry on this machine."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="List, fetch, verify, import and prepare the data sets of config/datasets.yaml.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(help="a name from `maskprior data list`")]


@app.command("list")
def list_() -> None:
    """Every data set with its state here: prepared, raw (fetched or imported, not prepared) or absent."""
    from maskprior.datasets import acquire, manifest, registry
    from maskprior.errors import UserError

    for name in registry.load().names:
        dataset = registry.load()[name]
        try:
            manifest.read(name)
            state = "prepared"
        except UserError:
            state = "raw" if acquire.raw_folder(name).is_dir() else "absent"
        typer.echo(f"{name:<26} {state:<9} {dataset.title} [{dataset.licence}]")


@app.command()
def fetch(name: Name) -> None:
    """Download the publisher's files into data/raw/NAME, going on where an earlier call ended, and check them."""
    from maskprior.datasets import acquire, registry
    from maskprior.datasets.progress import bars

    dataset = registry.load()[name]
    if dataset.generated:
        typer.echo(f"{name}: generated where it is used, nothing to fetch")
        return
    with bars() as watch:
        folder = acquire.fetch(name, watch=watch)
    for fetched in (*dataset.needs, *([name] if dataset.sources else [])):
        typer.echo(f"{fetched}: {_shown(folder.with_name(fetched))} complete, all checksums as registered")


@app.command("import")
def import_(
    name: Name,
    path: Annotated[Path, typer.Argument(help="the archive, or the folder it was extracted to")],
    link: Annotated[bool, typer.Option(help="link to the files of a folder instead of copying them")] = False,
) -> None:
    """Take a data set from an archive or folder that is already here and check its members."""
    from maskprior.datasets import acquire

    typer.echo(f"{name}: {_shown(acquire.import_(name, path, link=link))} complete, all checksums as registered")


@app.command()
def prepare(name: Name) -> None:
    """Make data/NAME from the publisher's files (fetched if need be), count everything, write the manifest."""
    from maskprior.datasets import prepare as preparation
    from maskprior.datasets.progress import bars

    with bars() as watch:
        made = preparation.prepare(name, watch=watch)
    typer.echo(f"{name}: data/{name} prepared, version {made.version}, content {made.content[:16]}")


@app.command()
def verify(name: Name) -> None:
    """Hash the publisher's and the prepared files of NAME again, or generate its content again."""
    from maskprior.datasets import verify as verification

    for line in verification.verify(name):
        typer.echo(f"{name}: {line}")


@app.command()
def path(name: Name) -> None:
    """Print the folder of the prepared data set; exit code 3 if it is not there."""
    from maskprior.datasets import manifest

    manifest.read(name)
    typer.echo(manifest.prepared_folder(name))


def _shown(folder: Path) -> str:
    from maskprior import paths

    return folder.relative_to(paths.root()).as_posix()
