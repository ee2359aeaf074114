# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Table 2: three-digit addition and multiplication
#
# All methods on both tasks: what the paper prints, what we measured (mean and 95 % t-interval over the seeds), the difference to
# Default paired by seed, and what they say of each published number. A cell stands there at the chosen scale and, where it has
# records, at the paper's, which is affordable here.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis import rows
from maskprior.analysis.claims import evaluate
from maskprior.analysis.records import load_shown
from maskprior.report import arithmetic_figures, arithmetic_table, figures, persistence_table
from maskprior.report.output import write_text

table = arithmetic_table.arithmetic_rows(settings, evaluate(settings))
frame = arithmetic_table.arithmetic_frame(table)
note = rf"\tablenote{{Records: {rows.total_sources(table)}.}}"
write_text("table2.tex", arithmetic_table.arithmetic_latex(table) + "\n" + note)
write_text("table2.csv", frame.to_csv(index=False))
frame

# %% [markdown]
# The loss is the cross-entropy per digit, on pairs that were not trained on: all of them at the paper's scale, a fixed sample of
# them at the reduced one. *In map* is the alignment of the attention map with the pattern before training (1: the pattern,
# 0: no trace of it).
#
# ## Where the errors are
#
# An addition without a carry can be solved digit by digit; each carry ties a digit to its neighbour. Output digits are named by
# their power of ten. The following are at the paper's scale where Table 2 has records there, else at the chosen one.

# %%
figures.use_style()
shown = load_shown("table2", settings)
methods = ("default", "structured_svd", "structured_opt", "mask", "mask_zero", "mask_fixed")
figures.save(arithmetic_figures.errors(shown, methods), "arithmetic_errors")
errors = arithmetic_figures.errors_frame(shown)
write_text("arithmetic_errors.csv", errors.to_csv(index=False))
errors

# %% [markdown]
# ## What became of the prior
#
# The three levels of the persistence notebook. The function F(t) is the share of held-out pairs with all digits right.

# %%
figures.save(figures.three_levels(shown, arithmetic_figures.TASKS, methods), "arithmetic_persistence")
named = [*methods[1:], "default+position18"]
found = persistence_table.persisted_cells(shown, arithmetic_figures.TASKS, named)
persisted = persistence_table.persistence_frame(found)
write_text("arithmetic_persistence.tex", persistence_table.persistence_latex(found))
write_text("arithmetic_persistence.csv", persisted.to_csv(index=False))
persisted
