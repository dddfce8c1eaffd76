"""The section of docs/speed.md on growing tables, made from results of `benchmarks.growing`."""

from __future__ import annotations

from benchmarks.pages import environment_list

MILLION, LIMIT = 1_000_000, 30  # seconds of a default fit


def render(results: dict) -> str:
    """A row for each table, with a column of seconds and a column of losses per library."""
    fits = results["fits"]
    names = list(dict.fromkeys(one["name"] for one in fits if "," not in one["name"]))
    variants = [one for one in fits if "," in one["name"]]
    shapes = dict.fromkeys((one["table"], one["rows"]) for one in fits)
    found = {(one["table"], one["rows"], one["name"]): one for one in fits}
    lines = [
        "### Default fits of growing tables",
        "",
        "Generated rows × 20, all libraries with their defaults, two threads, one after the "
        "other in one run (`make growing`). Seconds of the fit, and log loss, or mean squared "
        "error of numbers, on 100,000 other rows.",
        "",
        "| table | rows | " + " | ".join(f"{name}, s | loss" for name in names) + " |",
        "|---|--:|" + "--:|" * 2 * len(names),
    ]
    for shape in shapes:
        cells = []
        for name in names:
            one = found.get((*shape, name))
            cells += [f"{one['seconds']:.1f}", f"{one['loss']:.4g}"] if one else ["", ""]
        lines.append(f"| {shape[0]} | {shape[1]:,} | " + " | ".join(cells) + " |")
    slowest = max(
        (one["seconds"] for one in fits if one["rows"] == MILLION and one["name"] == names[0]),
        default=None,
    )
    if slowest is not None:
        is_met = "reached" if slowest <= LIMIT else "**not reached**"
        lines += [
            "",
            f"The bar of {LIMIT} s for a default fit of {MILLION:,} rows is {is_met}: the "
            f"slowest of ours took {slowest:.1f} s.",
        ]
    lines += [
        "",
        'What the defaults save on the longest table: epochs (`n_epochs="auto"`), and rows '
        "that trees grow from, at most 200,000 of them. Where trees of all rows come to much "
        "more loss, they have missed a product of two columns that do nothing alone: greedy "
        "splits find one only where noise makes them try such a column, and there is less "
        "noise in more rows. Shorter tables above have the same gap.",
        "",
        "| table | rows | ours | seconds | loss | loss of the default |",
        "|---|--:|---|--:|--:|--:|",
    ]
    for one in variants:
        default = found[one["table"], one["rows"], names[0]]["loss"]
        variant = one["name"].partition(", ")[2]
        lines.append(
            f"| {one['table']} | {one['rows']:,} | {variant} | {one['seconds']:.1f} "
            f"| {one['loss']:.4g} | {default:.4g} |"
        )
    return "\n".join([*lines, "", environment_list(results["environment"])])
