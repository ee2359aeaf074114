# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Claims and every number in the text
#
# All published numbers and statements, each with its test on records (config/claims.yaml).

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis import claims
from maskprior.analysis.records import load_target
from maskprior.report import claims_table, macros, text
from maskprior.report.output import write_text

verdicts = claims.evaluate(settings)
claims.count(verdicts)

# %%
frame = claims_table.claims_frame(verdicts)
frame[["id", "verdict", "detail"]]

# %%
entries = load_target("all", settings)
at_paper = load_target("all", settings.model_copy(update={"scale": "paper"}))
write_text("claims.csv", frame.to_csv(index=False))
write_text("claims.tex", claims_table.published_claims_latex(verdicts))
write_text("statements.tex", claims_table.statements_latex(verdicts))
write_text("verdicts.tex", claims_table.verdict_counts_latex(verdicts))
write_text("inconsistencies.tex", claims_table.inconsistencies_latex(claims.read_reported()))
results = macros.macros(entries, verdicts, settings, at_paper=at_paper)
write_text("macros.tex", macros.latex(text.named(results)))
