# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Figures 11 to 13: attention maps of the first test image
#
# After training, for CIFAR-10, CIFAR-100 and ImageNet-100: a row a method, first seed. Token 1 is the class token.

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
for number, task in zip((11, 12, 13), vision_figures.TASKS):
    figures.save(vision_figures.attention_maps(entries, task, scale), f"figure{number}")

# %% [markdown]
# A diagonal is the head's offset: the first head's goes through the patches themselves. Where rows of Mimetic show it as well, it is not the
# pattern that was written there: a patch attends to patches like itself.
