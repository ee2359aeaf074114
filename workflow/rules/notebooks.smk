# One rule per entry of config/notebooks.yaml, and one target per table, figure and statement.
# The executed notebook is a log: it stays, with its traceback, when a cell fails.
REPORTED = {".csv": "Tables", ".png": "Figures"}

for name, notebook in read_notebooks().items():

    rule:
        name:
            f"notebook_{name}"
        input:
            source=f"notebooks/{name}.py",
            sources=notebook_sources(name),
            records=notebook_records(notebook, settings),
            read=files_read(notebook),
        output:
            [report(f, category=REPORTED[f[-4:]]) if f[-4:] in REPORTED else f for f in notebook.outputs],
        log:
            notebook=f"results/logs/notebooks/{name}.ipynb",
            messages=f"results/logs/notebooks/{name}.log",
        conda:
            "../../envs/report.yaml"
        threads: 1
        resources:
            mem_mb=1500,
            runtime=10,
        params:
            name=name,
            scale=settings.scale,
            seeds=settings.seeds,
            recompute="--recompute" if settings.recompute else "",
        message:
            f"execute notebooks/{name}.py"
        shell:
            "PYTHONPATH=src python -m maskprior.build.notebooks {params.name} --executed {log.notebook} --scale {params.scale}"
            " --seeds {params.seeds} {params.recompute} > {log.messages} 2>&1"


for target in target_names():

    rule:
        name:
            target
        input:
            target_files(target, settings),
