"""
Smaller, step by step
=====================

A fitted model can be made smaller. Each step removes the literals and rules
that matter least, and trains the rest. Each step is measured on rows that it
has not seen. ``simplify`` takes the smallest model within a tolerance. The
knee is the smallest model within one standard error of the best.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from neuralrules import NeuralRuleClassifier
from neuralrules.plot import SizeDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, random_state=0, stratify=y
)
model = NeuralRuleClassifier.paper(max_depth=4, random_state=0)
path = model.fit(X_train, y_train).simplification_path(X_train, y_train)
small = path.model(path.knee())
for name, fitted in {"before": model, "at the knee": small}.items():
    network = fitted.network_
    print(
        f"{name}: {network.n_rules} rules, {network.n_parameters} parameters, "
        f"accuracy {fitted.score(X_test, y_test):.3f}"
    )
_ = SizeDisplay.from_path(path)
