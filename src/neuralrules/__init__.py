"""Neural rule ensembles: tabular models that are small, accurate and readable."""

from neuralrules._classifier import NeuralRuleClassifier
from neuralrules._files import ModelFileError, load
from neuralrules._regressor import NeuralRuleRegressor
from neuralrules._replay import read_rules
from neuralrules._search import NeuralRuleClassifierCV, NeuralRuleRegressorCV

__all__ = [
    "ModelFileError",
    "NeuralRuleClassifier",
    "NeuralRuleClassifierCV",
    "NeuralRuleRegressor",
    "NeuralRuleRegressorCV",
    "load",
    "read_rules",
]
__version__ = "0.1.0"
