# One job per data set: its DVC stage, on this machine, one at a time (a lock makes a second one wait).
# A data set that is here is never prepared again for its age: the jobs that read it check its version.


rule dataset:
    output:
        "data/{dataset}/MANIFEST.json",
    log:
        "results/logs/datasets/{dataset}.log",
    wildcard_constraints:
        dataset="[a-z0-9-]+",
    localrule: True
    conda:
        "../../envs/datasets.yaml"
    threads: 1
    message:
        "prepare data/{wildcards.dataset}"
    shell:
        "PYTHONPATH=src python -m maskprior.datasets.reproduce {wildcards.dataset} > {log} 2>&1"
