"""The page and the picture of `benchmarks.scale`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from benchmarks.drawing import BLUE, GREY, ORANGE, STYLE
from benchmarks.files import write_whole
from benchmarks.pages import DOCS, environment_list
from benchmarks.scale import (
    FIT_BATCH,
    FIT_EPOCHS,
    FIT_ROWS,
    LATENCY,
    LINKS,
    LOSS_EPOCHS,
    LOSS_ROWS,
    PER_WORKER,
    POOLS,
    RATES,
    TRIES,
    WAYS,
    WORKERS,
    compute_of,
    half_efficient,
    modelled,
)

GREEN = "#009E73"  # also of Okabe and Ito
RULES = 480  # number of rules of the network in the model of many workers


def render(results: dict) -> str:
    steps = results["steps"]
    return "\n\n".join(
        filter(
            None,
            [
                steps_section(steps),
                results["note"],
                fits_section(results["fits"]),
                model_section(steps),
                limits_section(steps),
                losses_section(results["losses"]),
                environment_list(results["environment"]),
            ],
        )
    )


def steps_section(steps: list[dict]) -> str:
    """The section with the steps of one and of two workers, side by side."""
    lines = [
        "### One worker and two",
        "",
        "Workers of one core each, numba in one thread, gloo between processes of one machine: "
        "two cores can show what sharing a step costs, but no network. A batch is that of all "
        "workers together. Seconds are those of the clock and, in brackets, of the core that "
        "each worker had to itself or shared; waiting takes none of the latter. Speed-up is a "
        "step of one worker by one of two, by the clock; the share of the work is the core's "
        "seconds of one worker by those of both of two. The reduction is what the first worker "
        f"spent in it, waiting for the other included. Of {TRIES} tries the quickest counts.",
        "",
        "| rules | batch | one worker, ms | two workers, ms | speed-up | share of the work "
        "| reduction, ms |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for rules in POOLS:
        own = [one for one in steps if one["rules"] == rules]
        for one in own:
            if one["workers"] == 1:
                (two,) = [
                    other
                    for other in own
                    if other["workers"] == 2 and other["batch"] == one["batch"]
                ]
                share = one["processor"] / two["processor"] / 2
                lines.append(
                    f"| {rules} | {one['batch']:,} | {both(one)} | {both(two)} "
                    f"| {one['step'] / two['step']:.2f} | {share:.0%} "
                    f"| {1e3 * two['reduction']:.2g} |"
                )
    lines += ["", "| rules | parameters | bytes a step | a reduction alone, ms |"]
    lines += ["|--:|--:|--:|--:|"]
    for rules in POOLS:
        (last,) = [
            one
            for one in steps
            if one["rules"] == rules and one["workers"] == 2 and "bare_reduction" in one
        ]
        lines.append(
            f"| {rules} | {last['parameters']:,} | {last['bytes']:,} "
            f"| {1e3 * last['bare_reduction']:.2f} |"
        )
    return "\n".join(lines)


def fits_section(fits: list[dict]) -> str:
    lines = [
        "### Whole fits",
        "",
        f"{FIT_ROWS:,} rows x 20 on a Ray cluster of this machine, {fits[0]['rules']} rules, "
        f"{FIT_EPOCHS} epochs in batches of {FIT_BATCH:,}. Training includes the start of the "
        "workers, each of which first loads Python and torch.",
        "",
        "| workers | whole fit, s | of it training, s | last loss |",
        "|--:|--:|--:|--:|",
    ]
    for one in fits:
        training = f"{one['training']:.0f}" if "training" in one else ""
        workers = one["workers"] or "none: numba, two threads"
        lines.append(f"| {workers} | {one['seconds']:.0f} | {training} | {one['loss']:.4f} |")
    return "\n".join(lines)


def both(one: dict) -> str:
    """The text of a step's milliseconds: elapsed time and processor time."""
    return f"{1e3 * one['step']:.2f} ({1e3 * one['processor']:.2f})"


def model_section(steps: list[dict]) -> str:
    """The section with the computed efficiencies of many workers."""
    found = modelled(steps, RULES)
    n_bytes = next(one["bytes"] for one in steps if one["rules"] == RULES)
    lines = [
        "### 4 to 256 workers: a model",
        "",
        f"Computed, not measured: {RULES} rules, {n_bytes:,} bytes a step, the seconds of a "
        "core that one worker took above, and workers of one core that have as many rows of "
        "each batch however many they are. With S bytes, W workers, a link of B bytes a "
        f"second and an assumed latency a = {1e6 * LATENCY:.0f} us of a message, a reduction "
        "takes",
        "",
        "- round a ring: 2 (W - 1) (a + S / (W B)),",
        "- up and down a tree: 2 ceil(log2 W) (a + S / B).",
        "",
        "The efficiency is the share of a step that is not the reduction. Stragglers, which "
        "real clusters have, are left out.",
        "",
        "![Speed-up against the number of workers, for links of 25 and 100 Gbit/s]"
        "(figures/scale.png)",
        "",
        "| rows of a batch a worker | computing, ms | reduction | link, Gbit/s | "
        + " | ".join(f"{n} workers" for n in WORKERS)
        + " |",
        "|--:|--:|---|--:|" + "--:|" * len(WORKERS),
    ]
    for rows in PER_WORKER:
        for way in WAYS:
            for link in LINKS:
                own = [
                    one
                    for one in found
                    if (one["rows"], one["way"], one["link"]) == (rows, way, link)
                ]
                shares = " | ".join(f"{one['efficiency']:.0%}" for one in own)
                milliseconds = 1e3 * own[0]["compute"]
                lines.append(f"| {rows:,} | {milliseconds:.3g} | {way} | {link} | {shares} |")
    return "\n".join(lines)


def limits_section(steps: list[dict]) -> str:
    """The section on the limits of scaling, and on changes that would move these limits."""
    n_bytes = next(one["bytes"] for one in steps if one["rules"] == RULES)
    gpu = gpu_steps()
    rows = [(f"CPU, {n:,} rows a worker", compute_of(steps, RULES, n)) for n in PER_WORKER] + [
        (f"{name}, {n:,} rows a worker", seconds) for name, n, seconds in gpu
    ]
    lines = [
        "### Where it stops",
        "",
        "The most workers, of powers of two, that still compute for at least half of a step on "
        f"a link of {LINKS[0]} Gbit/s; and with ten local steps between two reductions, which "
        "is not built: it would change what is computed.",
        "",
        "| worker | computing, ms | ring | tree | ring, ten local steps |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, compute in rows:
        counts = [half_efficient(compute, n_bytes, LINKS[0], way) for way in WAYS]
        counts.append(half_efficient(10 * compute, n_bytes, LINKS[0], "ring"))
        told = " | ".join(f"{n:,}" if n < 2**20 else "over a million" for n in counts)
        lines.append(f"| {name} | {1e3 * compute:.3g} | {told} |")
    ring = 2 * 255 * LATENCY
    alone = next(one["bare_reduction"] for one in reversed(steps) if "bare_reduction" in one)
    lines += [
        "",
        f"Latency decides, not the width of the link: 256 workers in a ring wait "
        f"{1e3 * ring:.0f} ms a step for 510 messages, whatever their size, while "
        f"{n_bytes:,} bytes take {1e6 * n_bytes / (LINKS[0] * 1e9 / 8):.0f} us of one. So more "
        "rows a worker move the end as far as they lengthen the step; local steps move it as "
        "many times as they are; faster links hardly do. All hangs on the assumed latency: "
        "between the two workers of this machine, whose cores had other work, a reduction, "
        f"of two messages in turn, took {1e6 * alone:.0f} us instead of {2e6 * LATENCY:.0f}. "
        "Workers with a GPU take plain torch steps (the fused kernels keep their gradients to "
        "themselves); their times are those "
        "of [the GPU's page](gpu.md).",
    ]
    return "\n".join(lines)


def gpu_steps() -> list[tuple[str, int, float]]:
    """Seconds of plain torch steps on a GPU, from the measurements for docs/gpu.md."""
    epochs = json.loads((DOCS / "gpu.json").read_text())["epochs"]
    return [
        ("GPU", one["batch"], one["plain_seconds"] / np.ceil(one["rows"] / one["batch"]))
        for one in sorted(epochs, key=lambda one: one["batch"])
        if one["rules"] == RULES
        and one["rows"] == 10_000_000
        and one["batch"] in {8192, 65_536}
        and one.get("plain_seconds")
    ]


def losses_section(losses: list[dict]) -> str:
    if not losses:
        return ""
    batches = sorted({one["batch"] for one in losses})
    lines = [
        "### What larger batches cost",
        "",
        f"Log loss on 100,000 other rows after {LOSS_EPOCHS} epochs on {LOSS_ROWS:,} rows, "
        "by the size of all workers' batch and the learning rate: one machine, since workers "
        "change nothing but the order of rows.",
        "",
        "| batch | " + " | ".join(f"learning_rate={rate}" for rate in RATES) + " |",
        "|--:|" + "--:|" * len(RATES),
    ]
    for batch in batches:
        own = {one["rate"]: one["loss"] for one in losses if one["batch"] == batch}
        lines.append(
            f"| {batch:,} | " + " | ".join(f"{own[rate]:.4f}" for rate in RATES) + " |"
        )
    best = {
        batch: min(one["loss"] for one in losses if one["batch"] == batch) for batch in batches
    }
    last, first = batches[-1], batches[0]
    lines += [
        "",
        f"At the best of these rates, batches of {last:,} rows come to "
        f"{best[last] - best[first]:.4f} more than those of {first:,}: the larger the batch, "
        "the larger the rate has to be.",
    ]
    return "\n".join(lines)


def draw(results: dict, path: Path) -> None:
    """Draw speed-up against number of workers, with one panel per speed of the link."""
    steps = results["steps"]
    n_bytes = next(one["bytes"] for one in steps if one["rules"] == RULES)
    workers = 2 ** np.arange(9)
    colours = (ORANGE, BLUE, GREEN)
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 2, figsize=(9, 3.9), sharey=True)
        for axes, link in zip(panels, LINKS, strict=True):
            axes.plot(workers, workers, color=GREY, lw=1, ls=":")
            axes.annotate(
                "if sharing cost nothing",
                (24, 24),
                (-4, 8),
                textcoords="offset points",
                ha="right",
                color=GREY,
                fontsize=8.5,
            )
            for rows, colour in zip(PER_WORKER, colours, strict=True):
                compute = compute_of(steps, RULES, rows)
                for way, style in (("ring", "-"), ("tree", "--")):
                    gains = [
                        n * compute / (compute + WAYS[way](n, n_bytes, link)) if n > 1 else 1
                        for n in workers
                    ]
                    axes.plot(
                        workers,
                        gains,
                        style,
                        color=colour,
                        lw=1.8,
                        label=f"{rows:,} rows a worker, {way}",
                    )
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=2)
            axes.set_xticks(workers, [str(n) for n in workers])
            axes.set_yticks(workers, [str(n) for n in workers])
            axes.set_xlabel("workers")
            axes.set_title(f"{link} Gbit/s", loc="left")
            axes.minorticks_off()
            axes.grid(color="#e6e6e6", lw=0.6)
        panels[0].set_ylabel("speed-up, in rows a second")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8.5
        )
        figure.set_layout_engine("constrained")
        stream = io.BytesIO()
        figure.savefig(stream, format="png", metadata={"Software": None})
        plt.close(figure)
    write_whole(path, stream.getvalue())
