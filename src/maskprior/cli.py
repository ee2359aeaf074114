"""The command line. Each command is a few lines that call functions elsewhere; those are imported when it runs."""

import importlib.util
import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from maskprior.errors import UserError

if TYPE_CHECKING:
    from maskprior.config.settings import Settings

app = typer.Typer(
    help="Plan, run, show, compare and publish the runs behind the paper's tables and figures.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
if importlib.util.find_spec("maskprior.datasets.cli"):
    from maskprior.datasets.cli import app as data_app

    app.add_typer(data_app, name="data")

Target = Annotated[str, typer.Argument(help="table1, …, all, or a run's name (boolean/2parity/mask/seed0)")]
Scale = Annotated[str | None, typer.Option(help="smoke, reduced or paper [default: config/config.yaml]")]
Seeds = Annotated[int | None, typer.Option(help="runs of every cell [default: config/config.yaml]")]
Device = Annotated[str | None, typer.Option(help="auto, cpu or cuda [default: config/config.yaml]")]


def main() -> NoReturn:
    """Run the command line; an error meant for people is one line on stderr and its exit code."""
    try:
        app()
    except UserError as error:
        print(f"maskprior: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    sys.exit(0)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"maskprior {version('maskprior')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    pass


@app.command()
def plan(
    target: Target = "all",
    scale: Scale = None,
    seeds: Seeds = None,
    recompute: Annotated[bool | None, typer.Option(help="ignore the published records")] = None,
    only: Annotated[str | None, typer.Option(help="list only the published, local or missing ones")] = None,
    format: Annotated[str, typer.Option(help="table, tsv or paths")] = "table",
) -> None:
    """List the runs of a target: published, local or missing, and the record's path (a snakemake file target)."""
    from maskprior.runs import plan

    settings = _settings(scale=scale, seeds=seeds, recompute=recompute)
    plan.show(plan.planned(target, settings), only=only, format=format)


@app.command()
def run(
    experiment: Annotated[str, typer.Argument(help="boolean, …")],
    task: Annotated[str, typer.Argument(help="2parity, …")],
    method: Annotated[str, typer.Argument(help="mask, …; with a variant: default+position18")],
    seed: int = 0,
    scale: Scale = None,
    device: Device = None,
    recompute: Annotated[bool, typer.Option("--recompute", help="train again if the local record is there")] = False,
) -> None:
    """Train one run. Its record's path is the last line of the output."""
    from maskprior.runs import environment
    from maskprior.runs.progress import training_progress
    from maskprior.runs.spec import make_run
    from maskprior.runs.store import record_path, relative

    settings = _settings(scale=scale, device=device)
    chosen = make_run(experiment, task, method, scale=settings.scale, seed=seed)
    path = record_path(chosen, "local")
    if path.exists() and not recompute:
        typer.echo(f"{chosen.name} is there already; --recompute trains it again", err=True)
    else:
        environment.pin()
        chosen_device = environment.choose_device(settings.device)
        from maskprior.experiments.run import execute

        typer.echo(f"{chosen.name} at scale {chosen.scale} on {chosen_device}", err=True)
        with training_progress(chosen.name) as progress:
            path = execute(chosen, device=chosen_device, progress=progress)
    typer.echo(relative(path))


def _settings(**given: Any) -> "Settings":
    """config/config.yaml with the given options on top."""
    from maskprior.config.settings import read_settings

    return read_settings({key: value for key, value in given.items() if value is not None})
