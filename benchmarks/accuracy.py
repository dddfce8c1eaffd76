"""Test errors of the CV classifier beside the paper's, on eight of its data sets.

    python -m benchmarks.accuracy [--data FOLDER] [--write]

Five stratified folds, or ten seeds for the two sets that come with test rows of
their own (wilt and madelon); the depth is chosen by cross-validation inside each
training part. A published figure comes with its sampling error: it was measured on
15 % of the rows (500 for wilt, 1000 for madelon), so the bar is the figure plus
1.96 * sqrt(p (1 - p) / n).

--write puts the results into docs/accuracy.md.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold

from benchmarks.datasets import data_folder, load
from benchmarks.pages import DOCS, environment, environment_list, write_page
from neuralrules import NeuralRuleClassifierCV

# Published test errors in per cent (table IV of the paper) and the rows behind them.
PUBLISHED = {
    "phoneme": 8.14,
    "banana": 8.93,
    "twonorm": 2.25,
    "ring": 3.51,
    "spambase": 4.63,
    "churn": 4.13,
    "wilt": 10.40,
    "madelon": 10.30,
}
TEST_ROWS_AT_END = {"wilt": 500, "madelon": 600}
PUBLISHED_TEST_ROWS = {"wilt": 500, "madelon": 1000}
N_FOLDS, N_SEEDS = 5, 10


def bar(name: str, n_rows: int) -> float:
    """The published error plus its sampling error, in per cent."""
    p = PUBLISHED[name] / 100
    n = PUBLISHED_TEST_ROWS.get(name, 0.15 * n_rows)
    return 100 * (p + 1.96 * np.sqrt(p * (1 - p) / n))


def measure(name: str, folder: Path, repeat: int) -> dict:
    """Error of one fold, or of one seed where the test rows are given."""
    X, y = load(name, folder)
    if name in TEST_ROWS_AT_END:
        rows = np.arange(len(X))
        train, test = np.split(rows, [len(X) - TEST_ROWS_AT_END[name]])
    else:
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
        train, test = list(folds.split(X, y))[repeat]
    start = time.perf_counter()
    model = NeuralRuleClassifierCV(random_state=repeat).fit(X[train], y[train])
    seconds = time.perf_counter() - start
    return {
        "data": name,
        "repeat": repeat,
        "error": round(100 * (1 - model.score(X[test], y[test])), 3),
        "depth": model.max_depth_,
        "rules": model.network_.n_rules,
        "literals": model.network_.n_literals,
        "seconds": round(seconds, 2),
        "bar": round(bar(name, len(X)), 3),
    }


def render(records: list[dict]) -> str:
    lines = [
        "| data | published | bar | ours | ± | met | depths chosen | rules | seconds |",
        "|---|--:|--:|--:|--:|---|---|--:|--:|",
    ]
    for name, published in PUBLISHED.items():
        own = [record for record in records if record["data"] == name]
        errors = np.array([float(record["error"]) for record in own])
        limit = float(own[0]["bar"])
        depths = ", ".join(str(record["depth"]) for record in own)
        rules = np.mean([float(record["rules"]) for record in own])
        seconds = np.mean([float(record["seconds"]) for record in own])
        lines.append(
            f"| {name} | {published:.2f} | {limit:.2f} | {errors.mean():.2f} "
            f"| {errors.std(ddof=1):.2f} | {'yes' if errors.mean() <= limit else '**no**'} "
            f"| {depths} | {rules:.0f} | {seconds:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--n-jobs", type=int, default=-1, help="folds measured at a time")
    parser.add_argument("--write", action="store_true", help="update docs/accuracy.md")
    options = parser.parse_args()
    folder = data_folder(options.data)
    jobs = [
        (name, repeat)
        for name in PUBLISHED
        for repeat in range(N_SEEDS if name in TEST_ROWS_AT_END else N_FOLDS)
    ]
    records = Parallel(n_jobs=options.n_jobs, verbose=1)(
        delayed(measure)(name, folder, repeat) for name, repeat in jobs
    )
    text = render(records)
    print(text)
    if options.write:
        with (DOCS / "accuracy.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, records[0])
            writer.writeheader()
            writer.writerows(records)
        write_page("accuracy.md", f"{text}\n{environment_list(environment())}")


if __name__ == "__main__":
    main()
