"""
One decision as a sum
=====================

Every prediction starts at the same number and adds the contribution of each
rule that fires. The sum is exactly the decision function, so the picture
leaves nothing out.
"""

from sklearn.datasets import load_breast_cancer

from neuralrules import NeuralRuleClassifier
from neuralrules.plot import WaterfallDisplay

cancer = load_breast_cancer(as_frame=True)
X, y = cancer.data, cancer.target_names[cancer.target]
model = NeuralRuleClassifier(
    max_depth=2,
    n_trees=4,
    max_terms=1,
    n_epochs=60,
    early_stopping=False,
    random_state=0,
).fit(X, y)

explanation = model.explain(X.iloc[[40]])
print(explanation)
_ = WaterfallDisplay.from_explanation(explanation)
