# The page that a reader opens first: one file with the answer, every claim and its evidence.
rule page:
    input:
        records=all_records(settings),
        figures=[file for _, file in pictures()],
        sources=page_sources(),
    output:
        "build/index.html",
    log:
        "results/logs/page.log",
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        scale=settings.scale,
        seeds=settings.seeds,
        recompute="--recompute" if settings.recompute else "",
    message:
        "write build/index.html"
    shell:
        "PYTHONPATH=src python -m maskprior.build.page {output} --scale {params.scale} --seeds {params.seeds}"
        " {params.recompute} > {log} 2>&1"
