# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Theorem 1 and Corollary 1 in real trainings
#
# For one row of attention p = softmax(z), z_j = q . k_j / sqrt(d) + log sigmoid(m_j), the theorem gives the derivatives of a weight
# p_i, and the corollary bounds them: by 2 p_i B_k / sqrt(d) for the query, p_i B_q / sqrt(d) for a key, p_i for a mask entry. Here
# both are evaluated on the inputs, queries, keys and masks of the runs themselves, before, during and after training.

# %% tags=["parameters"]
scale = "reduced"
seeds = 5
recompute = False

# %%
from maskprior.config.settings import read_settings

settings = read_settings({"scale": scale, "seeds": seeds, "recompute": recompute})

# %%
from maskprior.analysis import theory
from maskprior.analysis.records import cells, load_target
from maskprior.report import figures, theory_figure, theory_table
from maskprior.report.output import write_text

figures.use_style()
entries = load_target("table1", settings)
methods = ("default", "structured_svd", "structured_opt", "mask")
figures.save(theory_figure.bounds_in_training(entries, ("2parity", "majority3"), methods), "theory")

# %%
found = [
    row
    for (task, method), members in cells(entries).items()
    if task in ("2parity", "majority3") and method in methods
    for row in theory.sensitivities(members)
]
frame = theory_table.theory_frame(found)
write_text("theory.csv", frame.to_csv(index=False))
write_text("theory.tex", theory_table.theory_latex(found))
frame

# %% [markdown]
# ## What the bounds imply
#
# They always hold: they follow from Theorem 1, and the tests check them on random and adversarial inputs. They bound how much *one
# attention weight* changes for *one unit* of q, k_j or m_j. All three carry the same factor p_i: wherever attention is nearly
# one-hot, all three derivatives nearly vanish, whichever part made it so. A structured query-key initialisation with a large norm
# enjoys this protection as much as a mask does.
#
# ## What they do not imply
#
# - **Not slower learning of masks.** The corollary compares upper bounds. A smaller upper bound is no smaller derivative, and the figure
#   shows how far below its bound each derivative lies.
# - **Not a comparison of equal things.** q and k_j are vectors that W_Q and W_K make for all tokens and inputs at once; m_j is one number
#   for one pair of tokens. A unit of the one is not a unit of the other.
# - **Nothing about the step an optimiser takes.** Under gradient descent a step is the gradient times the rate, and the factor sigmoid(-m),
#   4.5e-5 at m = 10, does slow a mask's open entries. Adam and AdamW divide a gradient by its own recent size. Their steps are free of
#   its scale, so as long as a gradient is well above the optimiser's epsilon, sigmoid(-m) cancels from the step of m. It does not
#   cancel from the effect of that step on the logits, which is sigmoid(-m) dm: an open entry hardly feels its own step, a closed
#   one feels all of it.
# - **What bounds a mask under Adam is the sum of the learning rates**: |M_T - M_0| is at most about that sum (3.16 times it in the worst
#   case), while one update of W_Q and W_K moves every logit through all of their entries together. The last column of the table,
#   the change of the logits that each part's own update makes, measures this directly: it is the comparison that matters for
#   persistence, and no part of the corollary.
