# Every number of every record in one file, for people who compute with them themselves.
rule results:
    input:
        records=all_records(settings),
        sources=results_sources(),
    output:
        "build/results.csv.gz",
    log:
        "results/logs/results.log",
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        scale=settings.scale,
        seeds=settings.seeds,
        recompute="--recompute" if settings.recompute else "",
    message:
        "write build/results.csv.gz"
    shell:
        "PYTHONPATH=src python -m maskprior.build.results {output} --scale {params.scale}"
        " --seeds {params.seeds} {params.recompute} > {log} 2>&1"
