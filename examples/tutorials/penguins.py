"""
Several classes: which penguin is it?
=====================================

Three species, told apart by bill, flippers and weight; some cells are empty.
The birds are from three islands, and that turns out to be a trap, which one
sees by reading the model. The tutorial goes from there to a model without it,
class by class, and to the question which birds a person should look at again.

The tables, ``penguins.csv`` and ``penguins_new.csv``, lie in the folder
``examples`` of a clone: the Palmer penguins, in the public domain (CC0), by
Dr. Kristen Gorman and the Palmer Station Long Term Ecological Research
Program.
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
# With several classes every rule has a value for each of them. A boosting
# round grows one tree a class, so that two rounds of depth 2 have at most 24
# leaves. Text and empty cells go in as they are.

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
# One bird of 115 is wrong. But look at what the rules look at: Chinstraps were
# only met on Dream, and the model has learned that a penguin on Dream is
# likely one. That is true of this table, and of no use for a bird that has
# walked over to the next island. ``exclude`` keeps a column from all rules,
# though tables may still have it.

from sklearn.metrics import log_loss

model = fitted(exclude=["island"])
for name, candidate in {"with island": first, "without": model}.items():
    loss = log_loss(y_test, candidate.predict_proba(X_test))
    right = candidate.score(X_test, y_test)
    print(f"{name:<11} {right:.1%} right, log loss {loss:.3f}")
print(pd.crosstab(train["island"], y_train).to_string())

# %%
# Without the island the model is worse on this table, and that is the more
# honest number.
#
# Class by class
# --------------
# Of the birds that the model calls Chinstrap, how many are (precision); of the
# Chinstraps, how many are found (recall)?

from sklearn.metrics import classification_report

report = classification_report(
    y_test, model.predict(X_test), output_dict=True, digits=2
)
pd.DataFrame({name: report[name] for name in model.classes_}).T.round(2)

# %%
# Which rule speaks for which class? The picture has one line for each of the
# ten rules that matter most: to the right it adds to the score of a class, to
# the left it takes away. The largest of the three scores is the prediction.

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
# The shape of a column, for each class: the mean score as the column moves and
# all else stays. The band shows how much that depends on the other columns.

from neuralrules.plot import ShapeDisplay

fig, axes = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained")
for ax, name in zip(axes, model.classes_, strict=True):
    ShapeDisplay.from_estimator(
        model, X_test, "bill_length_mm", output=name, ax=ax
    )

# %%
# Holes
# -----
# An empty cell is no error. In a condition of a tree it goes to one of the two
# sides, as the training rows suggest (``or missing``); in a neural rule a
# missing number counts as the mean of its column, and the text says so at its
# end. How much does the model lose if a column is empty for every bird?

lost = {"no column": model.score(X_test, y_test)}
for name in ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "sex"]:
    emptied = X_test.drop(columns=name).reindex(columns=columns)
    lost[name] = model.score(emptied, y_test)
pd.Series(lost, name="right without").round(3).to_frame()

# %%
# A second look
# -------------
# Probabilities say which birds to look at again: those whose likeliest species
# has less than 90 %.

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
