# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Figures 5 and 6: attention before and after training, and the masks it starts from
#
# Figure 5 shows the first head of the first layer, as the paper does, for the first seed. The persistence notebook has all
# layers, heads and seeds.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.records import load_beside
from maskprior.report import figures
from maskprior.runs.spec import task_names

figures.use_style()
BOOLEAN = task_names("boolean")
entries = load_beside("table1", settings)
methods = ("structured_svd", "structured_opt", "mask")
figures.save(figures.attention_before_after(entries, ("2parity", "majority3"), methods), "figure5")

# %% [markdown]
# *Before* says what the initialisation wrote into the attention map, *after* what training left of it. Compare each *before*
# with the pattern first: what is not there at the start cannot be washed out.

# %%
figures.save(figures.initial_masks(BOOLEAN, scale), "figure6")

# %% [markdown]
# The same for arithmetic, at the paper's scale where Table 2 has records there. Tokens are the digits of the two numbers.

# %%
from maskprior.analysis.records import load_shown
from maskprior.report.arithmetic_figures import TASKS as ARITHMETIC

shown = load_shown("table2", settings)
figures.save(figures.attention_before_after(shown, ARITHMETIC, methods), "figure5_arithmetic")
figures.save(figures.initial_masks(ARITHMETIC, shown[0].run.scale), "figure6_arithmetic")
