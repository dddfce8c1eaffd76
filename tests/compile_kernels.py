"""Fit small models, so that numba compiles all kernels and keeps them in its cache.

`make test` runs it beside lint and installs, and conftest.py once more before the tests, where
it finds the cache or, if the tests were started in another way, fills it.
"""

from sklearn.datasets import load_iris

from neuralrules import NeuralRuleClassifier

if __name__ == "__main__":
    for batch_size in (32, 150):  # a batch of all rows has a kernel of its own
        model = NeuralRuleClassifier(2, n_epochs=1, batch_size=batch_size)
        model.fit(*load_iris(return_X_y=True))
