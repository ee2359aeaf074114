# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Figure 10: what training makes of the masks
#
# The learned bias log σ(M) on CIFAR-10 for the first seed, and the mean of M over open and closed entries at the end of training, for all
# seeds, beside what weight decay alone leaves of it.

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
entries = load_target("table3", settings)
figures.save(vision_figures.learned_masks(entries, "cifar10", scale), "figure10")

# %% [markdown]
# timm decays M as it decays every parameter with more than one dimension. Under the paper's schedule decay alone takes M from ±10 to about
# ±2, so a mask that has become softer has not thereby adapted to the images: only the distance to the bars *decay alone* is what
# the loss did.
