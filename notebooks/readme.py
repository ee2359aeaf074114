# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # The results in README.md and docs/results.md
#
# Written to paper/generated/results.md and paper/generated/answers.md, with the picture of all published numbers in paper/generated/dots.png. They
# replace what stands in the two pages, and the picture docs/dots.png, only when all of it comes from published records at the default scale, so that
# what stands there is evidence.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.claims import evaluate
from maskprior.report import dots, figures, readme
from maskprior.report.output import write_text

judgements = evaluate(settings)
pages = {readme.SHORT: readme.answers(judgements), readme.LONG: readme.results(settings, judgements)}
write_text("answers.md", pages[readme.SHORT])
write_text("results.md", pages[readme.LONG])
print(*pages.values(), sep="\n\n")

# %%
figures.use_style()
drawn = dots.write(judgements)
drawn

# %%
# The long page says whether all records are published ones; the short page follows it.
said = readme.update(readme.LONG, pages[readme.LONG], settings)
print(said)
if "left alone" not in said:
    print(readme.update(readme.SHORT, pages[readme.SHORT], settings))
    print(dots.update_picture(drawn))
