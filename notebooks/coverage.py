# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # How often the rules err
#
# Three or five seeds are few. Here the rules that turn records into outcomes are applied to made-up cells, whose truth is known:
# losses whose logarithms are skewed, accuracies close to 100 %, and bimodal cells, in which a seed solves the task or does not.
# No record is read. docs/protocol.md says how often the rules may err, and a test holds them to it.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.analysis.coverage import study
from maskprior.report import figures
from maskprior.report.coverage_figure import coverage_figure, coverage_frame
from maskprior.report.output import write_text

figures.use_style()
found = study()
frame = coverage_frame(found)
write_text("coverage.csv", frame.to_csv(index=False))
figures.save(coverage_figure(found), "coverage")
frame

# %% [markdown]
# ## What to read in it
#
# - `covered`: how often the 95 % interval of the mean holds the true mean. `differs`: how often a published number that is one more
#   seed of the very same cell is said to differ. `holds` and `contradicted`: how often a direction is said to be there, or
#   to be the other way, where neither of two cells is better.
# - Between two cells of the same kind, a difference is as often positive as negative. The two false outcomes are then no more
#   frequent than they should be, whatever the kind.
# - Against a steady cell of the same mean, the differences have the shape of the one cell alone, and its long tail makes one of the
#   two false outcomes more frequent.
# - Three seeds of a bimodal cell are all of one mode in a quarter of the cells. Their interval is then narrow and in the wrong place.
#   Nothing in three such numbers says so. Therefore the seeds are shown one by one wherever there is a picture, and the Boolean tasks
#   have five.
