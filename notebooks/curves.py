# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Learning curves: what the network says on unseen inputs
#
# Above, the mean prediction on the unseen part, between the target's mean and that of the minimum-degree interpolator; below, the
# test loss. Mean over the seeds, band: 95 % interval.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.records import load_target
from maskprior.report import figures
from maskprior.runs.spec import task_names

figures.use_style()
BOOLEAN = task_names("boolean")
entries = load_target("table1", settings) + load_target("table4", settings)
entries = list({entry.run: entry for entry in entries}.values())
methods = ("default", "default+position18", "structured_svd", "structured_opt", "mask", "mask_zero", "mask_fixed")
figures.save(figures.learning_curves(entries, BOOLEAN, methods), "curves")

# %% [markdown]
# For Majority3 target and interpolator have the same mean on the unseen part: only the loss tells them apart.
