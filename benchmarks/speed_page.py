"""The page about the engine's speed, made from the results of `benchmarks.speed`."""

from __future__ import annotations

import json

from benchmarks import growing_page
from benchmarks.pages import DOCS, environment_list, write_page
from neuralrules._rules._sources import MAX_ROWS

POOL_TREES = 32  # as many as `n_trees="auto"` means


def bars(results: dict) -> list[tuple[str, str, bool]]:
    """The goals for the engine: the claim, the measured number, and whether the claim holds."""
    found = []
    kinds = [("", record) for record in results["engine"]]
    kinds += [(", AVX2 only", record) for record in results["engine_avx2"]]
    for kind, record in kinds:
        if record["name"] == "phoneme":  # five features: no bar, see docs/speed.md
            continue
        one = record["1"]
        for what, limit in (("epoch", 1.5), ("predict", 1.3)):
            ratio = one[f"{what}_ratio"]
            claim = f"{record['name']}{kind}: {what} at most {limit} × the bare product"
            found.append((claim, f"{ratio:.2f}", ratio <= limit))
        if record["name"] == "adult" and not kind:
            speed_up = record["speed_up"]
            claim = "adult: two threads at least 1.6 times as fast as one"
            found.append((claim, f"{speed_up:.2f}", speed_up >= 1.6))
    own = results["own_columns"][-1]
    claim = (
        f"spambase: rules that own {own['own_columns']} of {own['columns']} columns train at "
        "least 5 times as fast as rules that own all"
    )
    found.append((claim, f"{own['times']:.1f}", own["times"] >= 5))
    per_literal = [r["epoch"] / r["rows"] / r["literals"] for r in results["rows"]]
    growth = per_literal[-1] / per_literal[0]
    claim = (
        f"seconds per row and literal at {results['rows'][-1]['rows']:,} rows at most 1.5 "
        f"times those at {results['rows'][0]['rows']:,}"
    )
    found.append((claim, f"{growth:.2f}", growth <= 1.5))
    pool = results["pools"][0]
    seconds = pool["encode"] + pool["grow"]
    claim = (
        f"{pool['rows']:,} × 20 rows encoded and {POOL_TREES} boosted trees of depth "
        f"{pool['max_depth']} grown in at most 6 s"
    )
    found.append((claim, f"{seconds:.1f} s", seconds <= 6))
    default = results["default"]
    claim = "default fit on 5000 × 20 rows, warm, one thread, in at most 1 s"
    found.append((claim, f"{default['ours']:.2f} s", default["ours"] <= 1))
    claim = "the same faster than MLPClassifier(256)"
    times = f"{default['ours']:.2f} s against {default['mlp']:.2f} s"
    found.append((claim, times, default["ours"] < default["mlp"]))
    search = results["search"]
    claim = f"search on {search['rows']:,} × 20 rows, two processes, in at most 60 s"
    found.append((claim, f"{search['seconds']:.0f} s", search["seconds"] <= 60))
    return found


def engine_table(title: str, records: list[dict]) -> list[str]:
    lines = [
        f"### {title}",
        "",
        "Depth 10, batches of 256 rows, all rules in every batch, median over epochs. *Bare* "
        "is the float32 product of all rows with all literals; the ratios are to it. *Last* is "
        "the ratio over the last five epochs, when more rules are active.",
        "",
        "| data | rows | rules | literals | features | threads | bare | epoch | ratio | last "
        "| predict | ratio | speed-up |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for record in records:
        for threads in ("1", "2"):
            r = record[threads]
            speed_up = f"{record['speed_up']:.2f}" if threads == "2" else ""
            lines.append(
                f"| {record['name']} | {record['rows']} | {record['rules']} "
                f"| {record['literals']} | {record['features']} | {threads} "
                f"| {1e3 * r['bare']:.1f} ms | {1e3 * r['epoch']:.1f} ms "
                f"| **{r['epoch_ratio']:.2f}** | {r['last_epoch_ratio']:.2f} "
                f"| {1e3 * r['predict']:.1f} ms | **{r['predict_ratio']:.2f}** | {speed_up} |"
            )
    return lines


def own_columns_table(records: list[dict]) -> list[str]:
    lines = [
        "### Rules that own few columns",
        "",
        "spambase, one thread: three trees that each see three columns, and the same rules "
        f"where each owns all {records[0]['columns']}. Short rules gain less: they are active "
        "on more rows, and each active row costs its record and its place in the gradient, "
        "however few the columns.",
        "",
        "| depth | rules | literals | epoch, all columns | epoch, three | times as fast |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {r['max_depth']} | {r['rules']} | {r['literals']} | {1e3 * r['dense']:.2f} ms "
        f"| {1e3 * r['own']:.2f} ms | **{r['times']:.1f}** |"
        for r in records
    ]
    return lines


def models_table(records: list[dict]) -> list[str]:
    names = list(records[0]["seconds"])
    lines = [
        "### Other models on the same rows",
        "",
        "Seconds to fit / to predict all rows, defaults, two threads.",
        "",
        f"| data | {' | '.join(names)} |",
        f"|---|{'--:|' * len(names)}",
    ]
    for record in records:
        cells = [f"{fit:.2f} / {predict:.3f}" for fit, predict in record["seconds"].values()]
        lines.append(f"| {record['name']} | {' | '.join(cells)} |")
    return lines


def rows_table(records: list[dict]) -> list[str]:
    lines = [
        "### Growing tables",
        "",
        "20 columns, depth 6, one thread.",
        "",
        "| rows | literals | encode and tree | epoch | epoch per million rows | predict |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {r['rows']:,} | {r['literals']} | {r['tree']:.2f} s | {r['epoch']:.3f} s "
        f"| {r['epoch_per_million']:.2f} s | {r['predict']:.3f} s |"
        for r in records
    ]
    return lines


def pools_table(records: list[dict]) -> list[str]:
    lines = [
        "### Pools of rules from a large table",
        "",
        f"20 columns, {POOL_TREES} trees (a class, if there are several) or one, two threads "
        f"for the forest and one for the others. Trees grow from at most {MAX_ROWS:,} of the "
        "rows; all are counted in their leaves.",
        "",
        "| rows | classes | source | depth | rules | encode | grow |",
        "|--:|--:|---|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {r['rows']:,} | {r['classes']} | {r['source']} | {r['max_depth']} | {r['rules']} "
        f"| {r['encode']:.2f} s | {r['grow']:.2f} s |"
        for r in records
    ]
    return lines


def render(results: dict) -> str:
    """The results as Markdown."""
    d, simple, search = results["default"], results["simplify"], results["search"]
    checked = [
        f"| {claim} | {measured} | {'yes' if holds else '**no**'} |"
        for claim, measured, holds in bars(results)
    ]
    lines = [
        "### Bars",
        "",
        "| bar | measured | met |",
        "|---|--:|---|",
        *checked,
        "",
        *engine_table("Engine", results["engine"]),
        "",
        *engine_table("Engine with AVX2 only", results["engine_avx2"]),
        "",
        *own_columns_table(results["own_columns"]),
        "",
        "### Simplification",
        "",
        f"The whole path of a model of depth 6 on phoneme, {simple['rows']} rows, "
        f"{simple['steps']} steps, one thread: {simple['seconds']:.1f} s.",
        "",
        *models_table(results["models"]),
        "",
        *rows_table(results["rows"]),
        "",
        *pools_table(results["pools"]),
        "",
        "### A default fit",
        "",
        f"5000 × 20 rows, warm: {d['ours']:.2f} s on one thread, {d['ours_two_threads']:.2f} s "
        f"on two; `MLPClassifier(256)` {d['mlp']:.2f} s ({d['mlp'] / d['ours']:.1f} times as "
        "long as one thread).",
        "",
        "### A search",
        "",
        f"`NeuralRuleClassifierCV(n_jobs=2)` on {search['rows']:,} × 20 rows: "
        f"{search['seconds']:.0f} s for {search['fits']} fits, joined into "
        f"{search['rules']:,} rules.",
        "",
        "### Where",
        "",
        environment_list(results["environment"]),
    ]
    return "\n".join(lines)


def write_speed() -> None:
    """Write docs/speed.md again, from the stored results of both benchmarks."""
    parts = [render(json.loads((DOCS / "speed.json").read_text()))]
    growing = DOCS / "growing.json"
    if growing.exists():
        parts.append(growing_page.render(json.loads(growing.read_text())))
    write_page("speed.md", "\n\n".join(parts))
