"""Simulated tables. Equal seeds give equal tables.

    python -m benchmarks.generators

writes examples/loans.csv.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.datasets import make_classification

LOANS = Path(__file__).resolve().parents[1] / "examples" / "loans.csv"


def rotated_xor(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes in opposite quadrants of a square turned by 45 degrees.

    Returns
    -------
    X : ndarray of shape (n_rows, 2), float64
    y : ndarray of shape (n_rows,), int64
        1 in the left and right corners of the diamond, where abs(x0) > abs(x1).
    """
    square = np.random.RandomState(seed).uniform(-1, 1, (n_rows, 2))
    turn = np.sqrt(0.5) * np.array([[1, -1], [1, 1]])
    return square @ turn, (square.prod(axis=1) > 0).astype(np.int64)


def diagonal(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes on either side of the line x0 = x1 in the unit square."""
    X = np.random.RandomState(seed).uniform(0, 1, (n_rows, 2))
    return X, (X[:, 1] > X[:, 0]).astype(np.int64)


def twonorm(n_rows: int, seed: int, n_features: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Breiman's twonorm: unit normal classes around (a, ..., a) and (-a, ..., -a).

    With a = 2 / sqrt(n_features) the best possible error is that of a normal variable
    beyond 2, which is 2.28 %.
    """
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 2, n_rows)
    centre = 2 / np.sqrt(n_features)
    return rng.normal(size=(n_rows, n_features)) + np.where(y, -centre, centre)[:, None], y


def ringnorm(n_rows: int, seed: int, n_features: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Breiman's ringnorm: a wide normal class around a narrow one.

    Class 0 has mean 0 and covariance 4 I, class 1 mean (a, ..., a) and covariance I, with
    a = 2 / sqrt(n_features) as in the data set "ring".
    """
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_features))
    return np.where(y[:, None], X + 2 / np.sqrt(n_features), 2 * X), y


def hypercube(
    n_rows: int, seed: int, n_redundant: int = 15, n_distractors: int = 480
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Madelon's design: clusters at the corners of a five-dimensional cube.

    Half of the 32 corners belong to each class, at random. One row in a hundred has a random
    class. Further columns are linear combinations of the five coordinates, and noise. The order
    of the columns is random.

    Returns
    -------
    X : ndarray of shape (n_rows, 5 + n_redundant + n_distractors), float64
    y : ndarray of shape (n_rows,), int64
    relevant : ndarray of shape (n_columns,), bool
        False for the columns of noise.
    """
    n_relevant = 5 + n_redundant
    X, y = make_classification(
        n_rows,
        n_relevant + n_distractors,
        n_informative=5,
        n_redundant=n_redundant,
        n_clusters_per_class=16,
        class_sep=2.0,
        shuffle=False,  # so that the relevant columns are the first
        random_state=seed,
    )
    rng = np.random.RandomState(seed)
    rows, columns = rng.permutation(n_rows), rng.permutation(X.shape[1])
    return X[np.ix_(rows, columns)], y[rows], columns < n_relevant


def loans(n_rows: int, seed: int) -> pd.DataFrame:
    """A bank's table of loans. One loan in twenty went bad.

    These columns raise the risk: many late payments and a credit line that is used up, most of
    all both together; an amount that is large for the income; and little time in the job. A
    loan for a business has a somewhat higher risk, and one to a homeowner a somewhat lower
    risk. Age and region have no effect. One income in twelve is not known.
    """
    rng = np.random.RandomState(seed)
    income = rng.lognormal(10.4, 0.5, n_rows).round(-2)
    amount = np.clip(income * rng.lognormal(-1.4, 0.6, n_rows), 1000, 60_000).round(-2)
    days_in_job = rng.exponential(1500, n_rows).astype(int)
    table = pd.DataFrame(
        {
            "late_payments": rng.poisson(rng.gamma(0.8, 0.9, n_rows)),
            "utilisation": rng.beta(1.6, 2.4, n_rows).round(2),
            "income": income,
            "amount": amount,
            "employed_since": np.datetime64("2026-01-01") - days_in_job,
            "homeowner": np.where(rng.rand(n_rows) < 0.35, "yes", "no"),
            "purpose": rng.choice(
                ["car", "furniture", "business", "education"], n_rows, p=[0.4, 0.3, 0.2, 0.1]
            ),
            "age": rng.randint(19, 76, n_rows),
            "region": rng.choice(["north", "south", "east", "west"], n_rows),
        }
    )
    late, full = table["late_payments"], np.maximum(table["utilisation"] - 0.5, 0)
    odds = -6.2 + 1.1 * np.minimum(late, 4) + 4 * full + 8 * full * (late > 1)
    odds += 4 * np.clip(amount / income - 0.3, 0, 1) + 2 * (days_in_job < 365)
    odds += 1.2 * (table["purpose"] == "business") - 0.8 * (table["homeowner"] == "yes")
    table["outcome"] = np.where(rng.rand(n_rows) < expit(odds), "bad", "good")
    table["income"] = table["income"].where(rng.rand(n_rows) > 1 / 12)
    return table


if __name__ == "__main__":
    loans(6000, 0).to_csv(LOANS, index=False, lineterminator="\n")
