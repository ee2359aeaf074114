# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Figure 4: how much training data each task needs
#
# Accuracy on held-out pairs by the share of all pairs that was trained on, with and without the mask: mean over the seeds, bars:
# 95 % t-intervals. 50 epochs a run, at the reduced scale at most 2,000 updates: with much data a network does not see it 50 times
# there, which bounds the accuracy of both methods. What has a record at the paper's scale stands beside the chosen one (diamonds).

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.records import load_beside
from maskprior.report import arithmetic_figures, figures
from maskprior.report.output import write_text

entries = [
    entry for target in ("figure4_addition", "figure4_multiplication") for entry in load_beside(target, settings)
]
frame = arithmetic_figures.fractions_frame(entries)
write_text("figure4.csv", frame.to_csv(index=False))
frame

# %%
figures.use_style()
figures.save(arithmetic_figures.fractions(entries), "figure4")
