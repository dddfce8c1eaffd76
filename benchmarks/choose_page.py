"""Put the numbers into docs/choose.md, from docs/frontier.csv and docs/readability.csv:

python -m benchmarks.choose_page
"""

from __future__ import annotations

import pandas as pd

from benchmarks import frontier_numbers as numbers
from benchmarks import frontier_summary, readability_page
from benchmarks import frontier_tables as tables
from benchmarks.frontier_numbers import PEERS, YARDSTICK
from benchmarks.frontier_page import BEHIND
from benchmarks.pages import write_page
from benchmarks.tables import markdown

AVERAGE = "ours average"
SHOWN = (
    *(AVERAGE, "ours", "ours 256", "ours 64", "ours 16"),
    *("CatBoost", "HistGradientBoosting", "XGBoost", "LightGBM", "random forest"),
    *("FIGS 16", "tree 16", "linear"),
)
# Names for people of the pages in readability.csv, from small to large.
BESIDE_EBM = {
    "page of 16": "16 rules of two conditions",
    "page of 128": "128 such rules",
    "free": "no limits",
}


def methods_table(table: pd.DataFrame) -> list[str]:
    """Loss, size and seconds of the methods to choose from, the lowest loss first."""
    logs = numbers.log_losses(table)
    rows = []
    for name in sorted(SHOWN, key=lambda name: numbers.ratio(logs, name, YARDSTICK)):
        parameters, rules, seconds, _ = tables.sizes_and_seconds(table, name)
        wins = "" if name == AVERAGE else lead(logs, name)
        ratio = f"{numbers.ratio(logs, name, YARDSTICK):.2f}"
        rows.append((tables.shown(name), ratio, wins, parameters, rules, seconds))
    header = (
        "method",
        f"loss / {YARDSTICK}",
        f"ahead of {AVERAGE}",
        "parameters",
        "rules or leaves",
        "fit, s",
    )
    return markdown(header, rows)


def lead(logs: pd.DataFrame, name: str) -> str:
    """The number of tables on which a method has a lower loss than our most accurate one."""
    both = numbers.by_data(logs)[[AVERAGE, name]].dropna()
    return readability_page.won(both[name] - both[AVERAGE] + 1)


def ebm_table(table: pd.DataFrame) -> list[str]:
    """Our losses divided by EBM's, on the cells in which both were measured."""
    logs = readability_page.losses(table)
    medians = table.groupby("method")[["rules", "short_words"]].median()
    rows = []
    for method, says in BESIDE_EBM.items():
        found = readability_page.ratios(logs, method, "EBM")
        rules, words = medians.loc[method]
        ratio = f"{readability_page.ratio(logs, method, 'EBM'):.2f}"
        ahead = readability_page.won(found)
        rows.append((says, ratio, ahead, f"{rules:,.0f}", f"{words:,.0f}"))
    rules, words = medians.loc["EBM"]
    rows.append(("EBM", "1.00", "", f"{rules:.0f} terms", f"{words:,.0f} scores"))
    return markdown(("ours with", "loss / EBM", "ahead on", "rules", "words"), rows)


def render(frontier: pd.DataFrame, readability: pd.DataFrame) -> str:
    """The page below its marker."""
    logs = numbers.log_losses(frontier)
    peers = [name for name in PEERS if name in logs]
    return "\n".join(
        [
            "## The numbers",
            "",
            "### Beside boosting and linear models",
            "",
            f"Geometric means over 36 tables of loss over {YARDSTICK}'s, medians of sizes and "
            "seconds ([all of it](frontier.md)).",
            "",
            *methods_table(frontier),
            "",
            "### Beside EBM",
            "",
            "On the tables of [another comparison](readability.md) on which EBM was measured. "
            "It is read from graphs; its scores are counted as words.",
            "",
            *ebm_table(readability),
            "",
            "### Where we lose",
            "",
            f"Tables on which even our most accurate model, `{AVERAGE}`, has more than "
            f"{100 * BEHIND:.0f} % more loss than the best of all others, which is another one "
            "from table to table:",
            "",
            *tables.losses_table(logs, AVERAGE, peers, BEHIND),
        ]
    )


def write() -> None:
    write_page("choose.md", render(frontier_summary.read(), readability_page.read()))


if __name__ == "__main__":
    write()
