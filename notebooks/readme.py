# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # The results table of README.md
#
# Written to paper/generated/results.md; it replaces the table in README.md only when all of it comes from published records at the
# default scale, so that what stands there is evidence.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.claims import evaluate
from maskprior.report import readme
from maskprior.report.output import write_text

text = readme.results(settings, evaluate(settings))
write_text("results.md", text)
print(text)

# %%
print(readme.update(text, settings))
