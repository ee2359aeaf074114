rule paper:
    input:
        "paper/main.pdf",


rule build_pdf:
    input:
        pdf.sources(),
    output:
        "paper/main.pdf",
    log:
        "results/logs/paper.log",
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "build paper/main.pdf"
    shell:
        "PYTHONPATH=src python -m maskprior.build.pdf build 2>&1 | tee {log}"
