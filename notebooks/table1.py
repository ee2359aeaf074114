# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Table 1: Boolean extrapolation
#
# The four Boolean tasks under Default, the two query-key initialisations and the mask: what the paper prints, what we
# measured (mean and 95 % t-interval over the seeds), and what they say of each published number.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.claims import evaluate
from maskprior.report import boolean_table
from maskprior.report.output import generated, write_text

rows = boolean_table.boolean_rows("T1", settings, evaluate(settings))
frame = boolean_table.boolean_frame(rows)
frame

# %% [markdown]
# How to read it. A loss is over the whole cube, seen and unseen. *Best* is the lowest loss during training: where it is far
# below the final one, the network extrapolated and lost it again. *Prior at start* is the alignment of the attention map
# with the pattern before training (1: the pattern, 0: no trace of it), and the mass its query-key weights put on open
# entries when they see positions alone: a prior that is in the weights and not in the map is drowned by content. A method
# that starts without its prior cannot be said to have lost it. *Exact interpolator* is the minimum-degree polynomial that
# fits the seen part. The controls under the table are methods with the position embedding scaled as the code of
# Structured (SVD) scales it.

# %%
latex = boolean_table.boolean_latex(rows) + "\n" + boolean_table.note(rows, settings)
write_text("table1.tex", latex)
write_text("table1.csv", frame.to_csv(index=False))
