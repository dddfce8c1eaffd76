"""
Dates
=====

The model counts dates in days. Rules, reasons and pictures show them as dates.
Here a shop raised its prices on the first of April, and sold less from that
day on.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from neuralrules import NeuralRuleRegressor

rng = np.random.default_rng(0)
day = pd.date_range("2025-01-01", "2025-12-31")
sold = np.where(day < "2025-04-01", 120, 90) + rng.normal(0, 8, len(day))
X = pd.DataFrame({"day": day, "rain_mm": rng.gamma(0.5, 4, len(day)).round(1)})
sold -= 2 * X["rain_mm"]
model = NeuralRuleRegressor(
    max_depth=1,
    n_trees=8,
    start="leaf",
    n_epochs=100,
    early_stopping=False,
    random_state=0,
).fit(X, sold)
print(model.rules_text(style="sentences", max_rules=3))

# %%
# The shape of the column, on top of the sales of each day:

(shape,) = model.shapes(X, ["day"])
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.scatter(day, sold, s=8, color="grey", label="sold on a day")
ax.plot(shape.values, shape.outputs[:, 0], linewidth=2, label="shape of day")
ax.set(title="Sales, and what the day does", ylabel="sold")
_ = ax.legend()
