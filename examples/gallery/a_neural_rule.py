"""
One neural rule
===============

A leaf of a tree is a box. The neural rule that grows from it is the minimum of
ramps, ``c * min(ReLU(w * x + a))``. Training may tilt, shift and stretch the
rule, and it fires more strongly on rows that are further inside. Here a tree
of four leaves separates the rows of a tilted triangle from all others.
"""

import numpy as np
from matplotlib import pyplot as plt

from neuralrules import NeuralRuleClassifier

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (1000, 2))
y = (X[:, 0] + X[:, 1] > -0.2) & (X[:, 0] - X[:, 1] > -0.2)
model = NeuralRuleClassifier.paper(max_depth=2, random_state=0).fit(X, y)
rule = int(model.rules_table().query("value > 0")["value"].idxmax())
print(f"accuracy {model.score(X, y):.3f}")
print(model.rules_table().loc[rule, ["tree_rule", "text"]].to_string())

# %%
# The leaf is on the left, and the trained rule is on the right. The shade
# shows how strongly the rule fires.

axis = np.linspace(-1, 1, 200)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
inside = model.rules_.covers(model.encoder_.transform(grid))[:, rule]
fired = model.explain(grid)
strength = np.zeros(len(grid))
chosen = fired.rules == rule
strength[fired.rows[chosen]] = fired.contributions[chosen, 0]

fig, axes = plt.subplots(
    1, 2, figsize=(9, 4.4), sharex=True, sharey=True, layout="constrained"
)
for ax, shade in zip(axes, (inside, strength), strict=True):
    ax.pcolormesh(axis, axis, shade.reshape(200, 200), cmap="Blues")
    for truth, marker in {False: "x", True: "o"}.items():
        ax.scatter(*X[y == truth][:150].T, s=12, marker=marker, color="black")
    ax.set(xlabel="x0", aspect="equal")
axes[0].set(title="a leaf", ylabel="x1")
_ = axes[1].set_title("the neural rule")
