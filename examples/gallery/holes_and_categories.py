"""
Categories and missing cells
============================

You need not prepare text or empty cells. A category may have conditions of its
own, and the shape of a column shows the effect of an empty cell. The table of
penguins (CC0, by Dr. Kristen Gorman and the Palmer Station LTER) has both.
"""

import pandas as pd
from matplotlib import pyplot as plt

from neuralrules import NeuralRuleClassifier
from neuralrules.plot import ShapeDisplay

birds = pd.read_csv("../penguins.csv")
X = birds[["flipper_length_mm", "body_mass_g", "sex", "island"]]
print("empty cells:", *(f"{n} {name}" for name, n in X.isna().sum().items()))
model = NeuralRuleClassifier(
    n_epochs=60, early_stopping=False, random_state=0
).fit(X, birds["species"])

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for column, ax in zip(("flipper_length_mm", "island"), axes, strict=True):
    ShapeDisplay.from_estimator(model, X, column, output="Gentoo", ax=ax)

# %%
# This bird has only an island, and no measurement:

bird = {"flipper_length_mm": None, "body_mass_g": None, "sex": None}
for island in ("Biscoe", "Dream", "Torgersen"):
    row = pd.DataFrame([{**bird, "island": island}]).astype(X.dtypes)
    probabilities = model.predict_proba(row)[0]
    named = zip(model.classes_, probabilities, strict=True)
    print(f"{island}:", *(f"{name} {p:.1%}" for name, p in named))

# %%
# The model is too sure: three in four of the birds on Biscoe are Gentoos. A
# missing number counts as the mean of its column unless training has learned
# something else, and a bird with mean flippers and a mean weight is not a
# Gentoo. One row with such missing cells is not enough to learn from.
