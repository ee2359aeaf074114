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
from maskprior.analysis import claims, published
from maskprior.analysis.records import load_target
from maskprior.report import claims_table, macros, text
from maskprior.report.output import write_text

judgements = claims.evaluate(settings)
print(claims_table.matrix_text(judgements))

# %%
frame = claims_table.claims_frame(judgements)
frame[["id", "scale", "value", "direction", "detail"]]

# %%
entries = load_target("all", settings)
at_paper = load_target("all", settings.model_copy(update={"scale": "paper"}))
write_text("claims.csv", frame.to_csv(index=False))
write_text("tests.csv", claims_table.tests_frame(judgements).to_csv(index=False))
write_text("claims.tex", claims_table.published_claims_latex(judgements))
write_text("statements.tex", claims_table.statements_latex(judgements))
write_text("outcomes.tex", claims_table.matrix_latex(judgements))
write_text("inconsistencies.tex", claims_table.inconsistencies_latex(published.read_reported()))
results = macros.macros(entries, judgements, settings, at_paper=at_paper)
write_text("macros.tex", macros.latex(text.named(results)))
