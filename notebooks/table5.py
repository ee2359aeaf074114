# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Table 5: does the mask have to learn?
#
# Default beside the mask that is kept fixed and the mask that is trained. The paper's Mimetic and Impulse rows of this table are
# those of Table 3.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.claims import evaluate
from maskprior.report import vision_table
from maskprior.report.output import generated, write_text

rows = vision_table.vision_rows("T5", settings, evaluate(settings))
frame = vision_table.vision_frame(rows)
frame

# %% [markdown]
# Columns as in Table 3. Figure 10 says how far training moves the mask that is trained, and how much of that weight decay alone would do.

# %%
latex = vision_table.vision_latex(rows) + "\n" + vision_table.note(rows, settings)
write_text("table5.tex", latex)
write_text("table5.csv", frame.to_csv(index=False))
