"""The estimators: scikit-learn's interface to all other rooms."""
