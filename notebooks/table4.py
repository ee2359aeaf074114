# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Table 4: is it the pattern, or the mask?
#
# Default beside a learnable mask that starts neutral, the mask with the pattern, and the same mask kept fixed (a column the
# paper does not have for these tasks).

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

rows = boolean_table.boolean_rows("T4", settings, evaluate(settings))
frame = boolean_table.boolean_frame(rows)
frame

# %% [markdown]
# A neutral mask adds the parameters and not the prior: where it behaves like Default, the pattern is what helps. The fixed mask
# says whether training M matters at all.

# %%
latex = boolean_table.boolean_latex(rows) + "\n" + boolean_table.note(rows, settings)
write_text("table4.tex", latex)
write_text("table4.csv", frame.to_csv(index=False))
