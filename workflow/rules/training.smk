# One job per run. Whether a run is done is whether the file named after its fingerprint exists: published records are
# plain inputs of other rules, and only what is not published is trained here.
# Every job says where the package lies, since Snakemake takes PYTHONPATH away in conda environments.


rule train:
    input:
        ancient(training_data),
    output:
        record="results/local/{scale}/{experiment}/{task}/{method}/seed{seed}-{fingerprint}.json",
        arrays="results/local/{scale}/{experiment}/{task}/{method}/seed{seed}-{fingerprint}.safetensors",
    log:
        "results/logs/{scale}/{experiment}/{task}/{method}/seed{seed}-{fingerprint}.log",
    wildcard_constraints:
        scale="[^/]+",
        experiment="[^/]+",
        task="[^/]+",
        method="[^/]+",
        seed="[0-9]+",
        fingerprint="[0-9a-f]{8}",
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        gpu=gpus(settings),
        mem_mb=2000,
        runtime=180,
    params:
        device=settings.device,
    message:
        "train {wildcards.experiment}/{wildcards.task}/{wildcards.method}/seed{wildcards.seed} at scale {wildcards.scale}"
    shell:
        "PYTHONPATH=src python -m maskprior run {wildcards.experiment} {wildcards.task} {wildcards.method}"
        " --seed {wildcards.seed} --scale {wildcards.scale} --device {params.device} > {log} 2>&1"
