"""Mistakes that `mypy --strict` must report, each with the code that its line names."""

import neuralrules
from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, load, read_rules

NeuralRuleClassifier(depth=3)  # [call-arg]
NeuralRuleClassifier(max_depth="three")  # [arg-type]
NeuralRuleClassifier(3, "forest")  # [call-arg]
NeuralRuleClassifier(expert_rules=[1])  # [list-item]
NeuralRuleRegressor(class_weight="balanced")  # [call-arg]
NeuralRuleClassifier.paper("deep")  # [arg-type]

model = NeuralRuleClassifier()
model.fit([[1.0]])  # [call-arg]
model.rules_text(max_rules="few")  # [arg-type]
model.rules_text(10)  # [call-arg]
model.report(None)  # [arg-type]
model.save()  # [call-arg]
model.to_sql()  # [call-arg]
model.edit(drop=3)  # [arg-type]
model.check_monotone([("income", 1)])  # [arg-type]
model.reasons([[1.0]], k="all")  # [arg-type]
n_rules: str = model.network_.n_rules  # [assignment]
text: int = model.exact_text()  # [assignment]

load(1)  # [arg-type]
load("model.nrules", max_bytes="1 GiB")  # [arg-type]
read_rules(b"text")  # [arg-type]
neuralrules.NeuralRuleForest()  # [attr-defined]
