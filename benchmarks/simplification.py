"""Simplified models on held-out rows: the parameters saved, and the error added.

    python -m benchmarks.simplification --write

measures several splits of four data sets at depth 8 and rewrites docs/simplification.md
with its figure. Forests stand beside them for size: a node counts as one parameter.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from benchmarks.datasets import data_folder, load
from benchmarks.drawing import BLUE, GREY, ORANGE, STYLE, save
from benchmarks.methods import boosting, forest, trees_size
from benchmarks.pages import DOCS, environment, environment_list, write_page
from neuralrules import NeuralRuleClassifier
from neuralrules._simplify._path import TOLERANCE

NAMES = ("phoneme", "churn", "spambase", "magic")
DEPTH = 8
TEST_SHARE = 0.2
FEWER, POINTS = 60, 0.3  # the goal: percent fewer parameters, percentage points of error


def measure(name: str, seed: int, folder: str | None) -> list[dict]:
    """Measure one split: a line for each step of the path and for each other model."""
    X, y = load(name, data_folder(folder))
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, random_state=seed, stratify=y
    )

    def error(model) -> float:
        return 100 * float(np.mean(model.predict(X_test) != y_test))

    model = NeuralRuleClassifier.paper(DEPTH, random_state=seed).fit(X, y)
    start = time.perf_counter()
    path = model.simplification_path(X, y)
    seconds = time.perf_counter() - start
    base = {"name": name, "seed": seed, "seconds": seconds}
    lines = []
    for step in range(len(path)):
        smaller = path.model(step)
        lines.append(
            {
                **base,
                "model": "chosen" if step == path.within(TOLERANCE) else "step",
                "step": step,
                "error": error(smaller),
                "parameters": smaller.network_.n_parameters,
                "rules": smaller.network_.n_rules,
            }
        )
    lines.append({**lines[0], "model": "whole"})
    for label, other in (("GB", boosting(3, seed)), ("RF", forest(100, seed))):
        fitted = clone(other).fit(X, y)
        lines.append(
            {
                **base,
                "model": label,
                "error": error(fitted),
                "parameters": trees_size(fitted)["nodes"],
            }
        )
    return lines


def summary(records: pd.DataFrame) -> pd.DataFrame:
    """Means over the splits of each data set; one line per data set."""
    lines = []
    for name in dict.fromkeys(records["name"]):
        own = records[records["name"] == name]
        by_model = {
            model: group.set_index("seed").sort_index() for model, group in own.groupby("model")
        }
        whole, chosen = by_model["whole"], by_model["chosen"]
        cost = chosen["error"] - whole["error"]
        fewer = 100 * (1 - chosen["parameters"] / whole["parameters"])
        lines.append(
            {
                "name": name,
                "error": whole["error"].mean(),
                "simplified": chosen["error"].mean(),
                "cost": cost.mean(),
                "cost_se": cost.std(ddof=1) / np.sqrt(len(cost)),
                "parameters": whole["parameters"].mean(),
                "left": chosen["parameters"].mean(),
                "fewer": fewer.mean(),
                "least": fewer.min(),
                "rules": whole["rules"].mean(),
                "rules_left": chosen["rules"].mean(),
                "GB": by_model["GB"]["error"].mean(),
                "GB_times": (by_model["GB"]["parameters"] / chosen["parameters"]).mean(),
                "RF": by_model["RF"]["error"].mean(),
                "RF_times": (by_model["RF"]["parameters"] / chosen["parameters"]).mean(),
                "seconds": whole["seconds"].mean(),
            }
        )
    return pd.DataFrame(lines)


def render(table: pd.DataFrame, n_splits: int, where: dict[str, str]) -> str:
    """The results as Markdown."""
    lines = [
        f"Means over {n_splits} random splits with a fifth of the rows held out; the cost is "
        "in percentage points of test error, with its standard error over the splits.",
        "",
        f"| data | error | simplified | cost | parameters | left | fewer | "
        f"at least {FEWER} % fewer for at most {POINTS} points |",
        "|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for row in table.itertuples():
        met = row.fewer >= FEWER and row.cost <= POINTS
        lines.append(
            f"| {row.name} | {row.error:.2f} % | {row.simplified:.2f} % "
            f"| {row.cost:+.2f} ± {row.cost_se:.2f} | {row.parameters:,.0f} | {row.left:,.0f} "
            f"| {row.fewer:.0f} % (at least {row.least:.0f} %) "
            f"| {'yes' if met else '**no**'} |"
        )
    lines += [
        "",
        "![Error against size on the four data sets](figures/simplification.png)",
        "",
        "Thin lines are the splits, the thick one their mean; the diamond is what `simplify` "
        "takes by default.",
        "",
        "The same splits beside scikit-learn's default gradient boosting and random forest "
        "(*times*: how many nodes they have for each parameter of the simplified model):",
        "",
        "| data | rules | left | simplified | boosting | times | forest | times | seconds |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row.name} | {row.rules:.0f} | {row.rules_left:.0f} | {row.simplified:.2f} % "
        f"| {row.GB:.2f} % | {row.GB_times:.1f} | {row.RF:.2f} % | {row.RF_times:.0f} "
        f"| {row.seconds:.1f} |"
        for row in table.itertuples()
    ]
    lines += [
        "",
        "Seconds are those of the whole path on one thread, the fit of the twin included.",
        "",
        "### Where",
        "",
        environment_list(where),
    ]
    return "\n".join(lines)


def draw(records: pd.DataFrame) -> None:
    """Draw test error against parameters: a panel per data set, a thin line per split."""
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, len(NAMES), figsize=(11, 2.9), layout="constrained")
        for axes, name in zip(panels, NAMES, strict=True):
            own = records[records["name"] == name]
            steps = own[own["model"].isin(["step", "chosen"])]
            chosen = own.loc[own["model"] == "chosen", ["parameters", "error"]]
            for _, split in steps.sort_values("step").groupby("seed"):
                axes.plot(split["parameters"], split["error"], color=GREY, linewidth=0.6)
            by_step = steps.groupby("step")
            mean = by_step[["parameters", "error"]].mean()[by_step.size() == len(chosen)]
            axes.plot(mean["parameters"], mean["error"], color=BLUE, linewidth=2, label="mean")
            axes.plot(
                *chosen.mean(),
                "D",
                color=ORANGE,
                markersize=7,
                markeredgecolor="white",
                zorder=4,
            )
            axes.set(xscale="log", title=name, xlabel="parameters")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
            axes.xaxis.set_minor_locator(NullLocator())
        panels[0].set_ylabel("test error, %")
        save(figure, DOCS / "figures" / "simplification.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="update docs/simplification.md")
    options = parser.parse_args()
    where = environment()  # of the code that is about to run
    jobs = [(name, seed) for name in NAMES for seed in range(options.splits)]
    results = Parallel(n_jobs=options.n_jobs, return_as="generator")(
        delayed(measure)(name, seed, options.data) for name, seed in jobs
    )
    lines: list[dict] = []
    for (name, seed), found in zip(jobs, results, strict=True):
        print(f"{name} split {seed}", file=sys.stderr, flush=True)
        lines += found
    records = pd.DataFrame(lines).round(6)
    text = render(summary(records), options.splits, where)
    print(text)
    if options.write:
        records.to_csv(DOCS / "simplification.csv", index=False)
        draw(records)
        write_page("simplification.md", text)


if __name__ == "__main__":
    main()
