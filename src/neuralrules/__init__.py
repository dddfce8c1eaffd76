"""Neural rule ensembles: tabular models that are small, accurate and readable."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuralrules._estimators._classifier import NeuralRuleClassifier
    from neuralrules._estimators._regressor import NeuralRuleRegressor
    from neuralrules._estimators._search import NeuralRuleClassifierCV, NeuralRuleRegressorCV
    from neuralrules._files import ModelFileError, load
    from neuralrules._reading._replay import read_rules

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

# Imported when asked for: the command line must complete a word without scikit-learn.
_MODULES = {
    "ModelFileError": "_files",
    "NeuralRuleClassifier": "_estimators._classifier",
    "NeuralRuleClassifierCV": "_estimators._search",
    "NeuralRuleRegressor": "_estimators._regressor",
    "NeuralRuleRegressorCV": "_estimators._search",
    "load": "_files",
    "read_rules": "_reading._replay",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
