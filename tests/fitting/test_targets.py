"""Targets and weights: the weights of classes, also of classes that have no rows."""

import numpy as np
import pytest
from sklearn.utils import compute_class_weight

from neuralrules._fitting._targets import class_factors
from neuralrules._task._task import Task

TASK = Task.of_classes(np.array(["a", "b", "c"]), "logistic")


@pytest.mark.parametrize("class_weight", ["balanced", {"a": 2.0, "c": 0.5}])
@pytest.mark.parametrize("n_rows", [[6, 1, 2], [6, 0, 2]])
def test_class_weights_are_those_of_scikit_learn(n_rows, class_weight):
    """A class that only the first call of partial_fit names does not change the others."""
    labels = np.repeat(TASK.classes, n_rows)
    present = np.unique(labels)
    factors = class_factors(TASK, np.array(n_rows), class_weight)
    expected = compute_class_weight(class_weight, classes=present, y=labels)
    assert factors[np.isin(TASK.classes, present)] == pytest.approx(expected)
    assert (factors[~np.isin(TASK.classes, present)] == 1).all()
