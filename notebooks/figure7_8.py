# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Figures 7 and 8: how the language models learn, and what becomes of the distance prior

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.records import load_target
from maskprior.report import figures, language_figures

figures.use_style()
entries = load_target("table6", settings)
methods = ("default", "mimetic", "mask", "mask+alibi")
figures.save(language_figures.curves(entries, methods), "figure7")

# %% [markdown]
# Above, the perplexity on a fixed sample of the validation text; below, the loss on the same sample minus that of Default with the same seed:
# methods are as close as that, and the pairing takes away what all methods of a seed share.

# %%
figures.save(language_figures.profiles(entries, methods), "figure8")

# %% [markdown]
# The bias of the attention is log σ(10 M), so a step of 1 in M between two distances is up to 10 nats: the paper's mask starts as attention of a
# token to itself and to nothing else. Dotted: M before training. *Learned change*: M after training minus M as weight decay alone would have
# left it, which shrinks an M by a factor that is the same at all distances. Thin: the mask's layers.

# %%
figures.save(language_figures.mask_changes(entries), "figure8_masks")
