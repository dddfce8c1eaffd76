"""
The smallest change
===================

Which smallest change would give a row another prediction? The model is
piecewise linear, so a mixed-integer program answers the question exactly, and
proves that no smaller change exists. This example is in a plane, so you can
check the answer by eye. Once both columns may change, and once one of them is
fixed.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.datasets import make_moons

from neuralrules import NeuralRuleClassifier

X, y = make_moons(300, noise=0.2, random_state=0)
X = pd.DataFrame(X, columns=["across", "up"])
model = NeuralRuleClassifier.paper(max_depth=4, random_state=0).fit(X, y)
row = {"across": 0.7, "up": 0.6}
units = {"across": 1.0, "up": 1.0}  # a change of 1 costs 1 in either column

fig, ax = plt.subplots(layout="constrained")
across, up = np.meshgrid(
    np.linspace(-1.8, 2.8, 300), np.linspace(-1.4, 1.8, 300)
)
grid = pd.DataFrame({"across": across.ravel(), "up": up.ravel()})
decision = model.decision_function(grid).reshape(across.shape)
ax.contourf(across, up, decision, [-99, 0, 99], colors=["C0", "C1"], alpha=0.2)
for number, marker in enumerate("ox"):
    ax.scatter(*X[y == number].to_numpy().T, s=15, marker=marker)
for fixed, colour in {(): "black", ("across",): "crimson"}.items():
    answer = model.counterfactual(row, units=units, fixed=fixed)
    end = answer.x.iloc[0]
    ax.annotate(
        "",
        (end["across"], end["up"]),
        tuple(row.values()),
        arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 2},
    )
    print(f"fixed {list(fixed)}: {answer}")
ax.set_title("The smallest change to the other class")
_ = ax.set(xlabel="across", ylabel="up", aspect="equal")
