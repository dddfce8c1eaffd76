"""
Probabilities of a rare class
=============================

One loan in twenty goes bad. Many people give such a class a higher weight
(``class_weight="balanced"``), so that a model predicts it more often. The
ranking of the loans stays about as good, but the probabilities are wrong: of
the loans with 50 %, far fewer than half go bad. Without weights the
probabilities are right, and a threshold below one half flags enough loans.
"""

import pandas as pd
from matplotlib import pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from neuralrules import NeuralRuleClassifier

loans = pd.read_csv("../loans.csv", parse_dates=["employed_since"])
X, y = loans.drop(columns="outcome"), loans["outcome"] == "bad"
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, random_state=0, stratify=y
)

fig, ax = plt.subplots(layout="constrained")
for weights, marker in {None: "o", "balanced": "s"}.items():
    model = NeuralRuleClassifier(
        max_depth=2,
        n_trees=4,
        max_terms=1,
        class_weight=weights,
        n_epochs=100,
        early_stopping=False,
        random_state=0,
    ).fit(X_train, y_train)
    bad = model.predict_proba(X_test)[:, 1]
    print(
        f"class_weight={weights!r}: AUC {roc_auc_score(y_test, bad):.3f}, "
        f"Brier score {brier_score_loss(y_test, bad):.4f}"
    )
    CalibrationDisplay.from_predictions(
        y_test,
        bad,
        n_bins=6,
        name=f"class_weight={weights!r}",
        marker=marker,
        ax=ax,
    )
ax.set_title("Are probabilities shares?")
ax.set(xlabel="mean probability of bad", ylabel="share that went bad")
_ = ax.legend(loc="upper left")
