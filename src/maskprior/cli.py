"""The command line. Each command is a few lines that call functions elsewhere; those are imported when it runs."""

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from maskprior.datasets.cli import app as data_app
from maskprior.errors import UserError

if TYPE_CHECKING:
    from maskprior.config.settings import Settings
    from maskprior.runs.spec import Run

app = typer.Typer(
    help="Plan, run, show, compare and publish the runs behind the paper's tables and figures.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
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
    device: Annotated[str, typer.Option(help="what the missing runs would run on: cpu, h200, …")] = "cpu",
    workers: Annotated[int, typer.Option(min=1, help="how many such devices")] = 1,
) -> None:
    """List the runs of a target and their records' paths (snakemake file targets), and what the missing ones cost."""
    from maskprior.evidence import cost, plan

    settings, costs = _settings(scale=scale, seeds=seeds, recompute=recompute), cost.read_costs()
    records = plan.planned(target, settings)
    missing = [record.run for record in records if record.source == "missing" or settings.recompute]
    # Before the list, so that a wrong word is told at once.
    found = cost.total(missing, cost.recorded(costs), device=device, workers=workers, costs=costs)
    plan.show(records, only=only, format=format)
    if format == "table":
        typer.echo(cost.text(found, device=device, workers=workers))


@app.command()
def costs(
    device: Annotated[str, typer.Option(help="cpu, h200, …")] = "cpu",
    write: Annotated[bool, typer.Option("--write", help="put the table into docs/costs.md")] = False,
) -> None:
    """How far predicted hours are from measured ones: each target from the records of all other cells."""
    from maskprior.evidence import cost, plan
    from maskprior.runs.spec import targets

    scales = [_settings(scale=scale) for scale in ("reduced", "paper")]
    runs = {target: [run for one in scales for run in plan.target_runs(target, one)] for target in targets()}
    checks = cost.leave_one_target_out(runs, cost.read_costs(), device)
    if write:
        cost.write_page(checks)
    typer.echo(cost.markdown(checks))


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
    from maskprior.evidence.progress import training_progress
    from maskprior.runs import environment
    from maskprior.runs.lock import only_process
    from maskprior.runs.spec import make_run
    from maskprior.runs.store import record_path, relative

    settings = _settings(scale=scale, device=device)
    chosen = make_run(experiment, task, method, scale=settings.scale, seed=seed)
    path = record_path(chosen, "local")

    def wanted() -> bool:
        if path.exists() and not recompute:
            typer.echo(f"{chosen.name} is there already; --recompute trains it again", err=True)
            return False
        return True

    def waiting() -> None:
        typer.echo(f"{chosen.name} is trained by another process; waiting", err=True)

    if wanted():
        environment.pin()
        chosen_device = environment.choose_device(settings.device)
        from maskprior.experiments.run import execute

        # Two processes that train the same run would write the same checkpoint. After a wait the record is there.
        with only_process(chosen, waiting):
            if wanted():
                typer.echo(f"{chosen.name} at scale {chosen.scale} on {chosen_device}", err=True)
                with training_progress(chosen.name) as progress:
                    path = execute(chosen, device=chosen_device, progress=progress)
    typer.echo(relative(path))


@app.command()
def campaign(
    names: Annotated[list[str], typer.Argument(help="targets, runs' names, or files with one of them a line")],
    scale: Scale = None,
    seeds: Seeds = None,
    device: Device = None,
    jobs: Annotated[int, typer.Option(min=1, help="train so many runs at once")] = 1,
    publish: Annotated[bool, typer.Option("--publish", help="publish each round when it is through")] = False,
) -> None:
    """Train what has no record, seed by seed, at idle priority; the same command goes on after an interruption."""
    from maskprior.evidence import campaign
    from maskprior.evidence import publish as publication

    settings = _settings(scale=scale, seeds=seeds, device=device)
    campaign.step_back()

    def hand_over(runs: "list[Run]") -> None:
        publication.publish(runs, replace=False, dvc=True, smoke=scale == "smoke")

    if not campaign.run_campaign(names, settings, jobs=jobs, publish=hand_over if publish else None):
        raise typer.Exit(1)


@app.command("dry-run")
def dry_run(
    experiment: Annotated[str, typer.Argument(help="vision, …")],
    task: Annotated[str, typer.Argument(help="cifar10, …")],
    method: Annotated[str, typer.Argument(help="mask, …; with a variant: default+position18")],
    scale: Annotated[str, typer.Option(help="smoke, reduced or paper")] = "paper",
    seed: int = 0,
    memory: Annotated[int, typer.Option(min=1, help="MiB that one part's activations may take")] = 1024,
) -> None:
    """Build a run exactly and do one real update on the CPU, in parts that fit the memory; nothing is written."""
    from maskprior.runs import environment
    from maskprior.runs.spec import make_run

    chosen = make_run(experiment, task, method, scale=_settings(scale=scale).scale, seed=seed)
    environment.pin()
    from maskprior.experiments import dry_run

    typer.echo(dry_run.text(dry_run.rehearse(chosen, memory_mib=memory)))


@app.command()
def show(
    record: Annotated[str, typer.Argument(help="a record's path, or a run's name (boolean/2parity/mask/seed0)")],
    scale: Scale = None,
) -> None:
    """Show a record: its numbers beside the published ones, where it ran, what it is made of."""
    from maskprior.analysis.published import read_reported
    from maskprior.evidence import summary

    path = summary.find(record, _settings(scale=scale))
    summary.show(path, [(row.experiment, row.task, row.method, row.metric, row.digits) for row in read_reported()])


@app.command()
def compare(
    words: Annotated[list[str], typer.Argument(help="a target, a run's name, or EXPERIMENT TASK METHOD (with --seed)")],
    seed: int = 0,
    scale: Scale = None,
    seeds: Seeds = None,
) -> None:
    """Compare local records with the published ones; exit code 4 if one is outside the tolerance."""
    from maskprior.evidence.compare import compare_all

    target = f"{'/'.join(words)}/seed{seed}" if len(words) == 3 else "/".join(words)
    compare_all(_runs(target, scale=scale, seeds=seeds))


@app.command()
def verify(target: Target = "all", scale: Scale = None, seeds: Seeds = None) -> None:
    """Check published records against their manifests (`all`: of every scale); exit code 3 if one is not intact."""
    from maskprior.evidence.verify import verify_all

    verify_all(target, _runs(target, scale=scale, seeds=seeds))


@app.command()
def restore() -> None:
    """Bring back published results that are missing or changed; exit code 3 names what could not be restored."""
    from maskprior.evidence.restore import restore

    restore()


@app.command()
def publish(
    target: Target = "all",
    scale: Scale = None,
    seeds: Seeds = None,
    replace: Annotated[bool, typer.Option("--replace", help="also where there is a published record")] = False,
    dvc: Annotated[bool, typer.Option(help="track and push them with DVC")] = True,
) -> None:
    """Copy intact local records to results/published and hand them to DVC."""
    from maskprior.evidence.publish import publish

    publish(_runs(target, scale=scale, seeds=seeds), replace=replace, dvc=dvc, smoke=scale == "smoke")


@app.command()
def rekey(
    experiment: Annotated[str | None, typer.Option(help="boolean, … [default: all]")] = None,
    scale: Scale = None,
    device: Device = None,
    against: Annotated[str, typer.Option(help="compare with the code of this commit, trained here")] = "",
    jobs: Annotated[int, typer.Option(min=1, help="replay so many records at once")] = 1,
    dvc: Annotated[bool, typer.Option(help="track and push the published ones with DVC")] = True,
) -> None:
    """Re-stamp records whose code moved while golden records and first losses stayed, bit for bit."""
    from maskprior.evidence.rekey import rekey
    from maskprior.runs import environment

    settings = _settings(scale=scale, device=device)
    environment.pin()
    from maskprior.experiments.run import execute, replay_losses

    for name in _experiments(experiment):
        rekey(name, settings, replay=replay_losses, execute=execute, against=against, jobs=jobs, dvc=dvc)


@app.command()
def golden(
    experiment: Annotated[str | None, typer.Option(help="boolean, … [default: all]")] = None,
    write: Annotated[bool, typer.Option("--write", help="make the current numbers the expected ones")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="train so many at once")] = 1,
) -> None:
    """Check the golden smoke records in tests/golden against the current code; exit code 4 if a number moved."""
    from maskprior.evidence.golden import check, write_golden
    from maskprior.runs import environment

    environment.pin()
    from maskprior.experiments.run import execute

    for name in _experiments(experiment):
        (write_golden if write else check)(name, execute, jobs=jobs)


@app.command()
def claims(
    claim: Annotated[str | None, typer.Argument(help="one claim: its whole chain [default: the counts]")] = None,
    all: Annotated[bool, typer.Option("--all", help="every claim, not only the counts")] = False,
    scale: Scale = None,
    seeds: Seeds = None,
) -> None:
    """What the records say of the published numbers and statements."""
    from maskprior.analysis.claims import evaluate
    from maskprior.report import claims_table

    judgements = evaluate(_settings(scale=scale, seeds=seeds))
    if claim:
        chosen = [found for found in judgements if found.claim.id == claim]
        if not chosen:
            near = get_close_matches(claim, [found.claim.id for found in judgements], n=1, cutoff=0)
            raise UserError(
                f"claim: {claim!r} unknown (did you mean {near[0]}? `maskprior claims --all` lists them all)"
            )
        typer.echo(claims_table.chain_text(chosen))
        return
    for found in judgements if all else ():
        typer.echo(f"{found.claim.id} ({found.scale}): {claims_table.outcome_words(found)}: {found.detail}")
    typer.echo(claims_table.matrix_text(judgements))


def _runs(target: str, **given: Any) -> "list[Run]":
    """The runs of a target at the scale and with the seeds of config/config.yaml or the given ones."""
    from maskprior.evidence.plan import target_runs

    return target_runs(target, _settings(**given))


def _experiments(chosen: str | None) -> list[str]:
    """The chosen experiment, or all of them."""
    from maskprior.config.messages import unknown
    from maskprior.runs.spec import built_experiments

    if chosen and chosen not in built_experiments():
        raise UserError(f"--experiment: {unknown(chosen, built_experiments())}")
    return [chosen] if chosen else built_experiments()


def _settings(**given: Any) -> "Settings":
    """config/config.yaml with the given options on top."""
    from maskprior.config.settings import read_settings

    return read_settings({key: value for key, value in given.items() if value is not None})
