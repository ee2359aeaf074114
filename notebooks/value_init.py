# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Images: the prior, apart from the values it comes with
#
# Mimetic and Impulse initialise W_V and W_O too, the mask does not, so Table 3 compares more than where a prior lives. Here
# methods run with both initialisations of W_V and W_O, on CIFAR-10, and Default also with the position factor of Impulse's code.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.value_init import load_tasks
from maskprior.report.output import write_text
from maskprior.report.value_init_table import value_init_frame, value_init_latex

tasks = load_tasks(settings)
frame = value_init_frame(tasks)
frame

# %% [markdown]
# What the prior does is the difference to Default with the same W_V and W_O, paired by seed; what W_V and W_O do is the difference
# between the two runs of one method.

# %%
write_text("value_init.tex", value_init_latex(tasks))
write_text("value_init.csv", frame.to_csv(index=False))
