# snakemake --cores all                           everything: trains what is missing, ends with paper/main.pdf
# snakemake --cores all table1                    one table
# snakemake --cores all --config scale=smoke      at another scale (config/config.yaml lists what can be set)
# snakemake --cores all --use-conda               in conda environments made from envs/*.yaml
import os
import sys
from pathlib import Path

PROJECT = Path(workflow.basedir)
sys.path.insert(0, str(PROJECT / "src"))

from snakemake_interface_executor_plugins.settings import DeploymentMethod

from maskprior.build import pdf
from maskprior.build.notebooks import read_notebooks
from maskprior.build.versions import warn_of_differences
from maskprior.build.workflow import (
    all_records,
    check_costs,
    files_read,
    gpus,
    notebook_records,
    notebook_sources,
    page_sources,
    pictures,
    read_settings,
    results_sources,
    target_files,
    target_names,
    training_data,
)

# Jobs use the interpreter that runs this workflow; a conda environment goes before it.
os.environ.update(PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]))
settings = read_settings(config)


# A limit on cards holds for this machine; jobs sent to a cluster are counted there.
resource_scopes:
    gpu="local",


include: "workflow/rules/datasets.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/notebooks.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/results.smk"
include: "workflow/rules/page.smk"


rule all:
    default_target: True
    input:
        "paper/main.pdf",
        "build/results.csv.gz",
        "build/index.html",
        [target_files(target, settings) for target in target_names()],


onstart:
    # Not in the jobs, which start Snakemake again without this: the hours of all of them are looked at once.
    check_costs(
        [job.wildcards_dict for job in workflow.dag.needrun_jobs() if job.rule.name == "train"], config, settings
    )
    if DeploymentMethod.CONDA not in workflow.deployment_settings.deployment_method:
        warn_of_differences(PROJECT / "requirements")
