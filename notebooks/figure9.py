# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Figure 9: the impulse patterns
#
# Each head lets a patch see one place of its 3x3 neighbourhood, here on a grid of 4x4 patches. Nothing wraps around: a patch whose place lies
# outside the image sees nothing there, and its row is neutral.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.report import figures, vision_figures
from maskprior.runs.spec import make_run, resolve

figures.use_style()
config = resolve(make_run("vision", "cifar10", "mask", scale=scale))
figures.save(vision_figures.impulse_patterns(config.pattern, config.model.heads), "figure9")

# %% [markdown]
# Titles are offsets (rows down, columns right). Heads are named where the configuration gives them the offset: the paper does not
# say which offsets its three heads have; the order is that of the public code it builds on, and `pattern: raster` is the other one.
