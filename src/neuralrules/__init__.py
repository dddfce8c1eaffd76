"""Neural rule ensembles: tabular models that are small, accurate and readable."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from neuralrules._version import __version__ as __version__

if TYPE_CHECKING:
    from neuralrules._estimators._changes import compare
    from neuralrules._estimators._classifier import (
        NeuralRuleClassifier,
        NeuralRuleClassifierCV,
    )
    from neuralrules._estimators._load import load, read_rules
    from neuralrules._estimators._regressor import NeuralRuleRegressor, NeuralRuleRegressorCV
    from neuralrules._files import ModelFileError

__all__ = [
    "ModelFileError",
    "NeuralRuleClassifier",
    "NeuralRuleClassifierCV",
    "NeuralRuleRegressor",
    "NeuralRuleRegressorCV",
    "compare",
    "load",
    "read_rules",
]

# Imported when asked for: the command line must complete a word without scikit-learn.
_MODULES = {
    "ModelFileError": "_files",
    "NeuralRuleClassifier": "_estimators._classifier",
    "NeuralRuleClassifierCV": "_estimators._classifier",
    "NeuralRuleRegressor": "_estimators._regressor",
    "NeuralRuleRegressorCV": "_estimators._regressor",
    "compare": "_estimators._changes",
    "load": "_estimators._load",
    "read_rules": "_estimators._load",
}


if not TYPE_CHECKING:  # for which every name would be there

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
