# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Figure 14: learning curves, and the prior in the attention map
#
# Top-1 and loss on test images after each epoch, and how well the attention maps align with the impulse pattern (1: the pattern,
# 0: no trace of it). Means over the seeds, bands 95 % intervals.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.records import load_target
from maskprior.report import figures, vision_figures

figures.use_style()
entries = load_target("table3", settings) + load_target("table5", settings)
entries = list({entry.run: entry for entry in entries}.values())
figures.save(vision_figures.vision_curves(entries), "figure14")

# %% [markdown]
# The alignment is measured for Default and Mimetic too, which were given no such pattern: what they reach is learned, or chance.
