"""Make docs/gpu.md from docs/gpu.json, which `python -m benchmarks.gpu` writes.

python -m benchmarks.gpu_page [FILE]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.files import write_whole
from benchmarks.pages import DOCS

LARGE, BOUND_SHARE, TIMES_PLAIN = 8192, 0.25, 50
FIT_ROWS, FIT_SECONDS = 10_000_000, 30
WHY = """
The bound counts only multiply-adds, and in the backward pass only those of active rules. For
a row and a rule, the machine code has {forward:.1f} instructions in the forward pass and
{backward:.1f} in the backward pass (`benchmarks/gpu_code.py` counts them). So {needed:.1f}
multiply-adds in the bound become {all:.0f} instructions: **even with one instruction in every
cycle the kernels would be at {ceiling:.0%}**. The bound leaves out the minimum of the
literals and its place, the choice of the literal that is moved, rows on which a rule is not
active, and loads. In large batches of many rules the kernels reach about half of that
ceiling, because they wait for the cache.

Few rules cannot come near the bound in batches of {batch:,}. A step of {few} rules has
{few_bound:.2f} µs of such arithmetic, and a kernel that does nothing takes {launch:.1f} µs. A
step has two kernels. The second depends on the first, and each waits several times for
memory: for the rule's numbers, for its columns, and for the sums of the other programs.
Together they take {few_step:.0f} µs.

Two ideas did not help: loads through shared memory in several stages (`num_stages`), which
adds instructions and gains nothing, and more programs with fewer rows. One idea was not
tried: visiting only the active rows of a rule in the backward pass. An eighth of the rows is
active, and scattered loads of these rows would take as many cycles of the cache as loads of
all rows in order."""
HEAD = """# Training on a GPU

`NeuralRuleClassifier(engine="torch", device="cuda")`, or `--engine torch --device cuda` on
the command line, trains on a GPU (`pip install "neuralrules[gpu]"`). The table, the
parameters and Adam's moments stay on the GPU for the whole fit. The model is the same as that
of the other engines, up to rounding. You can read, export and use it without a GPU and
without torch.

A step has two kernels of Triton. In the first kernel, a program takes some rows and some
rules. It computes the literals of each rule from the rule's own columns, their minimum and
its place, and what the rule adds to the output. The last program of some rows computes the
slopes of their loss. For rules of up to three literals, two bits say which literal was the
smallest, or that the rule is not active. In the second kernel, a program takes one rule and
some rows, and sums the slopes of the rule in registers. The last program of a rule takes its
Adam step. No array of the size rows × literals is ever in memory, and the results are the
same to the bit from run to run. Steps are replayed as CUDA graphs. Plain torch trains deep
rules, rules of more than 127 parameters, and more than 16 outputs. This page compares
everything with plain torch.

The *bound* of an epoch is the longer of two times. One is the time of the multiply-adds that
the forward pass and the active parts of the backward pass need, at the float32 rate of this
GPU. The other is the time to read the table once, at its copy rate. Both rates are measured
in the same call. An epoch begins with a given order of the rows, and includes gathering the
rows into batches. Rules have three literals over three columns of their own. The times of
plain torch are extrapolated from some steps, and the times of the numba engine from fewer
rows.
"""


def milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{1000 * seconds:,.1f}" if seconds < 0.1 else f"{1000 * seconds:,.0f}"


def environment_text(record: dict) -> str:
    found, measured = record["environment"], record["rates"][0]
    lines = [f"- {name}: {value}" for name, value in found.items() if value is not None]
    lines += [
        f"- float32: {measured['multiply_adds'] / 1e12:.1f} T multiply-adds a second in "
        f"registers, {measured['product'] / 1e12:.1f} T in a matrix product",
        f"- copy: {measured['copied_bytes'] / 1e12:.2f} TB a second, read and written",
    ]
    return "\n".join(lines)


def epochs_text(record: dict) -> str:
    """A table of epochs for each size of rows."""
    by_numba = {
        (one["rules"], one["batch"]): one["seconds_per_million"]
        for one in record.get("numba", [])
    }
    parts = []
    shapes = dict.fromkeys((one["rows"], one["columns"]) for one in record.get("epochs", []))
    for n_rows, n_columns in shapes:
        lines = [
            f"### {n_rows:,} rows × {n_columns} columns",
            "",
            "| rules | batch | epoch, ms | bound, ms | of the bound "
            "| plain torch, ms | × plain | numba, ms | × numba |",
            "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        ]
        own = [one for one in record["epochs"] if one["rows"] == n_rows]
        for one in sorted(own, key=lambda one: (one["rules"], one["batch"])):
            seconds, plain = one["seconds"], one["plain_seconds"]
            million = by_numba.get((one["rules"], one["batch"])) if n_columns == 20 else None
            cpu = None if million is None else million * n_rows / 1e6
            ratios = [f"{other / seconds:,.0f}" if other else "–" for other in (plain, cpu)]
            lines.append(
                f"| {one['rules']:,} | {one['batch']:,} | {milliseconds(seconds)} "
                f"| {milliseconds(one['bound'])} | {one['bound'] / seconds:.0%} "
                f"| {milliseconds(plain)} | {ratios[0]} | {milliseconds(cpu)} | {ratios[1]} |"
            )
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def why_text(record: dict) -> str:
    """The text on why epochs are far from the bound, with measured numbers."""
    if not record.get("instructions"):
        return ""
    rates, each = record["rates"][0], record["instructions"][0]
    epochs = record["epochs"]
    many = max(epochs, key=lambda one: (one["rules"], one["rows"]))
    needed = many["bound"] * rates["multiply_adds"] / (many["rows"] * many["rules"])
    few = min((one for one in epochs if one["batch"] == LARGE), key=lambda one: one["rules"])
    n_steps = few["rows"] / LARGE
    return WHY.format(
        **each,
        needed=needed,
        all=sum(each.values()),
        ceiling=needed / sum(each.values()),
        batch=LARGE,
        few=few["rules"],
        few_bound=1e6 * few["bound"] / n_steps,
        few_step=1e6 * few["seconds"] / n_steps,
        launch=1e6 * rates["launch_seconds"],
    )


def bars_text(record: dict) -> str:
    """The goals, the measured numbers, and whether the goals are met."""
    large = [one for one in record.get("epochs", []) if one["batch"] >= LARGE]
    shares = [one["bound"] / one["seconds"] for one in large]
    times = [one["plain_seconds"] / one["seconds"] for one in large if one["plain_seconds"]]
    lines = []
    if large:
        lines += [
            f"- Batches of {LARGE:,} and more at {BOUND_SHARE:.0%} of their bound: "
            f"{reached(min(shares) >= BOUND_SHARE)}; they are at {min(shares):.0%} to "
            f"{max(shares):.0%}.",
            f"- {TIMES_PLAIN} times plain torch there: {reached(min(times) >= TIMES_PLAIN)}; "
            f"{min(times):.0f} to {max(times):.0f} times.",
        ]
    lines += [
        f"- A default fit of {one['rows']:,} rows in {FIT_SECONDS} s: "
        f"{reached(one['seconds'] <= FIT_SECONDS)}, {one['seconds']:.1f} s."
        for one in record.get("fits", [])
        if one["rows"] >= FIT_ROWS
    ]
    return "\n".join(lines)


def reached(is_met: bool) -> str:
    return "reached" if is_met else "**not reached**"


def checks_text(record: dict) -> str:
    lines = [
        f"- {one['outputs']} output{'s' * (one['outputs'] > 1)}: after a step the kernels "
        f"differ from plain torch by {one['one_step']:.0e} of the largest number, after an "
        f"epoch of small batches by {one['one_epoch']:.0e}; two runs of the kernels by "
        f"{max(one['again'], one['again_epoch']):.0e}."
        for one in record.get("checks", [])
    ]
    return "\n".join(lines)


def fits_text(record: dict) -> str:
    return "\n".join(
        f"- {one['rows']:,} rows × 20: {one['seconds']:.1f} s for {one['epochs']} epochs of "
        f"{one['rules']} rules, growing the trees included."
        for one in record.get("fits", [])
    )


def render(record: dict) -> str:
    """The whole page."""
    sections = [
        HEAD.rstrip(),
        *([f"## In short\n\n{bars_text(record)}\n{why_text(record)}"] * bool(record["epochs"])),
        "## Where\n\n" + environment_text(record),
        "## Epochs\n\n" + epochs_text(record),
    ]
    for title, text in (
        ("Agreement", checks_text(record)),
        ("Whole fits", fits_text(record)),
        ("Not measured", "\n".join(f"- {why}" for why in record["left_out"])),
    ):
        if text:
            sections.append(f"## {title}\n\n{text}")
    return "\n\n".join(sections) + "\n"


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "gpu.json"
    write_whole(DOCS / "gpu.md", render(json.loads(path.read_text())))


if __name__ == "__main__":
    main()
