# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Table 6: language models
#
# A small GPT on WikiText-2 and TinyStories under Default, Mimetic, the mask with the paper's distance prior and, as a control, the same
# mask with ALiBi's slopes: what the paper prints, what we measured (mean and 95 % t-interval over the seeds), the difference to Default
# paired by seed, and what they say of each published number.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis.claims import evaluate
from maskprior.analysis.records import load_target
from maskprior.report import language_table
from maskprior.report.output import note, write_text

rows = language_table.language_rows(settings, evaluate(settings))
frame = language_table.language_frame(rows)
frame

# %% [markdown]
# How to read it. *Perplexity* is the paper's: the exponential of the mean loss over random windows. Every method of a seed is evaluated on
# the same windows. `…_exact` is that of the whole text by a strided window. Perplexities are per token, and tokens differ between scales:
# only *bits a byte* may be compared across scales and tokenizers. TinyStories is tested on its validation text, as in the paper; the two
# columns then differ by which windows were drawn.

# %%
latex = language_table.language_latex(rows) + "\n" + note(rows, settings)
write_text("table6.tex", latex)
write_text("table6.csv", frame.to_csv(index=False))

# %% [markdown]
# ## What the networks write
#
# The test text's first tokens, and what the first seed's network goes on with, drawn at temperature 1 with the same random numbers for
# every method.

# %%
for sample in language_table.samples(load_target("table6", settings)).itertuples():
    print(f"--- {sample.task}, {sample.method}\n[{sample.prompt}]{sample.continuation}\n")
