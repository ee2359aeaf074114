# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # What makes a prior last?
#
# Each intervention changes one thing that an explanation of persistence rests on. config/interventions.yaml says what each
# explanation predicts, and which runs test it.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
import pandas as pd

from maskprior.analysis import explanations, interventions
from maskprior.report import explanations_table, figures, interventions_figure, interventions_table, macros, text
from maskprior.report.output import task_name, write_text

figures.use_style()
groups = explanations.read_groups()
tasks = interventions.load_tasks(settings)
judged = {task: explanations.judge(groups, cells) for task, cells in tasks.items()}

# %% [markdown]
# Every prediction, and what the runs say of it. *Left* is what there is of the prior when training ends, as a share.

# %%
frame = pd.concat([explanations_table.explanations_frame(task, found) for task, found in judged.items()])
tables = {task: explanations_table.explanations_latex(found) for task, found in judged.items()}
write_text("explanations.tex", interventions_table.floats("explanations", tables, tasks))
write_text("explanations.csv", frame.to_csv(index=False))
frame

# %% [markdown]
# Every cell: what it changes, and what became of the prior in the parameter, in the attention map and in the function.

# %%
frame = pd.concat([interventions_table.interventions_frame(cells) for cells in tasks.values()])
tables = {task: interventions_table.interventions_latex(groups, cells) for task, cells in tasks.items()}
write_text("interventions.tex", interventions_table.floats("interventions", tables, tasks))
write_text("interventions.csv", frame.to_csv(index=False))
named = {task_name(task): cells for task, cells in tasks.items()}
figures.save(interventions_figure.picture(groups, named), "interventions")
frame

# %%
results = interventions_table.interventions_macros(judged, tasks)
write_text("interventions_macros.tex", macros.latex(text.named(results, of_interventions=True)))
