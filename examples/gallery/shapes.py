"""
What columns do, alone and together
===================================

The shape of a column is the mean output when the column changes and all other
columns stay the same. It is the sum of the rules that use the column. The band
shows how much it differs from row to row. A pair of columns has a map.

The table of loans is generated: the effect of late payments depends on the
utilisation of the credit line.
"""

import pandas as pd
from matplotlib import pyplot as plt

from neuralrules import NeuralRuleClassifier
from neuralrules.plot import ShapeDisplay

loans = pd.read_csv("../loans.csv", parse_dates=["employed_since"])
X, y = loans.drop(columns="outcome"), loans["outcome"]
model = NeuralRuleClassifier(
    n_epochs=60, early_stopping=False, random_state=0
).fit(X, y)

late, full, pair = model.shapes(
    X,
    ["late_payments", "utilisation", ("late_payments", "utilisation")],
    random_state=0,
)
print(f"no late payments: {-late.outputs[0, 0]:.2f} log odds of bad")
print(f"four of them: {-late.outputs[4, 0]:.2f}")

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for shape, ax in zip((late, full), axes, strict=True):
    ShapeDisplay.from_shape(shape, model=model, ax=ax)

# %%
# The map of the pair:

_ = ShapeDisplay.from_shape(pair, model=model)
