# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Figure 2: the patterns
#
# Which token may attend to which, per task. Reconstructed from the paper's text: its figure was not available as data.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.report import figures
from maskprior.runs.spec import task_names

figures.use_style()
BOOLEAN = task_names("boolean")
figures.save(figures.patterns(BOOLEAN, scale), "figure2")

# %% [markdown]
# 2Parity lets the first two tokens see each other and nothing else; Cyclic3 is local; Majority3 keeps every token to itself;
# ThreeSym gives each head one pair. Every row has an open entry: a row that is all closed is neutral under softmax.
