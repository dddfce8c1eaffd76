"""
What changed since last year?
=============================

A lender fits a model on 2,500 loans, and a year later another one on the next
2,500 loans. ``compare`` says what differs, rule by rule and row by row, on a
thousand other loans.
"""

import pandas as pd
from matplotlib import pyplot as plt

from neuralrules import NeuralRuleClassifier, compare

loans = pd.read_csv("../loans.csv", parse_dates=["employed_since"])
old, new, judged = loans[:2500], loans[2500:5000], loans[5000:]


def fitted(table):
    return NeuralRuleClassifier(
        max_depth=2,
        n_trees=4,
        max_terms=1,
        n_epochs=100,
        early_stopping=False,
        random_state=0,
    ).fit(table.drop(columns="outcome"), table["outcome"])


X, y = judged.drop(columns="outcome"), judged["outcome"]
first, second = fitted(old), fitted(new)
comparison = compare(first, second, X, y)
print(f"loans that change class: {len(comparison.rows.flipped)}")
pd.DataFrame(comparison.measured.metrics, ["old", "new"]).T.round(4)

# %%
# The rows on which the two models differ most:

before, after = (model.predict_proba(X)[:, 0] for model in (first, second))
fig, ax = plt.subplots(layout="constrained")
for name, marker in {"good": ".", "bad": "x"}.items():
    ax.loglog(
        before[y == name], after[y == name], marker, label=f"{name}", alpha=0.6
    )
ax.set_title("Two models on the same loans")
ax.axline((0.01, 0.01), (1, 1), color="grey", linewidth=0.8)
ax.set(
    xlabel="probability of bad, old model",
    ylabel="probability of bad, new model",
)
_ = ax.legend(title="outcome")

# %%
# The rules that differ, with the largest effect first:

changes = comparison.to_frame().sort_values("effect", ascending=False)
changes[["first", "second", "kind", "effect"]].head(5).round(3)
