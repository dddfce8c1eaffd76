"""scikit-learn's base classes with types, which scikit-learn itself does not have.

A type checker takes a class with an untyped base for one that may have any parameter. So it
would not report a misspelled parameter of an estimator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

if TYPE_CHECKING:

    class BaseEstimator:
        """See `sklearn.base.BaseEstimator`."""

        _parameter_constraints: ClassVar[dict[str, list[Any]]]
        n_features_in_: int
        feature_names_in_: np.ndarray

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def set_fit_request(self, **requests: Any) -> Self: ...
        def _validate_params(self) -> None: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...

    class ClassifierMixin:
        """See `sklearn.base.ClassifierMixin`."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class RegressorMixin:
        """See `sklearn.base.RegressorMixin`."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

__all__ = ["BaseEstimator", "ClassifierMixin", "RegressorMixin"]
