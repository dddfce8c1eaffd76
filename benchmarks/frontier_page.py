"""Make docs/frontier.md from docs/frontier.csv: `make frontier ARGS=--write`, or
`python -m benchmarks.frontier_page` if there is nothing to measure.
"""

from __future__ import annotations

import pandas as pd

from benchmarks import drawing, frontier_drawing, frontier_summary, significance
from benchmarks import frontier_numbers as numbers
from benchmarks import frontier_tables as tables
from benchmarks.frontier_methods import SIZES
from benchmarks.frontier_numbers import DEFAULTS, KINDS, PEERS, YARDSTICK
from benchmarks.frontier_protocol import DATA, N_SPLITS
from benchmarks.pages import DOCS, write_page
from benchmarks.tables import probability

PICTURE = "figures/frontier.png"
RANKS = "figures/frontier_ranks.png"
BEHIND = 0.05  # a data set is lost if our loss exceeds the best peer's by more than this share
NOT_COMPARED = ("constant",)


def summary(table: pd.DataFrame) -> list[str]:
    """The page in a few sentences."""
    logs = numbers.log_losses(table)
    average, default = "ours average", "ours"
    best = min(
        numbers.everywhere(logs, PEERS), key=lambda name: numbers.ratio(logs, name, YARDSTICK)
    )
    lost = numbers.best_peers(logs, average, PEERS)
    n_lost = int((lost["ratio"] > 1 + BEHIND).sum())
    n_best = int((lost["ratio"] < 1).sum())
    median = {
        name: numbers.cells(table, "parameters")[name].median() for name in (default, best)
    }
    return [
        f'Averaged over {len(lost)} data sets and {N_SPLITS} splits of each, `refit="average"` '
        f"has {change(numbers.ratio(logs, average, YARDSTICK))} loss than {YARDSTICK}, and the "
        f"default model {change(numbers.ratio(logs, default, YARDSTICK))}. The best peer that "
        f"was measured everywhere is {best}, with "
        f"{change(numbers.ratio(logs, average, best), less='more', more='less')} loss than "
        f'`refit="average"`. In the median the default has {median[default]:,.0f} parameters '
        f"and {best} {median[best]:,.0f}.",
        "",
        f'On {n_best} of {len(lost)} data sets `refit="average"` has the lowest loss of all; '
        f"on {n_lost} it is more than {100 * BEHIND:.0f} % behind the best peer, which is a "
        "different one from set to set: see [where we lose](#where-we-lose).",
    ]


def change(ratio: float, less: str = "less", more: str = "more") -> str:
    """A ratio in words, such as "5.0 % less"."""
    if less == "more":  # describe the other method compared with ours
        ratio = 1 / ratio
        less, more = "less", "more"
    return f"{100 * abs(ratio - 1):.1f} % {less if ratio < 1 else more}"


def render(table: pd.DataFrame) -> str:
    """The page below its marker."""
    logs = numbers.log_losses(table)
    shown = [name for name in DEFAULTS if name not in NOT_COMPARED and name in logs]
    ranked = numbers.mean_ranks(logs, shown)
    data = {kind: [name for name in DATA if numbers.kind(name) == kind] for kind in KINDS}
    friedman = significance.friedman_p(
        numbers.by_data(logs)[list(ranked)].to_numpy(), decimals=numbers.DECIMALS
    )
    lines = [
        "## In short",
        "",
        *summary(table),
        "",
        "A ratio below 1 is in our favour. *Bar* is what was to be reached, *ambition* what "
        "would be better still.",
        "",
        *tables.bars_table(numbers.bars(table)),
        "",
        "## Loss against size",
        "",
        f"![Loss of all methods against their parameters and rules]({PICTURE})",
        "",
        f"Each point is a method: its loss over {YARDSTICK}'s, and its size, both as geometric "
        "means over all data sets and splits. Lines join one family at 16, 64 and 256 rules. "
        "Hollow points were not measured on all data sets, and are averaged over those that "
        "they have.",
        "",
        "## All methods",
        "",
        f"*Loss / {YARDSTICK}* is the geometric mean over cells, then its median over data "
        "sets, which no set with extreme losses can move, and by target. *Mean rank* "
        "is over data sets, among those that were measured everywhere. Sizes and seconds are "
        "medians over data sets; *worse than a constant* counts data sets.",
        "",
        *tables.methods_table(table),
        "",
        f"![Mean ranks with Nemenyi's critical difference]({RANKS})",
        "",
        "Mean ranks over data sets, 1 is best; methods joined by a bar are not told apart by "
        f"Nemenyi's test at 5 %. Friedman's test: p {probability(friedman)}. Methods that lack "
        "data sets are left out.",
        "",
        "### Ours against each peer",
        "",
        "Over the data sets that both have. Wilcoxon's signed-rank test is exact and "
        "two-sided, of the logarithms of losses, splits averaged.",
        "",
        *tables.significance_table(logs, ("ours average", "ours")),
        "",
        "## With few rules",
        "",
        "Leaves count as rules. The boostings choose leaves a tree and learning rate on a "
        "fifth of the training rows; several classes share the leaves, with at least one "
        "round, so that they may have more than their size where there are many classes.",
        "",
    ]
    for n in SIZES:
        lines += [f"### At most {n}", "", *tables.sized_table(table, n), ""]
    lines += [*where_we_lose(logs), *by_set(table, shown, data), *not_measured(table)]
    lines += ["## Where", "", *where(table)]
    return "\n".join(lines)


def where_we_lose(logs: pd.DataFrame) -> list[str]:
    """The section about the data sets on which others are better."""
    peers = [name for name in PEERS if name in logs]
    lines = [
        "## Where we lose",
        "",
        f'Data sets on which `refit="average"` has more than {100 * BEHIND:.0f} % more loss '
        "than the best of all peers, which is chosen anew for each set with the test rows in "
        "view:",
        "",
        *tables.losses_table(logs, "ours average", peers, BEHIND),
        "",
    ]
    for n in SIZES:
        behind = numbers.best_peers(logs, f"ours {n}", numbers.of_size(n))
        lost = behind[behind["ratio"] > 1 + BEHIND].sort_values("ratio", ascending=False)
        sets = ", ".join(
            f"{data} ({100 * (row['ratio'] - 1):.0f} %, {row['peer'].removesuffix(f' {n}')})"
            for data, row in lost.iterrows()
        )
        lines += [f"- With {n} rules, behind the best peer of that size: {sets or 'none'}."]
    return [*lines, ""]


def by_set(table: pd.DataFrame, shown: list[str], data: dict[str, list[str]]) -> list[str]:
    """The section with losses, errors, AUC, sizes and seconds of each data set."""
    classes = data[KINDS[0]] + data[KINDS[1]]
    lines = [
        "## Each data set",
        "",
        "Means over splits, geometric ones for losses. The best is bold.",
        "",
        "### Log loss, two classes",
        "",
        *tables.by_set_table(table, shown, data[KINDS[0]]),
        "",
        "### Log loss, several classes",
        "",
        *tables.by_set_table(table, shown, data[KINDS[1]]),
        "",
        "### Share of variance left, in per cent",
        "",
        "Mean squared error over the variance of the test targets.",
        "",
        *tables.by_set_table(tables.left_variance(table), shown, data[KINDS[2]]),
        "",
        "### Errors in per cent",
        "",
        *tables.by_set_table(table, shown, classes, "error", "{:.2f}".format),
        "",
        "### AUC, two classes",
        "",
        *tables.by_set_table(
            table, shown, data[KINDS[0]], "auc", "{:.4f}".format, lowest=False
        ),
        "",
    ]
    for n in SIZES:
        methods = [name for name in tables.sized_methods(n) if name in set(table["method"])]
        variance = table["variance"].notna()
        percent = table.assign(
            loss=table["loss"].where(~variance, table["loss"] * 100 / table["variance"])
        )
        lines += [
            f"### Loss with at most {n} rules",
            "",
            *tables.by_set_table(percent, methods, list(DATA)),
            "",
        ]
    return [
        *lines,
        "### Parameters",
        "",
        *tables.by_set_table(table, shown, list(DATA), "parameters", "{:,.0f}".format),
        "",
        "### Seconds to fit",
        "",
        *tables.by_set_table(table, shown, list(DATA), "fit_seconds", "{:.2f}".format),
        "",
        "### Tables",
        "",
        *tables.data_table(table),
        "",
    ]


def not_measured(table: pd.DataFrame) -> list[str]:
    return [
        "## What was not measured",
        "",
        "A method that computes longer than its limit on one split of a data set is not tried "
        "on the others, nor with more rules.",
        "",
        *tables.gaps_table(table),
        "",
    ]


def where(table: pd.DataFrame) -> list[str]:
    """A text with the CPUs, versions and commits of all records."""
    versions = sorted({version for line in table["versions"] for version in line.split()})
    return [
        f"- CPU: {', '.join(sorted(table['cpu'].unique()))}",
        f"- versions: {', '.join(versions).replace('=', ' ')}",
        f"- commit: {', '.join(sorted(table['commit'].unique()))}",
        f"- computed in all: {hours(table):.1f} hours of a core",
    ]


def hours(table: pd.DataFrame) -> float:
    return float(
        table[["fit_seconds", "predict_seconds"]].to_numpy(float, na_value=0).sum() / 3600
    )


def write() -> None:
    """Write the page and its figures again."""
    table = frontier_summary.read()
    if absent := numbers.lacking(table):
        raise SystemExit(f"{frontier_summary.PATH} lacks records: {absent}.")
    logs = numbers.log_losses(table)
    shown = [name for name in DEFAULTS if name not in NOT_COMPARED]
    ranks = numbers.mean_ranks(logs, shown)
    difference = significance.critical_difference(len(ranks), len(DATA))
    drawing.draw_ranks(DOCS / RANKS, {"": ranks}, difference)
    frontier_drawing.draw(DOCS / PICTURE, table)
    write_page("frontier.md", render(table))


if __name__ == "__main__":
    write()
