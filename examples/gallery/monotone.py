"""
A promised direction
====================

The response to a dose rises and levels off, with much noise. A free model
follows the noise and falls in some places. With ``monotone`` it cannot fall:
the signs of the rules keep the direction, even where there are no rows.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from neuralrules import NeuralRuleRegressor

rng = np.random.default_rng(0)
X = pd.DataFrame({"dose": rng.uniform(0, 10, 80)})
y = 5 * (1 - np.exp(-X["dose"] / 3)) + rng.normal(0, 1, 80)
doses = pd.DataFrame({"dose": np.linspace(-1, 11, 300)})

fig, ax = plt.subplots(layout="constrained")
ax.scatter(X["dose"], y, s=14, color="grey", label="measured")
for name, line in {"free": "--", "monotone": "-"}.items():
    model = NeuralRuleRegressor(
        monotone=None if name == "free" else {"dose": 1},
        n_epochs=200,
        early_stopping=False,
        random_state=0,
    ).fit(X, y)
    predicted = model.predict(doses)
    against = model.check_monotone({"dose": 1})
    print(f"{name}: {len(against)} rules against the direction,", end=" ")
    print(f"falls somewhere: {bool((np.diff(predicted) < -1e-6).any())}")
    ax.plot(doses["dose"], predicted, line, linewidth=2, label=name)
ax.set(title="Dose and response", xlabel="dose", ylabel="response")
_ = ax.legend()
