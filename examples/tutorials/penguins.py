"""
Several classes: which penguin is it?
=====================================

Three species of penguins differ by bill, flippers and weight. Some cells are
empty. The birds come from three islands, and this is a trap that you see when
you read the model. The tutorial then fits a model without the island, looks at
it class by class, and finds the birds that a person should look at again.

The tables ``penguins.csv`` and ``penguins_new.csv`` are in the folder
``examples`` of a clone. They are the Palmer penguins, in the public domain
(CC0), by Dr. Kristen Gorman and the Palmer Station Long Term Ecological
Research Program.
"""

import pandas as pd

columns = [
    "bill_length_mm",
    "bill_depth_mm",
    "flipper_length_mm",
    "body_mass_g",
    "sex",
    "island",
]
train = pd.read_csv("../penguins.csv")
test = pd.read_csv("../penguins_new.csv")
X_train, y_train = train[columns], train["species"]
X_test, y_test = test[columns], test["species"]
print(y_train.value_counts().to_string())
print("empty cells:", int(X_train.isna().sum().sum()))
X_train.head(3)

# %%
# A first model
# -------------
# With several classes, every rule has a value for each class. A round of
# boosting grows one tree for each class, so two rounds of depth 2 have at most
# 24 leaves. You need not prepare text or empty cells.

from neuralrules import NeuralRuleClassifier


def fitted(**options):
    return NeuralRuleClassifier(
        max_depth=2,
        n_trees=2,
        max_terms=1,
        n_epochs=100,
        early_stopping=False,
        random_state=0,
        **options,
    ).fit(X_train, y_train)


first = fitted()
right = first.score(X_test, y_test)
print(f"{first.network_.n_rules} rules, {right:.1%} right\n")
print(first.rules_text(style="sentences", max_rules=3))

# %%
# Read before use
# ---------------
# One bird of 115 is wrong. But look at the columns in the rules. In this
# table, Chinstraps live only on Dream, and the model has learned that a
# penguin on Dream is probably a Chinstrap. This does not help with a bird that
# has moved to the next island. With ``exclude``, no rule uses the column, and
# tables may still have it.

from sklearn.metrics import log_loss

model = fitted(exclude=["island"])
for name, candidate in {"with island": first, "without": model}.items():
    loss = log_loss(y_test, candidate.predict_proba(X_test))
    right = candidate.score(X_test, y_test)
    print(f"{name:<11} {right:.1%} right, log loss {loss:.3f}")
print(pd.crosstab(train["island"], y_train).to_string())

# %%
# Without the island the model is worse on this table, and this number is more
# honest.
#
# Class by class
# --------------
# How many of the birds that the model calls Chinstraps are Chinstraps
# (precision)? How many of the Chinstraps does it find (recall)?

from sklearn.metrics import classification_report

report = classification_report(
    y_test, model.predict(X_test), output_dict=True, digits=2
)
pd.DataFrame({name: report[name] for name in model.classes_}).T.round(2)

# %%
# Which rule speaks for which class? The picture has one line for each of the
# ten most important rules. To the right, a rule adds to the score of a class;
# to the left, it subtracts from the score. The class with the largest of the
# three scores is predicted.

from matplotlib import pyplot as plt

rules = model.rules_table().head(10).iloc[::-1]
texts = rules["text"].str.replace(" and ", "\nand ")
fig, axes = plt.subplots(
    1, 3, figsize=(10, 4.5), sharex=True, sharey=True, layout="constrained"
)
for ax, name in zip(axes, model.classes_, strict=True):
    values = rules[f"value_{name}"]
    colours = ["C0" if value > 0 else "C1" for value in values]
    ax.barh(texts, values, color=colours)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set(title=name, xlabel="value")

# %%
# The shape of a column shows, for each class, the mean score when the column
# changes and all others stay the same. The band shows how much this depends on
# the other columns.

from neuralrules.plot import ShapeDisplay

fig, axes = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained")
for ax, name in zip(axes, model.classes_, strict=True):
    ShapeDisplay.from_estimator(
        model, X_test, "bill_length_mm", output=name, ax=ax
    )

# %%
# Missing cells
# -------------
# An empty cell is not an error. A condition of a tree sends it to the side
# that the training rows suggest (``or missing``). In a neural rule a missing
# number counts as the mean of its column, and the end of the text gives these
# means. How much does the model lose if a column is empty for every bird?

lost = {"no column": model.score(X_test, y_test)}
for name in ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "sex"]:
    emptied = X_test.drop(columns=name).reindex(columns=columns)
    lost[name] = model.score(emptied, y_test)
pd.Series(lost, name="right without").round(3).to_frame()

# %%
# A second look
# -------------
# Probabilities say which birds a person should look at again: those whose most
# probable species has less than 90 %.

probabilities = model.predict_proba(X_test)
unsure = probabilities.max(axis=1) < 0.9
right = model.predict(X_test) == y_test
print(f"{unsure.sum()} of {len(test)} birds are unsure")
print(f"right among these: {right[unsure].mean():.1%}")
print(f"right among the others: {right[~unsure].mean():.1%}")

# %%
# Why is the model unsure of a bird? For each class the contributions add up to
# its score.

from neuralrules.plot import WaterfallDisplay

wrong = X_test[unsure & ~right].iloc[[0]]
print(model.explain(wrong))
print(model.reasons(wrong, k=2))
_ = WaterfallDisplay.from_estimator(model, wrong)
