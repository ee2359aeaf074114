# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Persistence at three levels
#
# A prior can last in the parameter (the mask, or the query-key logits), in the attention map, and in the function, and the three can
# part ways. Alignment c(t) is the cosine with the pattern, mean over layers and heads; F(t) is 1 when all unseen inputs are
# answered exactly and 0 when they are answered no better than by the minimum-degree interpolator.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.records import load_beside
from maskprior.report import figures, persistence_table
from maskprior.report.output import write_text
from maskprior.runs.spec import task_names

figures.use_style()
BOOLEAN = task_names("boolean")
planned = [entry for target in ("table1", "table4", "interventions") for entry in load_beside(target, settings)]
entries = list({entry.run: entry for entry in planned if entry.run.task in BOOLEAN}.values())
methods = (
    "default",
    "structured_svd",
    "structured_opt",
    "structured_opt+position18",
    "mask",
    "mask_zero",
    "mask_fixed",
)
figures.save(figures.three_levels(entries, BOOLEAN, methods), "persistence")

# %%
found = persistence_table.persisted_cells(entries, BOOLEAN, methods[1:])
frame = persistence_table.persistence_frame(found)
write_text("persistence.tex", persistence_table.persistence_latex(found))
write_text("persistence.csv", frame.to_csv(index=False))
frame

# %% [markdown]
# The half-life is the first step at which c(t) is below half of c(0); for the function, below half of its best value, counted from
# when that was reached. *Not reached* means that it lasted to the end, *never there* that there was nothing to retain: at the start the
# map had less than a quarter of its attention, beyond chance, on open entries, or the level was hardly aligned with the pattern; for the
# function, that the best moment was below one half. Alignment alone would not do, for it is blind to strength.
