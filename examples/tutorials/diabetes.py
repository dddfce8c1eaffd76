"""
Regression: a prediction that is a sum
======================================

How far will a patient's diabetes have progressed in a year? scikit-learn's
table has 442 patients with ten measurements each, and a number between 25 and
346 to predict. On such a small and noisy table the size of a model matters
most. This tutorial measures several sizes, chooses one, reads the model column
by column, rounds its numbers, and decides which patients to call in first.
"""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X.rename(
    columns={
        "bp": "blood_pressure",
        "s1": "cholesterol",
        "s2": "ldl",
        "s3": "hdl",
        "s4": "cholesterol_per_hdl",
        "s5": "log_triglycerides",
        "s6": "glucose",
    }
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
X_train.head(3)

# %%
# How large?
# ----------
# Rules grow from ``n_trees`` boosted trees, with two leaves each at depth 1
# and four at depth 2. Ten folds of the training rows give the mean absolute
# error of each size, and its standard error. A linear model and a boosted
# forest are there for comparison.
#
# The number of epochs is fixed. Early stopping, which is the default, would
# hold out a fifth of the rows, and 300 patients are too few for that.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score

from neuralrules import NeuralRuleRegressor

folds = KFold(10, shuffle=True, random_state=0)
sizes = [1, 2, 4, 8, 16, 32]


def rules(n_trees, max_depth=1):
    return NeuralRuleRegressor(
        max_depth=max_depth,
        n_trees=n_trees,
        n_epochs=60,
        early_stopping=False,
        random_state=0,
    )


def measured(model):
    """Mean absolute error on rows held out, and its standard error."""
    errors = -cross_val_score(
        model, X_train, y_train, cv=folds, scoring="neg_mean_absolute_error"
    )
    return errors.mean(), errors.std(ddof=1) / len(errors) ** 0.5


peers = {
    "linear model": LinearRegression(),
    "boosted forest": GradientBoostingRegressor(
        learning_rate=0.05, max_depth=2, random_state=0
    ),
}
fig, ax = plt.subplots(layout="constrained")
ax.set_title("Error against size")
for depth, name in {1: "rules of one column", 2: "of up to two"}.items():
    leaves = np.array(sizes) * 2**depth
    error, deviation = np.transpose(
        [measured(rules(size, depth)) for size in sizes]
    )
    ax.errorbar(leaves, error, deviation, marker="o", capsize=3, label=name)
    print(f"{name}:", *(f"{mean:.1f}" for mean in error))
for (name, peer), line in zip(peers.items(), ("--", ":"), strict=True):
    error, deviation = measured(peer)
    ax.axhline(error, color="grey", linestyle=line, label=name)
    print(f"{name}: {error:.1f}, standard error {deviation:.1f}")
ax.set(xscale="log", xlabel="leaves", ylabel="mean absolute error, held out")
ax.set_xticks([2, 4, 8, 16, 32, 64, 128], [2, 4, 8, 16, 32, 64, 128])
ax.minorticks_off()
_ = ax.legend()

# %%
# Rules of two columns gain nothing, because the effects of the measurements
# add up. Four leaves are nearly as good as 64, and on so few patients nothing
# beats the linear model. Rules of one column are within a standard error of
# it, they can follow curves, and people can read them. Sixteen rules are one
# page:

model = rules(8).fit(X_train, y_train)
print(model.rules_text(style="sentences", max_rules=4))

# %%
# What one column does
# --------------------
# Each rule is about one column, so the model is a sum of functions of one
# column. These shapes are the whole model. The bars below the lines show where
# the patients are.

from neuralrules.plot import ShapeDisplay

shapes = model.shapes(X_test)
print("columns used:", ", ".join(shape.column for shape in shapes))
fig, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
for shape, ax in zip(shapes, axes.flat, strict=False):
    ShapeDisplay.from_shape(shape, model=model, ax=ax)

# %%
# Round numbers
# -------------
# Thresholds of four digits are more exact than 300 patients can justify.
# ``round_numbers`` rounds them. This may cost at most two per cent of the
# model's gain over a constant.

rounding = model.round_numbers(X_train, y_train, precision="friendly")
final = rounding.model
print(
    final.rules_text(
        style="sentences", max_rules=4, precision=rounding.precision
    )
)

# %%
# The errors on patients that no model has seen:

from sklearn.dummy import DummyRegressor
from sklearn.metrics import mean_absolute_error

models = {
    "always the mean": DummyRegressor().fit(X_train, y_train),
    "16 rules": model,
    "with round numbers": final,
    **{name: peer.fit(X_train, y_train) for name, peer in peers.items()},
}
for name, fitted in models.items():
    error = mean_absolute_error(y_test, fitted.predict(X_test))
    print(f"{name:<18} {error:.1f}")

# %%
# One patient
# -----------
# Every prediction starts at the same number and adds the contribution of each
# rule that fires. There is nothing else in it.

from neuralrules.plot import WaterfallDisplay

patient = X_test.iloc[[int(np.argmax(final.predict(X_test)))]]
explanation = final.explain(patient)
print(explanation)
_ = WaterfallDisplay.from_explanation(explanation)

# %%
# Whom to call in
# ---------------
# A clinic can follow one patient in five closely. It takes the patients with
# the highest predictions. How many of them belong to the fifth of the patients
# whose disease really progressed most?

n_places = len(X_test) // 5
worst = y_test >= y_test.nlargest(n_places).min()
del models["always the mean"]  # which ranks nobody
for name, fitted in models.items():
    ranked = np.argsort(-fitted.predict(X_test), kind="stable")
    found = worst.iloc[ranked[:n_places]].sum()
    print(f"{name:<18} {found} of {worst.sum()}")

# %%
# A random choice would find four or five. Two patients more or less are
# chance. The clinic can give reasons for each patient, and can say which
# columns the model uses. The last step is a file that cannot run code, or a
# query (:doc:`/shipping`).
