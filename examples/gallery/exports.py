"""
The same scores elsewhere
=========================

A model can leave Python: as an ONNX graph, as one SQL query, or as a Python
module that needs no package. Each is the whole model, from raw columns to
probabilities. Do they score the same?
"""

import sqlite3

import numpy as np
import onnxruntime
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris

from neuralrules import NeuralRuleClassifier

iris = load_iris(as_frame=True)
X = iris.data.rename(columns=lambda name: name.replace(" (cm)", ""))
y = iris.target_names[iris.target]
model = NeuralRuleClassifier(
    n_epochs=60, early_stopping=False, random_state=0
).fit(X, y)
expected = model.predict_proba(X)

session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
cells = {name: X[[name]].to_numpy() for name in X}
(by_onnx,) = session.run(["probabilities"], cells)

database = sqlite3.connect(":memory:")
X.to_sql("iris", database, index=False)
query = model.to_sql("iris", dialect="sqlite")
by_sql = pd.read_sql(query, database).filter(like="probability").to_numpy()
database.close()

module = {}
exec(model.to_python(), module)
by_python = np.array(
    [
        list(module["predict_proba"](row).values())
        for row in X.to_dict("records")
    ]
)

fig, ax = plt.subplots(layout="constrained")
exports = {"ONNX": by_onnx, "SQL": by_sql, "Python": by_python}
for (name, scores), size in zip(exports.items(), (150, 60, 10), strict=True):
    same = np.abs(scores - expected).max() < 1e-6
    print(f"{name}: the same to 1e-6: {same}")
    ax.scatter(expected, scores, s=size, alpha=0.5, label=name)
ax.set_title("Probabilities by the model and by its exports")
ax.set(xlabel="predict_proba", ylabel="probability by the export")
_ = ax.legend()
