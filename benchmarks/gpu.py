"""The speed of training with the torch engine on a GPU, compared with the limits of this GPU.

    python -m benchmarks.gpu [--quick] [--out FILE] [--seconds N]

It needs torch, Triton and a CUDA GPU. The numba engine and a whole fit are measured only if
their packages are installed; otherwise the results say that they were left out. The project
itself need not be installed:

    PYTHONPATH=src:. python3 -m benchmarks.gpu --quick --out gpu.json

The *bound* of an epoch is the longer of two times. One is the time of the multiply-adds that
the forward pass and the active parts of the backward pass need, at the float32 rate that this
GPU reaches in registers. The other is the time to read the table once, at the copy rate of this
GPU. Both rates are measured in the same run. Rules have three literals over three columns of
their own, like the rules of shallow boosted trees. Results are written after each part, so a
run that is cut short is not lost. After --seconds, no new part begins.
`python -m benchmarks.gpu_page` makes docs/gpu.md from the results.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import torch
import triton
import triton.language as tl

from benchmarks.gpu_code import instructions
from benchmarks.pages import DOCS, commit
from neuralrules._data._rows import Rows
from neuralrules._engine import Batches, get_engine
from neuralrules._engine._adam import Moments, corrected
from neuralrules._engine._torch._plain import PlainSteps
from neuralrules._engine._torch._tensors import DeviceTable, Padding, Start, Steps
from neuralrules._engine._triton._steps import FusedSteps, Tuning
from neuralrules._network._network import Network, starts
from neuralrules._task._class_losses import CrossEntropy, Logistic
from neuralrules._task._task import Task

N_LITERALS = N_COLUMNS = 3
POOLS, BATCHES = (128, 480, 3000), (256, 2048, 8192, 65536)
TABLES = ((10_000_000, 20), (50_000_000, 20), (1_000_000, 500))
N_LAUNCHES = 200
PLAIN_STEPS = 30  # measured steps of plain torch, from which the time of an epoch is computed
NUMBA_ROWS = 400_000  # measured rows of numba, from which the time of a million is computed
GPU = "cuda"


@triton.jit
def many_multiply_adds(out, factor, n, SIZE: tl.constexpr):
    """Compute `n` times 64 multiply-adds for each of SIZE numbers, in registers."""
    places = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    a = tl.load(factor) + places * 1e-9
    b, c, d, e = a + 1, a + 2, a + 3, a + 4
    for _ in range(n):
        for _times in tl.static_range(16):
            b = b * a + 0.5
            c = c * a + 0.5
            d = d * a + 0.5
            e = e * a + 0.5
    tl.store(out + places, b + c + d + e)


def seconds_of(work: Callable[[], object], repeats: int = 5) -> float:
    """Median seconds of some work on the GPU, after one run that does not count."""
    work()
    found = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def rates() -> dict[str, float]:
    """The rates that bound an epoch: multiply-adds and bytes per second, and launches.

    A launch is measured as the seconds of a kernel that does nothing, in a graph.
    """
    n_programs, size, n = 132 * 64, 256, 400
    out, factor = torch.empty(n_programs * size, device=GPU), torch.full((1,), 0.5, device=GPU)

    def multiply() -> None:
        many_multiply_adds[(n_programs,)](out, factor, n, SIZE=size, num_warps=4)

    one = torch.randn(2**29, device=GPU)
    other = torch.empty_like(one)
    matrix = torch.randn(8192, 8192, device=GPU)

    def launch() -> None:
        for _ in range(N_LAUNCHES):
            many_multiply_adds[(1,)](out, factor, 0, SIZE=size, num_warps=4)

    launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    return {
        "multiply_adds": n_programs * size * n * 64 / seconds_of(multiply),
        "product": 8192**3 / seconds_of(lambda: matrix @ matrix),
        "copied_bytes": 2 * one.nbytes / seconds_of(lambda: other.copy_(one)),
        "launch_seconds": seconds_of(graph.replay) / N_LAUNCHES,
    }


def pool(n_rules: int, n_features: int, n_outputs: int = 1) -> Network:
    """Rules of random literals, each active on about an eighth of the rows."""
    rng = np.random.RandomState(0)
    own = [np.sort(rng.choice(n_features, N_COLUMNS, replace=False)) for _ in range(n_rules)]
    n_literals = n_rules * N_LITERALS
    weights = 0.2 * rng.randn(n_rules, N_LITERALS, N_COLUMNS)
    weights[:, np.arange(N_LITERALS), np.arange(N_COLUMNS)] = rng.choice(
        [-1, 1], (n_rules, N_LITERALS)
    )
    return Network(
        own_weights=weights.ravel().astype(np.float32),
        columns=np.concatenate(own).astype(np.int32),
        column_offsets=starts([N_COLUMNS] * n_rules),
        biases=(0.3 * rng.randn(n_literals)).astype(np.float32),
        offsets=starts([N_LITERALS] * n_rules),
        values=(0.1 * rng.randn(n_rules, n_outputs)).astype(np.float32),
        intercept=np.zeros(n_outputs),
        mixing=np.empty(0, np.float32),
        shifts=np.empty(0, np.float32),
        origins=np.tile(np.arange(N_LITERALS), n_rules),
    )


def table(n_rows: int, n_features: int, n_classes: int = 2) -> DeviceTable:
    """Random rows on the GPU."""
    torch.manual_seed(0)
    x = torch.randn((n_rows, n_features + 1), device=GPU)
    x[:, -1] = 0
    score = x[:, 0] * x[:, 1] + x[:, 2]
    codes = (score > 0).float() + (score > 1) * (n_classes > 2)
    first, n_outputs = (1, 1) if n_classes == 2 else (0, n_classes)
    classes = torch.arange(first, first + n_outputs, device=GPU)[:, None]
    return DeviceTable(x, codes[:, None], torch.ones(n_rows, device=GPU), classes)


def start_of(network: Network, l2: float = 1e-6) -> Start:
    loss = Logistic() if network.n_outputs == 1 else CrossEntropy()
    parameters = network.parameters
    return Start.of(
        Padding.of(network.layout, network.n_outputs),
        parameters,
        Moments.start(parameters),
        None,
        torch.device(GPU),
        loss=loss,
        l2=l2,
        fit_intercept=True,
    )


def run_rows(
    steps: Steps, rows: DeviceTable, order: torch.Tensor, size: int, n_rules: int
) -> None:
    """Take one step for each batch of rows in this order."""
    n_batches = -(-len(order) // size)
    gates = torch.ones((n_batches, n_rules), device=GPU)
    adam = np.stack(corrected(np.full(n_batches, 1e-3), 1000))
    steps.run(rows, order, size, gates, adam)


def active_share(network: Network, rows: DeviceTable) -> float:
    """The share of pairs of a rule and a row in which the rule is active."""
    from neuralrules._engine._reference import rules_forward

    x = rows.x[:5000, :-1].cpu().numpy()[:, network.features]
    return float((rules_forward(network.parameters, network.layout, x) > 0).mean())


def bound(network: Network, rows: DeviceTable, measured: dict[str, float]) -> dict[str, float]:
    """The bound of an epoch in seconds, and the numbers behind it."""
    share = active_share(network, rows)
    n_outputs = network.n_outputs
    forward = N_LITERALS * N_COLUMNS + n_outputs
    backward = share * (N_COLUMNS + n_outputs)
    n_rows = len(rows.x)
    arithmetic = n_rows * network.n_rules * (forward + backward) / measured["multiply_adds"]
    n_bytes = n_rows * 4 * (rows.x.shape[1] - 1 + 3)  # columns, target, weight, row number
    memory = n_bytes / measured["copied_bytes"]
    return {"active": share, "bound": max(arithmetic, memory), "memory_bound": memory}


def epoch_record(
    network: Network, rows: DeviceTable, size: int, measured: dict[str, float]
) -> dict[str, object]:
    """Seconds of an epoch with the fused kernels and with plain torch, and the bound."""
    n_rows, n_rules = len(rows.x), network.n_rules
    order = torch.randperm(n_rows, device=GPU).int()
    fused = FusedSteps(start_of(network))
    few = order[: min(n_rows, 3 * max(size * 256, 2**19))]
    run_rows(fused, rows, few, size, n_rules)  # compiles the kernels and records the graph
    seconds = seconds_of(lambda: run_rows(fused, rows, order, size, n_rules), 2)
    record = {
        "rows": n_rows,
        "columns": rows.x.shape[1] - 1,
        "rules": n_rules,
        "batch": size,
        "seconds": seconds,
        **bound(network, rows, measured),
        "tuning": Tuning.for_batches(size)._asdict(),
    }
    plain = PlainSteps(start_of(network))
    n_steps = min(PLAIN_STEPS, n_rows // size)
    some = order[: n_steps * size]
    try:
        each = seconds_of(lambda: run_rows(plain, rows, some, size, n_rules), 1) / n_steps
        record["plain_seconds"] = each * n_rows / size
    except torch.OutOfMemoryError:
        record["plain_seconds"] = None
    return record


def check_record(n_outputs: int) -> dict[str, float]:
    """Differences between the kernels and plain torch, and between two runs of the kernels.

    They are measured after one step, and after one epoch.
    """
    network, rows = pool(64, 20, n_outputs), table(50_000, 20, max(2, n_outputs))
    order = torch.randperm(50_000, device=GPU).int()

    def moments(steps: Steps, size: int) -> list[torch.Tensor]:
        run_rows(steps, rows, order, size, 64)
        return [tensor.clone() for each in steps.state() for tensor in each]

    def difference(some: list[torch.Tensor], others: list[torch.Tensor]) -> float:
        return max(
            float((one - other).abs().max() / other.abs().max().clamp_min(1e-12))
            for one, other in zip(some, others, strict=True)
            if one.numel()
        )

    fused = [moments(FusedSteps(start_of(network)), 50_000) for _ in range(2)]
    plain = moments(PlainSteps(start_of(network)), 50_000)
    many = [moments(FusedSteps(start_of(network)), 128) for _ in range(2)]
    plain_many = moments(PlainSteps(start_of(network)), 128)
    return {
        "outputs": n_outputs,
        "one_step": difference(fused[0], plain),
        "one_epoch": difference(many[0], plain_many),
        "again": difference(fused[0], fused[1]),
        "again_epoch": difference(many[0], many[1]),
    }


ROWS = (32, 64, 128)  # rows of a tile
FORWARD = [(2, 2), (4, 4), (8, 8)]  # rules at a time, and number of warps
PROGRAMS = (512, 1024, 2048, 4096, 8192)


def tuning_records(rows: DeviceTable, n_rules: int, size: int) -> tuple[list[dict], Tuning]:
    """Microseconds of both halves of a step for many tunings, and the best tuning.

    Both halves must have tiles of the same number of rows. So the best tuning is the one with
    the smallest sum of both times.
    """
    network = pool(n_rules, rows.x.shape[1] - 1)
    order = torch.randperm(len(rows.x), device=GPU).int()[: 4 * size]

    def microseconds(half: str, tuning: Tuning) -> float:
        steps = FusedSteps(start_of(network), tuning)
        run_rows(steps, rows, order, size, n_rules)
        launches = steps.launches
        n_steps = min(4, launches.staging.n_steps)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for step in range(40):
                getattr(launches, half)(step % n_steps, *[size] * (half == "forward"))
        return 1e6 * seconds_of(graph.replay) / 40

    found: list[dict] = []
    for piece in ROWS:
        if piece > max(size, 32):
            continue
        ways = [
            ("forward", Tuning(piece, rules, warps, programs))
            for rules, warps in FORWARD
            for programs in PROGRAMS
        ]
        ways += [
            ("backward", Tuning(piece, backward_warps=warps, backward_programs=programs))
            for warps in (1, 2)
            if piece >= 32 * warps
            for programs in PROGRAMS
        ]
        for half, tuning in ways:
            us = microseconds(half, tuning)
            found.append({"half": half, "us": us, **tuning._asdict()})

    def best(piece: int, half: str) -> dict:
        mine = [one for one in found if (one["rows"], one["half"]) == (piece, half)]
        return min(mine, key=lambda one: one["us"])

    chosen = min(
        ((best(piece, "forward"), best(piece, "backward")) for piece in ROWS if piece <= size),
        key=lambda halves: sum(half["us"] for half in halves),
    )
    forward, backward = chosen
    tuning = Tuning(**{name: forward[name] for name in Tuning._fields})._replace(
        backward_warps=backward["backward_warps"],
        backward_programs=backward["backward_programs"],
    )
    shape = {"pool": n_rules, "batch": size}
    return [shape | one for one in found], tuning


def numba_records(pools: tuple[int, ...], sizes: tuple[int, ...]) -> Iterator[dict]:
    """Seconds per million rows with the numba engine on all cores."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((NUMBA_ROWS, 20), dtype=np.float32)
    targets = (X[:, :1] * X[:, 1:2] + X[:, 2:3] > 0).astype(np.float32)
    ones = np.ones(NUMBA_ROWS, np.float32)
    rows = Rows(X, targets, ones, ones, Task.of_classes(np.arange(2), "logistic"))
    n_threads = os.cpu_count() or 1
    for n_rules in pools:
        network = pool(n_rules, 20)
        session = get_engine("numba", n_threads).start(network, rows, Logistic(), l2=0.0)
        for size in sizes:
            order = rng.permutation(NUMBA_ROWS).astype(np.int32)
            n_batches = -(-NUMBA_ROWS // size)
            gates = np.ones((n_batches, n_rules), np.float32)
            batches = Batches(order, size, np.full(n_batches, 1e-3), gates)
            session.run(batches)
            start = time.perf_counter()
            session.run(batches)
            seconds = (time.perf_counter() - start) * 1e6 / NUMBA_ROWS
            yield {
                "rules": n_rules,
                "batch": size,
                "threads": n_threads,
                "seconds_per_million": seconds,
            }


def fit_record(n_rows: int, n_epochs: int | None) -> dict[str, object]:
    """Seconds of a whole fit by torch, with the defaults or with `n_epochs` epochs."""
    from neuralrules import NeuralRuleClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 20), dtype=np.float32)
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(n_rows) > 0
    options = {} if n_epochs is None else {"n_epochs": n_epochs}
    model = NeuralRuleClassifier(engine="torch", device=GPU, random_state=0, **options)
    start = time.perf_counter()
    model.fit(X, y)
    return {
        "rows": n_rows,
        "seconds": time.perf_counter() - start,
        "epochs": model.n_iter_,
        "rules": model.network_.n_rules,
        "loss": model.history_["loss"][-1],
    }


def environment() -> dict[str, object]:
    def known(name: str) -> str | None:
        try:
            return version(name)
        except PackageNotFoundError:
            return None

    names = ("torch", "triton", "numpy", "numba", "scikit-learn")
    return {
        "GPU": torch.cuda.get_device_name(),
        "cores": os.cpu_count(),
        "Python": platform.python_version(),
        **{name: known(name) for name in names},
        "commit": commit(),
    }


class Record:
    """All measurements so far, which a file keeps. After `seconds`, no new part begins."""

    def __init__(self, path: Path, seconds: float) -> None:
        self.path, self._end = path, time.monotonic() + seconds
        self.found: dict[str, object] = {"environment": environment(), "left_out": []}

    def has_time(self, what: str) -> bool:
        has = time.monotonic() < self._end
        if not has:
            self._leave_out(f"{what}: no time was left")
        return has

    def add(self, name: str, value: dict) -> None:
        self.found.setdefault(name, []).append(value)
        print(name, json.dumps(value), flush=True)
        self.write()

    def _leave_out(self, why: str) -> None:
        self.found["left_out"].append(why)
        print("left out:", why, flush=True)
        self.write()

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.found, indent=1) + "\n")

    @contextmanager
    def part(self, what: str) -> Iterator[None]:
        """Run a part. A failure is printed and recorded, and does not end the other parts."""
        try:
            yield
        except Exception as error:  # for example a missing package, or too little memory
            self._leave_out(f"{what}: {type(error).__name__}: {error}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the first table, fewer shapes")
    parser.add_argument("--out", type=Path, default=DOCS / "gpu.json")
    parser.add_argument("--seconds", type=float, default=None, help="to begin new parts in")
    options = parser.parse_args()
    quick = options.quick
    record = Record(options.out, options.seconds or (200 if quick else 3000))
    record.add("rates", measured := rates())
    for n_outputs in (1, 3):
        with record.part(f"check of {n_outputs} outputs"):
            record.add("checks", check_record(n_outputs))
    with record.part("instructions"):
        record.add("instructions", instructions(N_LITERALS, N_COLUMNS))
    rows = table(*TABLES[0])
    for n_rules, size in (*((480, size) for size in reversed(BATCHES)), (3000, 65536)):
        with record.part(f"tuning of {n_rules} rules in batches of {size}"):
            if record.has_time("tuning"):
                ways, best = tuning_records(rows, n_rules, size)
                record.found.setdefault("tuning", []).extend(ways)
                shape = {"pool": n_rules, "batch": size}
                record.add("best_tuning", {**shape, **best._asdict()})
    for n_rows, n_features in TABLES[:1] if quick else TABLES:
        if len(rows.x) != n_rows:
            del rows  # before the next one needs the memory
            rows = table(n_rows, n_features)
        for n_rules in POOLS:
            for size in reversed(BATCHES):
                what = f"{n_rows} x {n_features}, {n_rules} rules, batches of {size}"
                if record.has_time(what):
                    with record.part(what):
                        network = pool(n_rules, n_features)
                        record.add("epochs", epoch_record(network, rows, size, measured))
    with record.part("the numba engine"):
        for one in numba_records(POOLS[:2] if quick else POOLS, (256, 8192)):
            record.add("numba", one)
    with record.part("a whole fit"):
        if record.has_time("a whole fit"):
            record.add("fits", fit_record(*((1_000_000, 3) if quick else (10_000_000, None))))


if __name__ == "__main__":
    main()
