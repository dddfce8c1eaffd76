"""
Error against the number of rules
=================================

How many rules does a table need? There are two ways to get few rules: grow few
trees, which have four leaves each at depth 2, or keep the rules with the
highest margin scores (``max_rules``) of the 32 trees that grow by default. The
picture shows the log loss on the rows held out, in ten folds of scikit-learn's
breast cancer table. The bars are standard errors.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score

from neuralrules import NeuralRuleClassifier

X, y = load_breast_cancer(return_X_y=True)
folds = StratifiedKFold(10, shuffle=True, random_state=0)


def losses(model):
    return -cross_val_score(model, X, y, cv=folds, scoring="neg_log_loss")


trees = np.array([1, 2, 4, 8, 16, 32])
ways = {
    "few trees": [{"n_trees": n} for n in trees],
    "max_rules": [{"max_rules": 4 * n} for n in trees],
}
fig, ax = plt.subplots(layout="constrained")
ax.set_title("Two ways to have few rules")
for name, candidates in ways.items():
    measured = np.array(
        [
            losses(
                NeuralRuleClassifier(
                    **candidate,
                    n_epochs=60,
                    early_stopping=False,
                    random_state=0,
                )
            )
            for candidate in candidates
        ]
    )
    means = measured.mean(axis=1)
    deviations = measured.std(axis=1, ddof=1) / 10**0.5
    print(f"{name}:", *(f"{mean:.3f}" for mean in means))
    ax.errorbar(
        4 * trees, means, deviations, marker="o", capsize=3, label=name
    )
boosted = losses(GradientBoostingClassifier(n_estimators=50, random_state=0))
print(f"boosting: {boosted.mean():.3f}")
ax.axhline(boosted.mean(), color="grey", linestyle="--", label="boosting")
ax.set(xscale="log", xlabel="rules", ylabel="log loss, held out", ylim=0)
ax.set_xticks(4 * trees, 4 * trees)
ax.minorticks_off()
_ = ax.legend()

# %%
# The first trees of boosting differ from each other. The rules with the
# highest scores of 32 trees are often nearly the same. So if you want few
# rules, grow few trees, or let ``NeuralRuleClassifierCV(max_rules=16)``
# compare several models of 16 rules.
